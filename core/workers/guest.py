"""The indexes as a process has them that does not own them: every call goes to the owner."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from braid.core.errors import EmbeddingError, IndexUnavailableError
from braid.core.indexes.answers import BestScores, DenseAnswer, Where
from braid.core.indexes.base import IndexName
from braid.core.indexes.leg_progress import PROGRESS_S, Counting, LegProgress
from braid.core.indexes.opened import Indexes
from braid.core.models.embeddings import EmbeddingModel
from braid.core.types import Leg, ScoredChunk
from braid.core.vector import Vector
from braid.core.workers.link import FarPart, Link

if TYPE_CHECKING:
    from braid.core.indexes.base import KeywordIndex, VectorIndex
    from braid.core.indexes.chroma.copy import ChromaCopy
    from braid.core.indexes.indexer import Indexer

EMBEDDING_S = 60.0
MORE_S = 1.0
"""Time that a call may take beyond what the owner may take for it."""
WAIT_S = 2.0
"""Longest time that one call waits for the indexer."""
KNOWN_S = 1.0
"""Time that the name of a collection's model is remembered. The owner refuses a vector of another model."""


def far_indexes(link: Link, *, keeps_copy: bool) -> Indexes:
    """Return the owner's indexes, with the copy in Chroma if it keeps one."""
    return Indexes(
        bm25=cast("KeywordIndex", FarKeyword(link)),
        dense=cast("VectorIndex", FarDense(link)),
        chroma=cast("ChromaCopy", link.part("chroma")) if keeps_copy else None,
        indexer=cast("Indexer", FarIndexer(link)),
        answering_model=FarModels(link).answering,
    )


class FarKeyword(FarPart):
    """The owner's keyword leg."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, "bm25")

    def search(self, *arguments: Any, best: BestScores | None = None, **options: Any) -> list[ScoredChunk]:
        """Search like `Bm25Index.search`; every hit is named, since the best scores are known here alone."""
        return cast("list[ScoredChunk]", self._link.call("bm25.search", *arguments, **options))


class FarDense(FarPart):
    """The owner's dense leg."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, "dense")

    def search_all(self, where: Where, vector: Vector, k: int, *, timeout_s: float, **options: Any) -> DenseAnswer:
        """Search like `DenseIndex.search_all`: where there is no owner, each collection has the error."""
        try:
            answer: DenseAnswer = self._link.call(
                "dense.search_all",
                dict(where),
                vector,
                k,
                timeout_s=timeout_s,
                answer_s=timeout_s + MORE_S,
                patience_s=timeout_s,
                **options,
            )
            return answer
        except IndexUnavailableError as error:
            return DenseAnswer(dict.fromkeys(where, error), 0.0)


class FarIndexer(FarPart):
    """The owner's indexer."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, "indexer")

    def states(self, legs: Sequence[tuple[Leg, str]]) -> list[LegProgress]:
        """Return how far the indexes are, like `Indexer.states`, without a call for none."""
        return cast("list[LegProgress]", self._link.call("indexer.states", list(legs))) if legs else []

    def wake(self) -> None:
        """Have the log looked at now; an owner that cannot be reached looks at it soon anyway."""
        with suppress(IndexUnavailableError):
            self._link.call("indexer.wake", patience_s=0.0)

    def suspect(self, index: IndexName, collection: str) -> None:
        """Have an index checked; one whose owner is gone is checked by the next owner anyway."""
        with suppress(IndexUnavailableError):
            self._link.call("indexer.suspect", index, collection, patience_s=0.0)

    def wait(
        self,
        timeout_s: float,
        legs: Sequence[IndexName] = ("bm25", "dense"),
        *,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> bool:
        """Wait like `braid.core.indexes.indexer.Indexer.wait`, for the next owner if this one dies. Raises
        IndexUnavailableError when there is none in time.
        """
        deadline = time.monotonic() + timeout_s
        counting, step_s = Counting(on_progress or (lambda done, total: None)), PROGRESS_S if on_progress else WAIT_S
        while True:
            left_s = max(0.0, deadline - time.monotonic())
            if self._link.call("indexer.wait", min(left_s, step_s), tuple(legs)):
                counting.end()
                return True
            if on_progress:
                counting.look(lambda: sum(each.pending for each in self._link.call("indexer.progress")))
            if time.monotonic() >= deadline:
                return False


class FarModels:
    """Names the embedding models that answer for collections, as the owner knows them."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._known: dict[str, tuple[float, EmbeddingModel]] = {}

    def answering(self, collection: str) -> EmbeddingModel:
        """Return the model whose vectors searches of the collection use; it embeds in the owner. Raises
        EmbeddingError.
        """
        known = self._known.get(collection)
        if known is None or time.monotonic() > known[0]:
            try:
                model = FarModel(self._link, self._link.call("models.answering", collection))
            except IndexUnavailableError as error:
                raise EmbeddingError(str(error)) from error
            known = self._known[collection] = time.monotonic() + KNOWN_S, model
        return known[1]


class FarModel:
    """An embedding model that the owner has loaded, so that not each process has to."""

    def __init__(self, link: Link, fingerprint: str) -> None:
        self._link = link
        self.fingerprint = fingerprint

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of passages."""
        return cast("list[list[float]]", self._embed(texts, of_queries=False))

    def embed_query(self, text: str) -> list[float]:
        """Vector of a query."""
        return self.embed_queries([text])[0]

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        """Vectors of several queries."""
        return cast("list[list[float]]", self._embed(texts, of_queries=True))

    def _embed(self, texts: list[str], *, of_queries: bool) -> Any:
        try:
            return self._link.call("models.embed", self.fingerprint, texts, of_queries, answer_s=EMBEDDING_S)
        except IndexUnavailableError as error:
            raise EmbeddingError(str(error)) from error
