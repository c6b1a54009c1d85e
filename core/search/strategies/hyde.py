"""Strategy ``hyde``: a hypothetical passage, searched for by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Literal

from braid.core.models.replies import parse_passage
from braid.core.search.feedback_terms import rocchio
from braid.core.search.strategies.base import ExpandOnly, Expansion, Parameter, QueryVariant, Tools
from braid.core.types import Hit, Query
from braid.core.vector import Vector


class Hyde(ExpandOnly):
    """Embeds a passage that might answer, in place of the query; the query itself still drives the keyword leg.

    Gao et al., "Precise Zero-Shot Dense Retrieval without Relevance Labels", ACL 2023. Without a model the dense leg
    searches for the mean of the query's vector and those of the first passages (Rocchio, see `feedback_terms`).
    """

    description = "Searches by meaning for a passage that might answer, and by keyword for the query."
    costs: Mapping[Literal["llm", "feedback"], str] = {
        "llm": "1 model call, 1 embedding",
        "feedback": "no model call, 1 embedding, a second search by meaning",
    }
    parameters: Mapping[str, Parameter] = MappingProxyType(
        {
            "feedback_passages": Parameter(3, 1, 50, "Passages of the first search that feedback reads"),
            "feedback_weight": Parameter(0.2, 0.0, 1.0, "Weight of each of these passages; the query's own is 1"),
        }
    )

    def expand(self, query: Query, tools: Tools) -> Expansion:
        """Return one variant; in keyword mode, which embeds nothing, the query itself."""
        if query.mode == "keyword":
            return Expansion((tools.original,))
        parse = partial(parse_passage, question=query.text)
        passage = tools.ask(tools.prompts.hyde, parse, question=query.text)
        if passage:
            return Expansion((QueryVariant(query.text, passage=passage),), tools.model_name)
        hits = tools.first_pass(int(query.parameters["feedback_passages"]))
        vectors = moved_vectors(tools, hits, query.parameters["feedback_weight"])
        return Expansion((QueryVariant(query.text, vectors=vectors) if vectors else tools.original,), "feedback")


def moved_vectors(tools: Tools, hits: Sequence[Hit], weight: float) -> dict[str, Vector]:
    """Move the query's vector under each model towards the passages of the collections with that model."""
    passages = [hit.passage for hit in hits]
    stored = tools.passage_vectors(passages)
    return {
        fingerprint: rocchio(
            vector,
            [stored[p.chunk_id] for p in passages if tools.fingerprint(p) == fingerprint and p.chunk_id in stored],
            weight,
        )
        for fingerprint, vector in tools.query_vectors().items()
    }
