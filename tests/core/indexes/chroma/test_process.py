"""The process that has Chroma open: what happens when it dies, hangs, idles, or another one has the folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from braid.core.braid import Braid
from braid.core.errors import IndexUnavailableError, StoreUnreachableError
from braid.core.indexes import indexer as indexer_module
from braid.core.indexes.chroma import process as process_module
from braid.core.indexes.chroma.process import ChromaProcess
from braid.core.processes.child import Child
from tests.fakes import HashEmbeddings
from tests.forked_children import in_earnest, ran_python, running
from tests.served import ROOT
from tests.worlds import WAIT_S, add_notes, document, eventually

DIM = 16
VECTORS = np.random.default_rng(0).standard_normal((20_000, DIM)).astype(np.float32)
pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")


@pytest.fixture
def as_in_a_server() -> Iterator[None]:
    """They begin as they do there."""
    with in_earnest():
        yield


@pytest.fixture
def open_process(tmp_path: Path) -> Iterator[Callable[..., ChromaProcess]]:
    """Opens the store in the test's folder."""
    opened: list[ChromaProcess] = []

    def open_one(**options: float) -> ChromaProcess:
        opened.append(ChromaProcess(tmp_path / "dense", **options))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


def apply(store: ChromaProcess, collection: str = "user_1", count: int = 20, **options: Any) -> None:
    ids = [f"c{number}" for number in range(count)]
    store.call("apply", collection, ids, VECTORS[:count], [{"dataset_id": 1}] * count, [], **options)


def has(store: ChromaProcess, number: int, collection: str = "user_1", **options: Any) -> bool:
    return f"c{number}" in store.call("ids", collection, **options)


def children() -> set[int]:
    """The processes of stores that this one has begun."""
    found = running("braid.core.indexes.chroma.worker")
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if parent == os.getpid() and b"chroma.worker" in command and b"tests.nursery" not in command:
            found.add(int(entry.name))
    return found


def only_child() -> int:
    (child,) = children()
    return child


@pytest.mark.usefixtures("as_in_a_server")
def test_nothing_runs_before_the_first_call_and_after_the_end(open_process: Callable[..., ChromaProcess]) -> None:
    store = open_process()
    assert children() == set()
    apply(store)
    assert os.getpgid(only_child()) != os.getpgid(0), "Ctrl-C in a terminal is for the server alone"
    assert os.getsid(only_child()) == os.getsid(0), "in a session of its own its low priority would mean nothing"
    assert store.names() == ["user_1"]
    store.end()
    assert children() == set()
    assert has(store, 7)
    store.close()
    store.close()
    assert children() == set()
    for call in (lambda: has(store, 7), store.names):
        with pytest.raises(StoreUnreachableError, match="closed"):
            call()
    store.end_if_idle()
    assert children() == set()


def test_one_that_was_killed_is_named_once_and_another_takes_its_place(
    open_process: Callable[..., ChromaProcess],
) -> None:
    store = open_process()
    apply(store)
    os.kill(only_child(), signal.SIGKILL)

    with pytest.raises(IndexUnavailableError, match="ended unexpectedly"):
        has(store, 7)
    assert has(store, 7)


def test_one_that_is_killed_in_the_middle_of_a_call_fails_that_call_alone(
    open_process: Callable[..., ChromaProcess],
) -> None:
    store = open_process()
    apply(store)
    with ThreadPoolExecutor(1) as pool:
        child = only_child()
        os.kill(child, signal.SIGSTOP)  # it does not come to the end
        writing = pool.submit(apply, store, "user_2", 20_000)
        eventually(writing.running)
        os.kill(child, signal.SIGKILL)
        with pytest.raises(IndexUnavailableError, match="ended unexpectedly"):
            writing.result()
    assert has(store, 7)
    store.call("drop", "user_2")
    apply(store, "user_2")
    assert has(store, 9, "user_2")


