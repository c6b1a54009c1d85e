"""The dense leg's vectors in an engine of another package, which an entry point brings."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

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
from braid.core.ledger.change_log import ChangeLog, IndexedChunk, engine_state
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
THREADS = 16
"""Searches that an engine is asked at a time; each that it never answers keeps a thread."""

T = TypeVar("T")
logger = logging.getLogger(__name__)


class VectorEngine(Protocol):
    """Keeps the vectors of each collection, and finds the nearest. docs/plugins.md has an example.

    `write` and `drop` come from one thread of one process, the rest from any thread of any process that has the data
    directory open. ConnectionError and TimeoutError say that a server does not answer, which is asked again. A method
    ``close``, if there is one, is called when Braid is closed.
    """

    def write(self, collection: str, chunks: Sequence[IndexedChunk], gone: Collection[str]) -> object:
        """Add or replace chunks, each with ``id``, ``dataset_id``, ``document_id`` and a ``vector`` (dim,) float32 of
        unit length, and delete ids, which need not be there; found by searches on return, and durable unless all of
        the collection is lost. The first chunks make the collection, and doing it again changes nothing.
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
        raise InvalidInputError(
            f"index_engine is {name!r}, but the engine {points[name].value} cannot be opened: "
            f"{_said(error, address)}; repair or replace its package, or leave index_engine empty",
            field="index_engine",
        ) from (None if address else error)
    return engine


class InstalledVectorIndex(VectorIndex):
    """Vectors in the engine of another package. The ledger has them as well, so that none is ever computed again."""

    leg: Leg = "dense"
    stored = True
    crash_safe = True
    is_elsewhere = True

    def __init__(self, choice: str, engine: VectorEngine, changes: ChangeLog, models: AnsweringModels) -> None:
        self.name = engine_state(choice)
        self._engine = engine
        self._called, _, self._address = choice.partition(":")
        self._threads = threading.BoundedSemaphore(THREADS)
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
                internal("the engine %(engine)s does not answer", engine=self._called),
                inner=_said(error, self._address),
            ) from self._cause(error)
        except Exception as error:  # the edge to another package: any error of its own is a failure of this leg alone
            raise IndexUnavailableError(
                internal("the engine %(engine)s failed: %(reason)s", engine=self._called, reason=type(error).__name__),
                inner=_said(error, self._address),
            ) from self._cause(error)

    def _cause(self, error: Exception) -> Exception | None:
        """Return the error for the traceback; None where it may tell the address, which may have a password."""
        return None if self._address else error

    def _in_time(self, ask: Callable[[], T], deadline: float) -> T:
        """Return what ``ask`` returns, or raise what it raises; TimeoutError at the deadline, also while it runs.

        It runs in a daemon thread, so that an engine that never answers holds neither the search nor the exit.
        """
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not self._threads.acquire(timeout=left_s):
            raise TimeoutError("no time is left")
        answer = Future[T]()

        def run() -> None:
            try:
                answer.set_result(ask())
            except Exception as error:  # handed to the waiting thread
                answer.set_exception(error)
            finally:
                self._threads.release()

        try:
            threading.Thread(target=run, name="braid-engine", daemon=True).start()
        except RuntimeError:
            self._threads.release()
            raise
        return answer.result(max(0.0, deadline - time.monotonic()))

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

        def ask() -> tuple[dict[str, float], bool]:
            found = engine.nearest(
                collection,
                vector,
                k,
                dataset_ids=datasets,
                document_ids=documents,
                timeout_s=max(0.001, deadline - time.monotonic()),
            )
            scores = {str(chunk_id): round(float(score), DECIMALS) for chunk_id, score in islice(found, k)}
            return scores, not scores and int(engine.count(collection)) == 0

        with self._asked() as engine:
            scores, is_empty = self._in_time(ask, deadline)
            if wrong := [score for score in scores.values() if not abs(score) <= MOST_COSINE]:  # also what is no number
                raise ValueError(f"{wrong[0]} is no cosine, which is from -1 to 1")
        if is_empty and self._embedded_count(collection):
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
            yield from map(str, engine.ids(collection))

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
        except Exception as error:  # the edge to another package: the rest is still to be closed
            said = _said(error, self._address)
            logger.error("the engine %s cannot be closed: %s", self._called, said, exc_info=self._cause(error))

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


def _said(error: Exception, address: str) -> str:
    """Return the error in its own words, without the engine's address and what a URL has before its host."""
    said = f"{type(error).__name__}: {error}"
    user = address.partition("//")[2].partition("/")[0].rpartition("@")[0]
    for secret in filter(None, (address, user, user.partition(":")[2])):
        said = said.replace(secret, "…")
    return said
