"""Strategy ``multi_query``: several ways of putting the query, fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Literal

from braid.core.models.replies import parse_queries
from braid.core.search.feedback_terms import (
    best_terms,
    passage_text,
    reciprocal_ranks,
    relevance_model,
    rm3,
    words_of,
)
from braid.core.search.strategies.base import ExpandOnly, Expansion, Parameter, QueryVariant, Tools
from braid.core.types import Hit, Query


class MultiQuery(ExpandOnly):
    """Searches for the query and variants of it and fuses the rankings by RRF.

    The model's variants follow LangChain's MultiQueryRetriever, which only unites what they find. Without a model one
    variant has the terms that distinguish the passages of the first pass (RM3, see `braid.core.search.feedback_terms`).
    """

    description = "Searches for several ways of putting the query and fuses what they find."
    costs: Mapping[Literal["llm", "feedback"], str] = {
        "llm": "1 model call, the query and each variant embedded at once",
        "feedback": "no model call, 1 embedding, a second keyword search",
    }
    parameters: Mapping[str, Parameter] = MappingProxyType(
        {
            "variants": Parameter(3, 1, 10, "Other ways of asking that the model writes, at most"),
            "original_weight": Parameter(
                0.5, 0.0, 1.0, "Weight of the query itself beside the model's variants, which share the rest"
            ),
            "feedback_passages": Parameter(5, 1, 50, "Passages of the first search that feedback reads"),
            "feedback_terms": Parameter(10, 1, 100, "Terms of these passages that are searched for, too"),
            "feedback_weight": Parameter(
                0.3, 0.0, 1.0, "Weight of the search with these terms; the query has the rest"
            ),
        }
    )

    def expand(self, query: Query, tools: Tools) -> Expansion:
        """Return the query, and variants by the model or from the first pass."""
        count, own_weight = int(query.parameters["variants"]), query.parameters["original_weight"]
        parse = partial(parse_queries, question=query.text, limit=count)
        texts = tools.ask(tools.prompts.multi_query, parse, count=count, question=query.text)
        if texts:
            weight = (1 - own_weight) / len(texts)
            variants = (QueryVariant(text, weight) for text in texts)
            return Expansion((tools.original.with_weight(own_weight), *variants), tools.model_name)
        return self._feedback(query, tools)

    def _feedback(self, query: Query, tools: Tools) -> Expansion:
        if query.mode == "semantic":
            return Expansion((tools.original,), "feedback")
        hits = tools.first_pass(int(query.parameters["feedback_passages"]))
        terms = distinguishing_terms(tools, hits, int(query.parameters["feedback_terms"]))
        if not terms:
            return Expansion((tools.original,), "feedback")
        weight = query.parameters["feedback_weight"]
        words = words_of(tools.analyzer, terms, [passage_text(hit.passage) for hit in hits])
        return Expansion(
            (
                tools.original.with_weight(1 - weight),
                QueryVariant(
                    " ".join([query.text, *words]),
                    weight,
                    legs=("bm25",),
                    terms=rm3(tools.analyzer.tokens(query.text), terms),
                ),
            ),
            "feedback",
        )


def distinguishing_terms(tools: Tools, hits: Sequence[Hit], count: int) -> dict[str, float]:
    """Return the ``count`` terms that distinguish these passages, heaviest first."""
    texts = [tools.analyzer.tokens(passage_text(hit.passage)) for hit in hits]
    model = relevance_model(texts, reciprocal_ranks(hits))
    frequent = best_terms(model, 10 * count)
    idf = tools.idf(frequent)
    weights = {term: weight * idf.get(term, 0.0) for term, weight in frequent.items()}
    distinguishing = best_terms(weights, count)
    return {term: model[term] for term in distinguishing}
