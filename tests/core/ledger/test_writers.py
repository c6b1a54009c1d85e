"""Several writers of a ledger, and its database, on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, insert, inspect
from sqlalchemy.exc import IntegrityError

from braid import __version__
from braid.core.accounts.credentials import ApiTokens
from braid.core.chat.feedback import Feedback, FeedbackStore
from braid.core.chat.store import ConversationStore
from braid.core.datasets.registry import Registry
from braid.core.errors import InvalidInputError
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger.change_log import ChangeLog, IndexState
from braid.core.ledger.database import Database
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.schema import newest_revision
from braid.core.ledger.tables import Base, UserRow
from braid.core.types import DocumentInput
from tests.core.ledger.contents import counts, document, ids, vectors
from tests.databases import all_on_both_databases
from tests.worlds import WAIT_S, new_processes

PROCESSES: Any = new_processes()
pytest_generate_tests = all_on_both_databases


@pytest.fixture
def log(ledger: Ledger) -> ChangeLog:
    return ChangeLog(ledger.database)


# ---------------------------------------------------------------- several writers


def test_eight_threads_write_at_once(ledger: Ledger, dataset: int) -> None:
    other = ledger.add_dataset(1, "other").id

    def put(number: int) -> None:
        for step in range(4):
            source = f"{'shared' if step % 2 else number}"
            ledger.put_document((dataset, other)[number % 2], document(source, f"{number} {step}", "same"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(8)))
    for dataset_id in (dataset, other):
        stored = ledger.documents(dataset_id)
        assert len(stored) == 5
        chunks = sum(len(ledger.document_passages(d.id, [dataset_id])) for d in stored)
        assert counts(ledger, dataset_id) == (5, chunks) == (5, 10)


def test_embeddings_are_stored_while_passages_come_and_go(ledger: Ledger, dataset: int) -> None:
    """What the indexer and an ingest do at the same time."""
    names = [f"passage {n}" for n in range(60)]
    ledger.put_document(dataset, document("a", *names))
    chunk_ids = list(ids(ledger, dataset, "a").values())

    def replace_all(_: int) -> None:
        for step in range(10):
            ledger.put_document(dataset, document("a", *(names if step % 2 else names[::3])))

    def embed(turn: int) -> None:
        for _ in range(10):
            ledger.store_embeddings("m", chunk_ids[:: 1 - 2 * (turn % 2)], vectors(*range(60)))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(act, turn) for turn in range(2) for act in (replace_all, embed)]:
            done.result(timeout=WAIT_S)
    assert set(ledger.embeddings("m", chunk_ids)) <= set(ids(ledger, dataset, "a").values())
    assert counts(ledger, dataset) == (1, 60)


def start_process(target: Callable[..., None], *args: object) -> tuple[BaseProcess, Queue[str]]:
    said: Queue[str] = PROCESSES.Queue()
    process = PROCESSES.Process(target=target, args=(*args, said))
    process.start()
    return process, said


def open_and_put(url: str, name: str, said: Queue[str]) -> None:
    """Runs in a process of its own."""
    try:
        ledger = Ledger(url)
        ledger.register_shared(-1, "Guide", "shared_main")
        for step in range(5):
            ledger.put_document(-1, document(f"{name}/{step}", name, "same"))
            ledger.put_document(-1, document("contested", name, str(step)))
        ledger.close()
        said.put("done")
    except Exception as error:  # told to the test
        said.put(repr(error))


def test_two_processes_open_and_write_at_once(database_url: str) -> None:
    """The database is new, so both find it without tables."""
    processes = [start_process(open_and_put, database_url, name) for name in ("one", "two")]
    assert [said.get(timeout=WAIT_S) for _, said in processes] == ["done", "done"]
    for process, _ in processes:
        process.join(WAIT_S)
    ledger = Ledger(database_url)
    stored = ledger.documents(-1)
    assert len(stored) == 11
    assert counts(ledger, -1) == (11, 22)
    assert len(ChangeLog(ledger.database).chunk_ids("shared_main")) == 22
    ledger.close()


@pytest.mark.usefixtures("migrating")
def test_many_threads_open_a_new_database_at_once(database_url: str) -> None:
    def open_it(number: int) -> None:
        ledger = Ledger(database_url)
        ledger.register_shared(-1, "Guide", "shared_main")
        ledger.add_user(f"user {number}")
        ledger.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(open_it, range(6)))
    ledger = Ledger(database_url)
    assert len(ledger.users()) == 6
    assert ledger.dataset(-1).name == "Guide"
    ledger.close()


# ---------------------------------------------------------------- the database


@pytest.mark.usefixtures("migrating")
def test_the_migrations_make_the_tables_of_the_models(database_url: str) -> None:
    database = Database(database_url)
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    database.close()


@pytest.mark.parametrize(
    ("revision", "remedy"),
    [
        ("0001", "run `python -m app serve` on it once with the code of commit 24fc887"),
        ("0007", "or begin with another data directory; nothing was changed"),
        ("0009", "which no release had; run `python -m app serve` on it once with the code of commit 2358e43c"),
        ("0018", "or begin with another data directory; nothing was changed"),
        (
            "0099",
            rf"which a newer Braid wrote: this one \(braid {__version__}\) knows 0008 to {newest_revision()}; "
            "install the newer version again, or restore a backup from before the update; nothing was changed",
        ),
    ],
)
def test_tables_that_cannot_be_upgraded_are_refused_and_left_alone(
    database_url: str, revision: str, remedy: str
) -> None:
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{revision}')")
    with pytest.raises(InvalidInputError, match=f"has the tables of revision {revision}, .*{remedy}"):
        Database(database_url)
    assert inspect(engine).get_table_names() == ["alembic_version"]
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one() == revision
    engine.dispose()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("nonsense", r"database_url '\(not a URL\)' cannot be used"),
        ("oracle+nothing://host/db", r"that Braid does not use; give sqlite:///FILE or postgresql"),
        ("mysql://ann:secret@host/db", r"that Braid does not use; give sqlite:///FILE or postgresql"),
        ("mysql+pymysql://host/db", r"that Braid does not use"),
        ("unset://set-me", r"^database_url 'unset://set-me' is of a kind"),
        ("postgresql+psycopg://ann:secret@127.0.0.1:1/db", r"ann:\*\*\*@127\.0\.0\.1:1/db cannot be opened"),
    ],
)
def test_a_database_that_cannot_be_opened_is_named_without_its_password(url: str, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason) as caught:
        Ledger(url)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_text("this is not a database, but long enough to have a header of one" * 10)
    with pytest.raises(
        InvalidInputError, match="cannot be opened: file is not a database: it is damaged; restore a back"
    ):
        Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")


def test_a_full_or_read_only_disk_at_the_start_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ledger.db").mkdir()  # SQLite says as little of it as of a disk

    def told() -> str:
        with pytest.raises(InvalidInputError) as caught:
            Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
        return str(caught.value)

    assert told().endswith("unable to open database file")
    with monkeypatch.context() as patch:
        patch.setattr("braid.core.ledger.outages.os.access", lambda *_, **__: False)
        assert told().endswith(f"Permission denied: {tmp_path}: let this user read and write it")
        patch.setattr("braid.core.ledger.permissions.os.statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
        assert "cannot be written to; mount it writable, or let this user write there" in told()
    with monkeypatch.context() as patch:
        patch.setattr("braid.core.ledger.outages.shutil.disk_usage", lambda _: SimpleNamespace(free=0))
        assert told().endswith("is full; free some space")


def test_the_folder_of_the_database_is_made(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'a' / 'b' / 'ledger.db'}")
    ledger.add_user("ann")
    ledger.close()


def test_an_error_of_the_database_does_not_quote_what_was_to_be_stored(ledger: Ledger) -> None:
    twice = [{"id": 1, "name": name, "created_at": 1.0} for name in ("a secret", "another secret")]
    with ledger.database.write() as connection, pytest.raises(IntegrityError) as caught:
        connection.execute(insert(UserRow), twice)
    assert "secret" not in str(caught.value)


def test_a_writer_that_commits_late_is_not_skipped(
    ledger: Ledger, log: ChangeLog, dataset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first writer has its sequence number, then the second writes, and only then the first commits."""
    monkeypatch.setattr("braid.core.ledger.document_batch.DOCUMENTS_PER_BATCH", 1)
    other = ledger.add_dataset(1, "other").id
    wrote, commit, second_done = threading.Event(), threading.Event(), threading.Event()

    def documents_with_a_pause() -> Iterator[DocumentInput]:
        yield document("a", "first")
        wrote.set()
        assert commit.wait(WAIT_S)

    def second() -> None:
        ledger.put_document(other, document("a", "second"))
        second_done.set()

    with ThreadPoolExecutor(2) as pool:
        pool.submit(lambda: ledger.put_documents(dataset, documents_with_a_pause()))
        assert wrote.wait(WAIT_S)
        pool.submit(second)
        second_done.wait(0.3)  # it may have to wait for the first
        early = log.after("user_1", 0, 100)
        commit.set()
    late = log.after("user_1", early[-1].seq if early else 0, 100)
    assert {change.chunk_id for change in [*early, *late]} == log.chunk_ids("user_1")
    assert len(log.chunk_ids("user_1")) == 2


