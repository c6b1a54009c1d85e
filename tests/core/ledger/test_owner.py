"""One process owns a data directory; others write beside it, and take over when it is gone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.queues import Queue
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from filelock import Timeout

from braid.core.braid import Braid, IndexOptions
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotOwnerError
from braid.core.indexes.opened import Indexes
from braid.core.ledger.owners.owner import OwnerLock
from braid.core.types import Mode
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, add_notes, document, eventually, new_processes

PROCESSES: Any = new_processes()


def own(folder: Path, said: Queue[str]) -> None:
    """Runs in a process of its own until it is killed."""
    with Braid(folder, embedding_model=HashEmbeddings()) as braid:
        dataset = add_notes(braid.ledger)
        braid.ledger.put_document(dataset, document("a", "written by the owner"))
        braid.indexer.wait(WAIT_S)
        braid.announce("http://127.0.0.1:8000")
        said.put("ready")
        signal.pause()


def write(folder: Path, said: Queue[str]) -> None:
    """Runs in a process of its own: writes beside the owner."""
    with DataDirectory(folder, embedding_model=HashEmbeddings()) as braid:
        shared = braid.registry.add("Guide", "shared_main").id
        braid.mirror_registry()
        braid.ledger.put_document(1, document("b", "written by another"))
        braid.ledger.put_document(shared, document("c", "shared by another"))
        said.put("written")


@contextmanager
def process(target: object, folder: Path) -> Iterator[int]:
    """The pid of a process that has said its word; it is killed in the end."""
    assert callable(target)
    said: Queue[str] = PROCESSES.Queue()
    started = PROCESSES.Process(target=target, args=(folder, said))
    started.start()
    try:
        said.get(timeout=WAIT_S)
        yield started.pid or 0
    finally:
        started.kill()
        started.join(WAIT_S)


def found(braid: Braid, text: str, dataset: int) -> set[str]:
    results = [braid.manager.search(text, user_id=1, dataset_ids=[dataset], mode=mode) for mode in get_args(Mode)]
    return set.intersection(*({hit.passage.text for hit in result.hits} for result in results))


def test_a_second_owner_is_told_who_the_first_is(tmp_path: Path) -> None:
    with process(own, tmp_path) as pid:
        with pytest.raises(
            NotOwnerError, match=rf"process {pid} at http://127\.0\.0\.1:8000 has the data directory '{tmp_path}' open"
        ):
            Braid(tmp_path, embedding_model=HashEmbeddings(), must_own=True)
        with DataDirectory(tmp_path, embedding_model=HashEmbeddings()) as beside:
            beside.ledger.put_document(1, document("b", "written beside"))
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as next_owner:
        assert next_owner.indexer.wait(WAIT_S)
        assert {"written by the owner", "written beside"} <= found(next_owner, "written", 1)


def test_the_owner_finds_what_another_process_writes(tmp_path: Path) -> None:
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        add_notes(braid.ledger)
        with process(write, tmp_path):
            shared = braid.registry.entries()[0].id
            eventually(
                lambda: (
                    found(braid, "written by another", 1) == {"written by another"}
                    and found(braid, "shared by another", shared) == {"shared by another"}
                )
            )


def hold(folder: Path, said: Queue[str]) -> None:
    """Runs in a process of its own until it is killed."""
    lock = OwnerLock(folder)
    lock.acquire()
    said.put("ready")
    signal.pause()


def test_a_killed_owner_is_known_to_have_crashed(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path)
    assert not lock.acquire()
    lock.release()
    with process(hold, tmp_path) as pid:
        with pytest.raises(NotOwnerError, match=f"process {pid} has"):
            lock.acquire()
        os.kill(pid, signal.SIGKILL)
    assert lock.acquire()
    lock.release()
    assert lock.acquire(), "what was left has not been checked"
    lock.note_recovery()
    lock.release()
    assert not lock.acquire()
    lock.release()


@pytest.mark.parametrize("note", ["", "nonsense", "[]", '{"pid": "x"}', None])
def test_an_unreadable_note_names_nobody(tmp_path: Path, note: str | None) -> None:
    with Braid(tmp_path, embedding_model=HashEmbeddings()):
        path = tmp_path / "owner.json"
        path.unlink() if note is None else path.write_text(note)
        with pytest.raises(NotOwnerError, match="another process has the data directory"):
            Braid(tmp_path, embedding_model=HashEmbeddings(), must_own=True)


def test_in_the_same_process_there_is_one_owner_too(tmp_path: Path) -> None:
    with (
        Braid(tmp_path, embedding_model=HashEmbeddings()),
        pytest.raises(NotOwnerError, match=f"process {os.getpid()} has the data directory"),
    ):
        Braid(tmp_path, embedding_model=HashEmbeddings(), must_own=True)
    Braid(tmp_path, embedding_model=HashEmbeddings()).close()


def test_what_could_not_be_opened_is_left_free(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="klingon"):
        Braid(tmp_path, embedding_model=HashEmbeddings(), index_options=IndexOptions(languages=("klingon",)))
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        assert not braid.closed


def noticed_crashes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of every opening from now on, whether the indexes are checked as after a crash."""
    crashes: list[bool] = []
    open_indexes = Braid.open_indexes

    def noticing(self: Braid, closing: ExitStack, *, crashed: bool) -> Indexes:
        crashes.append(crashed)
        return open_indexes(self, closing, crashed=crashed)

    monkeypatch.setattr(Braid, "open_indexes", noticing)
    return crashes


