"""Copies the tables of a ledger into another database, and compares both by counts and hashes."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection, Engine, Row, Table, func, insert, literal, select, tuple_
from sqlalchemy.exc import SQLAlchemyError

from braid.core.ledger.outages import is_outage, words_of
from braid.core.ledger.tables import Base
from braid.core.moving.destinations import MoveError
from braid.core.moving.notes import Copied, note_copied

ROWS_PER_COMMIT = 1_000
HASH_BYTES = 16


def tables() -> Sequence[Table]:
    """Return the ledger's tables, each after those that it refers to."""
    return Base.metadata.sorted_tables


@dataclass(frozen=True, slots=True)
class Digest:
    """The rows of a table: how many, and the sum of their hashes (BLAKE2b of 128 bits), which has no order."""

    rows: int
    hash: str


def count_rows(connection: Connection) -> dict[str, int]:
    """Return table → rows."""
    return {
        table.name: int(connection.execute(select(func.count()).select_from(table)).scalar_one()) for table in tables()
    }


def copy_table(
    reading: Connection, target: Engine, table: Table, copied: Copied, on_rows: Callable[[int], object]
) -> None:
    """Copy the rows after those that are copied already, in the order of the primary key.

    Each batch is committed with the note of where the next one begins. ``on_rows`` is called after each with the
    number of rows that are copied. Raises MoveError for a row that the target cannot store.
    """
    keys = list(table.primary_key.columns)
    statement = select(table).order_by(*keys)
    if copied.after:
        last = [literal(value, key.type) for key, value in zip(keys, copied.after, strict=True)]
        statement = statement.where(tuple_(*keys) > tuple_(*last))
    rows = copied.rows
    with closing(_parts(reading, statement)) as parts:
        for part in parts:
            rows += len(part)
            after = [getattr(part[-1], key.name) for key in keys]
            with target.execution_options(braid_write=True).begin() as writing:
                _insert(writing, table, part)
                note_copied(writing, table.name, Copied(rows, tuple(after)))
            on_rows(rows)


def digest_of(connection: Connection, table: Table) -> Digest:
    """Read a table whole, and return what tells it from another one with other rows."""
    rows, total = 0, 0
    with closing(_parts(connection, select(table))) as parts:
        for part in parts:
            rows += len(part)
            total += sum(_hash(row) for row in part)
    return Digest(rows, f"{total % 256**HASH_BYTES:0{2 * HASH_BYTES}x}")


def _parts(connection: Connection, statement: Any) -> Generator[Sequence[Row[Any]]]:
    """Yield the rows in batches; no more than one is in memory."""
    options = {"stream_results": True, "yield_per": ROWS_PER_COMMIT}
    with connection.execute(statement, execution_options=options) as found:
        yield from found.partitions()


def _insert(writing: Connection, table: Table, rows: Sequence[Row[Any]]) -> None:
    try:
        with writing.begin_nested():
            writing.execute(insert(table), [dict(row._mapping) for row in rows])
    except SQLAlchemyError as error:
        if is_outage(error):
            raise
        raise MoveError(_culprit(writing, table, rows) or f"the table {table.name}: {words_of(error)}") from error


def _culprit(writing: Connection, table: Table, rows: Sequence[Row[Any]]) -> str:
    """Return which row cannot be stored, and why."""
    for row in rows:
        try:
            with writing.begin_nested():
                writing.execute(insert(table), dict(row._mapping))
        except SQLAlchemyError as error:
            key = ", ".join(f"{key.name} {getattr(row, key.name)!r}" for key in table.primary_key.columns)
            return f"the row of {table.name} with {key} cannot be stored there: {words_of(error)}"
    return ""


def _hash(row: Row[Any]) -> int:
    """Return a number that depends on each value as Python has it, which is the same from every database."""
    text = json.dumps(list(row), default=bytes.hex)
    return int.from_bytes(blake2b(text.encode(), digest_size=HASH_BYTES).digest())


# ---------------------------------------------------------------- ids that are never given again


def last_ids(connection: Connection) -> dict[str, int]:
    """Return table → the last id that it gave, also where that row is gone; tables that gave none are left out."""
    if connection.dialect.name == "sqlite":
        found = connection.exec_driver_sql("SELECT name, seq FROM sqlite_sequence").all()
        given = {name: int(seq) for name, seq in found}
    else:
        given = {name: _last_of(connection, sequence) for name, sequence in _sequences(connection).items()}
    return {table.name: given[table.name] for table in tables() if given.get(table.name, 0) > 0}


def set_last_ids(connection: Connection, last: Mapping[str, int]) -> None:
    """Have the tables give higher ids than these from now on."""
    if connection.dialect.name == "sqlite":
        for name, seq in last.items():
            connection.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
            connection.exec_driver_sql("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, seq))
        return
    sequences = _sequences(connection)
    for name, seq in last.items():
        connection.exec_driver_sql("SELECT setval(%s::regclass, %s)", (sequences[name], seq))


def _sequences(connection: Connection) -> dict[str, str]:
    """Return table → PostgreSQL's sequence of its ids."""
    found = {
        table.name: connection.exec_driver_sql(
            "SELECT pg_get_serial_sequence(%s, %s)", (table.name, table.autoincrement_column.name)
        ).scalar_one()
        for table in tables()
        if table.autoincrement_column is not None
    }
    return {name: sequence for name, sequence in found.items() if sequence}


def _last_of(connection: Connection, sequence: str) -> int:
    last, is_called = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {sequence}").one()
    return int(last) if is_called else 0
