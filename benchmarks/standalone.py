"""A hybrid retriever over a Chroma collection that plain langchain-chroma code made and goes on writing."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

from langchain_chroma import Chroma

from benchmarks.common import WordVectors, arguments, note, percentiles, scratch_folder, show
from braid.core.models.embeddings import named_model
from braid.core.standalone.retriever import HybridRetriever

BATCH = 2_000
ADDED = 100
SEARCHES = 50
T = TypeVar("T")


def main() -> None:
    """Time the first search, later ones, and the one after additions."""
    given = arguments(__doc__ or "", add=_options)
    with scratch_folder(given.scratch) as folder:
        model = named_model(WordVectors())
        store = Chroma("elsewhere", model, persist_directory=str(folder / "chroma"))  # type: ignore[arg-type]
        have = store._collection.count()
        for start in range(have, given.chunks, BATCH):
            numbers = range(start, min(start + BATCH, given.chunks))
            store.add_texts([_text(n) for n in numbers], [{"filepath": f"/{n % 2000}.md"} for n in numbers])
            note(f"{numbers.stop} chunks")
        with HybridRetriever(store) as retriever:
            rows = _measure(retriever, store)
    show(dict(rows), [(f"{given.chunks:,} chunks", ("what", "ms"), rows)], as_json=given.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chunks", type=int, default=40_000)


def _measure(retriever: HybridRetriever, store: Chroma) -> list[tuple[str, float]]:
    first, _ = _timed(lambda: retriever.search(_query(0)))
    later = percentiles([_timed(lambda n=n: retriever.search(_query(n)))[0] for n in range(1, SEARCHES)])
    store.add_texts([f"{_text(n)} novelty{n}" for n in range(ADDED)])
    after, found = _timed(lambda: retriever.search(f"novelty{ADDED - 1}"))
    assert f"novelty{ADDED - 1}" in found[0]["document"]
    again, _ = _timed(lambda: retriever.search(_query(3)))
    return [
        ("first search, which builds the keyword index", first),
        ("later searches, p50", later["p50"]),
        ("later searches, p95", later["p95"]),
        (f"first search after {ADDED} additions by the other code", after),
        ("the one after it", again),
    ]


def _timed(call: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = call()
    return (time.perf_counter() - start) * 1000, result


def _text(n: int) -> str:
    return " ".join(f"word{(n * 7919 + i * i * 104729) % 5000}" for i in range(80))


def _query(n: int) -> str:
    return " ".join(f"word{(n * 31 + i * 977) % 5000}" for i in range(5))


if __name__ == "__main__":
    main()
