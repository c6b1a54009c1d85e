"""Several writers of a ledger, and its database, on SQLite and on PostgreSQL."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue
from pathlib import Path
from types import SimpleNamespace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, insert, inspect
from sqlalchemy.exc import IntegrityError

from braid import __version__
from braid.core.errors import InvalidInputError
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.database import Database
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.schema import newest_revision
from braid.core.ledger.tables import Base, UserRow
from tests.core.ledger.contents import counts, document, ids, vectors
from tests.worlds import WAIT_S

spawn = multiprocessing.get_context("spawn")


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


def start_process(target: Callable[..., None], *args: object) -> tuple[SpawnProcess, Queue[str]]:
    said: Queue[str] = spawn.Queue()
    process = spawn.Process(target=target, args=(*args, said))
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
        ("0001", "run `python -m app doctor` on it once with the code of commit 24fc887"),
        ("0007", "or begin with another data directory; nothing was changed"),
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
