"""A store of Chroma collections, in a folder or behind a server: one collection per Braid collection.

Used by one process alone, `braid.core.indexes.chroma.worker`: a second one would corrupt a folder.
"""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from braid.core.batches import batches
from braid.core.errors import (
    IndexUnavailableError,
    InvalidInputError,
    NotFoundError,
    OtherSiteError,
    StoreUnreachableError,
)
from braid.core.files.claim import Claim
from braid.core.indexes.chroma.errors import translate_errors

if TYPE_CHECKING:
    import chromadb
    from chromadb.api import ClientAPI
    from chromadb.api.collection_configuration import CreateCollectionConfiguration

DIMENSION = "dimension"
DATABASE = "chroma.sqlite3"
NO_STORE = (
    "Here is no store: braid chroma-path prints the folder that has one. This keeps Chroma from making another.\n"
)
SITE = "braid-site-"
"""Beginning of the name of the collection that says which site a server's copy is of."""
SERVER_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 2.0
IDS_PER_PAGE = 10_000
"""Chroma cannot return more than 32,766 ids at a time."""
_UPSERTS_PER_CALL = 1_000
_DELETES_PER_CALL = 5_000
_STORE_NAME = re.compile(r"store-(\d+)(-[0-9a-f]+)?")
# ef_search 400: recall@10 0.98 on seven sets of real vectors. sync_threshold 1000: an index that is not saved is made
# again, vector by vector, when the collection is opened.
_CONFIGURATION: CreateCollectionConfiguration = {
    "hnsw": {"space": "cosine", "ef_search": 400, "max_neighbors": 24, "ef_construction": 100, "sync_threshold": 1000},
}


class ChromaStore:
    """Chroma collections of cosine similarity in a folder ``store-<number>-<random>`` under ``path``, or at ``url``.

    Every method raises IndexUnavailableError when the store cannot be used, StoreUnreachableError when its server
    does not answer. Used by one thread.
    """

    def __init__(self, path: Path, url: str = "", claim: Claim | None = None) -> None:
        self._path = path
        self._file: Path | None
        self._client, self._file = (_server(url), None) if url else self._open_folder()
        self._opened = _identity(self._file)
        self._handles: dict[str, chromadb.Collection] = {}
        if url and claim is not None:
            self._require_site(claim, url)

    def _require_site(self, claim: Claim, url: str) -> None:
        """Raise IndexUnavailableError when the server has another site's copy: an empty collection is named by it."""
        with translate_errors("the Chroma store"):
            there = {c.name: DIMENSION in (c.metadata or {}) for c in self._client.list_collections()}
            marks = [name for name in there if name.startswith(SITE)]
            mine = SITE + claim.site
            found = "" if not marks else claim.site if mine in marks else marks[0].removeprefix(SITE)
            try:
                if not claim.check(f"the Chroma server {url}", found, has="copies" if any(there.values()) else ""):
                    return
            except OtherSiteError as error:
                raise IndexUnavailableError(str(error)) from error
            self._client.get_or_create_collection(mine, embedding_function=None)
            for name in marks:
                self._client.delete_collection(name)

    def require_files(self) -> None:
        """Raise IndexUnavailableError when the files were deleted or replaced: what is open is seen by nobody else."""
        if self.is_gone():
            raise IndexUnavailableError("the files of the Chroma store were deleted or replaced")

    def is_gone(self) -> bool:
        """Return whether the files were deleted or replaced."""
        return _identity(self._file) != self._opened

    def apply(
        self,
        collection: str,
        ids: Sequence[str],
        vectors: NDArray[np.float32],
        metadatas: Sequence[Mapping[str, Any]],
        deletes: Sequence[str],
        texts: Sequence[str] | None = None,
    ) -> None:
        """Delete ids, then add or replace chunks with ``vectors`` (n, dim), and texts if given. Durable on return."""
        with translate_errors(subject(collection)):
            handle = self._get(collection)
            for gone in batches(deletes, _DELETES_PER_CALL) if handle is not None else ():
                handle.delete(ids=list(gone))  # type: ignore[union-attr]
            if not ids:
                return
            handle = handle or self._create(collection, vectors.shape[1])
            for rows in batches(range(len(ids)), _UPSERTS_PER_CALL):
                part = slice(rows[0], rows[-1] + 1)
                handle.upsert(
                    ids=list(ids[part]),
                    embeddings=vectors[part],
                    metadatas=[dict(given) for given in metadatas[part]],
                    documents=None if texts is None else list(texts[part]),
                )

    def count(self, collection: str) -> int:
        """Count the chunks in the collection; 0 when it does not exist."""
        handle = self._get(collection)
        with translate_errors(subject(collection)):
            return 0 if handle is None else handle.count()

    def ids(self, collection: str) -> list[str]:
        """Return every chunk id in the collection."""
        handle = self._get(collection)
        found: list[str] = []
        with translate_errors(subject(collection)):
            while handle is not None:
                page = handle.get(limit=IDS_PER_PAGE, offset=len(found), include=[])["ids"]
                found += page
                if len(page) < IDS_PER_PAGE:
                    break
        return found

    def drop(self, collection: str) -> None:
        """Delete the collection, even if it is broken."""
        from chromadb.errors import NotFoundError

        self._handles.pop(collection, None)
        with translate_errors(subject(collection)), suppress(NotFoundError):
            self._client.delete_collection(collection)

    def collections(self) -> list[str]:
        """Return the names of Braid's collections, sorted, without those of others on the same server."""
        with translate_errors("the Chroma store"):
            return sorted(c.name for c in self._client.list_collections() if DIMENSION in (c.metadata or {}))

    def _get(self, name: str) -> chromadb.Collection | None:
        """Return the collection; None when it does not exist. Raises IndexUnavailableError when others made it."""
        if name in self._handles:
            return self._handles[name]
        from chromadb.errors import NotFoundError

        with translate_errors(subject(name)):
            try:
                handle = self._client.get_collection(name, embedding_function=None)
            except NotFoundError:
                return None
        space = (handle.configuration_json.get("hnsw") or {}).get("space")
        if space != "cosine" or DIMENSION not in (handle.metadata or {}):
            raise IndexUnavailableError(f"{subject(name)} was not made by Braid: its space is {space!r}")
        self._handles[name] = handle
        return handle

    def _create(self, name: str, dimension: int) -> chromadb.Collection:
        self._handles[name] = self._client.create_collection(
            name, configuration=_CONFIGURATION, metadata={DIMENSION: dimension}, embedding_function=None
        )
        return self._handles[name]

    def _open_folder(self) -> tuple[ClientAPI, Path]:
        """Open the newest store, or begin one; return its database, too. Delete older ones."""
        import chromadb
        from chromadb.api.shared_system_client import SharedSystemClient
        from chromadb.config import Settings

        SharedSystemClient.clear_system_cache()  # after a failed attempt it has half of a client
        stores = stores_in(self._path)
        folder = stores[-1] if stores else self._path / f"store-1-{uuid4().hex[:8]}"
        for old in stores[:-1]:
            shutil.rmtree(old, ignore_errors=True)
        with translate_errors("the Chroma store"):
            folder.mkdir(parents=True, exist_ok=True)
            _bar(self._path)
            client = chromadb.PersistentClient(folder, Settings(anonymized_telemetry=False))
        return client, folder / DATABASE


