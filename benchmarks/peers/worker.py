"""The process of one peer: a JSON order per line, a JSON answer per line. `benchmarks.peers.process` drives it."""

from __future__ import annotations

import ctypes
import gc
import importlib
import importlib.metadata
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import folder_mb, resident_mb
from benchmarks.peers.interface import FloatVector, IncompleteError, Passage, Peer
from benchmarks.peers.workload import Query, read_collections, read_queries

K = 10
FRESH_K = 100
"""Deep enough that a first hit of one leg is among them even where each collection has lists of its own."""
FRESH_WORD = "zyzzogeton"
OTHER_WORD = "qwxvzzk"
FRESH_TIMEOUT_S = 60.0


class Worker:
    """One peer, its queries, and the answers to the orders."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._engine: type[Peer]
        self._peer: Peer
        self._folder: Path
        self._queries: list[Query] = []
        self._collection = ""
        self._threads: list[threading.Thread] = []

    def hello(self) -> dict[str, Any]:
        """Import the library. Returns how it is set up and the versions, or why it cannot be measured."""
        try:
            self._engine = importlib.import_module(f"benchmarks.peers.engines.{self._name}").Engine
        except ImportError as error:
            return {"missing": str(error)}
        versions = {package: importlib.metadata.version(package) for package in self._engine.packages}
        return {"about": self._engine.about, "versions": versions}

    def build(self, workload: str, folder: str) -> dict[str, Any]:
        """Store and index a workload, and wait until nothing goes on in the background."""
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        collections = read_collections(Path(workload))
        self._queries = read_queries(Path(workload))
        self._collection = next(iter(collections))
        before = resident_mb()
        self._peer = self._engine(self._folder)
        started = time.perf_counter()
        self._peer.build(collections)
        built = time.perf_counter()
        if settle := getattr(self._peer, "settle", None):
            settle()
        return {"build_s": built - started, "settle_s": time.perf_counter() - built, "rss_before_mb": before}

    def attach(self, workload: str, folder: str) -> dict[str, Any]:
        """Open what the first process of this peer has built. Returns why that is not possible, or nothing."""
        self._folder = Path(folder)
        self._queries = read_queries(Path(workload))
        self._peer = self._engine(self._folder)
        if (attach := getattr(self._peer, "attach", None)) is None:
            self._peer.close()
            return {"failed": "it is searched by one process"}
        attach(list(read_collections(Path(workload))))
        return {}

    def ask(
        self, numbers: Sequence[int], *, clients: int, below: int | None, start_s: float, cap_s: float
    ) -> dict[str, Any]:
        """Search for these queries from so many threads. None is started after ``start_s``; those that are not done
        after ``cap_s`` are left out.
        """
        todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in numbers:
            todo.put(number)
        self._finish()
        answers: list[tuple[float, int, int]] = []
        errors: list[str] = []
        started = time.perf_counter()
        arguments = (todo, started + start_s, below, answers, errors)
        self._threads = [threading.Thread(target=self._client, args=arguments, daemon=True) for _ in range(clients)]
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join(max(0.0, started + cap_s - time.perf_counter()))
        wall_s = time.perf_counter() - started
        done = list(answers)
        found = [hits for _, _, hits in done]
        return {"ms": [ms for ms, _, _ in done], "hits": found, "wall_s": wall_s, "error": next(iter(errors), "")}

    def _client(
        self, todo: queue.SimpleQueue[int], deadline: float, below: int | None, answers: list[Any], errors: list[str]
    ) -> None:
        with suppress(queue.Empty):
            while time.perf_counter() < deadline and not errors:
                number = todo.get_nowait()
                query = self._queries[number]
                started = time.perf_counter()
                try:
                    hits = len(self._peer.search(query.text, query.vector, K, below))
                except Exception as error:  # the edge to a library that is measured: its failure is a figure
                    errors.append(f"{type(error).__name__}: {error}"[:300])
                    return
                answers.append((1000 * (time.perf_counter() - started), number, hits))

    def _finish(self) -> None:
        """Wait for searches that the last order did not wait for."""
        for thread in self._threads:
            thread.join()

    def answers(self) -> dict[str, Any]:
        """The ids found for every query."""
        return {"found": [self._peer.search(query.text, query.vector, K, None) for query in self._queries]}

    def put(self) -> dict[str, Any]:
        """Seconds from the put of a passage until it is found by its word alone; another one, by its vector alone."""
        dice = np.random.default_rng(1)
        first, second, other = dice.standard_normal((3, len(self._queries[0].vector)), dtype=np.float32)
        put_s, by_word = self._put_and_find("first#0", f"the {FRESH_WORD} is new", first, Query(FRESH_WORD, "", other))
        _, by_vector = self._put_and_find("second#0", "the pump is new", second, Query(OTHER_WORD, "", second))
        self._settle()
        return {"put_s": put_s, "found_by_word_s": by_word, "found_by_vector_s": by_vector}

    def _settle(self) -> None:
        """Wait until no part of the peer has anything to catch up on, so that what is measured next is complete."""
        query, started = self._queries[0], time.perf_counter()
        while time.perf_counter() - started < FRESH_TIMEOUT_S:
            with suppress(IncompleteError):
                self._peer.search(query.text, query.vector, K, None)
                return
            time.sleep(0.05)

    def _put_and_find(self, name: str, text: str, vector: FloatVector, query: Query) -> tuple[float, float | None]:
        fresh = Passage(name, self._collection, text, 0, vector / np.linalg.norm(vector))
        unit = Query(query.text, "", query.vector / np.linalg.norm(query.vector))
        started = time.perf_counter()
        self._peer.put(fresh)
        put_s = time.perf_counter() - started
        return put_s, self._found_s(started, unit, fresh.id)

    def _found_s(self, started: float, query: Query, wanted: str) -> float | None:
        while wanted not in self._found(query):
            if time.perf_counter() - started > FRESH_TIMEOUT_S:
                return None
            time.sleep(0.005)
        return time.perf_counter() - started

    def _found(self, query: Query) -> list[str]:
        try:
            return self._peer.search(query.text, query.vector, FRESH_K, None)
        except IncompleteError as error:
            return error.found

    def size(self) -> dict[str, Any]:
        """Memory now, after what can be given back was given back, and files."""
        gc.collect()
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        return {"rss_mb": resident_mb(), "disk_mb": folder_mb(self._folder)}

    def close(self) -> dict[str, Any]:
        """Close the peer."""
        self._finish()
        self._peer.close()
        return {}


def main() -> None:
    """Serve orders until there are no more. What libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = getattr(worker, order.pop("do"))(**order)
        except Exception as error:  # the edge to a library that is measured: its failure is a figure
            answer = {"failed": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
