"""One state of the ledger's database, copied while others write: SQLite as a file, PostgreSQL table by table."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, inspect

from braid.core.backup.archive import ArchiveWriter, Progress
from braid.core.backup.manifest import LEDGER, TABLES, BackupError
from braid.core.backup.soundness import require_whole
from braid.core.ledger.database import take_time
from braid.core.ledger.schema import VERSION_TABLE, current_revision

PAGES_PER_STEP = 2000
"""Pages of 4 KiB that are copied between two looks at the progress."""
LOCK_PATIENCE = "30s"
WAITING = ("queued", "running")
SPOOLED = re.compile(r"[0-9a-f]{32}")

Hold = Callable[[Sequence[str], Sequence[str]], object]
"""Called with the names of spooled files while nobody can write: those that must be there, and those that may be."""


class Snapshot(Protocol):
    """A state of the database. ``revision`` is that of its tables, ``originals`` the hashes of files of documents."""

    revision: str
    originals: Sequence[str]

    def write(self, archive: ArchiveWriter, folder: Path, on_progress: Progress) -> dict[str, Any]:
        """Write the state into the archive; return the manifest's fields that describe it.

        ``folder`` is for temporary files.
        """
        ...


@contextmanager
def snapshot_of(engine: Engine, hold: Hold) -> Iterator[Snapshot]:
    """Yield the state of the database as it is when ``hold`` is called. Raises BackupError."""
    kind = f"{engine.dialect.name}+{engine.dialect.driver}"
    if kind == "sqlite+pysqlite":
        block, options = _block_sqlite, {}
    elif kind == "postgresql+psycopg":
        block, options = _block_postgresql, {"isolation_level": "REPEATABLE READ"}
    else:
        raise BackupError(f"a ledger in {kind} cannot be backed up by Braid; use that database's own tools")
    with engine.connect().execution_options(**options) as reading:
        with block(engine):
            revision = current_revision(reading)  # from here on, `reading` sees one state
            if revision is None:
                raise BackupError(
                    f"the database at {_shown(engine)} has no tables of Braid; there is nothing to back up"
                )
            hold(*_spooled(reading))
        take_time(reading)  # while the files are linked
        snapshot = Sqlite if engine.dialect.name == "sqlite" else Postgres
        yield snapshot(reading, revision, _originals(reading))


@contextmanager
def _block_sqlite(engine: Engine) -> Iterator[None]:
    """Keep everybody from writing: only for as long as it takes to begin to read."""
    with engine.execution_options(braid_write=True).connect() as connection:
        connection.exec_driver_sql("SELECT 1")
        yield
        connection.rollback()


@contextmanager
def _block_postgresql(engine: Engine) -> Iterator[None]:
    with engine.connect() as connection:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_PATIENCE}'")
        connection.exec_driver_sql("LOCK TABLE jobs IN SHARE MODE")
        yield
        connection.rollback()


def _spooled(connection: Connection) -> tuple[list[str], list[str]]:
    """Return the spooled files that jobs have to read: of those that wait, and of those that can be tried again."""
    waiting: list[str] = []
    others: list[str] = []
    for state, payload in connection.exec_driver_sql("SELECT state, payload FROM jobs WHERE state <> 'done'"):
        form = json.loads(payload) if isinstance(payload, str) else payload
        name = form.get("file")
        if isinstance(name, str) and SPOOLED.fullmatch(name):
            (waiting if state in WAITING else others).append(name)
    return waiting, others


def _originals(connection: Connection) -> list[str]:
    """Return the hashes of the files that documents were read from."""
    if not connection.dialect.has_table(connection, "originals"):
        return []
    found = connection.exec_driver_sql(
        "SELECT DISTINCT o.content_hash FROM originals o JOIN documents d"
        " ON d.id = o.document_id AND d.content_hash = o.content_hash ORDER BY o.content_hash"
    )
    return [row[0] for row in found]


class Sqlite:
    """A state of a SQLite database, copied as a file by SQLite's own backup."""

    def __init__(self, reading: Connection, revision: str, originals: Sequence[str]) -> None:
        self._reading = reading
        self.revision = revision
        self.originals = originals

    def write(self, archive: ArchiveWriter, folder: Path, on_progress: Progress) -> dict[str, Any]:
        """Copy the database into a file of the folder, and that into the archive."""
        copy = folder / LEDGER
        source: Any = self._reading.connection.driver_connection
        # `reading` is in a transaction, or the copy would begin again with each write of others.
        with closing(sqlite3.connect(copy, isolation_level=None)) as target:
            target.execute("PRAGMA synchronous = OFF")  # the archive is what has to outlive a power cut

            def show(_status: int, remaining: int, total: int) -> None:
                on_progress("copying the ledger", total - remaining, total)

            source.backup(target, pages=PAGES_PER_STEP, progress=show)
            target.execute("PRAGMA user_version = 0")  # it is not in use, and lacks nothing
            target.execute("PRAGMA journal_mode = DELETE")  # the file alone is the whole database
            on_progress("checking the copy", 0, 1)
            require_whole(target)
            rows = count_rows(target)
        archive.add_file(LEDGER, copy, on_progress)
        copy.unlink()
        return {"database": "sqlite", "rows": rows}


def count_rows(database: sqlite3.Connection) -> dict[str, int]:
    """Return table → rows."""
    found = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    names = sorted(name for (name,) in found if name != VERSION_TABLE)
    return {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}


class Postgres:
    """A state of a PostgreSQL database, copied by COPY, which needs no program beside the driver."""

    def __init__(self, reading: Connection, revision: str, originals: Sequence[str]) -> None:
        self._reading = reading
        self.revision = revision
        self.originals = originals

    def write(self, archive: ArchiveWriter, folder: Path, on_progress: Progress) -> dict[str, Any]:
        """Copy each table into a member of the archive, in the text format of COPY: one line per row."""
        tables = tables_in_order(self._reading)
        rows, columns = {}, {}
        for number, table in enumerate(tables):
            on_progress("copying the tables", number, len(tables))
            columns[table] = [column["name"] for column in inspect(self._reading).get_columns(table)]
            with archive.member(TABLES + table) as write:
                rows[table] = self._copy(table, columns[table], write)
        on_progress("copying the tables", len(tables), len(tables))
        return {"database": "postgresql", "rows": rows, "columns": columns, "sequences": self._sequences()}

    def _copy(self, table: str, columns: Sequence[str], write: Callable[[memoryview], object]) -> int:
        driver: Any = self._reading.connection.driver_connection
        count = 0
        with driver.cursor() as cursor, cursor.copy(f"COPY {copied(self._reading, table, columns)} TO STDOUT") as copy:
            for block in copy:
                count += bytes(block).count(b"\n")
                write(block)
        return count

    def _sequences(self) -> dict[str, int]:
        """Return the last id of each sequence: ids are never given again, also those whose rows are gone."""
        found = self._reading.exec_driver_sql(
            "SELECT sequencename, last_value FROM pg_sequences"
            " WHERE schemaname = current_schema() AND last_value IS NOT NULL"
        )
        return {row[0]: row[1] for row in found}


def tables_in_order(connection: Connection) -> list[str]:
    """Return the tables, each after those that it refers to."""
    ordered = inspect(connection).get_sorted_table_and_fkc_names()
    return [table for table, _ in ordered if table is not None and table != VERSION_TABLE]


def copied(connection: Connection, table: str, columns: Sequence[str]) -> str:
    """Return the table with its columns, quoted, as COPY names them."""
    quote = connection.dialect.identifier_preparer.quote_identifier
    return f"{quote(table)} ({', '.join(map(quote, columns))})"


def _shown(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=True)
