"""The dense leg: one Chroma collection per Braid collection, cosine similarity, texts left in the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import chromadb
import numpy as np
from numpy.typing import NDArray

from braid.core.errors import EmbeddingError, IndexUnavailableError, InvalidInputError
from braid.core.indexes.base import IndexedChunk, Scored, Vector
from braid.core.indexes.chroma.collections import DIMENSION, Collections, subject
from braid.core.indexes.chroma.errors import StoreUnreachableError, told
from braid.core.indexes.chroma.filters import NOTHING, checked, simplified
from braid.core.indexes.chroma.probe import IDS_PER_PAGE, fault_in_answers, id_page
from braid.core.indexes.chroma.sessions import Sessions
from braid.core.indexes.chroma.stores import EmbeddedStore, ServerStore, Session
from braid.core.types import Leg

# Searches of a collection wait while a batch is added to it: 0.2–0.5 s.
_UPSERTS_PER_CALL = 250
_DELETES_PER_CALL = 5_000
_DEAD_ENTRIES_ALLOWED = 1_000
_DEAD_ENTRIES_PER_CHUNK = 4


class DenseIndex:
    """Chroma in a folder of this process alone, or behind ``url`` (a ``chroma run`` server, ``http://host:port``).

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
        """Which store this is; another one after `reset`, and when it was not found on disk. Empty before first use."""
        return self._store.store_id

    # ------------------------------------------------------------ searching

    def search(
        self, collection: str, vector: Vector, k: int, *, where: Mapping[str, object] | None = None
    ) -> list[Scored]:
        """The ``k`` chunks nearest to ``vector`` (dim,) float32, by cosine similarity, ties by id.

        ``where`` is a Chroma filter, or None. Empty when the collection is, or does not exist. Raises
        IndexUnavailableError when the store is broken, EmbeddingError when the vector is not one of this collection.
        """
        if k < 1:
            raise InvalidInputError(f"k is {k}; it must be at least 1", field="k")
        matrix = _matrix([vector])
        restriction = simplified(where)
        if restriction is NOTHING:
            return []
        chroma_where = None if restriction is None else checked(restriction)
        with self._sessions.lend(collection) as session:
            handle = self._collections.get(session, collection)
            if handle is None:
                return []
            _require_dimension(handle, matrix)
            with told(subject(collection)):
                found = handle.query(query_embeddings=matrix, n_results=k, where=chroma_where, include=["distances"])
        distances = found["distances"] or [[]]
        hits = [Scored(*pair) for pair in zip(found["ids"][0], (1.0 - d for d in distances[0]), strict=True)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))

    # ------------------------------------------------------------ following the ledger

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Make the chunks findable and the deleted ids gone; an id in both is there in the end. Durable on return.

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
        for start in range(0, len(gone), _DELETES_PER_CALL):
            self._delete(collection, gone[start : start + _DELETES_PER_CALL])
        for start in range(0, len(chunks), _UPSERTS_PER_CALL):
            end = start + _UPSERTS_PER_CALL
            self._upsert(collection, chunks[start:end], matrix[start:end])

    def _delete(self, collection: str, ids: list[str]) -> None:
        with self._sessions.lend(collection) as session:
            handle = self._collections.get(session, collection)
            if handle is not None:
                with told(subject(collection)):
                    handle.delete(ids=ids)

    def _upsert(self, collection: str, chunks: Sequence[IndexedChunk], matrix: NDArray[np.float32]) -> None:
        ids = [chunk.id for chunk in chunks]
        with self._sessions.lend(collection) as session:
            handle = self._collections.get_or_create(session, collection, matrix.shape[1])
            with told(subject(collection)):
                handle.upsert(ids=ids, embeddings=matrix, metadatas=[_metadata(chunk) for chunk in chunks])

    def drop(self, collection: str) -> None:
        """Forget the collection, also when it is broken. Where Chroma refuses, IndexUnavailableError; see `reset`."""
        with self._sessions.alone() as session:
            self._collections.delete(session, collection)

    def reset(self) -> bool:
        """Abandon the embedded store, however broken, and begin an empty one. False with a server: `drop` instead."""
        replaced = self._sessions.replace()
        if replaced:
            self._collections.forget_all()
        return replaced

    # ------------------------------------------------------------ looking at it

    def dimension(self, collection: str) -> int | None:
        """Of the collection's vectors; None when it does not exist."""
        with self._sessions.lend(collection) as session:
            handle = self._collections.get(session, collection)
            return None if handle is None else int(handle.metadata[DIMENSION])

    def count(self, collection: str) -> int:
        """Chunks in the collection; 0 when it does not exist."""
        with self._sessions.lend(collection) as session:
            handle = self._collections.get(session, collection)
            with told(subject(collection)):
                return 0 if handle is None else handle.count()

    def ids(self, collection: str) -> Iterator[str]:
        """Every chunk id in the collection."""
        page, offset = self._id_page(collection, 0), 0
        while page:
            yield from page
            offset += len(page)
            page = self._id_page(collection, offset) if len(page) == IDS_PER_PAGE else []

    def _id_page(self, collection: str, offset: int) -> list[str]:
        with self._sessions.lend(collection) as session:
            handle = self._collections.get(session, collection)
            with told(subject(collection)):
                return [] if handle is None else id_page(handle, offset)

    def check(self, collection: str) -> str:
        """What is wrong with the collection, in one sentence; empty when its files, ids and a sample of searches are
        sound. Raises IndexUnavailableError when the server does not answer, which is no reason to rebuild.
        """
        try:
            with self._sessions.lend(collection) as session:
                handle = self._collections.get(session, collection)
                if handle is None:
                    return ""
                with told(subject(collection)):
                    fault = fault_in_answers(handle) or _waste(session, collection, handle.count())
        except StoreUnreachableError:
            raise
        except IndexUnavailableError as error:
            return str(error)
        return f"{subject(collection)} is damaged: {fault}" if fault else ""

    def collections(self) -> list[str]:
        """Names of the collections that exist, sorted. Those that others keep on the same server are not ours."""
        with self._sessions.lend() as session, told("the dense store"):
            return sorted(c.name for c in session.client.list_collections() if DIMENSION in (c.metadata or {}))

    def close(self) -> None:
        """Wait for the calls under way; release files and threads."""
        self._sessions.close()


def _metadata(chunk: IndexedChunk) -> dict[str, int | None]:
    """None removes a value that an earlier version of the chunk had; an upsert alone would keep it."""
    return {"user_id": chunk.user_id, "dataset_id": chunk.dataset_id, "document_id": chunk.document_id}


def _matrix(vectors: Sequence[Vector | None], ids: Sequence[str] = ()) -> NDArray[np.float32]:
    """The vectors as rows (n, dim) float32. Raises EmbeddingError for what is not a vector, which Chroma would take."""
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
    """Chroma never removes deleted vectors from an index: it grows, and its searches slow down."""
    segment = session.segments.get(collection)
    entries = segment.entries() if segment else 0
    if entries - count <= _DEAD_ENTRIES_ALLOWED + _DEAD_ENTRIES_PER_CHUNK * count:
        return ""
    return f"{entries - count} of its {entries} entries are of deleted chunks; rebuild it"
