"""Reads a Chroma collection that other code writes: page by page, and only when it changed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from braid.core.batches import batches
from braid.core.errors import ChromaDBError, HybridRetrieverError, IndexUnavailableError, ValidationError
from braid.core.indexes.chroma.errors import translate_errors
from braid.core.types import ScoredChunk
from braid.core.vector import Vector

if TYPE_CHECKING:
    import chromadb
    from langchain_chroma import Chroma

ROWS_PER_PAGE = 10_000  # Chroma cannot give more than 32,766 rows with their metadata at once
UNSEEN_CHANGES_S = 60
"""Seconds between two comparisons of a collection without files to watch, even when the number of chunks is equal."""


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk of the collection."""

    id: str
    document: str
    metadata: Mapping[str, Any]


class ChromaReader:
    """Reads a collection, and never writes. Every method raises ChromaDBError when the collection cannot be read.

    So does the constructor, which raises HybridRetrieverError for what is no open collection.
    """

    def __init__(self, store: chromadb.Collection | Chroma) -> None:
        collection = _collection_of(store)
        self._collection = collection
        settings = collection._client.get_settings()
        folder = Path(settings.persist_directory)
        self._files = [folder / "chroma.sqlite3", folder / "chroma.sqlite3-wal"] if settings.is_persistent else []
        with self._read():
            collection.count()

    @property
    def name(self) -> str:
        """The collection's name."""
        return self._collection.name

    def signature(self) -> object:
        """Return a value that differs after every change. Does not open Chroma's files, which would drop its locks."""
        stats = tuple((stat.st_mtime_ns, stat.st_size) for file in self._files if (stat := _stat(file)))
        if stats:
            return stats
        with self._read():
            return (self._collection.count(), int(time.monotonic() / UNSEEN_CHANGES_S))

    def documents(self) -> Iterator[tuple[str, str]]:
        """Yield the id and the text of every chunk that has a text."""
        offset, size = 0, ROWS_PER_PAGE
        while size == ROWS_PER_PAGE:
            with self._read():
                page = self._collection.get(include=["documents"], limit=ROWS_PER_PAGE, offset=offset)
            ids, texts = page["ids"], page["documents"] or []
            yield from ((chunk_id, text) for chunk_id, text in zip(ids, texts, strict=True) if text)
            size = len(ids)
            offset += size

    def rows(self, ids: Sequence[str], where: Mapping[str, Any] | None = None) -> dict[str, ChunkRow]:
        """Return, by id, those of the chunks that exist now and that the filter selects."""
        found: dict[str, ChunkRow] = {}
        for part in batches(ids, ROWS_PER_PAGE):
            with self._read():
                page = self._collection.get(
                    ids=list(part),
                    where=None if where is None else dict(where),
                    include=["documents", "metadatas"],
                )
            texts, metadatas = page["documents"] or [], page["metadatas"] or []
            for chunk_id, text, metadata in zip(page["ids"], texts, metadatas, strict=True):
                found[chunk_id] = ChunkRow(chunk_id, text or "", dict(metadata or {}))
        return found

    def nearest(self, query: str, vector: Vector | None, k: int, where: Mapping[str, Any] | None) -> list[ScoredChunk]:
        """Return the ``k`` nearest chunks, higher is better; without a vector the collection's own model embeds the
        query.
        """
        asked: dict[str, Any] = {"query_texts": [query]} if vector is None else {"query_embeddings": [vector.tolist()]}
        with self._read():
            found = self._collection.query(
                **asked, n_results=k, where=None if where is None else dict(where), include=["distances"]
            )
        distances = (found["distances"] or [[]])[0]
        return [ScoredChunk(chunk_id, -distance) for chunk_id, distance in zip(found["ids"][0], distances, strict=True)]

    @contextmanager
    def _read(self) -> Iterator[None]:
        try:
            with translate_errors(f"the Chroma collection {self.name}"):
                yield
        except IndexUnavailableError as error:
            raise ChromaDBError(str(error)) from error


def unwrapped(store: Any) -> Any:
    """Return the store of a manager that has one as ``vectorstore`` or ``vector_store``, and anything else as it is."""
    inner = getattr(store, "vectorstore", None) or getattr(store, "vector_store", None)
    return store if inner is None else inner


def _collection_of(store: object) -> chromadb.Collection:
    """Return the collection of a LangChain store, or the collection itself. Raises HybridRetrieverError."""
    store = unwrapped(store)
    try:
        collection: Any = getattr(store, "_collection", store)
    except ValueError as error:  # of a LangChain store whose collection was deleted
        raise HybridRetrieverError(f"the Chroma store is not open: {error}; open it first") from error
    if not all(hasattr(collection, name) for name in ("_client", "count", "get", "query")):
        raise HybridRetrieverError(
            f"the store is a {type(store).__name__}, not an open Chroma collection; give a chromadb.Collection or a "
            "langchain_chroma.Chroma"
        )
    return cast("chromadb.Collection", collection)


def check_filter(where: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the filter; None for an empty one. Raises ValidationError for a filter that Chroma does not take."""
    if not where:
        return None
    from chromadb.api.types import validate_where

    try:
        validate_where(dict(where))
    except ValueError as error:
        raise ValidationError(f"where is {where!r}, which Chroma does not take: {error}", field="where") from error
    return where


def _stat(file: Path) -> Any:
    try:
        return file.stat()
    except FileNotFoundError:
        return None
