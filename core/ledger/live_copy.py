"""Notices a SQLite ledger that was copied while it was in use, without the file that has its newest changes.

Changes are in ``ledger.db-wal`` until SQLite moves them into ``ledger.db``. A copy of the latter alone is a valid
database that lacks them. So the owner of a data directory writes into the header of the main file that it is in use
(``user_version``), and who closes it last takes that back: in use, and without a WAL file, is only a copy.
"""

from __future__ import annotations

import atexit
import sqlite3
import weakref
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

IN_USE = 1
PATIENCE_S = 5.0
"""Longest time to wait for another process that writes."""


class Closable(Protocol):
    """A database that is open."""

    def close(self) -> None:
        """Close it."""
        ...


_in_use: weakref.WeakSet[Closable] = weakref.WeakSet()


def lacks_newest(file: Path) -> bool:
    """Return whether the file says that it is in use, and has no WAL file, as while nobody has it open.

    The header is read by SQLite: to open and close the file by other means would give up the locks that other
    connections of this process hold (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """
    if not file.is_file() or _wal(file).exists():
        return False
    with suppress(sqlite3.Error), _connected(file) as database:
        return _mark(database) == IN_USE
    return False


def mark_in_use(file: Path, of: Closable) -> None:
    """Write into the main file that it is in use; ``of`` is closed at the end of the process, if it is not before.

    On a disk that is full, or cannot be written to, nothing is marked.
    """
    _in_use.add(of)
    with suppress(sqlite3.Error), _connected(file) as database:
        if _mark(database) != IN_USE:
            database.execute(f"PRAGMA user_version = {IN_USE}")
            database.execute("PRAGMA wal_checkpoint(PASSIVE)")


def take_back(file: Path) -> None:
    """Write that the file is not in use, unless somebody has it open still. Call it after closing it."""
    if not file.is_file() or _wal(file).exists():
        return
    with suppress(sqlite3.Error), _connected(file) as database:
        if _mark(database) == IN_USE:
            database.execute("PRAGMA user_version = 0")


def _connected(file: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(file, isolation_level=None, timeout=PATIENCE_S))


def _mark(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _wal(file: Path) -> Path:
    return Path(f"{file}-wal")


@atexit.register
def _close_at_exit() -> None:
    """Close what a program leaves open, so that its ledger does not look like a copy."""
    for database in list(_in_use):
        with suppress(Exception):
            database.close()