def test_one_that_hangs_is_killed(open_process: Callable[..., ChromaProcess], monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_process()
    apply(store)
    hanging = only_child()
    os.kill(hanging, signal.SIGSTOP)

    monkeypatch.setattr(store, "_longest_s", 3.0)  # not before: to begin takes longer on a busy machine
    with pytest.raises(StoreUnreachableError, match="no answer within 3 s"):
        has(store, 7)
    monkeypatch.undo()
    assert eventually(lambda: hanging not in children())
    assert has(store, 7)


def test_who_does_not_wait_leaves_it_to_its_work(open_process: Callable[..., ChromaProcess]) -> None:
    """Otherwise one that takes long to begin, or to load a large index, would never come to the end of that."""
    store = open_process()
    with pytest.raises(StoreUnreachableError, match=r"no answer within 0.01 s"):
        apply(store, timeout_s=0.01)
    assert eventually(lambda: has(store, 7))
    child = only_child()
    os.kill(child, signal.SIGSTOP)
    started = time.monotonic()
    for _ in range(3):
        with pytest.raises(StoreUnreachableError, match=r"no answer within 0.2 s"):
            has(store, 7, timeout_s=0.2)
    assert time.monotonic() - started < WAIT_S
    os.kill(child, signal.SIGCONT)
    assert has(store, 8)
    assert only_child() == child


def test_an_idle_one_ends_and_a_busy_one_does_not(open_process: Callable[..., ChromaProcess]) -> None:
    idle, busy = open_process(idle_s=-1.0), open_process(idle_s=1000.0)
    apply(idle)
    idle.end_if_idle()
    assert children() == set()
    apply(busy)
    child = only_child()
    busy.end_if_idle()
    assert only_child() == child


def test_after_many_collections_another_one_takes_its_place(
    open_process: Callable[..., ChromaProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chroma keeps every collection that it has written to in memory."""
    monkeypatch.setattr(process_module, "MOST_WRITTEN", 8)
    store, seen = open_process(), set[int]()
    for number in range(20):
        apply(store, f"user_{number}", count=3)
        seen.add(only_child())
    assert len(seen) == 3
    assert store.names() == sorted(f"user_{number}" for number in range(20))
    assert has(store, 2, "user_3")
    child = only_child()
    for _ in range(20):
        assert has(store, 1, "user_3")
    assert only_child() == child


@pytest.mark.usefixtures("as_in_a_server")
def test_two_never_have_the_folder_open(open_process: Callable[..., ChromaProcess]) -> None:
    """As when a server was killed, whose process is still writing when the next server begins."""
    first, second = open_process(), open_process()
    apply(first)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(has, second, 7)
        assert eventually(lambda: len(children()) == 2)
        assert not wait([waiting], 2).done
        assert has(first, 7)
        first.end()
        assert waiting.result()


@pytest.mark.usefixtures("as_in_a_server")
def test_it_has_no_keys_and_no_settings(
    open_process: Callable[..., ChromaProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "BRAID_DATABASE_URL", "AWS_SECRET_ACCESS_KEY", "CHROMA_API_IMPL"):
        monkeypatch.setenv(name, "sk-secret")
    store = open_process()
    apply(store)
    environment = Path(f"/proc/{only_child()}/environ").read_bytes()
    assert b"PATH=" in environment
    assert b"secret" not in environment


@pytest.mark.usefixtures("as_in_a_server")
def test_one_that_cannot_be_started_is_named(
    open_process: Callable[..., ChromaProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/there/is/no/python")
    with pytest.raises(StoreUnreachableError, match="cannot be started"):
        apply(open_process())


def test_closing_does_not_wait_for_a_call(open_process: Callable[..., ChromaProcess]) -> None:
    store = open_process()
    apply(store)
    with ThreadPoolExecutor(1) as pool:
        os.kill(only_child(), signal.SIGSTOP)
        hanging = pool.submit(has, store, 7)
        eventually(hanging.running)
        started = time.monotonic()
        store.close()
        assert time.monotonic() - started < WAIT_S
        with pytest.raises(StoreUnreachableError, match="closed"):
            hanging.result()
    assert children() == set()


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.core.indexes.chroma.test_process import ChromaProcess, apply, only_child
store = ChromaProcess(Path(sys.argv[1]))
apply(store)
print(only_child(), "chromadb" in sys.modules, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.usefixtures("as_in_a_server")
def test_it_ends_with_its_server_and_all_is_there(open_process: Callable[..., ChromaProcess], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "dense")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=WAIT_S,
    )
    child, loaded = done.stdout.split()
    assert loaded == "False", "Chroma is in the process alone"
    assert eventually(lambda: not Path(f"/proc/{child}").exists())
    assert has(open_process(), 7)


FULL_DISK = """
import resource, sys
from pathlib import Path
from braid.core.errors import IndexUnavailableError, StoreUnreachableError
from tests.core.indexes.chroma.test_process import ChromaProcess, apply, children
store = ChromaProcess(Path(sys.argv[1]))
apply(store, "before")
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
def limit(size):  # of this process, for those that it begins, and of the one that it has begun
    for process in (0, *children()):
        resource.prlimit(process, resource.RLIMIT_FSIZE, (size, most))

limit(4096)
failed = 0
for number in range(10):
    try:
        apply(store, f"full{number}")
    except IndexUnavailableError:
        failed += 1
limit(most)
apply(store, "after")
print(failed, *store.names())
store.close()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no limits of other processes there")
def test_it_goes_on_when_a_full_disk_has_room_again(tmp_path: Path) -> None:
    done = ran_python("-c", FULL_DISK, str(tmp_path / "dense"), cwd=ROOT)
    assert done.stdout.split() == ["10", "after", "before"], done.stdout + done.stderr


def test_who_ends_does_not_wait_for_a_store_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ask, asked, hanging = Child.ask, threading.Event(), list[Child]()

    def hung(child: Child, *given: Any, **options: Any) -> Any:
        os.kill(child._process.pid, signal.SIGSTOP)
        hanging.append(child)
        asked.set()
        return ask(child, *given, **options)

    monkeypatch.setattr(indexer_module, "COPY_CLOSING_S", 0.05)
    monkeypatch.setattr(Child, "ask", hung)
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        braid.ledger.put_document(add_notes(braid.ledger), document("a.md", "A passage."))
        assert asked.wait(WAIT_S)
    assert [child.timed_out for child in hanging] == [False], "it was ended before its call was overdue"
    assert not children()
    assert not caplog.messages, "an ordinary end is no failure"