def test_a_follower_beside_many_writers_misses_nothing(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    datasets = [dataset, *(ledger.add_dataset(1, f"more {n}").id for n in range(3))]
    stop = threading.Event()

    def write(dataset_id: int) -> None:
        for step in range(12):
            ledger.put_document(dataset_id, document(f"{step % 5}", *(f"{step} {n}" for n in range(step % 4))))

    def follow() -> list[int]:
        seen: list[int] = []
        while True:
            last_round = stop.is_set()
            seen += [change.seq for change in log.after("user_1", seen[-1] if seen else 0, 7)]
            if last_round and not log.pending("user_1", seen[-1]):
                return seen

    with ThreadPoolExecutor(5) as pool:
        following = pool.submit(follow)
        list(pool.map(write, datasets))
        stop.set()
        seen = following.result(timeout=WAIT_S)
    assert seen == [change.seq for change in log.after("user_1", 0, 10_000)]


def test_states_are_set_from_two_threads_at_once(log: ChangeLog) -> None:
    """The doctor asks for a rebuild while the indexer sees the collection for the first time."""

    def set_it(number: int) -> Callable[[], None]:
        return lambda: log.set_state("bm25", f"user_{number // 2}", IndexState("v", number, "ready"))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(set_it(number)) for number in range(20)]:
            done.result(timeout=WAIT_S)
    assert len(log.states("bm25")) == 10


