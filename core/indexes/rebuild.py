"""The rebuild of one collection's index from the ledger, a few chunks at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from braid.core.indexes.base import LegIndex
from braid.core.indexes.sources import ChunkSource
from braid.core.ledger.change_log import IndexedChunk


class Rebuild:
    """Fills the emptied index of a collection with every chunk that the ledger has, as of ``head`` or later.

    ``pending`` is the number of chunks to go, ``version`` the analyzer version or model fingerprint that the index
    will have.
    """

    def __init__(self, collection: str, index: LegIndex, source: ChunkSource, *, head: int, pending: int) -> None:
        self.head = head
        self.pending = pending
        self.version = source.version(collection)
        self.begun = False
        self._collection = collection
        self._index = index
        self._source = source
        self._batches: Iterator[list[IndexedChunk]] = iter(())
        self._rest: Sequence[IndexedChunk] = ()

    def step(self) -> int:
        """Index the next chunks and return how many that covers; 0 when all are indexed.

        The index must be empty at the first step. A rebuild whose step raises cannot be continued.
        """
        if not self.begun:
            self.begun = True
            self._batches = self._source.read_all(self._collection)
        if not self._rest:
            self._rest = next(self._batches, ())
        if not self._rest:
            return 0
        ready, covered = self._source.prepare(self._collection, self._rest)
        self._index.apply(self._collection, ready, ())
        self._rest = self._rest[covered:]
        self.pending = max(0, self.pending - covered)
        return covered
