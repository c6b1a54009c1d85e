"""One state of the ledger's database, copied into a file of SQLite while others write, from SQLite and PostgreSQL."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, select

from braid.core.backup.archive import ArchiveWriter, Progress
from braid.core.backup.manifest import LEDGER, BackupError
from braid.core.backup.rows import last_ids, parts_of, set_last_ids, tables_in, write_rows
from braid.core.backup.soundness import require_whole
from braid.core.ledger.database import take_time
from braid.core.ledger.schema import VERSION_TABLE, create_tables, current_revision, require_known

PAGES_PER_STEP = 2000
"""Pages of 4 KiB that are copied between two looks at the progress."""
LOCK_PATIENCE = "30s"
WAITING = ("queued", "running")
SPOOLED = re.compile(r"[0-9a-f]{32}")

Hold = Callable[[Sequence[str], Sequence[str]], object]
"""Called with the names of spooled files while nobody can write: those that must be there, and those that may be."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of the database, which ``reading`` sees."""

    reading: Connection
    revision: str
    """The revision of its tables."""
    originals: Sequence[str]
    """Hashes of the files of documents."""

    def write(self, archive: ArchiveWriter, folder: Path, on_progress: Progress) -> dict[str, int]:
        """Copy the database into a file of the folder, and that into the archive; return table → rows."""
        copy = folder / LEDGER
        if self.reading.dialect.name == "sqlite":
            _copy_file(self.reading, copy, on_progress)
        else:
            _copy_rows(self.reading, self.revision, copy, on_progress)
        with closing(sqlite3.connect(copy)) as target:
            on_progress("checking the copy", 0, 1)
            require_whole(target)
            rows = count_rows(target)
        archive.add_file(LEDGER, copy, on_progress)
        copy.unlink()
        return rows


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
        if engine.dialect.name != "sqlite":  # whose file is copied as it is
            require_known(revision, f"the database at {_shown(engine)}")
        take_time(reading)  # while the files are linked
        yield Snapshot(reading, revision, _originals(reading))


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


def _copy_file(reading: Connection, copy: Path, on_progress: Progress) -> None:
    """Copy a SQLite database by SQLite's own backup."""
    source: Any = reading.connection.driver_connection
    # `reading` is in a transaction, or the copy would begin again with each write of others.
    with closing(sqlite3.connect(copy, isolation_level=None)) as target:
        target.execute("PRAGMA synchronous = OFF")  # the archive is what has to outlive a power cut

        def show(_status: int, remaining: int, total: int) -> None:
            on_progress("copying the ledger", total - remaining, total)

        source.backup(target, pages=PAGES_PER_STEP, progress=show)
        target.execute("PRAGMA user_version = 0")  # it is not in use, and lacks nothing
        target.execute("PRAGMA journal_mode = DELETE")  # the file alone is the whole database


def _copy_rows(reading: Connection, revision: str, copy: Path, on_progress: Progress) -> None:
    """Copy the rows of another database into the same tables of a SQLite database."""
    engine = create_engine(f"sqlite:///{copy}", hide_parameters=True)
    try:
        with engine.connect() as target:
            target.exec_driver_sql("PRAGMA synchronous = OFF")
            create_tables(target, revision)
            copy_rows(reading, target, on_progress)
            target.commit()
    finally:
        engine.dispose()


def copy_rows(reading: Connection, writing: Connection, on_progress: Progress) -> None:
    """Copy all rows, and the last ids, into the empty tables of another database, which have the same revision."""
    tables = tables_in(writing)
    for number, table in enumerate(tables):
        on_progress("copying the tables", number, len(tables))
        for part in parts_of(reading, select(table)):
            write_rows(writing, table, part)
    set_last_ids(writing, last_ids(reading))
    on_progress("copying the tables", len(tables), len(tables))


def count_rows(database: sqlite3.Connection) -> dict[str, int]:
    """Return table → rows."""
    found = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    names = sorted(name for (name,) in found if name != VERSION_TABLE)
    return {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}


def _shown(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=True)
