"""A data directory is moved to PostgreSQL and back: nothing is missing, and nothing wrong is begun."""

from __future__ import annotations

import io
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, Connection, Double, Integer, LargeBinary, Table, func, insert, select, text

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import ApiTokens, WebSessions
from braid.core.accounts.secret_key import secret_key
from braid.core.backup import rows
from braid.core.backup.destinations import Destination, destination_of
from braid.core.backup.make import Sources
from braid.core.backup.manifest import BackupError
from braid.core.backup.move import Moved, move
from braid.core.data_directory import DataDirectory
from braid.core.datasets.shared_list import ListInLedger
from braid.core.errors import InvalidInputError, NotOwnerError
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.ingest import ingest_bytes
from braid.core.ingest.spool import Spool
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger import database
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.member import Member
from braid.core.ledger.owners.owner import OwnerLock
from braid.core.ledger.tables import OF_PROCESSES
from braid.core.originals.store import Originals
from tests.fakes import HashEmbeddings
from tests.worlds import document

ODD = "日本語, tabs\tand\nlines \\N \\. 'quoted' \U0001f40d"
SHARED = "Handbook of everybody"
PASSWORD = "a password of ann's"


def opened(path: Path, url: str = "") -> DataDirectory:
    return DataDirectory(path, database_url=url, embedding_model=HashEmbeddings())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sources, dict[str, str]]:
    """A directory that has something of everything, and what its users have to sign in with."""
    folder = tmp_path_factory.mktemp("world")
    with opened(folder / "data") as made:
        ann = Accounts(made.ledger).add("ann", PASSWORD, is_admin=True, groups=["b", "Ä", "a", "_"])
        Accounts(made.ledger).add("ben", PASSWORD)
        notes, gone = (made.ledger.add_dataset(ann.id, name).id for name in ("notes", "removed"))
        made.ledger.remove_dataset(gone)
        made.registry.add(SHARED, "shared_main")
        made.mirror_registry()
        for number in range(5):
            made.ledger.put_document(notes, document(f"{number}.md", f"{ODD} {number}", "another passage"))
        (folder / "pump.txt").write_text("The pump runs at 12 bar.")
        stored = ingest_bytes(made, notes, "pump.txt", (folder / "pump.txt").read_bytes())
        Originals(made).keep(int(stored.document_id or 0), Incoming.from_file(folder / "pump.txt", "pump.txt"))
        waiting = Spool(made.data_dir / "uploads").save(io.BytesIO(b"to be read"), max_bytes=100).name
        JobStore(made.ledger).add(ann.id, [NewJob("upload", "waits.txt", notes, {"file": waiting, "odd": ODD})])
        secret_key(made.data_dir)
        known = {
            "session": WebSessions(made.ledger).open(ann.id, "a browser"),
            "token": ApiTokens(made.ledger).add(ann.id, "a program", ["read"])[1],
            "upload": waiting,
        }
        with made.ledger.database.write() as connection:
            for each in rows.tables():
                if each.name == "shared_list":  # a file has it here
                    continue
                if not connection.execute(select(func.count()).select_from(each)).scalar_one():
                    add_rows(connection, each)
    return Sources(folder / "data", folder / "data" / "shared_dbs.json"), known


def add_rows(connection: Connection, table: Table) -> None:
    """Two rows that refer to others where they must, so that also a table of tomorrow is moved with something in it."""
    referred = {
        column.name: [row[0] for row in connection.execute(select(key.column).limit(2))] * 2
        for column in table.columns
        for key in column.foreign_keys
    }
    for number in range(2):
        values = {
            column.name: referred[column.name][number] if column.name in referred else value(column.type, number)
            for column in table.columns
        }
        connection.execute(insert(table).values(values))


def value(kind: Any, number: int) -> Any:
    if isinstance(kind, Boolean):
        return bool(number)
    if isinstance(kind, Integer):
        return number + 1
    if isinstance(kind, Double):
        return (0.1, 1e300)[number]
    if isinstance(kind, LargeBinary):
        return bytes(range(256)) * (number + 1)
    return {ODD: [None, 1.5, True]} if kind.python_type in (dict, list) else f"{ODD} {number}"


@pytest.fixture
def source(world: tuple[Sources, dict[str, str]]) -> Sources:
    return world[0]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "ROWS_PER_READ", 3)


class Killed(BaseException):
    """Stands for SIGKILL: what is committed before is there, and nothing runs after it."""


def killed_after(steps: int) -> Callable[[str, int, int], None]:
    left = [steps]

    def count(_what: str, _done: int, _total: int) -> None:
        left[0] -= 1
        if not left[0]:
            raise Killed

    return count


def moved_with_a_kill(source: Sources, to: Destination, after: int) -> Moved:
    with pytest.raises(Killed):
        move(source, to, on_progress=killed_after(after))
    with pytest.raises(InvalidInputError, match="move that has not ended; run the same"):
        Ledger(to.url)
    done = move(source, to)
    assert done.went_on
    return done


