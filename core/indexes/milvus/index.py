"""What both legs' indexes in Milvus have in common: rows are written, counted, listed and deleted by collection."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from braid.core.errors import IndexUnavailableError
from braid.core.indexes.base import LegIndex
from braid.core.indexes.milvus.server import MilvusServer, Store, within
from braid.core.ledger.change_log import ChangeLog, IndexedChunk

SEEN_S = 10.0
"""Time for which a collection that had something is taken to have something."""


class MilvusIndex(LegIndex):
    """An index whose chunks are rows of stores on a server. `apply` and `drop` may be repeated, by any process."""

    stored = True
    crash_safe = True

    def __init__(self, server: MilvusServer, changes: ChangeLog, kind: str) -> None:
        self._server = server
        self._changes = changes
        self._kind = kind

    @abstractmethod
    def _store(self, collection: str) -> Store:
        """Return the store that the collection's chunks are written to."""

    @abstractmethod
    def _row(self, chunk: IndexedChunk) -> Mapping[str, Any] | None:
        """Return what the leg needs of a chunk; None for a chunk that it cannot index."""

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Add or replace chunks and delete ids, an id in both is added; searches see it on return."""
        rows = {}
        for chunk in upserts:
            if own := self._row(chunk):
                rows[chunk.id] = {"dataset_id": chunk.dataset_id, "document_id": chunk.document_id, **own}
        self._store(collection).write(collection, rows, deletes)

    def count(self, collection: str) -> int:
        """Count the chunks in the collection; 0 when it does not exist."""
        return self._store(collection).count(_all_of(collection))

    def ids(self, collection: str) -> Iterator[str]:
        """Yield every chunk id in the collection, sorted."""
        return self._store(collection).chunk_ids(_all_of(collection))

    def check(self, collection: str) -> str:
        """Return an empty sentence: Milvus guards its own files. Raises StoreUnreachableError when it does not
        answer.
        """
        self.count(collection)
        return ""

    def drop(self, collection: str) -> None:
        """Delete the collection's chunks, also from stores of other versions and of another ``apart``."""
        store = self._store(collection)
        self._server.seen.pop((store.name, collection), None)
        for name in {store.name, *self._server.stores(self._kind)}:
            Store(self._server, name, store.shape).delete(collection)

    def collections(self) -> list[str]:
        """Return the names of the collections that have chunks, sorted; reads the name of every chunk."""
        found: set[str] = set()
        for name in self._server.stores(self._kind):
            shape = self._store("").shape
            found.update(str(row["collection"]) for row in Store(self._server, name, shape).rows("", ["collection"]))
        return sorted(found)

    def close(self) -> None:
        """Close the connection, which both legs share."""
        self._server.close()

    def _require_some(self, collection: str, expected: Callable[[], int]) -> None:
        """Raise IndexUnavailableError when Milvus has nothing of a collection of which the ledger has something.

        Counting costs more than a search: a collection that had something is counted again after 10 seconds.
        """
        key = self._store(collection).name, collection
        if time.monotonic() < self._server.seen.get(key, 0.0) or not expected():
            return
        if not self.count(collection):
            raise IndexUnavailableError(
                f"Milvus has nothing of the {self._kind} index of {collection}, which is made again"
            )
        self._server.seen[key] = time.monotonic() + SEEN_S


def _all_of(collection: str) -> str:
    return within({collection: (None, None)})[0]
