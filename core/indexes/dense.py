"""The dense leg: one Chroma collection per Braid collection, cosine similarity, texts left in the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from braid.core.batches import batches
from braid.core.errors import EmbeddingError, IndexUnavailableError, InvalidInputError
from braid.core.indexes.chroma.collections import DIMENSION, Collections, subject
from braid.core.indexes.chroma.errors import StoreUnreachableError, translate_errors
from braid.core.indexes.chroma.filters import NOTHING, simplify, to_where
from braid.core.indexes.chroma.probe import IDS_PER_PAGE, fault_in_answers, id_page
from braid.core.indexes.chroma.sessions import Sessions
from braid.core.indexes.chroma.stores import EmbeddedStore, ServerStore, Session
from braid.core.ledger.change_log import IndexedChunk
from braid.core.types import Leg, ScoredChunk
from braid.core.vector import Vector

if TYPE_CHECKING:
    import chromadb

# Searches of a collection wait while a batch is added to it: 0.2–0.5 s.
_UPSERTS_PER_CALL = 250
_DELETES_PER_CALL = 5_000
_DEAD_ENTRIES_ALLOWED = 1_000
_DEAD_ENTRIES_PER_CHUNK = 4


class DenseIndex:
    """Chroma in a folder that only this process uses, or behind ``url`` (a ``chroma run`` server, ``http://host:port``).

    At most ``max_open_collections`` are in memory, about 3 MB each and more for large ones. Searches come from any
    thread, `apply` and `drop` from one.
    """

    leg: Leg = "dense"

    def __init__(self, path: Path, *, max_open_collections: int = 128, url: str = "") -> None:
        self._store = ServerStore(url) if url else EmbeddedStore(path, max_open_collections=max_open_collections)
        self.crash_safe = bool(url)
        self._sessions = Sessions(self._store)
        self._collections = Collections()

    @property
    def store_id(self) -> str:
        """The store's identity: another one after `reset` or when it was missing on disk; empty before first use."""
        return self._store.store_id

    # ------------------------------------------------------------ searching

    def search(
        self, collection: str, vector: Vector, k: int, *, where: Mapping[str, object] | None = None
    ) -> list[ScoredChunk]:
        """Return the ``k`` chunks nearest to ``vector`` (dim,) float32, by cosine similarity, ties by id.

        ``where`` is a Chroma filter, or None. Empty when the collection is empty or does not exist. Raises
        IndexUnavailableError when the store is broken, EmbeddingError when the vector does not fit the collection.
        """
        if k < 1:
            raise InvalidInputError(f"k is {k}; it must be at least 1", field="k")
        matrix = _matrix([vector])
        restriction = simplify(where)
        if restriction is NOTHING:
            return []
        chroma_where = None if restriction is None else to_where(restriction)
        with self._sessions.lend(collection) as session:
            handle = self._collections.get(session, collection)
            if handle is None:
                return []
            _require_dimension(handle, matrix)
            with translate_errors(subject(collection)):
                found = handle.query(query_embeddings=matrix, n_results=k, where=chroma_where, include=["distances"])
        distances = found["distances"] or [[]]
        hits = [ScoredChunk(*pair) for pair in zip(found["ids"][0], (1.0 - d for d in distances[0]), strict=True)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))

    # ------------------------------------------------------------ following the ledger

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Add or replace chunks and delete ids; an id in both is added. Durable on return.

        Raises EmbeddingError, with nothing done, when a vector is missing, zero, not finite or of another dimension.
        """
        chunks = list({chunk.id: chunk for chunk in upserts}.values())
        matrix = _matrix([chunk.vector for chunk in chunks], [chunk.id for chunk in chunks])
        if chunks:
            with self._sessions.lend(collection) as session:
                _require_dimension(self._collections.get_or_create(session, collection, matrix.shape[1]), matrix)
        try:
            self._write(collection, chunks, matrix, deletes)
        except IndexUnavailableError:
            # After a write that failed, as on a full disk, the next one to the same client of Chroma's never returns,
            # and keeps the interpreter's lock: no thread of the process would run again.
            self._sessions.renew()
            raise

    def _write(
        self, collection: str, chunks: Sequence[IndexedChunk], matrix: NDArray[np.float32], deletes: Sequence[str]
    ) -> None:
        upserted = {chunk.id for chunk in chunks}
        gone = [chunk_id for chunk_id in dict.fromkeys(deletes) if chunk_id not in upserted]
        for ids in batches(gone, _DELETES_PER_CALL):
            self._delete(collection, ids)
        for batch in batches(list(zip(chunks, matrix, strict=True)), _UPSERTS_PER_CALL):
            self._upsert(collection, [chunk for chunk, _ in batch], np.stack([row for _, row in batch]))

    def _delete(self, collection: str, ids: Sequence[str]) -> None:
        with self._sessions.lend(collection) as session:
            handle = self._collections.get(session, collection)
            if handle is not None:
                with translate_errors(subject(collection)):
                    handle.delete(ids=list(ids))

    def _upsert(self, collection: str, chunks: Sequence[IndexedChunk], matrix: NDArray[np.float32]) -> None:
        ids = [chunk.id for chunk in chunks]
        with self._sessions.lend(collection) as session:
            handle = self._collections.get_or_create(session, collection, matrix.shape[1])
            with translate_errors(subject(collection)):
                handle.upsert(ids=ids, embeddings=matrix, metadatas=[_metadata(chunk) for chunk in chunks])

    def drop(self, collection: str) -> None:
        """Delete the collection, even if it is broken. Raises IndexUnavailableError; then see `reset`."""
        with self._sessions.alone() as session:
            self._collections.delete(session, collection)

    def reset(self) -> bool:
        """Abandon the embedded store, however broken, and begin an empty one. False with a server: use `drop`."""
        replaced = self._sessions.replace()
        if replaced:
            self._collections.forget_all()
        return replaced

    # ------------------------------------------------------------ inspecting

    def dimension(self, collection: str) -> int | None:
        """Return the dimension of the collection's vectors; None when it does not exist."""
        with self._sessions.lend(collection) as session:
            handle = self._collections.get(session, collection)
            return None if handle is None else int(handle.metadata[DIMENSION])

    def count(self, collection: str) -> int:
        """Count the chunks in the collection; 0 when it does not exist."""
        with self._sessions.lend(collection) as session:
            handle = self._collections.get(session, collection)
            with translate_errors(subject(collection)):
                return 0 if handle is None else handle.count()

    def ids(self, collection: str) -> Iterator[str]:
        """Yield every chunk id in the collection."""
        page, offset = self._id_page(collection, 0), 0
        while page:
            yield from page
            offset += len(page)
            page = self._id_page(collection, offset) if len(page) == IDS_PER_PAGE else []

    def _id_page(self, collection: str, offset: int) -> list[str]:
        with self._sessions.lend(collection) as session:
            handle = self._collections.get(session, collection)
            with translate_errors(subject(collection)):
                return [] if handle is None else id_page(handle, offset)

    def check(self, collection: str) -> str:
        """Return what is wrong, in one sentence; empty when files, ids and a sample of searches are sound.

        Raises IndexUnavailableError when the server does not answer, which is no reason to rebuild.
        """
        try:
            with self._sessions.lend(collection) as session:
                handle = self._collections.get(session, collection)
                if handle is None:
                    return ""
                with translate_errors(subject(collection)):
                    fault = fault_in_answers(handle) or _waste(session, collection, handle.count())
        except StoreUnreachableError:
            raise
        except IndexUnavailableError as error:
            return str(error)
        return f"{subject(collection)} is damaged: {fault}" if fault else ""

    def collections(self) -> list[str]:
        """Return the names of Braid's collections, sorted, without those of others on the same server."""
        with self._sessions.lend() as session, translate_errors("the dense store"):
            return sorted(c.name for c in session.client.list_collections() if DIMENSION in (c.metadata or {}))

    def close(self) -> None:
        """Wait for the running calls; release files and threads."""
        self._sessions.close()


