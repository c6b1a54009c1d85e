"""The interface of an index: derived from the ledger, disposable, one implementation per leg.

An index has ids and scores and nothing else. Another engine replaces one of Braid's by implementing `LegIndex` and
the search method of its leg.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from braid.core.errors import BraidError, IndexUnavailableError, internal
from braid.core.indexes.answers import BestScores, Bm25Statistics, DenseAnswer, Where
from braid.core.indexes.vector_block import EVERYTHING, Selection
from braid.core.ledger.change_log import IndexedChunk, StateName
from braid.core.ledger.outages import outage_of
from braid.core.models.embeddings import EmbeddingModel
from braid.core.types import Leg, ScoredChunk
from braid.core.vector import Vector

TIMEOUT_S = 5.0
IndexName = Literal["bm25", "dense", "chroma"]
"""A leg's index, or the copy of the vectors in Chroma."""


class Unusable:
    """Turns errors of an index's files, and with ``or_panic`` panics of Rust code, into IndexUnavailableError in plain
    words. A context manager; ``what`` cannot be used, such as ``the vectors of %(collection)s``.
    """

    __slots__ = ("_collection", "_errors", "_or_panic", "_what")

    def __init__(
        self, what: str, collection: str, errors: tuple[type[Exception], ...], *, or_panic: bool = False
    ) -> None:
        self._what, self._collection, self._errors, self._or_panic = what, collection, errors, or_panic

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        is_panic = self._or_panic and type(error).__name__ == "PanicException"  # pyo3 does not export its class
        if error is None or not (isinstance(error, self._errors) or is_panic):
            return
        outage = outage_of(error)
        template, parts = f"{self._what} cannot be used; it is being checked", {"collection": self._collection}
        if outage:
            template, parts["reason"] = f"{self._what} cannot be used: %(reason)s", outage.text
        elif isinstance(error, OSError) and error.strerror:
            template = f"{self._what} cannot be used: %(reason)s; it is being checked"
            parts["reason"] = error.strerror
        raise IndexUnavailableError(internal(template, **parts), inner=f"{type(error).__name__}: {error}") from error


class LegIndex(Protocol):
    """One leg's index over all collections of a data directory: apply changes, count, check, drop.

    Each leg has a search method of its own, since one takes a vector and the other terms. Every method may raise
    IndexUnavailableError.
    """

    name: StateName
    leg: Leg
    """The leg that asks it."""
    stored: bool
    """Whether the index has files, which may be lost or damaged; the ledger is not damaged."""
    crash_safe: bool
    """Whether the index is sound after a process was killed during `apply`."""
    is_elsewhere: bool = False
    """Whether an engine of another package keeps it, which may lose some chunks and have others of a later time."""

    def mend(
        self,
        collection: str,
        *,
        head: int,
        is_complete: bool,
        doubt: bool,
        stopping: threading.Event,
        crashed: bool = False,
    ) -> None:
        """See to what the index keeps beside what the ledger knows of it; called at each look of its follower.

        The log has been applied up to ``head`` where ``is_complete`` says so. ``doubt`` asks for an inspection, and
        ``crashed`` says that the last process was killed. Nothing is to be done where the index keeps nothing.
        """
        return

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Add or replace chunks and delete ids; durable on return, harmless when repeated."""

    def count(self, collection: str) -> int:
        """Count the chunks in the collection; 0 when it does not exist."""

    def ids(self, collection: str) -> Iterator[str]:
        """Yield every chunk id in the collection, in no order."""

    def check(self, collection: str) -> str:
        """Probe the collection and return what is wrong, in one sentence; empty when it is sound."""

    def drop(self, collection: str) -> None:
        """Delete the collection, even if it is broken; the next `apply` creates it again."""

    def is_gone(self, collection: str) -> bool:
        """Return whether the collection's files were removed behind the index's back, as far as one look tells."""
        return False

    def reset(self) -> bool:
        """Abandon a store that all collections share, even if it cannot be opened, and start empty.

        False, with nothing done, when the collections are independent.
        """
        return False

    def collections(self) -> list[str]:
        """Return the names of the collections that exist, sorted."""

    def rest(self) -> None:
        """Give back what has not been used for a while, if it is quickly had again; called when there is no work."""
        return

    def close(self) -> None:
        """Release files and threads."""


class KeywordIndex(LegIndex, Protocol):
    """The keyword leg's index; `braid.core.indexes.bm25.Bm25Index` describes its methods."""

    version: str
    """What the index's contents depend on: an index of another version is made again."""

    def search(
        self,
        collection: str,
        terms: Mapping[str, float],
        k: int,
        *,
        dataset_ids: Collection[int] | None = None,
        document_ids: NDArray[np.int64] | None = None,
        share: float = 1.0,
        factor: float = 1.0,
        best: BestScores | None = None,
    ) -> list[ScoredChunk]:
        """Return the best chunks with at least one of the terms, and their scores times ``factor``. Those that are
        not among the ``best`` of several searches may be left out; those that are returned are added to it.
        """

    def containing(
        self, collection: str, tokens: Collection[str], n: int, *, dataset_ids: Collection[int]
    ) -> tuple[list[str], int]:
        """Return the ids of chunks that have all of the tokens, and how many have."""

    def beginning_like(self, collection: str, beginning: str, n: int, *, dataset_ids: Collection[int]) -> list[str]:
        """Return the ids of up to ``n`` chunks with a token whose beginning is at most one letter away from this one;
        none from an index that cannot tell.
        """

    def statistics(
        self, collection: str, terms: Collection[str], *, dataset_ids: Collection[int] | None = None
    ) -> Bm25Statistics:
        """Return how many chunks have each term."""


class VectorIndex(LegIndex, Protocol):
    """The dense leg's index; `braid.core.indexes.dense.DenseIndex` describes its methods."""

    def search(
        self,
        collection: str,
        vector: Vector,
        k: int,
        selection: Selection = EVERYTHING,
        *,
        model: str = "",
        timeout_s: float = TIMEOUT_S,
    ) -> list[ScoredChunk]:
        """Return the ``k`` chunks nearest to ``vector`` (dim,) float32 of unit length, by cosine similarity, ties by
        id. Empty when nothing is selected.

        Raises IndexUnavailableError when the collection cannot be searched, EmbeddingError when the vector does not
        fit it.
        """
        where = {collection: selection}
        found = self.search_all(where, vector, k, model=model, spread=False, timeout_s=timeout_s).hits[collection]
        if isinstance(found, BraidError):
            raise found
        return found

    def search_all(
        self,
        where: Where,
        vector: Vector,
        k: int,
        *,
        model: str = "",
        pooled: bool = False,
        spread: bool = True,
        timeout_s: float = TIMEOUT_S,
    ) -> DenseAnswer:
        """Search several collections of one model."""

    def dimension(self, collection: str) -> int | None:
        """Return the dimension of the collection's vectors; None when it has none."""

    def answering_model(self, collection: str) -> EmbeddingModel:
        """Return the model whose vectors searches of the collection are compared with. Raises EmbeddingError."""

    def on_missing(self, look: Callable[[str], object]) -> None:
        """Have ``look`` called for a collection that a search waits for: who indexes should look now. An engine that is
        never waited for does not call it.
        """
        return
