"""Reads a ledger whole, and says what in it is damaged."""

from __future__ import annotations

import sqlite3

from sqlalchemy import inspect
from sqlalchemy.exc import SQLAlchemyError

from braid.core.errors import LedgerDamagedError
from braid.core.ledger.database import Database
from braid.core.ledger.outages import outage_of

MOST_DAMAGE = 20
"""Places of a damaged ledger that are named."""


def require_whole(database: sqlite3.Connection) -> None:
    """Read a SQLite ledger whole. Raises LedgerDamagedError, or what SQLite raises where it cannot go on."""
    (problem,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if problem != "ok":
        raise LedgerDamagedError(" ".join(str(problem).split()))
    if (broken := database.execute("PRAGMA foreign_key_check").fetchone()) is not None:
        raise LedgerDamagedError(f"a row of {broken[0]} refers to none of {broken[2]}")


def damage_in(database: Database) -> list[str]:
    """Return what is damaged, in the database's own words; nothing where all can be read. The database remembers it.

    SQLite compares its indexes with its tables; of PostgreSQL each row is read. Others may write meanwhile. Raises
    SQLAlchemyError where the database cannot be asked.
    """
    try:
        found = _in_sqlite(database) if database.engine.dialect.name == "sqlite" else _in_others(database)
    except SQLAlchemyError as error:
        outage = outage_of(error)
        if outage is None or outage.cause != "ledger_damaged":
            raise
        return [outage.reason]
    if found:
        database.note(LedgerDamagedError(found[0]))
    return found


def _in_sqlite(database: Database) -> list[str]:
    said = [" ".join(str(row[0]).split()) for row in database.rows(f"PRAGMA integrity_check({MOST_DAMAGE})")]
    lost = database.rows("PRAGMA foreign_key_check")[:MOST_DAMAGE]
    return [each for each in said if each != "ok"] + [f"a row of {row[0]} refers to none of {row[2]}" for row in lost]


def _in_others(database: Database) -> list[str]:
    quote = database.engine.dialect.identifier_preparer.quote_identifier
    with database.read() as connection:
        for table in inspect(connection).get_table_names():
            connection.exec_driver_sql(f"SELECT count(each::text) FROM {quote(table)} each")  # and what is stored apart
    return []
