"""The vectors of collections in memory: loaded from the ledger by the first search, brought up to date by the change
log, and forgotten when others need their place. Those of a collection that does not fit are in files.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from braid.core.errors import EmbeddingError, IndexUnavailableError
from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.vector_block import BYTES_PER_ROW, ID_BYTES, SAMPLE, Found, Selection, VectorBlock, merged
from braid.core.ledger.change_log import ChangeLog, IndexedChunk
from braid.core.vector import Vector

Processor = Callable[[], AbstractContextManager[bool]]
"""Says whether the block has a processor for itself."""

LOADERS = 2
"""Collections that are loaded at a time."""
ROWS_TO_SHARE = 20_000
"""Rows from which on two threads scan: handing work to another one takes as long as scanning 3,000."""
_MEGABYTE = 2**20
_CHANGED = "the embedding model of {} has just changed"
_MERGE_RATIO = 4
"""A block is merged into the one before it when that is not this many times larger, so that there are few blocks."""
_PART_IN_MEMORY = 16
"""Of a collection in files, rows that take up to this part of the memory, those that came last, are in memory."""


def always() -> AbstractContextManager[bool]:
    """Return the `Processor` of a process that has enough of them."""
    return nullcontext(True)


class Loaded(NamedTuple):
    """A collection's vectors in memory; replaced, never changed."""

    version: str
    blocks: tuple[VectorBlock, ...]

    @property
    def size_bytes(self) -> int:
        """Memory that the blocks take."""
        return sum(block.size_bytes for block in self.blocks)

    @property
    def rows(self) -> int:
        """Count the rows, those that were deleted included."""
        return sum(len(block) for block in self.blocks)

    def nearest(self, vector: Vector, k: int, selection: Selection, *, sample: int = SAMPLE) -> Found:
        """Return the ``k`` selected rows with the largest approximate product with ``vector`` (dim,), best first, and
        ``sample`` random ones.
        """
        found = [block.nearest(vector, k, selection, sample=sample) for block in self.blocks] or [Found.nothing()]
        return found[0] if len(found) == 1 else Found.joined(found, k)


