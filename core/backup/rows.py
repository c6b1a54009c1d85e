"""The rows of a ledger, read from one database and written into another one, of whichever kind both are."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from sqlalchemy import JSON, Connection, MetaData, Row, Table, event, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from braid.core.backup.manifest import BackupError
from braid.core.ledger.outages import is_outage, words_of
from braid.core.ledger.schema import VERSION_TABLE
from braid.core.ledger.tables import Base

ROWS_PER_READ = 1_000
HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class Digest:
    """The rows of a table: how many, and the sum of their hashes (BLAKE2b of 128 bits), which has no order."""

    rows: int
    hash: str


def tables() -> Sequence[Table]:
    """Return the tables of the newest revision, each after those that it refers to."""
    return Base.metadata.sorted_tables


def tables_in(connection: Connection) -> Sequence[Table]:
    """Return the tables of a ledger of any revision, each after those that it refers to, with types for any database.

    A column that may be NULL has no JSON ``null``, which is another value.
    """
    found = MetaData()

    @event.listens_for(found, "column_reflect")
    def generalize(_inspector: object, _table: object, column: dict[str, Any]) -> None:
        kind = column["type"].as_generic()
        column["type"] = JSON(none_as_null=column["nullable"]) if isinstance(kind, JSON) else kind

    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != VERSION_TABLE]


def count_rows(connection: Connection) -> dict[str, int]:
    """Return table → rows, of the newest revision."""
    return {
        table.name: int(connection.execute(select(func.count()).select_from(table)).scalar_one()) for table in tables()
    }


def parts_of(connection: Connection, statement: Any) -> Generator[Sequence[Row[Any]]]:
    """Yield the rows of a statement some at a time; no more are in memory."""
    options = {"stream_results": True, "yield_per": ROWS_PER_READ}
    with connection.execute(statement, execution_options=options) as found:
        yield from found.partitions()


def write_rows(writing: Connection, table: Table, rows: Sequence[Row[Any]]) -> None:
    """Insert rows that were read from another database. Raises BackupError for one that this database cannot store."""
    try:
        with writing.begin_nested():
            writing.execute(insert(table), [dict(row._mapping) for row in rows])
    except SQLAlchemyError as error:
        if is_outage(error):
            raise
        raise BackupError(_culprit(writing, table, rows) or f"the table {table.name}: {words_of(error)}") from error


def digest_of(connection: Connection, table: Table) -> Digest:
    """Read a table whole, and return what tells it from another one with other rows."""
    rows, total = 0, 0
    for part in parts_of(connection, select(table)):
        rows += len(part)
        total += sum(_hash(row) for row in part)
    return Digest(rows, f"{total % 256**HASH_BYTES:0{2 * HASH_BYTES}x}")


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
        return {name: int(seq) for name, seq in found if seq > 0 and name in Base.metadata.tables}
    given = {name: _last_of(connection, sequence) for name, sequence in _sequences(connection).items()}
    return {name: seq for name, seq in given.items() if seq > 0}


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
    found = connection.exec_driver_sql(
        "SELECT table_name, pg_get_serial_sequence(quote_ident(table_name), column_name)"
        " FROM information_schema.columns WHERE table_schema = current_schema()"
    )
    return {name: sequence for name, sequence in found if sequence}


def _last_of(connection: Connection, sequence: str) -> int:
    last, is_called = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {sequence}").one()
    return int(last) if is_called else 0
