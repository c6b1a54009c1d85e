"""Strategy ``multi_query``: several ways of putting the query, fused."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal

from braid.core.models.replies import parse_queries
from braid.core.search.feedback_terms import (
    FEEDBACK_PASSAGES,
    FEEDBACK_TERMS,
    best_terms,
    passage_text,
    reciprocal_ranks,
    relevance_model,
    rm3,
    words_of,
)
from braid.core.search.strategies.base import ExpandOnly, Expansion, QueryVariant, Tools
from braid.core.types import Query

VARIANTS = 3
ORIGINAL_WEIGHT = 0.5
"""Weight of the query itself in the fusion; the variants have the rest, so that a bad one cannot outvote it."""
FEEDBACK_WEIGHT = 0.3
"""Weight of the variant that pseudo-relevance feedback writes."""


class MultiQuery(ExpandOnly):
    """Searches for the query and variants of it and fuses the rankings by RRF.

    The model's variants follow LangChain's MultiQueryRetriever, which only unites what they find. Without a model one
    variant has the terms that distinguish the passages of the first pass (RM3, see `braid.core.search.feedback_terms`).
    """

    description = "Searches for several ways of putting the query and fuses what they find."
    costs: Mapping[Literal["llm", "feedback"], str] = {
        "llm": f"1 model call, up to {VARIANTS + 1} embeddings at once",
        "feedback": "no model call, 1 embedding, a second keyword search",
    }

    def expand(self, query: Query, tools: Tools) -> Expansion:
        """Return the query, and variants by the model or from the first pass."""
        parse = partial(parse_queries, question=query.text, limit=VARIANTS)
        texts = tools.ask(tools.prompts.multi_query, parse, count=VARIANTS, question=query.text)
        if texts:
            weight = (1 - ORIGINAL_WEIGHT) / len(texts)
            variants = (QueryVariant(text, weight) for text in texts)
            return Expansion((tools.original.with_weight(ORIGINAL_WEIGHT), *variants), tools.model_name)
        return self._feedback(query, tools)

    def _feedback(self, query: Query, tools: Tools) -> Expansion:
        terms = feedback_terms(tools)
        if not terms or query.mode == "semantic":
            return Expansion((tools.original,), "feedback")
        hits = tools.first_pass(FEEDBACK_PASSAGES)
        words = words_of(tools.analyzer, terms, [passage_text(hit.passage) for hit in hits])
        return Expansion(
            (
                tools.original.with_weight(1 - FEEDBACK_WEIGHT),
                QueryVariant(
                    " ".join([query.text, *words]),
                    FEEDBACK_WEIGHT,
                    legs=("bm25",),
                    terms=rm3(tools.analyzer.tokens(query.text), terms),
                ),
            ),
            "feedback",
        )


def feedback_terms(tools: Tools) -> dict[str, float]:
    """Return the terms that distinguish the first passages, heaviest first."""
    hits = tools.first_pass(FEEDBACK_PASSAGES)
    texts = [tools.analyzer.tokens(passage_text(hit.passage)) for hit in hits]
    model = relevance_model(texts, reciprocal_ranks(hits))
    frequent = best_terms(model, 10 * FEEDBACK_TERMS)
    idf = tools.idf(frequent)
    weights = {term: weight * idf.get(term, 0.0) for term, weight in frequent.items()}
    distinguishing = best_terms(weights, FEEDBACK_TERMS)
    return {term: model[term] for term in distinguishing}
