"""Strategy ``step_back``: a more general question beside the query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Literal

from braid.core.models.replies import parse_queries
from braid.core.search.feedback_terms import FEEDBACK_PASSAGES, best_terms, passage_text, words_of
from braid.core.search.strategies.base import ExpandOnly, Expansion, QueryVariant, Tools
from braid.core.types import Query

GENERAL_WEIGHT = 0.3
"""Weight of the general question in the fusion when a model wrote it."""
FEEDBACK_WEIGHT = 0.1
GENERAL_TERMS = 6
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

    def expand(self, query: Query, tools: Tools) -> Expansion:
        """Return the query and the general question."""
        parse = partial(parse_queries, question=query.text, limit=1)
        general = tools.ask(tools.prompts.step_back, parse, question=query.text)
        if general:
            variants = (tools.original.with_weight(1 - GENERAL_WEIGHT), QueryVariant(general[0], GENERAL_WEIGHT))
            return Expansion(variants, tools.model_name)
        terms = {} if query.mode == "semantic" else shared_terms(tools)
        if not terms:
            return Expansion((tools.original,), "feedback")
        texts = [passage_text(hit.passage) for hit in tools.first_pass(FEEDBACK_PASSAGES)]
        words = " ".join(words_of(tools.analyzer, terms, texts))
        subject = QueryVariant(words, FEEDBACK_WEIGHT, legs=("bm25",), terms=terms)
        return Expansion((tools.original.with_weight(1 - FEEDBACK_WEIGHT), subject), "feedback")


def shared_terms(tools: Tools) -> dict[str, float]:
    """Return the terms in most of the first passages, the heaviest by passages and idf first."""
    hits = tools.first_pass(FEEDBACK_PASSAGES)
    having = Counter(term for hit in hits for term in set(tools.analyzer.tokens(passage_text(hit.passage))))
    enough = max(MIN_PASSAGES, (len(hits) + 1) // 2)
    shared = {term: count / len(hits) for term, count in having.items() if count >= enough}
    idf = tools.idf(shared)
    return best_terms({term: share * idf.get(term, 0.0) for term, share in shared.items()}, GENERAL_TERMS)