class VectorMemory:
    """Has the vectors of the model that answers for a collection, at most ``memory_mb`` of them in memory. Those of a
    collection that needs more are in files in ``folder``; files that an earlier process left there are deleted.

    `load` comes from any thread, `apply` and `drop` from one. A second thread helps a search while it gets a
    ``processor``.
    """

    def __init__(
        self,
        changes: ChangeLog,
        models: AnsweringModels,
        *,
        folder: Path,
        memory_mb: int,
        processor: Processor = always,
    ) -> None:
        self._changes = changes
        self._version = models.answering_version
        self._wanted_version = models.wanted_version
        self._most_bytes = memory_mb * _MEGABYTE
        self._folder = folder
        for left in folder.glob("*"):
            with suppress(OSError):
                left.unlink()
        self._processor = processor
        self._loaded: OrderedDict[str, Loaded] = OrderedDict()
        self._size_bytes = 0
        self.forgotten = 0
        """How many collections have been forgotten for others, so far."""
        self._readings: dict[tuple[str, str], Future[Loaded]] = {}
        self._lock = threading.Lock()
        self._scanning = threading.Lock()
        """Held by the first of the searches that scan at the same time."""
        self._loading: dict[str, threading.Lock] = {}
        self._loader = ThreadPoolExecutor(LOADERS, "braid-load")
        self._helper = ThreadPoolExecutor(1, "braid-scan")
        self._closed = False

    def load(self, collection: str, deadline: float, model: str = "") -> Loaded:
        """Return the collection's vectors.

        Raises IndexUnavailableError when they are not loaded by the deadline, cannot be written to a file that they
        need, or are not of the ``model``: those of the last one may still be there.
        """
        version = model or self._version(collection)
        with self._lock:
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

    def nearest(
        self, where: Mapping[str, tuple[Loaded, Selection]], vector: Vector, k: int, *, sample: int
    ) -> dict[str, Found]:
        """Return `Loaded.nearest` of several collections; of many rows with the help of a second thread, while there is
        a processor for it and no other search scans.
        """
        found: dict[str, Found] = {}
        left = deque(where.items())

        def scan_one() -> bool:
            try:
                collection, (loaded, selection) = left.popleft()
            except IndexError:  # the other thread was faster
                return False
            found[collection] = loaded.nearest(vector, k, selection, sample=sample)
            return True

        def help_scan() -> None:
            while left:
                with self._processor() as is_free:
                    if not is_free or not scan_one():
                        return

        helper, is_alone = None, self._scanning.acquire(blocking=False)
        try:
            if is_alone and len(where) > 1 and sum(loaded.rows for loaded, _ in where.values()) >= ROWS_TO_SHARE:
                with suppress(RuntimeError):  # it has just been closed
                    helper = self._helper.submit(help_scan)
            while scan_one():
                pass
            if helper is not None and len(found) < len(where):
                helper.result()
        finally:
            left.clear()  # there is something left only where this thread has failed
            if helper is not None:
                helper.cancel()
            if is_alone:
                self._scanning.release()
        return {collection: found[collection] for collection in where}

    def _reading(self, collection: str, version: str) -> Future[Loaded]:
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

    def _read_once(self, collection: str, version: str) -> Loaded:
        """Read the collection's vectors from the ledger, unless another thread has just done so."""
        with self._loading_lock(collection):
            with self._lock:
                loaded = self._loaded.get(collection)
            if loaded is None or loaded.version != version:
                loaded = self._read(collection, version)
                if self._version(collection) != version:  # its vectors may have been deleted while they were read
                    raise IndexUnavailableError(_CHANGED.format(collection))
                self._keep(collection, loaded)
        return loaded

    def _loading_lock(self, collection: str) -> threading.Lock:
        with self._lock:
            return self._loading.setdefault(collection, threading.Lock())

    def _read(self, collection: str, version: str) -> Loaded:
        """Read all vectors; at any time no more of them are in memory than may stay there."""
        loaded = Loaded(version, ())
        rows = self._changes.chunk_count(collection)
        for batch in self._changes.vectors_of(collection, version):
            ids = np.array(batch.chunk_ids, dtype=f"S{ID_BYTES}")
            block = VectorBlock.make(ids, batch.dataset_ids, batch.document_ids, batch.vectors)
            loaded = loaded._replace(blocks=(*loaded.blocks, block))
            if self._is_too_large(rows, block.dimension):
                loaded = self._moved_to_files(loaded)
        in_memory = [block for block in loaded.blocks if not block.in_file]
        in_files = [block for block in loaded.blocks if block.in_file]
        return loaded._replace(blocks=(*in_files, *([merged(in_memory)] if len(in_memory) > 1 else in_memory)))

    def _is_too_large(self, rows: int, dimension: int) -> bool:
        return rows * (BYTES_PER_ROW + dimension) > self._most_bytes

    def _moved_to_files(self, loaded: Loaded) -> Loaded:
        """Return the same vectors with as few of them in memory as those of a large collection may take."""
        if loaded.size_bytes <= self._most_bytes // _PART_IN_MEMORY:
            return loaded
        in_files = [block for block in loaded.blocks if block.in_file]
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            moved = merged([block for block in loaded.blocks if not block.in_file]).moved_to_file(self._folder)
        except OSError as error:
            raise IndexUnavailableError(f"vectors that need more than dense_memory_mb need files: {error}") from error
        return loaded._replace(blocks=(*in_files, moved))

    def _keep(self, collection: str, loaded: Loaded) -> None:
        """Keep the collection's vectors, and forget those of collections not used for longest."""
        with self._lock:
            self._pop(collection)
            self._loaded[collection] = loaded
            self._size_bytes += loaded.size_bytes
            while self._size_bytes > self._most_bytes and len(self._loaded) > 1:
                self._pop(next(iter(self._loaded)))
                self.forgotten += 1

    def _pop(self, collection: str) -> None:
        forgotten = self._loaded.pop(collection, None)
        if forgotten is not None:
            self._size_bytes -= forgotten.size_bytes

    @property
    def size_bytes(self) -> int:
        """Memory that the vectors take."""
        return self._size_bytes

    def collections(self) -> list[str]:
        """Return the names of the collections that are in memory, sorted."""
        with self._lock:
            return sorted(self._loaded)

    def close(self) -> None:
        """Give back the memory."""
        self._closed = True
        for threads in (self._loader, self._helper):
            threads.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            self._loaded.clear()
            self._size_bytes = 0

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
            if loaded is None:
                return
            # While vectors of another model are made, those of the last one answer.
            added = chunks if loaded.version == self._wanted_version(collection) else []
            new = [_block(added)] if added else []
            if new and loaded.blocks and new[0].dimension != loaded.blocks[0].dimension:
                return self._forget(collection)  # all were embedded again: the ledger has none of the old ones
            gone = np.array([*deletes, *(chunk.id for chunk in added)], dtype=f"S{ID_BYTES}")
            kept = [block.without(gone) for block in loaded.blocks] if len(gone) else loaded.blocks
            changed = loaded._replace(blocks=_compacted([*(block for block in kept if block is not None), *new]))
            if changed.blocks and self._is_too_large(changed.rows, changed.blocks[0].dimension):
                try:
                    changed = self._moved_to_files(changed)
                except IndexUnavailableError:
                    return self._forget(collection)  # the next search reads the collection again, and says why not
            self._keep(collection, changed)

    def drop(self, collection: str) -> None:
        """Forget the collection; the next search loads it again."""
        with self._loading_lock(collection):  # what is being read now is older than this
            self._forget(collection)

    def _forget(self, collection: str) -> None:
        with self._lock:
            self._pop(collection)


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


def _compacted(blocks: Sequence[VectorBlock]) -> tuple[VectorBlock, ...]:
    """Merge small blocks in memory, so that their number grows with the logarithm of the rows."""
    in_files, kept = [each for each in blocks if each.in_file], [each for each in blocks if not each.in_file]
    while len(kept) > 1 and len(kept[-2]) < _MERGE_RATIO * len(kept[-1]):
        kept[-2:] = [merged(kept[-2:])]
    return (*in_files, *kept)
