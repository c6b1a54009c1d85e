"""Collections in Chroma for this process alone, kept equal to the ledger: texts, vectors, and whose they are."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import chromadb
import numpy as np
from chromadb.config import Settings
from langchain_chroma import Chroma

from braid.core.batches import batches
from braid.core.indexes.chroma.errors import translate_errors
from braid.core.indexes.chroma.store import subject
from braid.core.ledger.change_log import ChangeLog, IndexedChunk
from braid.core.stock.scratch import ScratchFolder
from braid.core.types import CollectionScope

if TYPE_CHECKING:
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from langchain_core.embeddings import Embeddings

CHUNKS_PER_CALL = 1_000
CHANGES_PER_READ = 10_000
_CONFIGURATION: CreateCollectionConfiguration = {"hnsw": {"space": "cosine", "ef_search": 400}}


@dataclass(frozen=True, slots=True)
class Selected:
    """The documents, or the passages, that filters select."""

    key: Literal["document_id", "id"]
    """Under which the metadata in Chroma have the ids."""
    ids: frozenset[Any]


@dataclass(slots=True)
class _Kept:
    """The contents of a collection in Chroma."""

    stamp: tuple[object, ...]
    """State of the ledger that it is equal to."""
    model: str
    head: int
    """The last change that was applied."""
    ids: set[str] = field(default_factory=set)


class ChromaStores:
    """Writes what has changed before a collection is read, in a `ScratchFolder` that goes with this object.

    Chroma is not shared by processes: a second one that has the same folder open would miss, and damage, what the
    first one writes. Every method raises IndexUnavailableError when Chroma fails.
    """

    def __init__(self, changes: ChangeLog, data_dir: Path | None) -> None:
        self._changes = changes
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()
        self._settings = Settings(anonymized_telemetry=False)
        folder = ScratchFolder(data_dir)
        self._client = chromadb.PersistentClient(str(folder.path), self._settings)
        self._finalize = weakref.finalize(self, _remove, self._client, folder, os.getpid())

    def close(self) -> None:
        """Delete the folder."""
        self._finalize()

    def stored(self, collection: str, model: str, embeddings: Embeddings) -> Chroma:
        """Return the collection with its vectors of the model, as they are in the ledger now."""
        with self._lock, translate_errors(subject(collection)):
            self._follow(collection, model)
            return Chroma(
                collection,
                embeddings,
                client=self._client,
                client_settings=self._settings,
                create_collection_if_not_exists=False,
            )

    def _follow(self, collection: str, model: str) -> None:
        head = self._changes.heads().get(collection, 0)
        stamp = (head, model, self._changes.embedded_count(collection, model))
        kept = self._kept.get(collection)
        if kept is not None and kept.stamp == stamp:
            return
        if kept is None or kept.model != model or not kept.head <= head or self._is_pruned(collection, kept.head):
            kept = self._begin(collection, model)
        wanted = self._changes.embedded_ids(collection, model)
        there = self._client.get_collection(collection, embedding_function=None)
        for gone in batches(sorted(kept.ids - wanted), CHUNKS_PER_CALL):
            there.delete(ids=list(gone))
        kept.ids &= wanted
        for ids in batches(
            sorted((wanted - kept.ids) | (self._changed(collection, kept.head) & wanted)), CHUNKS_PER_CALL
        ):
            chunks = self._changes.chunks(collection, ids, model)
            ready = [(chunk, chunk.vector) for chunk in chunks if chunk.vector is not None]
            if ready:
                there.upsert(
                    ids=[chunk.id for chunk, _ in ready],
                    embeddings=np.stack([vector for _, vector in ready]),
                    documents=[chunk.text for chunk, _ in ready],
                    metadatas=[metadata_of(chunk) for chunk, _ in ready],
                )
            kept.ids |= {chunk.id for chunk, _ in ready}
        kept.head, kept.stamp = head, stamp

    def _begin(self, collection: str, model: str) -> _Kept:
        from chromadb.errors import NotFoundError

        self._kept.pop(collection, None)
        with suppress(NotFoundError):
            self._client.delete_collection(collection)
        self._client.create_collection(collection, configuration=_CONFIGURATION, embedding_function=None)
        self._kept[collection] = _Kept((), model, 0)
        return self._kept[collection]

    def _is_pruned(self, collection: str, head: int) -> bool:
        return self._changes.first_seqs().get(collection, 0) > head + 1

    def _changed(self, collection: str, head: int) -> set[str]:
        changed: set[str] = set()
        while head and (found := self._changes.after(collection, head, CHANGES_PER_READ)):
            changed.update(change.chunk_id for change in found)
            head = found[-1].seq
        return changed


def metadata_of(chunk: IndexedChunk) -> dict[str, Any]:
    """Return what a passage is filtered by in Chroma, and its id, by which the ensemble knows it again."""
    owner = {} if chunk.user_id is None else {"user_id": chunk.user_id}
    return {"id": chunk.id, **owner, "dataset_id": chunk.dataset_id, "document_id": chunk.document_id}


def where(scope: CollectionScope, selected: Selected | None) -> Mapping[str, Any]:
    """Return Chroma's filter for a user's datasets, or for shared ones, and for what of them is ``selected``."""
    clauses: list[Mapping[str, Any]] = [] if scope.user_id is None else [{"user_id": scope.user_id}]
    clauses.append({"dataset_id": {"$in": sorted(scope.dataset_ids)}})
    if selected is not None:
        clauses.append({selected.key: {"$in": sorted(selected.ids)}})
    return clauses[0] if len(clauses) == 1 else {"$and": clauses}


def _remove(client: Any, folder: ScratchFolder, process: int) -> None:
    if os.getpid() == process:  # in the child of a fork it is its parent's
        client.close()
        folder.remove()