def test_it_is_moved_to_postgresql_and_back_although_it_is_killed(
    world: tuple[Sources, dict[str, str]],
    new_postgres_url: Callable[[], str],
    tmp_path: Path,
    small_batches: None,
    migrating: None,
) -> None:
    source, known = world
    before = (source.data_dir / "ledger.db").read_bytes()
    there = destination_of(new_postgres_url(), tmp_path / "files")
    up = moved_with_a_kill(source, there, after=12)
    assert (source.data_dir / "ledger.db").read_bytes() == before
    assert [name for name, each in up.tables.items() if not each.rows] == ["shared_list"]
    assert up.files == 4  # the secret, the list, the upload, the original
    with closing(Ledger(there.url)) as ledger:
        ListInLedger(ledger.database).take_over(tmp_path / "files" / "shared_dbs.json", has_shared=True)
    (tmp_path / "files" / "shared_dbs.json").write_text("an old one")
    in_postgres = Sources(tmp_path / "files", tmp_path / "files" / "shared_dbs.json", there.url)
    back = destination_of(str(tmp_path / "back"))
    down = moved_with_a_kill(in_postgres, back, after=40)
    assert {**down.tables, **{name: up.tables[name] for name in ("shared_list", *OF_PROCESSES)}} == up.tables
    assert [(up.tables[name].rows, down.tables[name].rows) for name in OF_PROCESSES] == [(2, 0)] * len(OF_PROCESSES)
    assert (down.tables["shared_list"].rows, down.files) == (1, up.files - 1)
    assert SHARED in (tmp_path / "back" / "shared_dbs.json").read_text(), "administrators edit the file there"
    for path, url in ((tmp_path / "files", there.url), (tmp_path / "back", "")):
        with opened(path, url) as found:
            require_all(found, known)
            assert found.registry.is_file == (path == tmp_path / "back")
            assert found.ledger.add_dataset(1, "new").id == 3, "ids are never given again"
    with opened(source.data_dir) as untouched:
        assert secret_key(tmp_path / "back") == secret_key(untouched.data_dir)


def require_all(there: DataDirectory, known: dict[str, str]) -> None:
    assert Accounts(there.ledger).verify("ann", PASSWORD) is not None
    assert WebSessions(there.ledger).find(known["session"]) is not None
    assert ApiTokens(there.ledger).find(known["token"]) is not None
    assert [entry.name for entry in there.registry.entries()] == [SHARED]
    [pump] = [each for each in there.ledger.documents(1) if each.source == "pump.txt"]
    kept = Originals(there).find(pump)
    assert kept is not None
    assert kept.read_text() == "The pump runs at 12 bar."
    claimed = JobStore(there.ledger).claim(0)
    assert claimed is not None
    assert claimed.payload == {"file": known["upload"], "odd": ODD}
    assert (there.data_dir / "uploads" / known["upload"]).read_bytes() == b"to be read"


