"""kill -9 at random moments of an ingest, again and again in the same data directory.

The child puts, replaces and deletes documents of several users and says so after each commit. After every kill a
new child opens the directory, with no repair command, searches at once, waits for the indexer, and checks what was
acknowledged: each passage is found once in both legs, by its own word and by its own vector, and what was deleted does
not come back. The step under way when the kill came may be there or not, but whole. One kill in four hits the recovery.
In a large collection the newest passages and others at random are looked for; the ids of all are compared.

The child may not write files over 1 GB: a damaged Chroma index can grow to a sparse file of hundreds. Never copy
such a data directory.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from threading import Timer
from typing import Any

from benchmarks.common import arguments, note, scratch_folder, show

ROOT = Path(__file__).resolve().parents[1]
KILLS_IN_RECOVERY = 0.25
FINDINGS = ("lost_bm25", "lost_dense", "duplicated", "came_back", "index_differs")


@dataclass(frozen=True, slots=True)
class CrashReport:
    """What was found over all rounds. Each tuple names what went wrong and is empty when nothing did."""

    kills: int = 0
    kills_in_recovery: int = 0
    acknowledged: int = 0
    """Puts, replacements and deletions that were said to be committed."""
    checked: int = 0
    """Passages looked for in each leg."""
    median_ready_s: float = 0.0
    """From the child's start of opening, with the directory of the one that was killed, to its being open."""
    longest_ready_s: float = 0.0
    median_both_legs_s: float = 0.0
    """To a hybrid search in the largest collection that both legs answer."""
    longest_both_legs_s: float = 0.0
    median_whole_s: float = 0.0
    """To one that lacks nothing: what was put just before the kill is embedded, too."""
    longest_whole_s: float = 0.0
    longest_recovery_s: float = 0.0
    """To both indexes of every collection complete."""
    lost_bm25: tuple[str, ...] = ()
    lost_dense: tuple[str, ...] = ()
    duplicated: tuple[str, ...] = ()
    came_back: tuple[str, ...] = ()
    index_differs: tuple[str, ...] = ()
    """Indexes that do not hold exactly the ledger's chunks."""
    torn: tuple[str, ...] = ()
    """Documents of which only a part was written."""

    @property
    def sound(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.torn or any(getattr(self, name) for name in FINDINGS))


def run(rounds: int, seed: int, data_dir: Path, *, full: int = 0) -> CrashReport:
    """Kill the child ``rounds`` times in this data directory, then check once more.

    One collection is kept at about ``full`` passages: Chroma writes its index to disk once in 1,000. Raises
    RuntimeError when a child ends by itself.
    """
    dice, told, report, checks = random.Random(seed), Told(), CrashReport(), []
    for number in range(rounds + 1):
        is_last = number == rounds
        in_recovery = 0 < number < rounds and dice.random() < KILLS_IN_RECOVERY
        after_s = dice.uniform(0.5, 4.0) if in_recovery else dice.uniform(0.05, 4.0)
        command = [sys.executable, "-m", "benchmarks.crash_child", *map(str, (data_dir, dice.randrange(2**32), full))]
        checked = _live_and_die(command, told, after_s, from_start=in_recovery, only_check=is_last)
        report = _add(report, checked, killed=not is_last, in_recovery=in_recovery)
        if checked is not None and number:  # the first one opened a new directory
            checks.append(checked)
        note(_line(number, told, checked))
    return replace(report, acknowledged=told.acknowledged, torn=tuple(told.torn), **_times(checks))


