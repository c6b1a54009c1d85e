"""Processes that search one data directory by themselves, while the one that indexes is killed again and again:
``python -m tests.chaos.readers --readers 4 --kills 20``.

One process writes and deletes documents, and each searches all the time. Whoever indexes is killed, and started
again as what it was. No search of another process may fail or miss anything for that; what was deleted must not come
back, and what was acknowledged must be in both indexes in the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from braid.core.braid import Braid
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.owners.owner import read_note
from tests.chaos.workers import MANUALS, NOTES, QUESTIONS, ROOT, prepare
from tests.fakes import HashEmbeddings
from tests.forked_children import python
from tests.worlds import WAIT_S, document, eventually

ANN, COLLECTION = 1, "user_1"
KEPT = 20
"""Documents that a writer leaves before it deletes one for each that it adds."""
SEARCHES, WRITES = 10, 5
"""Searches of each process, and documents, before somebody is killed."""
BATCH = 40
"""Passages of a document, so that a kill often comes while something is written into the indexes."""


@dataclass
class Seen:
    """What the processes said, and what was wrong with it."""

    said: Counter[str] = field(default_factory=Counter)
    stored: dict[str, float] = field(default_factory=dict)
    """Documents that were acknowledged, with the moment."""
    doomed: set[str] = field(default_factory=set)
    """Documents whose deletion had begun."""
    deleted: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, name: str, told: dict[str, Any]) -> None:
        """Take in what a process said, and judge it."""
        with self.lock:
            for source in told.get("stored", ()):
                self.stored[source] = told["at"]
            self.doomed.update(told.get("dooms", ()))
            for source in told.get("deleted", ()):
                self.deleted[source] = told["at"]
            if "found" in told:
                ghosts = [each for each in told["found"] if self.deleted.get(each, told["at"]) < told["at"]]
                self.wrong += [f"{name} found {each}, which was deleted" for each in ghosts]
                self.wrong += [f"{name}: {each}" for each in told["wrong"]]
                self.said[name] += 1


class Process:
    """A process with a `Braid` of its own; what it says is taken in until it ends."""

    def __init__(self, data_dir: Path, kind: str, expected: dict[str, list[str]], seen: Seen, number: int) -> None:
        self.kind = kind
        self.name = f"{kind} {number}"
        self._seen = seen
        command = ("-m", "tests.chaos.readers", "--child", kind, str(data_dir))
        self._process = python(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(expected) + "\n")
        self._process.stdin.flush()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with suppress(json.JSONDecodeError):  # it was killed in the middle of a line
                    self._seen.take(self.name, json.loads(line))

    def kill(self) -> None:
        """End it as a crash would."""
        os.kill(self.pid, signal.SIGKILL)
        self.end()

    def ask_to_end(self) -> None:
        """Tell it that nobody listens any more."""
        with suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]

    def end(self) -> None:
        """Have it end, and take in the rest of what it said."""
        self.ask_to_end()
        self._process.wait(WAIT_S)
        self._listener.join(WAIT_S)


def run(data_dir: Path, *, readers: int, kills: int) -> Seen:
    """Run it all. Raises AssertionError."""
    _, expected = prepare(data_dir)
    seen, number = Seen(), 0
    processes = [Process(data_dir, "writer", expected, seen, number)]
    try:
        eventually(lambda: read_note(data_dir), WAIT_S)
        for number in range(1, readers + 1):
            processes.append(Process(data_dir, "reader", expected, seen, number))
        for kill in range(kills + 1):
            _let_work(processes, seen)
            if kill < kills:
                note = eventually(lambda: read_note(data_dir), WAIT_S)
                [owner] = [each for each in processes if each.pid == note.pid]
                owner.kill()
                number += 1
                processes.remove(owner)
                processes.append(Process(data_dir, owner.kind, expected, seen, number))
                eventually(lambda before=note.pid: _is_another(data_dir, before), WAIT_S)  # type: ignore[misc]
    finally:
        for process in processes:
            process.ask_to_end()  # all of them before the first is waited for: those that go on take its time
        for process in processes:
            process.end()
    assert not seen.wrong, seen.wrong[:5]
    check(data_dir, seen)
    return seen


def _let_work(processes: list[Process], seen: Seen) -> None:
    searched, stored = Counter(seen.said), len(seen.stored)
    eventually(
        lambda: (
            seen.wrong
            or (
                all(seen.said[each.name] >= searched[each.name] + SEARCHES for each in processes)
                and len(seen.stored) >= stored + WRITES
            )
        ),
        WAIT_S,
    )


def _is_another(data_dir: Path, before: int) -> bool:
    note = read_note(data_dir)
    return note is not None and note.pid != before


def check(data_dir: Path, seen: Seen) -> None:
    """Raise AssertionError unless what was acknowledged, and nothing that was deleted, is in both indexes."""
    with Braid(data_dir, embedding_model=HashEmbeddings()) as braid:
        assert braid.indexer.wait(WAIT_S)
        kept = {each.source for each in braid.ledger.documents(NOTES, limit=100_000)}
        assert not kept & set(seen.deleted), "deleted, and there again"
        assert set(seen.stored) - seen.doomed <= kept, "acknowledged, and not there"
        ids = ChangeLog(braid.ledger.database).chunk_ids(COLLECTION)
        assert set(braid.dense.ids(COLLECTION)) == set(braid.bm25.ids(COLLECTION)) == ids
        assert braid.dense.check(COLLECTION) == braid.bm25.check(COLLECTION) == ""
        for source in kept:
            result = braid.search(_text(source, 0), user_id=ANN, dataset_ids=[NOTES], mode="keyword", k=1)
            assert not result.degraded, result.degraded
            assert [hit.passage.source for hit in result.hits] == [source]


# ---------------------------------------------------------------- in a process


def child(kind: str, data_dir: Path) -> None:
    """Search, and write if that is its kind, until nobody listens any more."""
    expected = json.loads(sys.stdin.readline())
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    with Braid(data_dir, embedding_model=HashEmbeddings()) as braid:
        dice = random.Random(os.getpid())
        written: list[str] = []
        while not over.is_set():
            if kind == "writer":
                _write(braid, written)
            _say(**_searched(braid, dice.choice(QUESTIONS), expected))


def _write(braid: Braid, written: list[str]) -> None:
    source = f"note{time.monotonic_ns()}.md"
    braid.ledger.put_document(NOTES, document(source, *(_text(source, number) for number in range(BATCH))))
    written.append(source)
    _say(stored=[source])
    if len(written) > KEPT:
        old = written.pop(0)
        _say(dooms=[old])
        braid.ledger.remove_document(NOTES, old)
        _say(deleted=[old])


def _text(source: str, number: int) -> str:
    return f"a note called {source.removesuffix('.md')}x{number} is in part {number}"


def _searched(braid: Braid, question: str, expected: dict[str, list[str]]) -> dict[str, Any]:
    """Search in what nobody writes, where everything has to be right, and in what is written."""
    at, reads = time.monotonic(), not braid.is_owner
    wrong = []
    result = braid.search(question, user_id=ANN, dataset_ids=[MANUALS], fusion="auto")
    reads = reads and not braid.is_owner  # who has just become the owner looks at its indexes first
    if reads and (result.degraded or [hit.passage.chunk_id for hit in result.hits] != expected[question]):
        wrong.append(f"{question!r} has other hits, or not all: {result.degraded}")
    written = braid.search("a note called", user_id=ANN, dataset_ids=[NOTES], k=20)
    return {"at": at, "found": sorted({hit.passage.source for hit in written.hits}), "wrong": wrong}


def _say(**told: Any) -> None:
    print(json.dumps({"at": time.monotonic(), **told}), flush=True)


def main() -> None:
    """Read the arguments, run, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--child", nargs=2, metavar=("KIND", "DIR"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child[0], Path(given.child[1]))
        return
    with tempfile.TemporaryDirectory(prefix="braid-") as folder:
        started = time.monotonic()
        seen = run(Path(folder) / "data", readers=given.readers, kills=given.kills)
    print(
        f"{seen.said.total()} searches of {given.readers} readers and a writer in {time.monotonic() - started:.0f} s, "
        f"{given.kills} kills: none failed; {len(seen.stored)} documents stored and {len(seen.deleted)} deleted, none "
        "lost, none came back"
    )


if __name__ == "__main__":
    main()