def test_what_is_there_already_is_not_touched(
    source: Sources, new_postgres_url: Callable[[], str], tmp_path: Path, migrating: None
) -> None:
    url = new_postgres_url()
    with closing(Ledger(url)) as ledger:
        ledger.add_user("bob")
        with pytest.raises(BackupError, match="a ledger of Braid with 1 users and 0 documents; nothing was changed"):
            move(source, destination_of(url))
        assert [user.name for user in ledger.users()] == ["bob"]
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE pumps (id)")
    with pytest.raises(BackupError, match="it has the table 'pumps'"):
        move(source, destination_of(f"sqlite:///{tmp_path / 'other.db'}"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    for to in (destination_of(str(tmp_path / "full")), destination_of(new_postgres_url(), tmp_path / "full")):
        with pytest.raises(BackupError, match=r"full is not empty, it has 'notes\.txt'"):
            move(source, to)


def test_another_move_does_not_go_on_with_it(source: Sources, tmp_path: Path, migrating: None) -> None:
    to = destination_of(str(tmp_path / "new"))
    with pytest.raises(Killed):
        move(source, to, on_progress=killed_after(2))
    with opened(tmp_path / "other"):
        pass
    other = Sources(tmp_path / "other", tmp_path / "other" / "shared_dbs.json")
    with pytest.raises(BackupError, match=r"has a move from sqlite:.*this one is another"):
        move(other, to)
    with pytest.raises(BackupError, match=f"with the files in {tmp_path / 'new'} that has not ended"):
        move(source, Destination(to.url, tmp_path / "elsewhere"))


def test_a_source_that_was_written_to_between_two_runs_is_noticed(tmp_path: Path, migrating: None) -> None:
    with opened(tmp_path / "data") as made:
        made.ledger.add_user("ann")
    source, to = Sources(tmp_path / "data", tmp_path / "data" / "shared_dbs.json"), destination_of(str(tmp_path / "b"))
    with pytest.raises(Killed):
        move(source, to, on_progress=killed_after(3))
    with opened(tmp_path / "data") as made, made.ledger.database.write() as connection:
        connection.execute(text("UPDATE users SET name = 'eve'"))
    with pytest.raises(BackupError, match=r"the table users has 1 rows with hash .* move to an empty place"):
        move(source, to)


def test_nobody_writes_to_the_source_meanwhile(source: Sources, tmp_path: Path, migrating: None) -> None:
    tried: list[str] = []

    def write(_what: str, _done: int, _total: int) -> None:
        if len(tried) < 3:
            with closing(sqlite3.connect(source.data_dir / "ledger.db", timeout=0)) as other:
                try:
                    other.execute("UPDATE users SET name = 'eve'")
                except sqlite3.OperationalError as error:
                    tried.append(str(error))

    move(source, destination_of(str(tmp_path / "new")), on_progress=write)
    assert tried == 3 * ["database is locked"]
    lock = OwnerLock(source.data_dir)
    lock.acquire()
    try:
        with pytest.raises(NotOwnerError, match="open; stop it first, so that nothing is written"):
            move(source, destination_of(str(tmp_path / "other")))
    finally:
        lock.release()


def test_a_place_that_a_process_of_a_fleet_has_open_is_refused(
    new_postgres_url: Callable[[], str],
    source: Sources,
    tmp_path: Path,
    migrating: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = new_postgres_url()
    with opened(tmp_path / "data", url) as made:
        member = Member(made.ledger.database)
        name = member.name.partition("/")[0]
        fleet = Sources(tmp_path / "data", tmp_path / "data" / "shared_dbs.json", url)
        with pytest.raises(BackupError, match=f"1 processes of a fleet have postgres.* such as {name}; stop them"):
            move(fleet, destination_of(str(tmp_path / "back")))
        with pytest.raises(BackupError, match=f"such as {name}; stop them"):
            move(source, destination_of(url))
        assert member.beat(), "nothing holds it up"
        member.leave()
        with pytest.raises(BackupError, match="it has a ledger of Braid"):
            move(source, destination_of(url))
    monkeypatch.setattr(database, "IDLE_IN_TRANSACTION_S", 2.0)  # longer than a busy machine leaves one idle
    slow = [2.5]

    def compare_slowly(what: str, _done: int, _total: int) -> None:
        if slow and what == "comparing the tables":
            time.sleep(slow.pop())

    move(fleet, destination_of(str(tmp_path / "back")), on_progress=compare_slowly)
    assert not slow


def test_a_row_that_cannot_be_stored_is_named(
    new_postgres_url: Callable[[], str], tmp_path: Path, migrating: None
) -> None:
    with opened(tmp_path / "data") as made:
        made.ledger.add_user("ann")
        with made.ledger.database.write() as connection:
            connection.execute(text("INSERT INTO app_settings VALUES ('good', ''), ('bad', char(97, 0, 98))"))
    source = Sources(tmp_path / "data", tmp_path / "data" / "shared_dbs.json")
    with pytest.raises(BackupError, match=r"the row of app_settings with name 'bad' cannot be stored there: .*NUL"):
        move(source, destination_of(new_postgres_url()))


def wrong(source: Sources) -> Iterator[tuple[str, str]]:
    yield str(source.data_dir), "already"
    yield f"sqlite:///{source.data_dir}/ledger.db", "already"
    yield f"{source.data_dir}/new", "within the data directory"
    yield "postgresql+psycopg://nobody@127.0.0.1:1/none", "cannot be filled: connection failed: .*refused"
    yield "mysql://root@localhost/braid", "postgresql\\+psycopg://user@host/database, or name a folder"
    yield "sqlite://", "names no file"
    yield "nonsense://x", "is no URL of a database"


def test_a_wrong_place_is_refused_in_words(source: Sources, tmp_path: Path) -> None:
    for to, words in wrong(source):
        with pytest.raises(BackupError, match=words):
            move(source, destination_of(to))
    with pytest.raises(BackupError, match="leave out the folder"):
        destination_of(str(tmp_path), tmp_path)
    with pytest.raises(BackupError, match="there is no data directory"):
        move(Sources(tmp_path / "none", tmp_path / "none.json"), destination_of(str(tmp_path / "new")))


def test_a_ledger_of_another_version_is_not_moved(source: Sources, tmp_path: Path) -> None:
    for revision, words in (("9999", "which a newer Braid wrote"), ("0008", "python -m app db migrate")):
        with opened(tmp_path / revision) as made, made.ledger.database.write() as connection:
            connection.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))
        other = Sources(tmp_path / revision, tmp_path / "shared_dbs.json")
        with pytest.raises((BackupError, InvalidInputError), match=words):
            move(other, destination_of(str(tmp_path / "new")))
        assert not (tmp_path / "new").exists()
