"""What a search costs in processes that read the indexes, beside the same search in the one that writes them.

The owner is one process, the others are guests of it, as gunicorn's workers are. Queries are asked in turn, so that
what else the machine does touches all alike.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.common import arguments, note, percentiles, scratch_folder, show
from benchmarks.passages import scale_passages, word_queries
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput

PASSAGES = 2_000
QUERIES = 200
WARM_UP = 10
GUESTS = 3
MODES = ("hybrid", "semantic", "keyword")
THREADS = 1
INDEXING_TIMEOUT_S = 3_600


def main() -> None:
    """Fill a directory, measure, and print both figures with their ratio."""
    args = arguments("A search in the process that writes the indexes, and in others that read them.", add=_options)
    passages = scale_passages(args.passages)
    with scratch_folder(args.scratch) as scratch:
        _fill(scratch / "data", passages)
        queries = word_queries([text for _, text in passages], args.queries + WARM_UP)
        figures = {mode: _measured(scratch / "data", queries, mode) for mode in MODES}
        together = _together(scratch / "data", queries)
    columns = ["mode", "owner p50 ms", "guest p50 ms", "guest : owner", "owner p95 ms", "guest p95 ms"]
    rows = [[mode, *(row[column] for column in columns[1:])] for mode, row in figures.items()]
    at_once = [[f"{GUESTS} guests at once, hybrid", together["p50"], together["p95"], together["per_s"]]]
    tables = [
        (f"{args.passages} passages, {args.queries} queries, one after the other", columns, rows),
        ("all at once", ["who", "p50 ms", "p95 ms", "searches per s"], at_once),
    ]
    show({"alone": figures, "together": together}, tables, as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--passages", type=int, default=PASSAGES)
    parser.add_argument("--queries", type=int, default=QUERIES)


def _fill(data_dir: Path, passages: list[tuple[str, str]]) -> None:
    with Braid(data_dir) as braid:
        if not braid.ledger.users():
            dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "passages").id
            documents = [
                DocumentInput(name, "", "txt", (ChunkInput(text),), content_hash=name) for name, text in passages
            ]
            braid.ledger.put_documents(dataset, documents)
        if not braid.indexer.wait(INDEXING_TIMEOUT_S):
            raise SystemExit(f"not indexed within {INDEXING_TIMEOUT_S} s")
        note("filled")


def _measured(data_dir: Path, queries: list[str], mode: str) -> dict[str, float]:
    with Braid(data_dir, embedding_threads=THREADS, must_own=True) as owner, _Guest(data_dir) as guest:
        milliseconds: dict[str, list[float]] = {"owner": [], "guest": []}
        for query in queries:
            milliseconds["owner"].append(_milliseconds(owner, query, mode))
            milliseconds["guest"].append(guest.ask([query], mode)[0])
    found = {name: percentiles(taken[WARM_UP:]) for name, taken in milliseconds.items()}
    return {
        **{f"{name} {part} ms": found[name][part] for name in found for part in ("p50", "p95")},
        "guest : owner": found["guest"]["p50"] / found["owner"]["p50"],
    }


def _together(data_dir: Path, queries: list[str]) -> dict[str, float]:
    with Braid(data_dir, embedding_threads=THREADS, must_own=True):
        guests = [_Guest(data_dir) for _ in range(GUESTS)]
        for guest in guests:
            guest.ask(queries[:WARM_UP], "hybrid")
        started = time.perf_counter()
        for guest in guests:
            guest.begin(queries[WARM_UP:], "hybrid")
        taken = [each for guest in guests for each in guest.end()]
        seconds = time.perf_counter() - started
        for guest in guests:
            guest.__exit__()
    return {**percentiles(taken), "per_s": len(taken) / seconds}


def _milliseconds(braid: Braid, query: str, mode: Any) -> float:
    started = time.perf_counter()
    result = braid.search(query, user_id=1, mode=mode, fusion="auto", k=5)
    taken = 1000 * (time.perf_counter() - started)
    assert result.hits, query
    assert not result.degraded, result.degraded
    return taken


class _Guest:
    """A process that reads the indexes."""

    def __init__(self, data_dir: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_search_when_asked, args=(data_dir, other), daemon=True)
        self._process.start()

    def begin(self, queries: list[str], mode: str) -> None:
        """Have it search."""
        self._pipe.send((queries, mode))

    def end(self) -> list[float]:
        """Return the milliseconds of each search."""
        taken: list[float] = self._pipe.recv()
        return taken

    def ask(self, queries: list[str], mode: str) -> list[float]:
        """Search, and return the milliseconds of each."""
        self.begin(queries, mode)
        return self.end()

    def __enter__(self) -> _Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join(30)


def _search_when_asked(data_dir: Path, pipe: Connection) -> None:
    with Braid(data_dir, embedding_threads=THREADS) as guest:
        assert not guest.is_owner
        while True:
            try:
                queries, mode = pipe.recv()
            except EOFError:
                return
            pipe.send([_milliseconds(guest, query, mode) for query in queries])


if __name__ == "__main__":
    main()
