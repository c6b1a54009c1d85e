"""The database below the ledger, on SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from braid.core.ledger import database as ledger_database
from braid.core.ledger.database import Database
from tests.databases import all_on_both_databases
from tests.worlds import WAIT_S

pytest_generate_tests = all_on_both_databases


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(database_url)
    with opened.write() as connection:
        connection.exec_driver_sql(
            "INSERT INTO users (id, name, created_at, is_admin, disabled) VALUES (1, 'ann', 0, false, false),"
            " (2, '田中', 0, false, false)"
        )
    yield opened
    opened.close()


NAMES = "SELECT name FROM users WHERE id IN :ids AND name <> :name ORDER BY id"


def test_one_parameter_takes_any_number_of_values(database: Database) -> None:
    assert database.rows(NAMES, ids=[1, 2, 3, 2**31], name="x") == [("ann",), ("田中",)]
    assert database.rows(NAMES, ids=frozenset({2, 1}), name="田中") == [("ann",)]
    assert database.rows("SELECT id FROM users WHERE name IN :names", names=["田中", 'a"]']) == [(2,)]
    assert database.rows(NAMES, ids=[], name="x") == []


def test_rows_in_batches(database: Database) -> None:
    assert list(database.batches(NAMES, 1, ids=[1, 2], name="x")) == [[("ann",)], [("田中",)]]


def test_a_statement_that_fails_leaves_no_trace(database: Database) -> None:
    for _ in range(40):  # more often than the pool has connections
        with pytest.raises(DBAPIError, match="no_such_table"):
            database.rows("SELECT 1 FROM no_such_table")
    assert len(database.rows(NAMES, ids=[1, 2], name="x")) == 2
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE users SET name = 'bob' WHERE id = 1")
    assert database.rows(NAMES, ids=[1], name="x") == [("bob",)]


def test_a_write_after_a_read_can_be_undone(database: Database) -> None:
    def write_and_fail() -> None:
        with database.write() as connection:
            connection.exec_driver_sql("UPDATE users SET name = 'bob' WHERE id = 1")
            raise KeyError

    database.rows(NAMES, ids=[1], name="x")
    with pytest.raises(KeyError):
        write_and_fail()
    assert database.rows(NAMES, ids=[1], name="x") == [("ann",)]


def test_what_is_remembered_is_read_again_after_a_commit(database: Database) -> None:
    assert database.remembered_rows(NAMES, ids=[1], name="x") == (("ann",),)
    assert database.remembered_rows(NAMES, ids=[1, 2], name="x") == (("ann",), ("田中",))
    with database.write() as connection, ThreadPoolExecutor() as other:
        connection.exec_driver_sql("UPDATE users SET name = 'bob' WHERE id = 1")
        assert database.remembered_rows(NAMES, ids=[1], name="x") == (("bob",),)
        seen = other.submit(database.remembered_rows, NAMES, ids=[1], name="x")
        assert seen.result(WAIT_S) == (("ann",),), "nobody else sees what is not committed"
    assert database.remembered_rows(NAMES, ids=[1], name="x") == (("bob",),)


def test_a_connection_that_is_in_use_when_all_are_closed_is_closed_when_it_comes_back(database_url: str) -> None:
    database = Database(database_url)
    with database.read() as connection:
        used = connection.connection.driver_connection
        database.close()
        assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
    assert used is not None
    with pytest.raises(database.engine.dialect.loaded_dbapi.Error, match="closed"):
        used.cursor().execute("SELECT 1")


def test_only_so_many_connections_are_opened(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_database, "POOL_TIMEOUT_S", 0.05)
    for connections in (2, 12):
        database = Database(database_url, connections=connections)
        with ExitStack() as held:
            for _ in range(connections):
                held.enter_context(database.read())
            with pytest.raises(PoolTimeoutError), database.read():
                pass
        with database.read():
            pass
        database.close()