def stores_in(path: Path) -> list[Path]:
    """Return the folders of stores under ``path``, the newest, which is the one that is written, last."""
    named = ((_STORE_NAME.fullmatch(folder.name), folder) for folder in path.glob("store-*") if folder.is_dir())
    return [folder for _, folder in sorted((int(match[1]), folder) for match, folder in named if match)]


def folder_of_copy(data_dir: Path) -> Path:
    """Return the folder of a data directory's copy. Raises NotFoundError where nothing has been copied to a folder."""
    if stores := [folder for folder in stores_in(data_dir / "indexes" / "dense") if (folder / DATABASE).exists()]:
        return stores[-1]
    raise NotFoundError(
        f"{data_dir} has no copy in Chroma: it is made in the background once passages are embedded, where chromadb is"
        " installed, and not with chroma_copy 'none', a chroma_url or Milvus; indexer.wait(60, legs=('chroma',)) waits"
    )


def bytes_of_copy(data_dir: Path) -> int:
    """Return the size of a data directory's copy, in which Chroma may delete meanwhile; 0 where there is none."""
    found = 0
    for folder in stores_in(data_dir / "indexes" / "dense"):
        for file in folder.rglob("*"):
            with suppress(OSError):
                found += file.stat().st_size
    return found


def _bar(path: Path) -> None:
    """Have Chroma refuse the folder of the stores, in which it would make another, empty one: SQLite makes no database
    whose journal is a folder.
    """
    (path / f"{DATABASE}-journal").mkdir(exist_ok=True)
    (path / f"{DATABASE}-journal" / "README.txt").write_text(NO_STORE, encoding="utf-8")


def _identity(file: Path | None) -> tuple[int, int] | None:
    if file is None:
        return None
    try:
        stat = file.stat()
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino)


def subject(collection: str) -> str:
    """Return the name of a collection's copy for messages."""
    return f"the Chroma collection {collection}"


def abandon(path: Path) -> None:
    """Make the next `ChromaStore` in this folder begin empty. No process may have it open.

    The old store is left for that one to delete: Chroma keeps state per path, so a path is not used twice.
    """
    numbers = [int(match[1]) for folder in path.glob("store-*") if (match := _STORE_NAME.fullmatch(folder.name))]
    (path / f"store-{max(numbers, default=0) + 1}-{uuid4().hex[:8]}").mkdir(parents=True)


def check_url(url: str) -> str:
    """Return the address of a Chroma server. Raises InvalidInputError for what is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInputError(f"{url!r} is not a Chroma server's address; write http://host:port", field="url")
    return url


def _server(url: str) -> ClientAPI:
    """Connect to a server. Raises StoreUnreachableError within seconds when nothing listens."""
    parts = urlsplit(url)
    host, tls = str(parts.hostname), parts.scheme == "https"
    port = parts.port or (443 if tls else 8000)
    try:
        socket.create_connection((host, port), CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise StoreUnreachableError(f"the Chroma server {url} cannot be reached: {error}") from error
    import chromadb
    import httpx
    from chromadb.api.fastapi import FastAPI
    from chromadb.config import Settings

    with translate_errors(f"the Chroma server {url}"):
        client = chromadb.HttpClient(host, port, ssl=tls, settings=Settings(anonymized_telemetry=False))
        for server in (client._server, client._admin_client._server):  # type: ignore[attr-defined]
            if isinstance(server, FastAPI):  # Chroma sets no timeout
                server._session.timeout = httpx.Timeout(SERVER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    return client