# ---------------------------------------------------------------- limits

MOST = 3
AT_ONCE = 30
Add = Callable[[int], object]
"""Adds the nth one."""


def datasets(ledger: Ledger, user: int) -> Add:
    return lambda number: ledger.add_dataset(user, f"set {number}", most=MOST)


def documents(ledger: Ledger, user: int) -> Add:
    places = [ledger.add_dataset(user, name).id for name in ("one", "two")]
    return lambda number: ledger.put_document(places[number % 2], document(f"{number}.md", f"{number}"), most=MOST)


def failures(ledger: Ledger, user: int) -> Add:
    place = ledger.add_dataset(user, "one").id
    return lambda number: ledger.put_failed(place, f"{number}.pdf", title="", file_type="pdf", error="torn", most=MOST)


def conversations(ledger: Ledger, user: int) -> Add:
    store = ConversationStore(ledger, Registry(Path("none.json")))
    return lambda number: store.create(user, f"talk {number}", most=MOST)


def tokens(ledger: Ledger, user: int) -> Add:
    return lambda number: ApiTokens(ledger, most=MOST).add(user, f"token {number}", ("read",))


def feedback(ledger: Ledger, user: int) -> Add:
    store = FeedbackStore(ledger, most=MOST)
    return lambda number: store.add(user, Feedback("up", f"chunk{number}", "q", (1,), (f"chunk{number}",)))


def jobs(ledger: Ledger, user: int) -> Add:
    store, place = JobStore(ledger), ledger.add_dataset(user, "one").id
    return lambda number: store.add(user, [NewJob("upload", f"{number}.md", place)], most=MOST)


@pytest.mark.parametrize("kind", [datasets, documents, failures, conversations, tokens, feedback, jobs])
def test_however_many_are_added_at_once_the_limit_is_reached_and_not_passed(
    ledger: Ledger, kind: Callable[[Ledger, int], Add]
) -> None:
    add, together = kind(ledger, ledger.add_user("ann").id), threading.Barrier(AT_ONCE)
    done: list[str] = []

    def run(number: int) -> None:
        together.wait(WAIT_S)
        try:
            add(number)
        except InvalidInputError as error:
            done.append(str(error))
        else:
            done.append("added")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done.count("added") == MOST
    assert len(done) == AT_ONCE
    assert all("limit" in said or "revoke one" in said for said in done if said != "added")
    ben = kind(ledger, ledger.add_user("ben").id)
    ben(100)
