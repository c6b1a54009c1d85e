"""The dense leg's vectors in an engine of another package, which an entry point brings."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np

from braid.core.errors import (
    BraidError,
    EmbeddingError,
    IndexUnavailableError,
    InvalidInputError,
    StoreUnreachableError,
    internal,
)
from braid.core.extras import installed
from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.answers import DenseAnswer, Where, best_first
from braid.core.indexes.base import TIMEOUT_S, VectorIndex
from braid.core.indexes.vector_block import SAMPLE, Selection
from braid.core.ledger.change_log import ENGINE, ChangeLog, IndexedChunk
from braid.core.lru import LeastRecentlyUsed
from braid.core.models.embeddings import EmbeddingModel
from braid.core.types import Leg, ScoredChunk
from braid.core.vector import Vector

ENGINES = "braid.engines"
"""Group of the engines: the name is what an engine's name begins with, the object a class or function that takes the
rest of the name and a folder, and returns a `VectorEngine`."""
DECIMALS = 6
"""Engines compute with 32 bits: equal vectors differ after that."""
MOST_COSINE = 1.001
"""A larger one is no rounding error: an engine that answers with distances, or products of other vectors, fails."""
SAMPLES = 256
SAMPLE_S = 600.0
"""Time after which a sample is read again."""

logger = logging.getLogger(__name__)


class VectorEngine(Protocol):
    """Keeps the vectors of each collection, and finds the nearest. docs/plugins.md has an example.

    `write` and `drop` come from one thread of one process, the rest from any thread of any process that has the data
    directory open. ConnectionError and TimeoutError say that a server does not answer, which is asked again.
    """

    def write(self, collection: str, chunks: Sequence[IndexedChunk], gone: Collection[str]) -> object:
        """Add or replace chunks, each with ``id``, ``dataset_id``, ``document_id`` and a ``vector`` (dim,) float32 of
        unit length, and delete ids, which need not be there; found by searches on return. The first chunks make the
        collection, and doing it again changes nothing.
        """

    def nearest(
        self,
        collection: str,
        vector: Vector,
        k: int,
        *,
        dataset_ids: Collection[int] | None,
        document_ids: Collection[int] | None,
        timeout_s: float,
    ) -> Iterable[tuple[str, float]]:
        """Return the ids of the ``k`` nearest chunks and their cosines, the nearest first; only of these datasets and
        of these documents, where None is all. Nothing where there is no such collection.
        """

    def count(self, collection: str) -> int:
        """Count the collection's chunks; 0 where there is no such collection."""

    def ids(self, collection: str) -> Iterable[str]:
        """Return the ids of the collection's chunks, in any order."""

    def drop(self, collection: str) -> object:
        """Delete the collection, if there is one, also where it is damaged."""

    def collections(self) -> Iterable[str]:
        """Return the names of the collections, in any order."""


_METHODS = ("write", "nearest", "count", "ids", "drop", "collections")


def open_engine(choice: str, folder: Path) -> VectorEngine:
    """Return the engine that ``choice`` names, ``NAME`` or ``NAME:ADDRESS``; what it keeps in files is in a folder of
    its own within ``folder``.

    Raises InvalidInputError for a name that no installed package has, and for an engine that cannot be used.
    """
    name, _, address = choice.partition(":")
    points = installed(ENGINES)
    if name not in points:
        there = (
            f"those that are installed are {', '.join(points)}" if points else "no package that has one is installed"
        )
        raise InvalidInputError(
            f"index_engine is {name!r}, but there is no such engine: {there}; install its package beside Braid, or "
            "leave index_engine empty",
            field="index_engine",
        )
    try:
        engine: VectorEngine = points[name].load()(address, folder / name)
        missing = [method for method in _METHODS if not callable(getattr(engine, method, None))]
        if missing:
            raise TypeError(f"{type(engine).__name__} has no method {', '.join(missing)}")
    except Exception as error:  # the edge to another package: whatever it raises, the setting is what can be changed
        said = _said(error)
        raise InvalidInputError(
            f"index_engine is {name!r}, but the engine {points[name].value} cannot be opened: "
            f"{said.replace(address, '…') if address else said}; repair or replace its package, or leave index_engine "
            "empty",
            field="index_engine",
        ) from error
    return engine


