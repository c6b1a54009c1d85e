"""The dense leg: exact search by cosine similarity over the ledger's vectors, of which memory has a compact copy.

A collection's copy is loaded from the ledger with its first search, brought up to date by the change log, and forgotten
when others need its memory. The best candidates of a scan are scored again with the ledger's vectors, so that the
result is exact. Collections that do not fit are searched in Chroma.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Literal, NamedTuple

import numpy as np

from braid.core.errors import BraidError, EmbeddingError, IndexUnavailableError, InvalidInputError
from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.base import IndexName
from braid.core.indexes.chroma.copy import ChromaCopy
from braid.core.indexes.chroma.filters import selection_filter
from braid.core.indexes.vector_block import BYTES_PER_ROW, EVERYTHING, ID_BYTES, Found, Selection, VectorBlock, merged
from braid.core.ledger.change_log import ChangeLog, IndexedChunk
from braid.core.types import Leg, ScoredChunk
from braid.core.vector import Vector

DenseSearch = Literal["auto", "exact", "chroma"]
"""Where the dense leg searches: in memory, in Chroma, or in memory as far as a collection fits (``auto``)."""

MIN_CANDIDATES = 100
"""Candidates that are scored again; on seven sets of real vectors all of the exact best ten are among 100."""
SCORE_DECIMALS = 8
TIMEOUT_S = 5.0
INSPECTION_S = 60.0
LOADERS = 2
"""Collections that are loaded at a time."""
_MEGABYTE = 2**20
_CHANGED = "the embedding model of {} has just changed"
_MERGE_RATIO = 4
"""A block is merged into the one before it when that is not this many times larger, so that there are few blocks."""

Where = Mapping[str, Selection]
"""The collections to search, each with the part of it."""


class DenseAnswer(NamedTuple):
    """The answer of several collections of one model."""

    hits: dict[str, list[ScoredChunk] | BraidError]
    """Best first, by collection; an error where a collection could not be searched."""
    from_chroma: set[str]
    """The collections that Chroma was asked for."""
    spread: float
    """Standard deviation of the cosine between the query and a chunk, of a sample of 100; 0.0 where it is not known.

    It tells how much a difference between two cosines means.
    """


class _Loaded(NamedTuple):
    """A collection's vectors in memory; replaced, never changed."""

    version: str
    blocks: tuple[VectorBlock, ...]

    @property
    def size_bytes(self) -> int:
        return sum(block.size_bytes for block in self.blocks)

    @property
    def rows(self) -> int:
        return sum(len(block) for block in self.blocks)

    def nearest(self, vector: Vector, k: int, selection: Selection) -> Found:
        found = [block.nearest(vector, k, selection) for block in self.blocks]
        return found[0] if len(found) == 1 else Found.joined(found, k)


