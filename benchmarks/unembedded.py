"""Hybrid search while a random half of the passages has no vector yet: nDCG@10 on the judged sets, by fusion.

Rankings are those of the legs: exact cosines of vectors.npz, and tantivy's scores. "Without a vector" counts, of each
query, only the judged documents of the half that has no vectors; queries that have none are left out.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.common import SETS, arguments, judged_sets, note, show
from braid.core.evaluation.beir import VECTORS, JudgedSet, read_vectors
from braid.core.indexes.bm25 import Bm25Index
from braid.core.indexes.vector_block import SAMPLE
from braid.core.ledger.change_log import IndexedChunk
from braid.core.search.ranking import Ranking, fuse
from braid.core.search.strategies.base import QueryVariant
from braid.core.text.analyzer import Analyzer
from braid.core.types import Fusion, Query, ScoredChunk, indexed_text
from braid.core.vector import Vector

SEED = 7
FUSIONS: tuple[Fusion, ...] = ("auto", "rrf", "weighted")
WAYS = ("all embedded", "keyword", "half, punished", "half")


@dataclass(frozen=True, slots=True)
class Judgements:
    """One query's keyword ranking, its cosines with every document, and its grades."""

    keyword: tuple[ScoredChunk, ...]
    cosines: Vector
    grades: Mapping[str, int]


def main() -> None:
    """Print nDCG@10 on all judgements, and on those of the documents without a vector."""
    args = arguments("Hybrid search while half of the passages has no vector yet.", add=_options)
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for judged in judged_sets(args.sets):
        note(judged.name)
        figures[judged.name] = measure(judged, args.queries)
    tables = []
    for part in ("all judgements", "without a vector"):
        for fusion in FUSIONS:
            columns = [f"{fusion} {way}" for way in WAYS]
            rows = [[name, *(found[part][column] for column in columns)] for name, found in figures.items()]
            mean = [fmean(found[part][column] for found in figures.values()) for column in columns]
            tables.append((f"{part}, fusion {fusion}", ["set", *WAYS], [*rows, ["mean of sets", *mean]]))
    show(figures, tables, as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, default=0, help="at most so many a set, 0 for all (default)")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="SET")


def measure(judged: JudgedSet, queries: int = 0) -> dict[str, dict[str, float]]:
    """Return nDCG@10 by part of the judgements and by fusion and way."""
    ids = [document.id for document in judged.documents]
    without = set(random.Random(SEED).sample(ids, len(ids) // 2))
    found: dict[str, dict[str, list[float]]] = {"all judgements": {}, "without a vector": {}}
    for each in collect(judged, queries):
        for way, order in _orders(each, ids, without).items():
            found["all judgements"].setdefault(way, []).append(ndcg(order, each.grades))
            if kept := {name: grade for name, grade in each.grades.items() if name in without}:
                found["without a vector"].setdefault(way, []).append(ndcg(order, kept))
    return {part: {way: fmean(values) for way, values in ways.items()} for part, ways in found.items()}


def collect(judged: JudgedSet, queries: int = 0) -> list[Judgements]:
    """Return what both legs find for the judged queries."""
    with np.load(judged.folder / VECTORS) as arrays:
        stored = read_vectors(judged, str(arrays["model"]))
    assert stored is not None, "the file names its own model"
    vectors = np.stack([stored.documents[document.id] for document in judged.documents])
    analyzer, depth = Analyzer(), Query("any").fetch_k
    chosen = sorted(judged.queries)
    if queries:
        chosen = random.Random(SEED).sample(chosen, min(queries, len(chosen)))
    with tempfile.TemporaryDirectory() as scratch:
        index = Bm25Index(Path(scratch), analyzer)
        texts = {document.id: indexed_text(document.title, "", document.text) for document in judged.documents}
        index.apply("all", [IndexedChunk(name, 1, 1, None, text) for name, text in texts.items()], [])
        found = []
        for query_id in chosen:
            text = judged.queries[query_id]
            terms = {term: float(count) for term, count in Counter(analyzer.tokens(text)).items()}
            keyword = tuple(index.search("all", terms, depth)) if terms else ()
            found.append(Judgements(keyword, vectors @ stored.queries[text], judged.judgements[query_id]))
        index.close()
    return found


def _orders(each: Judgements, ids: Sequence[str], without: set[str]) -> dict[str, list[str]]:
    """Return the ranking of every fusion and way."""
    everything = _dense(each.cosines, ids, set())
    half = _dense(each.cosines, ids, without)
    unembedded = {hit.chunk_id: "" for hit in each.keyword if hit.chunk_id in without}
    orders = {}
    for fusion in FUSIONS:
        query = Query("any", fusion=fusion, alpha=0.5 if fusion == "weighted" else None)
        keyword = Ranking("bm25", everything.variant, query.weight_of("bm25"), each.keyword)
        for way, rankings in {
            "all embedded": [everything, keyword],
            "keyword": [keyword],
            "half, punished": [half, keyword],
            "half": [half, replace(keyword, unembedded=unembedded)],
        }.items():
            weighed = [replace(ranking, weight=query.weight_of(ranking.leg)) for ranking in rankings]
            asked = replace(query, mode="keyword") if way == "keyword" else query
            orders[f"{fusion} {way}"] = [hit.chunk_id for hit in fuse(asked, weighed).order[:10]]
    return orders


VARIANT = QueryVariant("any")


def _dense(cosines: Vector, ids: Sequence[str], without: set[str]) -> Ranking:
    there = [n for n, name in enumerate(ids) if name not in without]
    scores = cosines[there]
    best = np.argsort(-scores, kind="stable")[: Query("any").fetch_k]
    hits = tuple(ScoredChunk(ids[there[n]], float(scores[n])) for n in best)
    return Ranking("dense", VARIANT, 1.0, hits, "", float(np.std(scores[:: max(1, len(there) // SAMPLE)])))


def ndcg(order: Sequence[str], grades: Mapping[str, Any]) -> float:
    """Return nDCG@10 with the grades as gains (Järvelin and Kekäläinen 2002)."""
    best = sorted(grades.values(), reverse=True)[:10]
    ideal = sum(grade / math.log2(n + 2) for n, grade in enumerate(best))
    return sum(grades.get(name, 0) / math.log2(n + 2) for n, name in enumerate(order[:10])) / ideal if ideal else 0.0


if __name__ == "__main__":
    main()
