"""Scores of 0–1 that mean the same for every query, for thresholds and for comparing with other knowledge.

The scores that rank Braid's hits cannot be used for that: by rank the best possible one is 0.016, and in ``auto`` and
``weighted`` fusion a score says how far a hit stands out among those of the same query. The exact cosine of question
and passage depends on nothing else, but many models give unrelated texts a high one. So the cosine is
put on the scale that is known for the model (`braid.core.chat.quoting.match.CosineScale.share`): 0 for an unrelated
text, 0.5 where a match is no longer weak. For a model without a known scale the score is the cosine itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from braid.core.braid import Braid
from braid.core.chat.quoting.match import SCALES
from braid.core.errors import EmbeddingError
from braid.core.models.embeddings import EmbeddingModel, embed_passages, embed_query
from braid.core.types import Hit, SearchResult, indexed_text
from braid.core.vector import Vector

MAX_EMBEDDED = 16
"""Passages that are embedded for their score, since their vectors are not there yet."""


def scores_of(result: SearchResult, braid: Braid) -> dict[str, float]:
    """Return the score of each hit by its chunk id, those left out whose model fails."""
    of_collection: dict[str, list[Hit]] = {}
    for hit in result.hits:
        of_collection.setdefault(hit.passage.collection, []).append(hit)
    found: dict[str, float] = {}
    for collection, hits in of_collection.items():
        try:
            model = braid.answering_model(collection)
            cosines = _cosines(result.query.text, hits, model, braid)
        except EmbeddingError:
            continue
        scale = SCALES.get(model.fingerprint)
        found |= {
            chunk_id: scale.share(cosine) if scale else min(1.0, max(0.0, cosine))
            for chunk_id, cosine in cosines.items()
        }
    return found


def _cosines(text: str, hits: Sequence[Hit], model: EmbeddingModel, braid: Braid) -> dict[str, float]:
    """Return the exact cosines: those of the dense leg, and for hits that only the keyword leg had, computed."""
    known = {
        hit.passage.chunk_id: leg.score for hit in hits for leg in hit.legs if leg.leg == "dense" and leg.query == text
    }
    others = [hit for hit in hits if hit.passage.chunk_id not in known]
    if not others:
        return known
    query = embed_query(model, text)
    vectors: dict[str, Vector] = dict(
        braid.ledger.embeddings(model.fingerprint, [hit.passage.chunk_id for hit in others])
    )
    new = [hit.passage for hit in others if hit.passage.chunk_id not in vectors][:MAX_EMBEDDED]
    if new:
        made = embed_passages(model, [indexed_text(each.title, each.heading_path, each.text) for each in new])
        vectors |= {passage.chunk_id: vector for passage, vector in zip(new, made, strict=True)}
    return known | {chunk_id: float(vector @ query) for chunk_id, vector in vectors.items()}