class DenseIndex:
    """Searches the vectors that the ledger has under the model that answers for a collection.

    At most ``memory_mb`` are used, or what one collection needs; ``mode`` and ``copy`` say where others are searched.
    Searches come from any thread, `apply` and `drop` from one.
    """

    name: IndexName = "dense"
    leg: Leg = "dense"
    stored = False
    crash_safe = True

    def __init__(
        self,
        changes: ChangeLog,
        models: AnsweringModels,
        copy: ChromaCopy,
        *,
        memory_mb: int = 1024,
        mode: DenseSearch = "auto",
    ) -> None:
        self._changes = changes
        self._version = models.answering_version
        self._wanted_version = models.wanted_version
        self._copy = copy
        self._most_bytes = memory_mb * _MEGABYTE
        self._mode = mode
        self._loaded: OrderedDict[str, _Loaded] = OrderedDict()
        self._too_large: dict[str, str] = {}  # collection → the version of its vectors, which do not fit
        self._readings: dict[tuple[str, str], Future[_Loaded | None]] = {}
        self._lock = threading.Lock()
        self._loading: dict[str, threading.Lock] = {}
        self._loader = ThreadPoolExecutor(LOADERS, "braid-load")
        self._closed = False

    # ------------------------------------------------------------ searching

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
        found = self.search_all({collection: selection}, vector, k, model=model, timeout_s=timeout_s).hits[collection]
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
        timeout_s: float = TIMEOUT_S,
    ) -> DenseAnswer:
        """Search several collections of one model like `search`.

        ``model`` is the fingerprint of the vector's model: a collection for which another one answers by now is an
        error. With ``pooled`` only hits that are among the best ``k`` of all collections are returned. A collection
        that is not in memory after ``timeout_s`` is an error, and goes on being loaded.
        """
        if k < 1:
            raise InvalidInputError(f"k is {k}; it must be at least 1", field="k")
        answers: dict[str, list[ScoredChunk] | BraidError] = {}
        candidates: dict[str, Found] = {}
        versions: dict[str, str] = {}
        from_chroma: set[str] = set()
        depth, deadline = max(MIN_CANDIDATES, 2 * k), time.monotonic() + timeout_s
        for collection, selection in where.items():
            try:
                loaded = self._load(collection, deadline, model)
                if loaded is None:
                    from_chroma.add(collection)
                    left_s = max(0.1, deadline - time.monotonic())
                    answers[collection] = self._search_chroma(collection, vector, k, selection, left_s)
                else:
                    candidates[collection] = _candidates(collection, loaded, vector, depth, selection)
                    versions[collection] = loaded.version
            except (IndexUnavailableError, EmbeddingError) as error:
                answers[collection] = error
        sample = Found.joined(list(candidates.values()), 0).sample_scores if candidates else ()
        spread = float(np.std(sample)) if len(sample) > 1 else 0.0
        answers.update(self._rescored(_best(candidates, depth) if pooled else candidates, versions, vector, k))
        return DenseAnswer(answers, from_chroma, spread)

    def _rescored(
        self, candidates: Mapping[str, Found], versions: Mapping[str, str], vector: Vector, k: int
    ) -> dict[str, list[ScoredChunk]]:
        """Return the best ``k`` candidates of each collection by the exact similarity, read from the ledger at once."""
        exact: dict[str, float] = {}
        by_version: dict[str, list[str]] = {}
        names = {collection: found.ids.astype(str).tolist() for collection, found in candidates.items()}
        for collection, ids in names.items():
            by_version.setdefault(versions[collection], []).extend(ids)
        for version, ids in by_version.items():
            exact.update(self._exact_scores(version, ids, vector))
        answers = {}
        for collection, found in candidates.items():
            approximate = zip(names[collection], found.scores.tolist(), strict=True)
            # A vector that is being made again is not in the ledger for a while: until then the last one answers.
            hits = [ScoredChunk(chunk_id, exact.get(chunk_id, score)) for chunk_id, score in approximate]
            answers[collection] = sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:k]
        return answers

    def _exact_scores(self, version: str, chunk_ids: Collection[str], vector: Vector) -> dict[str, float]:
        if not chunk_ids:
            return {}
        found, matrix = self._changes.vectors(version, chunk_ids)
        if not found or matrix.shape[1] != vector.size:
            return {}
        # The last bits of a product depend on the row's place among the others; equal vectors must score equally.
        scores = np.round(matrix.astype(np.float64) @ vector.astype(np.float64), SCORE_DECIMALS)
        return dict(zip(found, scores.tolist(), strict=True))

    def _search_chroma(
        self, collection: str, vector: Vector, k: int, selection: Selection, timeout_s: float
    ) -> list[ScoredChunk]:
        where = selection_filter(selection.dataset_ids, selection.document_ids)
        return self._copy.search(collection, vector, k, where=where, timeout_s=timeout_s)

    # ------------------------------------------------------------ memory

    def _load(self, collection: str, deadline: float, model: str = "") -> _Loaded | None:
        """Return the collection's vectors; None when they do not fit, so that Chroma is to be asked.

        Raises IndexUnavailableError when they are not in memory by the deadline, or not of the ``model``: those of the
        last one may still be there.
        """
        version = model or self._version(collection)
        with self._lock:
            if self._mode == "chroma" or self._too_large.get(collection) == version:
                return None
            loaded = self._loaded.get(collection)
            if loaded is not None and loaded.version == version:
                self._loaded.move_to_end(collection)
                return loaded
        if version != self._version(collection):
            raise IndexUnavailableError(_CHANGED.format(collection))
        try:
            return self._reading(collection, version).result(max(0.0, deadline - time.monotonic()))
        except (RuntimeError, CancelledError):
            if not self._closed:
                raise
            raise IndexUnavailableError("the dense index is closed") from None
        except FutureTimeoutError:
            raise IndexUnavailableError(f"the vectors of {collection} are being loaded into memory") from None

    def _reading(self, collection: str, version: str) -> Future[_Loaded | None]:
        """Begin to read the collection's vectors, unless that is being done: one loader per collection, however many
        searches wait for it.
        """
        with self._lock:
            reading = self._readings.get((collection, version))
            if reading is None or reading.done():
                reading = self._loader.submit(self._read_once, collection, version)
                self._readings[collection, version] = reading
                reading.add_done_callback(lambda _: self._readings.pop((collection, version), None))
            return reading

    def _read_once(self, collection: str, version: str) -> _Loaded | None:
        """Read the collection's vectors from the ledger, unless another thread has just done so."""
        with self._loading_lock(collection):
            with self._lock:
                loaded = self._loaded.get(collection)
            if loaded is None or loaded.version != version:
                loaded = self._read(collection, version)
                if self._version(collection) != version:  # its vectors may have been deleted while they were read
                    raise IndexUnavailableError(_CHANGED.format(collection))
                self._keep(collection, loaded, version)
        return loaded

    def _loading_lock(self, collection: str) -> threading.Lock:
        with self._lock:
            return self._loading.setdefault(collection, threading.Lock())

    def _read(self, collection: str, version: str) -> _Loaded | None:
        blocks: list[VectorBlock] = []
        for batch in self._changes.vectors_of(collection, version):
            if not blocks and self._is_too_large(self._changes.chunk_count(collection), batch.vectors.shape[1]):
                return None
            ids = np.array(batch.chunk_ids, dtype=f"S{ID_BYTES}")
            blocks.append(VectorBlock.make(ids, batch.dataset_ids, batch.document_ids, batch.vectors))
        return _Loaded(version, (merged(blocks),) if len(blocks) > 1 else tuple(blocks))

    def _is_too_large(self, rows: int, dimension: int) -> bool:
        return self._mode == "auto" and rows * (BYTES_PER_ROW + dimension) > self._most_bytes

    def _keep(self, collection: str, loaded: _Loaded | None, version: str) -> None:
        """Put the collection's vectors into memory, or note that they do not fit; forget those not used for longest."""
        if loaded is not None and loaded.blocks and self._is_too_large(loaded.rows, loaded.blocks[0].dimension):
            loaded = None
        with self._lock:
            if loaded is None:
                self._loaded.pop(collection, None)
                self._too_large[collection] = version
                return
            self._loaded[collection] = loaded
            self._loaded.move_to_end(collection)
            size = sum(each.size_bytes for each in self._loaded.values())
            while size > self._most_bytes and len(self._loaded) > 1:
                _, forgotten = self._loaded.popitem(last=False)
                size -= forgotten.size_bytes

    @property
    def size_bytes(self) -> int:
        """Memory that the vectors take."""
        with self._lock:
            return sum(loaded.size_bytes for loaded in self._loaded.values())

    # ------------------------------------------------------------ following the ledger

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Add or replace chunks and delete ids in memory, if the collection is there; an id in both is added.

        The vectors are of the collection's wanted model and in the ledger already. Raises EmbeddingError for vectors
        of different dimensions.
        """
        chunks = list({chunk.id: chunk for chunk in upserts if chunk.vector is not None}.values())
        with self._loading_lock(collection):  # what is being read from the ledger may be older than the change
            with self._lock:
                loaded = self._loaded.get(collection)
                if deletes:  # it may fit again
                    self._too_large.pop(collection, None)
            if loaded is None:
                return
            # While vectors of another model are made, those of the last one answer.
            added = chunks if loaded.version == self._wanted_version(collection) else []
            new = [_block(added)] if added else []
            if new and loaded.blocks and new[0].dimension != loaded.blocks[0].dimension:
                return self._forget(collection)  # all were embedded again: the ledger has none of the old ones
            gone = np.array([*deletes, *(chunk.id for chunk in added)], dtype=f"S{ID_BYTES}")
            kept = [block.without(gone) for block in loaded.blocks] if len(gone) else loaded.blocks
            blocks = _compacted([*(block for block in kept if block is not None), *new])
            self._keep(collection, loaded._replace(blocks=tuple(blocks)), loaded.version)

    def drop(self, collection: str) -> None:
        """Forget the collection; the next search loads it again."""
        with self._loading_lock(collection):  # what is being read now is older than this
            self._forget(collection)

    def _forget(self, collection: str) -> None:
        with self._lock:
            self._loaded.pop(collection, None)
            self._too_large.pop(collection, None)

    def reset(self) -> bool:
        """Do nothing and return False: the ledger has the vectors."""
        return False

    # ------------------------------------------------------------ inspecting

    def dimension(self, collection: str) -> int | None:
        """Return the dimension of the collection's vectors; None when it has none."""
        return self._changes.dimension(collection, self._version(collection))

    def count(self, collection: str) -> int:
        """Count the chunks that a search can find; 0 when the collection does not exist."""
        return sum(1 for _ in self.ids(collection))

    def ids(self, collection: str) -> Iterator[str]:
        """Yield every chunk id that a search can find; loads the collection, or asks Chroma."""
        loaded = self._load(collection, time.monotonic() + INSPECTION_S)
        if loaded is None:
            yield from self._copy.ids(collection)
        for block in loaded.blocks if loaded else ():
            yield from block.living_ids().astype(str).tolist()

    def check(self, collection: str) -> str:
        """Return an empty sentence: what is in memory is forgotten and loaded again when it is in doubt."""
        return ""

    def collections(self) -> list[str]:
        """Return the names of the collections that are in memory, sorted."""
        with self._lock:
            return sorted(self._loaded)

    def rest(self) -> None:
        """Keep what is loaded: a large collection takes seconds to load again, and ``memory_mb`` bounds them all."""

    def close(self) -> None:
        """Give back the memory."""
        self._closed = True
        self._loader.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            self._loaded.clear()


