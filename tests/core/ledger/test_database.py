"""The database: what it remembers, and what only one of SQLite and PostgreSQL does; test_database_contract has both."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, select, update

from braid.core.ledger.database import MOST_ANSWERS, MOST_ROWS, WAL_KEPT_BYTES, Database, Remembered, Rows
from braid.core.ledger.tables import UserRow


def test_sqlite_says_that_another_process_has_committed(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    names = "SELECT name FROM users"
    first = database.remembered_rows(names)
    assert database.remembered_rows(names) is first
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("INSERT INTO users (name, created_at, is_admin, disabled) VALUES ('ann', 0, false, false)")
    other.close()
    assert database.remembered_rows(names) == (("ann",),)
    database.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_was_committed_before_a_fork_is_seen_after_it(tmp_path: Path) -> None:
    """SQLite counts commits for each connection, from the same number on, and a fork has them made anew."""
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    names = "SELECT name FROM users"
    assert database.remembered_rows(names) == ()
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("INSERT INTO users (name, created_at, is_admin, disabled) VALUES ('ann', 0, false, false)")
    other.close()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if database.remembered_rows(names) == (("ann",),) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert database.remembered_rows(names) == (("ann",),)
    database.close()


def test_the_wal_is_cut_when_it_begins_again(tmp_path: Path) -> None:
    database, wal = Database(f"sqlite:///{tmp_path / 'ledger.db'}"), tmp_path / "ledger.db-wal"
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE filler (text)")
    with database.read() as reader:  # keeps SQLite from beginning the WAL again
        reader.exec_driver_sql("SELECT count(*) FROM filler").all()
        for _ in range(4):
            with database.write() as connection:
                connection.exec_driver_sql("INSERT INTO filler VALUES (randomblob(3000000))")
        assert wal.stat().st_size > 2 * WAL_KEPT_BYTES
    for _ in range(3):  # copies the WAL into the database, begins it again, and cuts it
        with database.write() as connection:
            connection.exec_driver_sql("INSERT INTO filler VALUES (randomblob(100))")
    assert wal.stat().st_size <= WAL_KEPT_BYTES
    database.close()


def test_one_statement_is_a_transaction_of_its_own_or_a_part_of_the_one_around_it(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    ann = select(UserRow.id, UserRow.signed_in_at).where(UserRow.name == "ann")
    assert database.row(ann) is None
    assert database.find(select(UserRow.signed_in_at)) is None
    with database.write() as connection:
        connection.execute(insert(UserRow), [{"name": name, "created_at": 0.0} for name in ("ann", "ben")])
    assert database.change(update(UserRow).values(signed_in_at=7.0)) == 2
    assert database.row(ann) == (1, 7.0)
    assert database.find(select(UserRow.name).order_by(UserRow.id.desc())) == "ben"

    def delete_and_fail() -> None:
        with database.write():
            assert database.change(delete(UserRow)) == 2
            assert database.row(ann) is None
            raise LookupError("which undoes it")

    with pytest.raises(LookupError):
        delete_and_fail()
    assert database.row(ann) == (1, 7.0)
    database.close()


def test_only_so_much_is_remembered() -> None:
    reads = 0

    def read() -> Rows:
        nonlocal reads
        reads += 1
        return ()

    remembered = Remembered(lambda: 1)
    for number in range(MOST_ANSWERS + 1):
        remembered.get(number, read)
    remembered.get(MOST_ANSWERS, read)
    assert reads == MOST_ANSWERS + 1
    remembered.get(0, read)
    assert reads == MOST_ANSWERS + 2


def test_large_answers_fill_no_memory() -> None:
    reads = 0

    def read(size: int) -> Rows:
        nonlocal reads
        reads += 1
        return ((0,),) * size

    remembered = Remembered(lambda: 1)
    for _ in range(2):
        remembered.get("too large", lambda: read(MOST_ROWS // 10 + 1))
    assert reads == 2
    for number in range(11):
        remembered.get(number, lambda: read(MOST_ROWS // 10))
    assert sum(len(rows) for rows in remembered._answers.values()) <= MOST_ROWS


def test_postgresql_plans_statements_for_their_values(new_postgres_url: Callable[[], str]) -> None:
    """From the sixth time on it would take one plan for any values, which was a hundred times as slow for passages."""
    database = Database(new_postgres_url())
    try:
        for _ in range(12):
            database.rows("SELECT id FROM chunks WHERE id IN :ids", ids=[str(number) for number in range(100)])
        [(prepared, generic)] = database.rows("SELECT COUNT(*), SUM(generic_plans) FROM pg_prepared_statements")
    finally:
        database.close()
    assert prepared >= 1
    assert generic == 0
