"""The copy of the passages in Chroma, for other programs.

No search asks it, and nothing waits for it. A copy whose writing was interrupted, or that cannot be read, is dropped
and written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from braid.core.errors import IndexUnavailableError, StoreUnreachableError
from braid.core.files.claim import Claim
from braid.core.indexes.base import LegIndex
from braid.core.indexes.chroma.process import ChromaProcess
from braid.core.indexes.chroma.store import abandon, check_url
from braid.core.ledger.change_log import IndexedChunk, StateName
from braid.core.types import Leg


class ChromaCopy(LegIndex):
    """Collections in a folder, or behind ``url`` (a ``chroma run`` server), which a process of its own has open.

    A server that has the copy of another site than that of the ``claim`` is not used. Without ``texts`` the copy has
    vectors and ids alone.

    Every method may raise IndexUnavailableError.
    """

    name: StateName = "chroma"
    leg: Leg = "dense"
    stored = True

    def __init__(self, path: Path, *, url: str = "", claim: Claim | None = None, texts: bool = True) -> None:
        self._path = path
        self._url = check_url(url) if url else ""
        self.texts = texts
        self._process = ChromaProcess(path, url, claim=claim)
        self.crash_safe = bool(url)

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Add or replace chunks and delete ids; an id in both is added, a chunk without a vector left out."""
        chunks = {chunk.id: chunk for chunk in upserts if chunk.vector is not None}
        gone = [chunk_id for chunk_id in dict.fromkeys(deletes) if chunk_id not in chunks]
        vectors = np.stack([c.vector for c in chunks.values() if c.vector is not None]) if chunks else np.empty((0, 0))
        texts = [chunk.text for chunk in chunks.values()] if self.texts else None
        self._process.call("apply", collection, list(chunks), vectors, [*map(_metadata, chunks.values())], gone, texts)

    def count(self, collection: str) -> int:
        """Count the chunks in the collection; 0 when it does not exist."""
        return int(self._process.call("count", collection))

    def ids(self, collection: str) -> Iterator[str]:
        """Yield every chunk id in the collection."""
        yield from self._process.call("ids", collection)

    def check(self, collection: str) -> str:
        """Return what is wrong, in one sentence; empty when the collection names as many chunks as it counts.

        Raises StoreUnreachableError when that cannot be told.
        """
        try:
            ids, count = list(self.ids(collection)), self.count(collection)
        except StoreUnreachableError:
            raise
        except IndexUnavailableError as error:
            return str(error)
        return "" if len(set(ids)) == count else f"the Chroma collection {collection} names {len(set(ids))} of {count}"

    def drop(self, collection: str) -> None:
        """Delete the collection, even if it is broken."""
        self._process.call("drop", collection)

    def reset(self) -> bool:
        """Abandon the folder, however broken, and begin an empty one. False with a server: use `drop`."""
        if self._url:
            return False
        self._process.end()
        abandon(self._path)
        return True

    def collections(self) -> list[str]:
        """Return the names of the collections that exist, sorted."""
        return self._process.names()

    def rest(self) -> None:
        """Give back the memory of a copy that has not been used for a while."""
        self._process.end_if_idle()

    def close(self) -> None:
        """End the process."""
        self._process.close()


def _metadata(chunk: IndexedChunk) -> dict[str, int | None]:
    """Return the chunk's ids; None removes a value of an earlier version, which an upsert alone would keep."""
    return {"user_id": chunk.user_id, "dataset_id": chunk.dataset_id, "document_id": chunk.document_id}