def test_a_crash_is_noted_until_its_traces_were_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with process(own, tmp_path):
        pass  # it is killed
    crashes = noticed_crashes(monkeypatch)
    with pytest.raises(InvalidInputError, match="klingon"):
        Braid(tmp_path, embedding_model=HashEmbeddings(), index_options=IndexOptions(languages=("klingon",)))
    with Braid(tmp_path, embedding_model=HashEmbeddings(), index_options=IndexOptions(follow=("dense",))) as braid:
        assert braid.indexer.wait(WAIT_S, legs=("dense",))
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        assert braid.indexer.wait(WAIT_S)
    Braid(tmp_path, embedding_model=HashEmbeddings()).close()
    assert crashes == [True, True, False]


def test_without_the_indexes_everything_else_works(tmp_path: Path) -> None:
    with DataDirectory(tmp_path, embedding_model=HashEmbeddings()) as braid:
        dataset = add_notes(braid.ledger)
        braid.ledger.put_document(dataset, document("a", "text"))
        braid.wake()
        braid.remove_dataset(dataset)
        for part in ("manager", "indexer", "bm25", "dense", "analyzer", "announce", "search"):
            assert not hasattr(braid, part)
    assert not (tmp_path / "indexes").exists()
    assert not (tmp_path / "owner.json").exists()


class OldFileLock:
    """Keeps its file open in the child of a fork, as earlier versions of filelock do."""

    def __init__(self, path: str, **options: object) -> None:
        self._path = path
        self._context = SimpleNamespace(lock_file_fd=None)

    def acquire(self, timeout: float) -> None:
        """Take the lock, or raise Timeout."""
        fcntl = pytest.importorskip("fcntl")
        file = os.open(self._path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise Timeout(self._path) from None
        self._context.lock_file_fd = file


def test_the_child_of_a_fork_does_not_keep_the_lock_of_a_killed_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braid.core.ledger.owners.owner.FileLock", OldFileLock)
    owner, next_owner = OwnerLock(tmp_path), OwnerLock(tmp_path)
    owner.acquire()
    ready, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            owner.forget()
            os.write(writer, b"!")
            signal.pause()  # it is killed below
        finally:
            os._exit(0)
    try:
        assert os.read(ready, 1) == b"!"
        with pytest.raises(NotOwnerError):
            next_owner.acquire()
        owner.forget()  # as if it were killed: the file is closed, and nobody has given up the lock
        assert next_owner.acquire(), "the last one was killed"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(writer)
