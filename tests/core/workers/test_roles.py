"""Several processes with one data directory: one owns the indexes, all read them, and another takes over."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import stat
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner

from braid.app.cli.root import cli
from braid.core.background.background import Background
from braid.core.braid import Braid
from braid.core.doctor import Finding, examine, repair
from braid.core.errors import InvalidInputError, NotFoundError, NotOwnerError
from braid.core.indexes.indexer import Indexer
from braid.core.indexes.opened import Indexes
from braid.core.ledger.owners.owner import NOTE, read_note
from braid.core.models.embeddings import EmbeddingOptions
from braid.core.types import Filters, Leg, Mode
from tests.fakes import HashEmbeddings
from tests.forked_children import python
from tests.worlds import WAIT_S, add_notes, document, eventually

ROOT = Path(__file__).parents[3]
TEXTS = {f"d{number}": (f"the pump number {number} runs", f"valve {number} is closed by hand") for number in range(12)}


def fill(braid: Braid) -> None:
    dataset = add_notes(braid.ledger)
    for source, texts in TEXTS.items():
        braid.ledger.put_document(dataset, document(source, *texts))
    assert braid.indexer.wait(WAIT_S)


def opened(folder: Path) -> Braid:
    return Braid(folder, embedding_model=HashEmbeddings())


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Braid, Braid]]:
    """The owner of a filled directory, and a guest."""
    with opened(tmp_path / "data") as owner:
        fill(owner)
        with opened(tmp_path / "data") as guest:
            assert (owner.is_owner, guest.is_owner) == (True, False)
            yield owner, guest


def results(braid: Braid) -> list[tuple[Any, ...]]:
    """What a few searches of all kinds return, without their timings."""
    asked: list[dict[str, Any]] = [{"mode": mode} for mode in get_args(Mode)]
    asked += [{"fusion": "auto"}, {"filters": Filters(source_prefix="d1")}, {"engine": "reference"}]
    found = [braid.search("pump number 7", user_id=1, **options) for options in asked]
    return [(result.hits, result.degraded, result.collections, result.notes) for result in found]


def test_a_guest_finds_what_the_owner_finds(pair: tuple[Braid, Braid]) -> None:
    owner, guest = pair
    assert results(guest) == results(owner)
    assert all(hits for hits, *_ in results(guest))
    chunk = owner.search("pump", user_id=1).hits[0].passage.chunk_id
    explained = [braid.manager.explain("valve 3", chunk_id=chunk, user_id=1) for braid in pair]
    assert explained[0] == explained[1]
    retrieved = [braid.get_retriever(user_id=1).invoke("valve 3") for braid in pair]
    assert retrieved[0] == retrieved[1]
    assert guest.indexer.progress() == owner.indexer.progress()
    assert examine(guest) == []


@pytest.mark.parametrize(
    ("text", "options", "kind"),
    [
        ("", {}, InvalidInputError),
        ("x", {"mode": "nonsense"}, InvalidInputError),
        ("x", {"k": 0}, InvalidInputError),
    ],
)
def test_errors_are_the_same(
    pair: tuple[Braid, Braid], text: str, options: dict[str, Any], kind: type[Exception]
) -> None:
    raised = []
    for braid in pair:
        with pytest.raises(kind) as caught:
            braid.search(text, user_id=1, **options)
        raised.append((type(caught.value), str(caught.value), vars(caught.value)))
    assert raised[0] == raised[1]
    with pytest.raises(NotFoundError):
        pair[1].dataset(99)


def test_what_a_guest_writes_is_found_by_all(pair: tuple[Braid, Braid]) -> None:
    _, guest = pair
    guest.ledger.put_document(1, document("new", "a kite on the wind"))
    guest.wake()
    assert guest.indexer.wait(WAIT_S)
    for braid in pair:
        assert braid.search("kite", user_id=1, mode="keyword").hits[0].passage.source == "new"


def test_a_guest_takes_over_when_the_owner_is_closed(pair: tuple[Braid, Braid]) -> None:
    owner, guest = pair
    before, started = results(guest), list[str]()
    conversation_kept_this = guest.manager
    guest.when_owner(lambda: started.append("jobs"))
    owner.close()
    assert results(guest) == before, "a search waits for the next owner"
    eventually(lambda: guest.is_owner and started == ["jobs"])
    assert conversation_kept_this.search("pump", user_id=1).hits
    guest.ledger.put_document(1, document("new", "a kite on the wind"))
    assert guest.indexer.wait(WAIT_S)
    assert guest.search("kite", user_id=1, mode="keyword").hits


def test_what_cannot_be_started_is_started_later_and_the_indexes_are_opened_once(
    pair: tuple[Braid, Braid], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, guest = pair
    opened_in, started = list[Braid](), list[str]()
    open_indexes = Braid.open_indexes

    def counted(braid: Braid, closing: ExitStack, *, crashed: bool) -> Indexes:
        opened_in.append(braid)
        return open_indexes(braid, closing, crashed=crashed)

    def fail_once() -> None:
        started.append("jobs")
        if len(started) == 1:
            raise OSError("no space left on the device")

    monkeypatch.setattr(Braid, "open_indexes", counted)
    guest.when_owner(fail_once)
    guest.when_owner(lambda: started.append("answers"))
    owner.close()
    eventually(lambda: len(started) == 3)
    assert started == ["jobs", "answers", "jobs"]
    assert opened_in == [guest]


def test_a_guest_that_cannot_take_over_stays_one(pair: tuple[Braid, Braid], monkeypatch: pytest.MonkeyPatch) -> None:
    owner, guest = pair
    before, reading, searched_in = results(guest), guest.indexer, list[object]()
    start = Indexer.start

    def fail_twice(indexer: Indexer) -> None:
        searched_in.append(guest.indexer)
        if len(searched_in) <= 2:
            raise OSError("no file descriptor left")
        start(indexer)

    monkeypatch.setattr(Indexer, "start", fail_twice)
    owner.close()
    eventually(lambda: guest.is_owner)
    assert searched_in == [reading] * 3, "it does not search in indexes that were closed again"
    assert results(guest) == before


def test_searches_go_on_without_an_owner(pair: tuple[Braid, Braid], monkeypatch: pytest.MonkeyPatch) -> None:
    owner, guest = pair
    monkeypatch.setattr("braid.core.workers.roles.Roles.take_over", lambda self: False)  # all others are busy, say
    before = results(guest)
    owner.close()
    assert results(guest) == before
    guest.ledger.put_document(1, document("new", "a kite on the wind"))
    assert not guest.indexer.wait(0.1)
    (missing,) = {part.reason for part in guest.search("kite", user_id=1, mode="keyword").degraded}
    assert "1 passages of user_1 are not in the bm25 index yet" in missing
    guest.ledger.remove_document(1, "d7")
    assert "d7" not in {hit.passage.source for hit in guest.search("pump number 7", user_id=1).hits}


def test_a_process_embeds_its_own_queries(pair: tuple[Braid, Braid]) -> None:
    def embedded() -> list[int]:
        models = [braid.answering_model("user_1") for braid in pair]
        return [model.queries_embedded for model in models if isinstance(model, HashEmbeddings)]

    before = embedded()
    pair[1].search("a text that nobody has asked", user_id=1)
    assert embedded() == [before[0], before[1] + 1]


def test_what_a_guest_finds_broken_is_repaired_by_the_owner(pair: tuple[Braid, Braid]) -> None:
    owner, guest = pair
    before = guest.search("pump number 7", user_id=1).hits
    for damaged in ("vectors", "bm25"):
        for path in (owner.data_dir / "indexes" / damaged / "user_1").iterdir():
            if path.name in ("manifest", "meta.json"):
                path.write_bytes(b"nothing of value")
        guest.search("pump", user_id=1)
        eventually(lambda: not guest.search("pump", user_id=1).degraded)
    assert guest.search("pump number 7", user_id=1).hits == before
    assert examine(guest) == []


def test_a_guest_has_the_indexes_built_again(pair: tuple[Braid, Braid]) -> None:
    owner, guest = pair
    manifest = owner.data_dir / "indexes" / "vectors" / "user_1" / "manifest"
    manifest.unlink()
    assert [(finding.problem, finding.leg) for finding in examine(guest)] in ([], [("broken", "dense")])
    assert repair(guest, [Finding("broken", "user_1", "", "rebuild the index", leg) for leg in get_args(Leg)])
    assert manifest.exists()
    assert results(guest) == results(owner)


def test_the_owners_failures_are_told_to_all(pair: tuple[Braid, Braid]) -> None:
    owner, guest = pair
    model = owner.answering_model("user_1")
    assert isinstance(model, HashEmbeddings)
    model.failing = True
    guest.ledger.put_document(1, document("new", "a kite on the wind"))
    eventually(lambda: any(part.error for part in owner.indexer.progress()))
    eventually(lambda: guest.indexer.leg_progress("dense", "user_1").error != "")
    assert "the embedding model" in guest.indexer.leg_progress("dense", "user_1").error
    model.failing = False
    owner.indexer.suspect("dense", "user_1")
    assert guest.indexer.wait(WAIT_S)
    eventually(lambda: guest.indexer.leg_progress("dense", "user_1").error == "")  # told after it is found
    assert guest.search("a kite on the wind", user_id=1, mode="semantic").hits[0].passage.source == "new"


# ---------------------------------------------------------------- one process, twice


def collected() -> bool:
    """Collect garbage; what a thread has for a moment only next time."""
    gc.collect()
    return True


def is_free(folder: Path) -> bool:
    """Whether nobody owns the indexes: this process could."""
    try:
        Braid(folder, embedding_model=HashEmbeddings(), must_own=True).close()
    except NotOwnerError:
        return False
    return True


def test_opened_again_in_one_process_and_forgotten(tmp_path: Path) -> None:
    cells = {"braid": opened(tmp_path)}
    fill(cells["braid"])
    expected, gone = cells["braid"].search("pump", user_id=1).hits, weakref.ref(cells["braid"])
    cells["braid"] = opened(tmp_path)  # the cell is run again
    assert cells["braid"].search("pump", user_id=1).hits == expected
    eventually(lambda: collected() and gone() is None)
    eventually(lambda: cells["braid"].is_owner)
    assert cells["braid"].search("pump", user_id=1).hits == expected
    retriever = cells["braid"].get_retriever(user_id=1)
    cells.clear()
    gc.collect()
    assert retriever.invoke("pump"), "a retriever keeps what it searches"
    del retriever
    eventually(lambda: collected() and is_free(tmp_path))


def test_other_options_than_the_owners_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(tmp_path), Braid(tmp_path, embedding_model=HashEmbeddings(32, fingerprint="fake:other")):
        eventually(lambda: "with embedding model fake:hash-64, this process with fake:other" in caplog.text)


def test_why_a_process_does_not_take_over_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, options = HashEmbeddings(32, fingerprint="fake:other"), EmbeddingOptions(reembed="no")
    with opened(tmp_path) as owner:
        fill(owner)
        guest = Braid(tmp_path, embedding_model=other, embedding_options=options)
        tries, open_indexes = [], guest.open_indexes

        def count(closing: ExitStack, *, crashed: bool) -> Indexes:
            tries.append(crashed)
            return open_indexes(closing, crashed=crashed)

        monkeypatch.setattr(guest, "open_indexes", count)
    with guest:
        eventually(lambda: len(tries) > 2)
        assert not guest.is_owner
    assert "cannot take over the indexes: embedding_model is another one" in caplog.text
    assert caplog.text.count("cannot take over") == 1


def test_the_note_of_the_owner_is_private(pair: tuple[Braid, Braid]) -> None:
    owner, _ = pair
    note = read_note(owner.data_dir)
    assert note is not None
    assert note.opened_with == owner.opened_with
    assert stat.S_IMODE((owner.data_dir / NOTE).stat().st_mode) == 0o600


def test_the_command_line_searches_beside_a_library(tmp_path: Path) -> None:
    with Braid(tmp_path) as owner:
        ann = owner.ledger.add_user("ann")
        notes = owner.ledger.add_dataset(ann.id, "notes")
        owner.ledger.put_document(notes.id, document("pump.md", "the pump runs at 12 bar"))
        assert owner.indexer.wait(WAIT_S, ("bm25",))
        done = CliRunner().invoke(cli, ["--data-dir", str(tmp_path), "search", "pump", "--mode", "keyword", "--json"])
    assert done.exit_code == 0, done.output
    assert '"source": "pump.md"' in done.stdout


# ---------------------------------------------------------------- forks and kills


def answer(braid: Braid, pipe: Connection) -> None:
    """Answers until the pipe ends, in a process of its own: what it finds, and whether it is the owner."""
    while True:
        try:
            asked = pipe.recv()
        except EOFError:
            os._exit(0)
        if asked == "owner?":
            pipe.send(braid.is_owner)
            continue
        result = braid.search(asked, user_id=1)
        pipe.send(([hit.passage.text for hit in result.hits], [part.reason for part in result.degraded]))


def open_and_answer(folder: str, pipe: Connection) -> None:
    answer(Braid(Path(folder), embedding_model=HashEmbeddings()), pipe)


@contextmanager
def child(target: Callable[..., None], given: object, method: str) -> Iterator[tuple[Any, Connection]]:
    """A process that answers, and the pipe to it; it is killed in the end."""
    context: Any = multiprocessing.get_context(method)
    mine, its = context.Pipe()
    process = context.Process(target=target, args=(given, its))
    process.start()
    its.close()
    try:
        yield process, mine
    finally:
        process.kill()
        process.join(WAIT_S)


def ask(pipe: Connection, what: str) -> Any:
    pipe.send(what)
    assert pipe.poll(WAIT_S), "no answer"
    return pipe.recv()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_child_of_a_fork_searches_through_its_parent_and_takes_over(tmp_path: Path) -> None:
    with opened(tmp_path / "data") as owner:
        fill(owner)
        expected = [hit.passage.text for hit in owner.search("pump number 7", user_id=1).hits]
        with child(answer, owner, "fork") as (_, first), child(answer, owner, "fork") as (_, second):
            for pipe in (first, second):
                assert ask(pipe, "pump number 7") == (expected, [])
                assert ask(pipe, "owner?") is False
            owner.ledger.put_document(1, document("new", "a kite on the wind"))
            assert owner.indexer.wait(WAIT_S), "the parent's threads go on"
            assert ask(first, "kite")[0][0] == "a kite on the wind"
            owner.close()
            assert ask(first, "pump number 7") == (expected, [])
            assert ask(second, "pump number 7") == (expected, [])
            eventually(lambda: [ask(first, "owner?"), ask(second, "owner?")].count(True) == 1)


def test_the_child_of_a_guest_starts_the_jobs_once(pair: tuple[Braid, Braid]) -> None:
    """The jobs wait for the ownership in the guest, and in its child; their threads can be started once."""
    owner, guest = pair
    background = Background(guest)
    background.start()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            started = list[str]()
            guest.when_owner(lambda: started.append("after the jobs"))
            guest.search("pump", user_id=1)
            os.write(writer, b"r")
            eventually(lambda: guest.search("pump", user_id=1) and guest.is_owner and started)
            threads = [thread.name for thread in threading.enumerate() if thread.name == "braid-tidy"]
            os.write(writer, f"{started} {threads}".encode())
        finally:
            os._exit(0)
    try:
        os.close(writer)
        with os.fdopen(reader, "rb", buffering=0) as said:
            assert said.read(1) == b"r"
            background.close()
            guest.close()  # so that the child alone waits for the owner's end
            owner.close()
            assert said.read() == b"['after the jobs'] ['braid-tidy']"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_fork_by_hand(tmp_path: Path) -> None:
    with opened(tmp_path / "data") as owner:
        fill(owner)
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                found = owner.search("pump number 7", user_id=1)
                owner.ledger.put_document(1, document("child", "written by the child"))
                os.write(writer, b"found" if found.hits and not found.degraded and not owner.is_owner else b"wrong")
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as said:
            assert said.read() == b"found"
        os.waitpid(pid, 0)
        assert owner.is_owner
        assert owner.indexer.wait(WAIT_S)
        assert owner.search("written child", user_id=1, mode="keyword").hits[0].passage.source == "child"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_killed_owner_is_replaced_by_exactly_one(tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    with opened(tmp_path / "data") as owner:
        fill(owner)
    with (
        child(open_and_answer, folder, "fork") as (_, one),
        child(open_and_answer, folder, "fork") as (_, two),
        child(open_and_answer, folder, "fork") as (_, three),
    ):
        ask(one, "pump"), ask(two, "pump"), ask(three, "pump")
        workers = [one, two, three]
        dead = next(pipe for pipe in workers if ask(pipe, "owner?"))
        expected = ask(dead, "pump number 7")
        assert expected[1] == []
        note = read_note(tmp_path / "data")
        assert note is not None
        os.kill(note.pid, signal.SIGKILL)
        left = [pipe for pipe in workers if pipe is not dead]
        started = time.monotonic()
        assert [ask(pipe, "pump number 7") for pipe in left] == [expected, expected]
        assert time.monotonic() - started < WAIT_S / 2
        eventually(lambda: [ask(pipe, "owner?") for pipe in left].count(True) == 1)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_no_search_fails_while_owners_are_killed_and_documents_come(tmp_path: Path) -> None:
    """In a process that reads, and in the end takes over: nothing is lost, nothing that was deleted comes back."""
    folder, stop = tmp_path / "data", threading.Event()
    with opened(folder) as owner:
        fill(owner)
        shared = owner.registry.add("manual", "shared_manual").id  # nothing is written beside it: it is never behind
        owner.mirror_registry()
        owner.ledger.put_document(shared, document("manual", "the manual of the crane"))
        assert owner.indexer.wait(WAIT_S)

    def search(braid: Braid) -> int:
        searches = 0
        while not stop.is_set():
            for mode in get_args(Mode):
                result = braid.search("manual of the crane", user_id=1, dataset_ids=[shared], mode=mode)
                assert ([hit.passage.source for hit in result.hits], result.degraded) == (["manual"], ())
                searches += 1
        return searches

    with (
        child(open_and_answer, str(folder), "fork") as (_, one),
        child(open_and_answer, str(folder), "fork") as (_, two),
    ):
        ask(one, "pump"), ask(two, "pump")
        with opened(folder) as reader, ThreadPoolExecutor(2) as pool:
            assert not reader.is_owner
            searching = [pool.submit(search, reader) for _ in range(2)]
            try:
                for turn in range(2):
                    for number in range(20):
                        reader.ledger.put_document(1, document(f"new{turn}-{number}", f"a kite of {turn} and {number}"))
                        if number % 5 == 4:
                            reader.ledger.remove_document(1, f"new{turn}-{number}")
                    note = read_note(folder)
                    assert note is not None
                    if note.pid != os.getpid():
                        os.kill(note.pid, signal.SIGKILL)
                        eventually(lambda pid=note.pid: getattr(read_note(folder), "pid", pid) != pid)  # type: ignore[misc]
                assert reader.indexer.wait(WAIT_S)
            finally:
                stop.set()
            assert all(future.result() > 0 for future in searching)
            found = reader.search("kite", user_id=1, mode="keyword", k=100).hits
            kept = {f"new{turn}-{number}" for turn in range(2) for number in range(20) if number % 5 != 4}
            assert {hit.passage.source for hit in found} >= kept
            assert not {hit.passage.source for hit in found if hit.passage.source.startswith("new")} - kept
            assert [each for each in examine(reader) if each.leg != "dense" or not each.waits] == []


BULK = """
import sys
from braid.core.data_directory import DataDirectory
from tests.fakes import HashEmbeddings
from tests.worlds import document

with DataDirectory(sys.argv[1], embedding_model=HashEmbeddings()) as directory:
    for turn in range(4):
        directory.ledger.put_documents(1, [document(f"{turn}-{number}", "a hose") for number in range(1000)])
        print(turn, flush=True)
"""


def test_single_writes_go_through_beside_a_large_one_of_another_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Both indexes follow meanwhile; nobody is told that the database is locked."""
    with opened(tmp_path / "data") as owner:
        fill(owner)
        longest, written = 0.0, 0
        with python("-c", BULK, str(tmp_path / "data"), cwd=ROOT, stdout=subprocess.PIPE, text=True) as bulk:
            while bulk.poll() is None:
                started = time.monotonic()
                owner.ledger.put_document(1, document(f"single{written}", "a gasket"))
                longest, written = max(longest, time.monotonic() - started), written + 1
            assert bulk.stdout is not None
            assert bulk.stdout.read().split() == ["0", "1", "2", "3"]
        assert owner.indexer.wait(WAIT_S)
        assert len(owner.ledger.documents(1, limit=100_000)) == len(TEXTS) + 4000 + written
    assert longest < 8, written
    assert [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
