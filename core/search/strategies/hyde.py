"""Strategy ``hyde``: a hypothetical passage, searched for by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from braid.core.models.replies import parse_passage
from braid.core.search.feedback_terms import rocchio
from braid.core.search.strategies.base import ExpandOnly, Expansion, QueryVariant, Tools
from braid.core.types import Hit, Query
from braid.core.vector import Vector

FEEDBACK_PASSAGES = 3
PASSAGE_WEIGHT = 0.2
"""Weight of each first-pass passage; the query's own weight is 1."""


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

    def expand(self, query: Query, tools: Tools) -> Expansion:
        """Return one variant; in keyword mode, which embeds nothing, the query itself."""
        if query.mode == "keyword":
            return Expansion((tools.original,))
        parse = partial(parse_passage, question=query.text)
        passage = tools.ask(tools.prompts.hyde, parse, question=query.text)
        if passage:
            return Expansion((QueryVariant(query.text, passage=passage),), tools.model_name)
        vectors = moved_vectors(tools, tools.first_pass(FEEDBACK_PASSAGES), PASSAGE_WEIGHT)
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