def _candidates(collection: str, loaded: _Loaded, vector: Vector, k: int, selection: Selection) -> Found:
    if not loaded.blocks:
        return Found.nothing()
    if vector.shape != (loaded.blocks[0].dimension,):
        raise EmbeddingError(
            f"{collection} has vectors of {loaded.blocks[0].dimension} dimensions, the query's has {vector.size}; "
            "embed the collection again after a change of the embedding model"
        )
    return loaded.nearest(vector, k, selection)


def _best(candidates: Mapping[str, Found], k: int) -> dict[str, Found]:
    """Return those candidates that are among the best ``k`` of all collections."""
    scores = np.concatenate([found.scores for found in candidates.values()]) if candidates else np.empty(0)
    if len(scores) <= k:
        return dict(candidates)
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    kept = {collection: found.scores >= least for collection, found in candidates.items()}
    return {
        collection: found._replace(ids=found.ids[kept[collection]], scores=found.scores[kept[collection]])
        for collection, found in candidates.items()
    }


def _block(chunks: Sequence[IndexedChunk]) -> VectorBlock:
    vectors = [chunk.vector for chunk in chunks if chunk.vector is not None]
    dimensions = {vector.size for vector in vectors}
    if len(dimensions) > 1:
        raise EmbeddingError(f"vectors of {sorted(dimensions)} dimensions do not go together")
    return VectorBlock.make(
        np.array([chunk.id for chunk in chunks], dtype=f"S{ID_BYTES}"),
        np.array([chunk.dataset_id for chunk in chunks], dtype=np.int64),
        np.array([chunk.document_id for chunk in chunks], dtype=np.int64),
        np.stack(vectors),
    )


def _compacted(blocks: list[VectorBlock]) -> list[VectorBlock]:
    """Merge small blocks at the end, so that their number grows with the logarithm of the rows."""
    while len(blocks) > 1 and len(blocks[-2]) < _MERGE_RATIO * len(blocks[-1]):
        blocks[-2:] = [merged(blocks[-2:])]
    return blocks
