"""Worlds that several test files build: datasets, documents, what is found in them; and how a test waits.

Everything is deterministic: users and datasets have the ids 1, 2, …, shared datasets -1, -2, …, in the order in which
they are made.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, TypeVar

import pytest
from langchain_core.documents import Document

from braid.core.backup.manifest import MANIFEST, BackupManifest
from braid.core.braid import Braid, IndexOptions
from braid.core.data_directory import DataDirectory
from braid.core.files.lost import Rules
from braid.core.indexes.base import IndexName
from braid.core.ledger.change_log import ChangeLog, IndexedChunk
from braid.core.ledger.ledger import Ledger
from braid.core.types import ChunkInput, DocumentInput, SearchResult
from tests.damage import remove_in_use
from tests.fakes import HashEmbeddings

Truthy = TypeVar("Truthy")
WAIT_S = 120.0
"""What a test waits for comes sooner on the busiest machine; what has not come then does not come. The one bound of all
waits: a shorter one measures the machine."""
AT_LAST_S = 3_600.0
"""The bound of what gives way to others, which neighbours can keep from a processor for minutes."""


def eventually(condition: Callable[[], Truthy], seconds: float = WAIT_S, *, pause_s: float = 0.02) -> Truthy:
    """Ask until the condition is true, and return its value; raise `AssertionError` after ``seconds``.

    ``pause_s`` is the time between two questions: longer where a question is expensive.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"it did not happen within {seconds:g} s"
        time.sleep(pause_s)
    return value


def older_than(seconds: float) -> Rules:
    """Return the rules for files of this age, by the clock."""
    now = time.time()
    return Rules(now - seconds, now)


def logged(caplog: pytest.LogCaptureFixture, part: str, *, said: str = "") -> list[str]:
    """Return the messages of the loggers of a part of Braid that have a text: others may come of what earlier tests
    have left running.
    """
    return [text for each in caplog.records if each.name.startswith(part) and said in (text := each.getMessage())]


def new_processes() -> BaseContext:
    """How tests start processes that have nothing of their own one, forked where they can be from one that has loaded
    Braid: to load it takes longer than what they do.
    """
    context = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
    context.set_forkserver_preload(["pytest", __name__])
    return context


def processor_s(process: int) -> float:
    """Return the processor's time that a process has taken, without that of its children."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


# ---------------------------------------------------------------- the indexes


class ByHand(Braid):
    """A data directory whose indexes follow the ledger in the thread of the test, and only when `catch_up` says so."""

    def __init__(self, path: str | Path, *, index_options: IndexOptions | None = None, **options: Any) -> None:
        super().__init__(path, index_options=replace(index_options or IndexOptions(), follow=()), **options)

    def catch_up(self, *names: IndexName) -> None:
        """Do all that there is to do for these indexes. AssertionError for what failed, and is to be tried later."""
        self.mirror_registry()
        never = threading.Event()
        for name in names:
            follower = self.indexer.followers[name]
            while follower.work(never):
                pass
            follower.work(never)  # what was done before is found to be done
            assert follower.is_idle, follower.all_progress()


def catch_up(braid: Braid, *names: IndexName) -> None:
    """Return when these indexes, those of both legs unless they are named, have all that is in the ledger."""
    wanted = names or ("bm25", "dense")
    if isinstance(braid, ByHand):
        braid.catch_up(*wanted)
    else:
        assert braid.indexer.wait(WAIT_S, wanted)


# ---------------------------------------------------------------- datasets and documents


def add_notes(ledger: Ledger, user: str = "ann", name: str = "notes") -> int:
    """Add a user with one dataset; return the dataset's id."""
    return ledger.add_dataset(ledger.add_user(user).id, name).id


def document(source: str, *texts: str, title: str = "", file_type: str = "md", **values: Any) -> DocumentInput:
    """A document with one chunk per text; ``values`` are further fields of `DocumentInput`."""
    return DocumentInput(source, title, file_type, tuple(map(ChunkInput, texts)), **values)


def fill(
    braid: Braid, contents: Mapping[str, Mapping[str, Sequence[str]]], shared: Mapping[str, str]
) -> dict[str, int]:
    """Store documents for a new user, Ann, without waiting for the indexes; return the datasets' ids by name.

    ``contents`` is dataset → source → texts; ``shared`` has the collection of each dataset that is not Ann's own.
    """
    user, ids = braid.ledger.add_user("ann").id, dict[str, int]()
    for name, sources in contents.items():
        if name in shared:
            ids[name] = braid.registry.add(name, shared[name]).id
            braid.mirror_registry()
        else:
            ids[name] = braid.ledger.add_dataset(user, name).id
        for source, texts in sources.items():
            braid.ledger.put_document(ids[name], document(source, *texts))
    return ids


@dataclass(frozen=True)
class World:
    """An open data directory with the datasets of one user and shared ones, whose ids are found by name."""

    braid: Braid
    embeddings: HashEmbeddings
    user: int
    ids: dict[str, int]

    def search(self, text: str, *names: str, **options: Any) -> SearchResult:
        """Search the named datasets as the user; without a name, all that the user may read."""
        ids = [self.ids[name] for name in names] or None
        return self.braid.manager.search(text, user_id=self.user, dataset_ids=ids, **options)


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files, by their paths below the folder; return the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


# ---------------------------------------------------------------- what is stored and found


def shown(result: SearchResult) -> list[str]:
    """The texts of the hits, best first."""
    return [hit.passage.text for hit in result.hits]


def chunk_ids(result: SearchResult) -> list[str]:
    """The chunk ids of the hits, best first."""
    return [hit.passage.chunk_id for hit in result.hits]


def ids(documents: Sequence[Document]) -> list[str | None]:
    """The ids of LangChain's documents, in their order."""
    return [document.id for document in documents]


def sources(directory: DataDirectory, dataset: int) -> set[str]:
    """The sources of a dataset's documents."""
    return {document.source for document in directory.ledger.documents(dataset)}


def indexed(braid: Braid, collection: str = "user_1") -> list[IndexedChunk]:
    """What the indexes of a collection should hold, by the ledger, with the vectors of `tests.fakes.HashEmbeddings`."""
    log = ChangeLog(braid.ledger.database)
    return log.chunks(collection, sorted(log.chunk_ids(collection)), "fake:hash-64")


def remove_dense(data_dir: Path) -> None:
    """Delete the copy of all vectors in Chroma from the disk."""
    remove_in_use(data_dir / "indexes" / "dense")


# ---------------------------------------------------------------- a web site


@contextmanager
def web_site(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """A site on a free port of this computer, which answers GET requests so; its address, without a slash."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def html_page(content: bytes, status: int = 200) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answer with this page, for `web_site`."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Type", "text/html")
        request.end_headers()
        request.wfile.write(content)

    return answer


def write_backup(path: Path, *, documents: int) -> None:
    """Write a backup whose manifest has this number of documents, and nothing else."""
    manifest = BackupManifest(1.0, "1.0", "0001", "sqlite", with_keys=False, files={}, rows={"documents": documents})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MANIFEST, manifest.to_bytes())