class InstalledVectorIndex(VectorIndex):
    """Vectors in the engine of another package. The ledger has them as well, so that none is ever computed again."""

    leg: Leg = "dense"
    stored = True
    crash_safe = True

    def __init__(self, name: str, engine: VectorEngine, changes: ChangeLog, models: AnsweringModels) -> None:
        self.name = ENGINE + name
        self._engine = engine
        self._called = name
        self._changes = changes
        self._models = models
        self._samples = LeastRecentlyUsed[object, tuple[float, Vector]](SAMPLES)

    @contextmanager
    def _asked(self) -> Iterator[VectorEngine]:
        try:
            yield self._engine
        except BraidError:
            raise
        except (ConnectionError, TimeoutError) as error:
            raise StoreUnreachableError(
                internal("the engine %(engine)s cannot be reached", engine=self._called), inner=_said(error)
            ) from error
        except Exception as error:  # the edge to another package: any error of its own is a failure of this leg alone
            raise IndexUnavailableError(
                internal("the engine %(engine)s failed: %(reason)s", engine=self._called, reason=type(error).__name__),
                inner=_said(error),
            ) from error

    # ------------------------------------------------------------ searching

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
        """Search several collections of one model; see `braid.core.indexes.dense.DenseIndex.search_all`. What the
        engine answers may be approximate.
        """
        if k < 1:
            raise InvalidInputError(f"k is {k}; it must be at least 1", field="k")
        deadline = time.monotonic() + timeout_s
        answers: dict[str, list[ScoredChunk] | BraidError] = {}
        samples = []
        for collection, selection in where.items():
            try:
                version = self._models.require(collection, model)
                answers[collection] = self._nearest(collection, vector, k, selection, deadline)
                if spread:
                    samples.append(self._sample(collection, version, selection, vector.size) @ vector)
            except (IndexUnavailableError, EmbeddingError) as error:
                answers[collection] = error
        sample = np.concatenate(samples) if samples else np.empty(0)
        return DenseAnswer(
            _best_of_all(answers, k) if pooled else answers, float(np.std(sample)) if len(sample) > 1 else 0.0
        )

    def _nearest(
        self, collection: str, vector: Vector, k: int, selection: Selection, deadline: float
    ) -> list[ScoredChunk]:
        datasets, documents = (None if ids is None else {int(each) for each in ids} for ids in selection)
        if datasets == set() or documents == set():
            return []
        with self._asked() as engine:
            left_s = max(0.1, deadline - time.monotonic())
            found = engine.nearest(
                collection, vector, k, dataset_ids=datasets, document_ids=documents, timeout_s=left_s
            )
            scores = {str(chunk_id): round(float(score), DECIMALS) for chunk_id, score in islice(found, k)}
            if wrong := [score for score in scores.values() if not abs(score) <= MOST_COSINE]:  # also what is no number
                raise ValueError(f"{wrong[0]} is no cosine, which is from -1 to 1")
        if not scores and not self.count(collection) and self._embedded_count(collection):
            raise IndexUnavailableError(
                internal(
                    "the engine %(engine)s has nothing of the vectors of %(collection)s, which are written again",
                    engine=self._called,
                    collection=collection,
                )
            )
        return best_first(ScoredChunk(chunk_id, score) for chunk_id, score in scores.items())

    def _sample(self, collection: str, version: str, selection: Selection, dimension: int) -> Vector:
        """Return up to 100 vectors (n, dim) of the selected datasets. They are remembered for 10 minutes."""
        datasets = None if selection.dataset_ids is None else frozenset(selection.dataset_ids)
        key = collection, version, datasets
        kept = self._samples.get(key)
        if kept is None or time.monotonic() > kept[0]:
            vectors = np.empty((0, dimension), dtype=np.float32)
            with closing(self._changes.vectors_of(collection, version)) as batches:
                for batch in islice(batches, 1):
                    of_them = slice(None) if datasets is None else np.isin(batch.dataset_ids, list(datasets))
                    vectors = batch.vectors[of_them][:SAMPLE]
            kept = self._samples.put(key, (time.monotonic() + SAMPLE_S, vectors))
        return kept[1] if kept[1].shape[1] == dimension else np.empty((0, dimension), dtype=np.float32)

    # ------------------------------------------------------------ following the ledger

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Add or replace chunks and delete ids, an id in both is added; searches see it on return."""
        chunks = {chunk.id: chunk for chunk in upserts if chunk.vector is not None}
        gone = set(deletes) - chunks.keys()
        if chunks or gone:
            with self._asked() as engine:
                engine.write(collection, list(chunks.values()), gone)

    def drop(self, collection: str) -> None:
        """Delete the collection; the next `apply` creates it again."""
        with self._asked() as engine:
            engine.drop(collection)

    # ------------------------------------------------------------ inspecting

    def count(self, collection: str) -> int:
        """Count the chunks in the collection; 0 when it does not exist."""
        with self._asked() as engine:
            return int(engine.count(collection))

    def ids(self, collection: str) -> Iterator[str]:
        """Yield every chunk id in the collection, in no order."""
        with self._asked() as engine:
            yield from engine.ids(collection)

    def check(self, collection: str) -> str:
        """Return an empty sentence: an engine guards what it keeps. Raises IndexUnavailableError where it fails."""
        self.count(collection)
        return ""

    def collections(self) -> list[str]:
        """Return the names of the collections that exist, sorted."""
        with self._asked() as engine:
            return sorted(engine.collections())

    def dimension(self, collection: str) -> int | None:
        """Return the dimension of the collection's vectors; None when it has none."""
        return self._changes.dimension(collection, self._models.answering_version(collection))

    def answering_model(self, collection: str) -> EmbeddingModel:
        """Return the model whose vectors the engine has. Raises EmbeddingError."""
        return self._models.answering(collection)

    def close(self) -> None:
        """Close the engine, if it has a method for it; an error of that one is logged."""
        try:
            getattr(self._engine, "close", lambda: None)()
        except Exception:  # the edge to another package: the rest is still to be closed
            logger.exception("the engine %s cannot be closed", self._called)

    def _embedded_count(self, collection: str) -> int:
        return self._changes.embedded_count(collection, self._models.answering_version(collection))


def _best_of_all(
    answers: Mapping[str, list[ScoredChunk] | BraidError], k: int
) -> dict[str, list[ScoredChunk] | BraidError]:
    """Return of each collection the hits that are among the ``k`` best of all."""
    hits = best_first(hit for found in answers.values() if not isinstance(found, BraidError) for hit in found)
    best = set(hits[:k])
    return {
        name: found if isinstance(found, BraidError) else [hit for hit in found if hit in best]
        for name, found in answers.items()
    }


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
