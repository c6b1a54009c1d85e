"""How near sentences are to a question by meaning, for answers without a language model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from braid.core.chat.quoting.match import SCALES, CosineScale
from braid.core.errors import EmbeddingError
from braid.core.models.embeddings import EmbeddingModel, embed_passages, embed_query
from braid.core.types import SearchResult

MAX_SENTENCES = 24
"""Sentences that are embedded for an answer: about 9 ms each on one core."""
MAX_CHARS = 600

Nearness = Callable[[Sequence[str]], Sequence[float]]
"""Sentences → how far the cosine of each with the question is above that of an unrelated text; 0.0
where it is not known."""


def scale_of(
    search: SearchResult, model_of: Callable[[str], EmbeddingModel]
) -> tuple[EmbeddingModel, CosineScale] | None:
    """Return the embedding model of all hits and what its cosines mean; None for several, or an unknown scale."""
    try:
        models = [model_of(name) for name in dict.fromkeys(hit.passage.collection for hit in search.hits)]
    except EmbeddingError:
        return None
    fingerprints: Collection[str] = {model.fingerprint for model in models}
    scale = SCALES.get(next(iter(fingerprints))) if len(fingerprints) == 1 else None
    return (models[0], scale) if scale else None


def nearness_to(question: str, model: EmbeddingModel, scale: CosineScale) -> Nearness:
    """Return a function that embeds sentences, the first 24, and compares them with the question.

    The others have 0, and all of them where the model fails: words alone then choose.
    """

    def nearness(sentences: Sequence[str]) -> list[float]:
        found = [0.0] * len(sentences)
        try:
            cosines = embed_passages(model, [text[:MAX_CHARS] for text in sentences[:MAX_SENTENCES]])
            for number, cosine in enumerate((cosines @ embed_query(model, question)).tolist()):
                found[number] = cosine - scale.unrelated
        except EmbeddingError:
            return [0.0] * len(sentences)
        return found

    return nearness


def no_nearness(sentences: Sequence[str]) -> list[float]:
    """Return 0 for each: words alone choose."""
    return [0.0] * len(sentences)