def _metadata(chunk: IndexedChunk) -> dict[str, int | None]:
    """Return the chunk's ids; None removes a value of an earlier version, which an upsert alone would keep."""
    return {"user_id": chunk.user_id, "dataset_id": chunk.dataset_id, "document_id": chunk.document_id}


def _matrix(vectors: Sequence[Vector | None], ids: Sequence[str] = ()) -> NDArray[np.float32]:
    """Stack the vectors as rows (n, dim) float32. Raises EmbeddingError for bad vectors, which Chroma would accept."""
    rows = []
    for number, vector in enumerate(vectors):
        row = np.asarray(vector if vector is not None else [], dtype=np.float32)
        if row.ndim != 1 or not row.size or not np.isfinite(row).all() or not row.any():
            of = f" of chunk {ids[number]}" if ids else ""
            raise EmbeddingError(f"the vector{of} is missing, zero or not finite; embed it again")
        rows.append(row)
    if len({row.size for row in rows}) > 1:
        raise EmbeddingError(f"vectors of {sorted({row.size for row in rows})} dimensions do not go together")
    return np.stack(rows) if rows else np.empty((0, 0), np.float32)


def _require_dimension(handle: chromadb.Collection, matrix: NDArray[np.float32]) -> None:
    expected = (handle.metadata or {})[DIMENSION]
    if matrix.shape[1] != expected:
        raise EmbeddingError(
            f"{subject(handle.name)} has vectors of {expected} dimensions, not {matrix.shape[1]}; "
            "rebuild it after a change of the embedding model"
        )


def _waste(session: Session, collection: str, count: int) -> str:
    """Return how much of the index is waste, in words: Chroma keeps deleted vectors, which slow searches down."""
    segment = session.segments.get(collection)
    entries = segment.entries() if segment else 0
    if entries - count <= _DEAD_ENTRIES_ALLOWED + _DEAD_ENTRIES_PER_CHUNK * count:
        return ""
    return f"{entries - count} of its {entries} entries are of deleted chunks; rebuild it"