class Told:
    """What the child said: what is committed, what is deleted, and the step that it had begun but not finished."""

    def __init__(self) -> None:
        self.documents: dict[str, list[str]] = {}
        self.gone: list[str] = []
        self.torn: list[str] = []
        self.acknowledged = 0
        self._begun: tuple[str, list[str]] | None = None

    def hear(self, message: dict[str, Any]) -> None:
        """``begin`` before a commit, ``done`` after it, ``stored`` for the unfinished step after a restart."""
        if "begin" in message:
            self._begun = (message["begin"], message["passages"])
        elif "done" in message:
            self.acknowledged += 1
            self._finish()
        elif "stored" in message and self._begun is not None:
            key, passages = self._begun
            if message["stored"] == passages:
                self._finish()
            elif message["stored"] != self.documents.get(key, []):
                self.torn.append(key)
            self._begun = None

    def to_check(self) -> dict[str, Any]:
        """For the child. Of what is gone it looks for the last 300."""
        return {
            "documents": self.documents,
            "gone": self.gone[-300:],
            "in_doubt": self._begun[0] if self._begun else "",
        }

    def _finish(self) -> None:
        assert self._begun is not None
        key, after = self._begun
        before = self.documents.pop(key, [])
        if after:
            self.documents[key] = after
        self.gone += [f"{key.partition('/')[0]}/{passage}" for passage in before if passage not in after]
        self._begun = None


def _live_and_die(
    command: Sequence[str], told: Told, after_s: float, *, from_start: bool, only_check: bool
) -> dict[str, Any] | None:
    """One life of the child, killed some time after its start or after its check. Returns what the check found."""
    checked: dict[str, Any] | None = None
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        json.dump(told.to_check(), child.stdin)
        child.stdin.close()
        timer = Timer(after_s, child.kill)
        if from_start:
            timer.start()
        for line in child.stdout:
            if not line.endswith("\n"):
                break  # cut off by the kill: never said
            message = json.loads(line)
            told.hear(message)
            if "checked" in message:
                checked = message
                if only_check:
                    child.kill()
                elif not from_start:
                    timer.start()
    timer.cancel()
    if child.returncode != -9:
        raise RuntimeError(f"the child ended by itself with {child.returncode}")
    return checked


def _add(report: CrashReport, checked: dict[str, Any] | None, *, killed: bool, in_recovery: bool) -> CrashReport:
    if checked is None:
        return replace(report, kills=report.kills + killed, kills_in_recovery=report.kills_in_recovery + in_recovery)
    findings: dict[str, Any] = {name: (*getattr(report, name), *checked[name]) for name in FINDINGS}
    return replace(
        report,
        kills=report.kills + killed,
        checked=report.checked + checked["checked"],
        **findings,
    )


def _times(checks: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Median and longest seconds after a kill."""
    names = {"ready": "ready_s", "both_legs": "answered_s", "whole": "whole_s"}
    seconds = {name: [check[key] for check in checks] for name, key in names.items()}
    medians = {f"median_{name}_s": statistics.median(values) for name, values in seconds.items()}
    longest = {f"longest_{name}_s": max(values) for name, values in seconds.items()}
    return {**medians, **longest, "longest_recovery_s": max(check["recovery_s"] for check in checks)}


def _line(number: int, told: Told, checked: dict[str, Any] | None) -> str:
    if checked is None:
        return f"round {number}: killed in the recovery"
    wrong = ", ".join(f"{name} {len(checked[name])}" for name in FINDINGS if checked[name])
    return (
        f"round {number}: {checked['checked']} passages checked, {told.acknowledged} steps so far; open after "
        f"{checked['ready_s']:.2f} s, both legs {checked['answered_s']:.2f}, whole {checked['whole_s']:.2f} "
        f"({checked['lacking']} passages were left to do), all indexes {checked['recovery_s']:.1f}"
        f"{', WRONG: ' + wrong if wrong else ''}"
    )


def main() -> None:
    """Print a table of what was lost."""
    args = arguments("kill -9 at random moments.", add=_options)
    with scratch_folder(args.scratch) as scratch:
        report = run(args.rounds, args.seed, scratch / "crash", full=args.full)
    rows = [[field.name.replace("_", " "), _count(getattr(report, field.name))] for field in fields(report)]
    title = f"kill -9, {args.rounds} times, seed {args.seed}"
    show(asdict(report), [(title, ["", "found"], rows)], as_json=args.json)
    sys.exit(0 if report.sound else 1)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=40, help="how many kills (default 40)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--full", type=int, default=1500, help="passages of the largest collection (default 1500)")


def _count(value: float | tuple[str, ...]) -> float:
    return len(value) if isinstance(value, tuple) else value


if __name__ == "__main__":
    main()
