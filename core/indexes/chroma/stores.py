"""Stores of Chroma's collections: a folder of Braid's own, or a server."""

from __future__ import annotations

import ctypes
import re
import shutil
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

from braid.core.errors import IndexUnavailableError, InvalidInputError
from braid.core.indexes.chroma.errors import StoreUnreachableError, translate_errors
from braid.core.indexes.chroma.files import DATABASE, Segment, read_segments, remove_leftovers

if TYPE_CHECKING:  # Chroma takes a second to load: it is imported with the first session
    import chromadb
    import httpx
    from chromadb.api import ClientAPI
    from chromadb.config import Settings

SERVER_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 2.0
_FILES_PER_COLLECTION = 5
_STORE_NAME = re.compile(r"store-(\d+)(-[0-9a-f]+)?")
# Far more than are ever open: an index that Chroma evicts loses what was not saved.
_HNSW_CACHE = 1 << 20


@dataclass(slots=True)
class Session:
    """An open client, used until Chroma would have too many indexes in memory."""

    client: ClientAPI
    settings: Settings
    segments: dict[str, Segment]
    """The saved indexes as they were at opening, of the collections that existed then."""
    handles: dict[str, chromadb.Collection] = field(default_factory=dict)
    loaded: set[str] = field(default_factory=set)
    """Collections whose index may be in memory."""
    dropped: int = 0
    """Indexes of dropped collections, which stay in memory as well."""


class Store(Protocol):
    """A place for collections."""

    @property
    def store_id(self) -> str:
        """The store's identity; another one means that everything stored before is gone."""

    def open(self) -> Session:
        """Open a client. Raises IndexUnavailableError."""

    def close(self, session: Session) -> None:
        """Release files, memory and threads."""

    def verify(self) -> None:
        """Raise IndexUnavailableError when the open store is no longer the one on disk."""

    def most_open(self) -> int:
        """Return how many collections may be in memory at a time."""

    def abandon(self) -> bool:
        """Make the next `open` begin an empty store. False when Braid may not do that."""


class EmbeddedStore:
    """A folder ``store-<number>-<random>`` under ``path``, never used again once abandoned."""

    def __init__(self, path: Path, *, max_open_collections: int) -> None:
        self._path = path
        self._max_open = max_open_collections
        self._folder: Path | None = None
        self._opened_file: tuple[int, int] | None = None

    @property
    def store_id(self) -> str:
        """The folder's name; empty before the first use."""
        return self._folder.name if self._folder else ""

    def open(self) -> Session:
        """Open the newest store, or begin one; delete older ones."""
        with translate_errors("the dense store"):
            if self._opened_file is not None:
                self.verify()
            if self._folder is None:
                self._folder = self._newest() or self._fresh()
                self._delete_others()
            segments = read_segments(self._folder) if (self._folder / DATABASE).exists() else {}
            remove_leftovers(self._folder, segments)
            session = _embedded_session(self._folder, segments)
            self._opened_file = _identity(self._folder / DATABASE)
        return session

    def close(self, session: Session) -> None:
        """Close the client, and have the C library return the memory of its indexes to the system."""
        session.handles.clear()
        with translate_errors("the dense store"):
            session.client.close()  # type: ignore[attr-defined]
        _give_memory_back()

    def verify(self) -> None:
        """Raise IndexUnavailableError when the file was deleted or replaced; Chroma would not notice."""
        if self._folder and _identity(self._folder / DATABASE) != self._opened_file:
            raise IndexUnavailableError(f"the dense store {self._folder.name} was removed or replaced on disk")

    def most_open(self) -> int:
        """Return the given limit, or what half of the process's file descriptors allow."""
        if sys.platform == "win32":
            return self._max_open
        import resource

        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return max(1, min(self._max_open, descriptors // 2 // _FILES_PER_COLLECTION))

    def abandon(self) -> bool:
        """Begin a new folder: Chroma keeps state per path, so a path is not used twice."""
        self._folder = self._fresh()
        self._opened_file = None
        self._delete_others()
        return True

    def _stores(self) -> list[tuple[int, Path]]:
        found = [(_STORE_NAME.fullmatch(path.name), path) for path in self._path.glob("store-*")]
        return sorted((int(match[1]), path) for match, path in found if match and path.is_dir())

    def _newest(self) -> Path | None:
        stores = self._stores()
        return stores[-1][1] if stores and (stores[-1][1] / DATABASE).exists() else None

    def _fresh(self) -> Path:
        highest = max((number for number, _ in self._stores()), default=0)
        folder = self._path / f"store-{highest + 1}-{uuid4().hex[:8]}"
        with translate_errors("the dense store"):
            folder.mkdir(parents=True)
        return folder

    def _delete_others(self) -> None:
        for _, folder in self._stores():
            if folder != self._folder:
                shutil.rmtree(folder, ignore_errors=True)


class ServerStore:
    """A server started with ``chroma run``, which itself limits its open collections."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInputError(f"{url!r} is not a Chroma server's address; write http://host:port", field="url")
        self.store_id = url
        self._host = parts.hostname
        self._tls = parts.scheme == "https"
        self._port = parts.port or (443 if self._tls else 8000)

    def open(self) -> Session:
        """Connect to the server. Raises StoreUnreachableError within seconds when nothing listens."""
        try:
            socket.create_connection((self._host, self._port), CONNECT_TIMEOUT_S).close()
        except OSError as error:
            raise StoreUnreachableError(f"the Chroma server {self.store_id} cannot be reached: {error}") from error
        import chromadb
        import httpx
        from chromadb.config import Settings

        settings = Settings(anonymized_telemetry=False)
        with translate_errors(f"the Chroma server {self.store_id}"):
            client = chromadb.HttpClient(self._host, self._port, ssl=self._tls, settings=settings)
            for connections in _connections(client):
                connections.timeout = httpx.Timeout(SERVER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
        return Session(client, settings, {})

    def close(self, session: Session) -> None:
        """Close the connections, which Chroma leaves open."""
        for connections in _connections(session.client):
            connections.close()
        session.client.close()  # type: ignore[attr-defined]

    def verify(self) -> None:
        """Do nothing: the server reports its own errors."""

    def most_open(self) -> int:
        """Return no limit."""
        return sys.maxsize

    def abandon(self) -> bool:
        """Return False: the server's store may have other users."""
        return False


def _embedded_session(folder: Path, segments: dict[str, Segment]) -> Session:
    from chromadb.api import ServerAPI
    from chromadb.api.client import Client
    from chromadb.api.rust import RustBindingsAPI
    from chromadb.config import Settings, System

    settings = Settings(
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
        is_persistent=True,
        persist_directory=str(folder),
        anonymized_telemetry=False,
    )
    system = System(settings)
    server = system.instance(ServerAPI)  # type: ignore[type-abstract]
    if isinstance(server, RustBindingsAPI):
        server.hnsw_cache_size = _HNSW_CACHE
    system.start()
    return Session(Client.from_system(system), settings, segments)


def _connections(client: ClientAPI) -> list[httpx.Client]:
    """Return the connections of an HTTP client and of its inner one: Chroma sets no timeout and leaves them open."""
    from chromadb.api.fastapi import FastAPI

    servers = [client._server, client._admin_client._server]  # type: ignore[attr-defined]
    return [server._session for server in servers if isinstance(server, FastAPI)]


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino)


def _give_memory_back() -> None:
    """Have glibc return freed memory to the system; it would keep that of every closed client."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
