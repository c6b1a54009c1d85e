"""Reading by statements with constant text, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy.exc import DBAPIError

from braid.core.ledger.database import Database


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
    database.rows(NAMES, ids=[1], name="x")
    with pytest.raises(KeyError), database.write() as connection:
        connection.exec_driver_sql("UPDATE users SET name = 'bob' WHERE id = 1")
        raise KeyError
    assert database.rows(NAMES, ids=[1], name="x") == [("ann",)]
