"""Notes in the database that a move fills: where its rows come from, and how far each table is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, Engine, MetaData, Table, Text, func, insert, inspect, select, update
from sqlalchemy.exc import SQLAlchemyError

from braid.core.backup.destinations import require_no_member
from braid.core.backup.manifest import BackupError
from braid.core.ledger.outages import words_of
from braid.core.ledger.schema import (
    MIGRATION_LOCK,
    UNFINISHED,
    VERSION_TABLE,
    create_tables,
    current_revision,
    newest_revision,
)
from braid.core.ledger.tables import OF_PROCESSES, DocumentRow, ProcessRow, UserRow

NOTES = Table("moving", MetaData(), Column("name", Text, primary_key=True), Column("value", Text, nullable=False))
"""The table of these notes, which the end of the move deletes."""


class Copied(NamedTuple):
    """How many rows of a table are copied, and the primary key of the last one."""

    rows: int = 0
    after: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class MoveIdentity:
    """The identity of a move: only the same move may continue what is in the destination."""

    source: str
    files: str
    """The folder of the files; empty where they stay."""
    revision: str


def begin(target: Engine, move: MoveIdentity) -> bool:
    """Create the tables in an empty database, or go on with the same move; return whether it was begun before.

    Until `end` is called, the database has a revision that every version of Braid refuses to open. Raises BackupError
    for a database that has anything else, and for one that cannot be reached.
    """
    where = target.url.render_as_string(hide_password=True)
    try:
        with target.execution_options(braid_write=True).begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
            revision = current_revision(connection)
            if revision == UNFINISHED:
                _require_same(connection, move, where)
                return True
            _require_no_tables(connection, revision, where)
            create_tables(connection, newest_revision())
            NOTES.create(connection)
            connection.execute(insert(NOTES), [{"name": name, "value": value} for name, value in _form(move).items()])
            _set_revision(connection, UNFINISHED)
    except SQLAlchemyError as error:
        raise BackupError(
            f"the database at {where} cannot be filled: {words_of(error)}; nothing was changed"
        ) from error
    return False


def end(connection: Connection) -> None:
    """Delete the notes, and what processes did at the source, and let the database be opened."""
    for table in OF_PROCESSES:
        connection.exec_driver_sql(f"DELETE FROM {table}")
    NOTES.drop(connection)
    _set_revision(connection, newest_revision())


def copied(connection: Connection, table: str) -> Copied:
    """Return how far a table is."""
    found = connection.execute(select(NOTES.c.value).where(NOTES.c.name == _name(table))).scalar_one_or_none()
    if found is None:
        return Copied()
    rows, after = json.loads(found)
    return Copied(int(rows), tuple(after))


def note_copied(connection: Connection, table: str, so_far: Copied) -> None:
    """Note how far a table is, in the transaction that copies it."""
    value = json.dumps([so_far.rows, list(so_far.after)])
    done = connection.execute(update(NOTES).where(NOTES.c.name == _name(table)).values(value=value))
    if not done.rowcount:
        connection.execute(insert(NOTES).values(name=_name(table), value=value))


def _name(table: str) -> str:
    return f"table {table}"


def _form(move: MoveIdentity) -> Mapping[str, str]:
    return {"source": move.source, "files": move.files, "revision": move.revision}


def _require_same(connection: Connection, move: MoveIdentity, where: str) -> None:
    noted = {row.name: row.value for row in connection.execute(select(NOTES))}
    wanted = _form(move)
    words = {
        "source": f"from {noted.get('source')}",
        "files": f"with the files in {noted.get('files') or 'their place'}",
        "revision": f"of the tables of revision {noted.get('revision')}",
    }
    for name, value in wanted.items():
        if noted.get(name) != value:
            raise BackupError(
                f"{where} has a move {words[name]} that has not ended, and this one is another; go on with that one, "
                "or name an empty place"
            )


def _require_no_tables(connection: Connection, revision: str | None, where: str) -> None:
    if revision is not None:
        if inspect(connection).has_table(ProcessRow.__tablename__):
            require_no_member(connection)
        users, documents = _count(connection, UserRow), _count(connection, DocumentRow)
        what = f"a ledger of Braid with {users} users and {documents} documents"
    else:
        there = sorted(inspect(connection).get_table_names())
        if not there:
            return
        what = f"the table {there[0]!r}"
    raise BackupError(
        f"{where} is not empty, it has {what}; nothing was changed, name an empty database or a new folder"
    )


def _count(connection: Connection, table: type[UserRow] | type[DocumentRow]) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _set_revision(connection: Connection, revision: str) -> None:
    connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '{revision}'")
