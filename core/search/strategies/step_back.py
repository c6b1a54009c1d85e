"""Strategy ``step_back``: a more general question beside the query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Literal

from braid.core.models.replies import parse_queries
from braid.core.search.feedback_terms import best_terms, passage_text, words_of
from braid.core.search.strategies.base import ExpandOnly, Expansion, Parameter, QueryVariant, Tools
from braid.core.types import Hit, Query

MIN_PASSAGES = 2
"""Fewest of the first passages that a term must be in to represent the subject."""


class StepBack(ExpandOnly):
    """Searches for a more general question, too, and fuses what both find by RRF.

    Zheng et al., "Take a Step Back: Evoking Reasoning via Abstraction in Large Language Models", ICLR 2024. Without a
    model the terms that most of the first passages share, the rarer the better, represent the subject of the query.
    """

    description = "Searches for a more general question, too, for the background of the answer."
    costs: Mapping[Literal["llm", "feedback"], str] = {
        "llm": "1 model call, 2 embeddings at once",
        "feedback": "no model call, 1 embedding, a second keyword search",
    }
    parameters: Mapping[str, Parameter] = MappingProxyType(
        {
            "general_weight": Parameter(
                0.3, 0.0, 1.0, "Weight of the general question that the model writes; the query has the rest"
            ),
            "feedback_passages": Parameter(5, 1, 50, "Passages of the first search that feedback reads"),
            "feedback_terms": Parameter(6, 1, 100, "Terms that most of these passages share and that are searched for"),
            "feedback_weight": Parameter(
                0.1, 0.0, 1.0, "Weight of the search with these terms; the query has the rest"
            ),
        }
    )

    def expand(self, query: Query, tools: Tools) -> Expansion:
        """Return the query and the general question."""
        parse = partial(parse_queries, question=query.text, limit=1)
        general = tools.ask(tools.prompts.step_back, parse, question=query.text)
        if general:
            weight = query.parameters["general_weight"]
            variants = (tools.original.with_weight(1 - weight), QueryVariant(general[0], weight))
            return Expansion(variants, tools.model_name)
        return self._feedback(query, tools)

    def _feedback(self, query: Query, tools: Tools) -> Expansion:
        if query.mode == "semantic":
            return Expansion((tools.original,), "feedback")
        hits = tools.first_pass(int(query.parameters["feedback_passages"]))
        terms = shared_terms(tools, hits, int(query.parameters["feedback_terms"]))
        if not terms:
            return Expansion((tools.original,), "feedback")
        weight = query.parameters["feedback_weight"]
        words = " ".join(words_of(tools.analyzer, terms, [passage_text(hit.passage) for hit in hits]))
        subject = QueryVariant(words, weight, legs=("bm25",), terms=terms)
        return Expansion((tools.original.with_weight(1 - weight), subject), "feedback")


def shared_terms(tools: Tools, hits: Sequence[Hit], count: int) -> dict[str, float]:
    """Return up to ``count`` terms that are in most of these passages, the heaviest by passages and idf first."""
    having = Counter(term for hit in hits for term in set(tools.analyzer.tokens(passage_text(hit.passage))))
    enough = max(MIN_PASSAGES, (len(hits) + 1) // 2)
    shared = {term: number / len(hits) for term, number in having.items() if number >= enough}
    idf = tools.idf(shared)
    return best_terms({term: share * idf.get(term, 0.0) for term, share in shared.items()}, count)
