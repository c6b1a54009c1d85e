"""Damage as a failing disk does it, bytes that nobody wrote, or a hand that removes files which are in use."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

_WRITE = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR)
for offset in sys.argv[2:]:
    os.pwrite(file, sys.stdin.buffer.read(4096), int(offset))
"""


def remove_in_use(folder: Path) -> None:
    """Delete a folder in which somebody else makes and removes files meanwhile, as tantivy does when it looks anew."""
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
    shutil.rmtree(folder)


def damage_tables(ledger: Path, *tables: str) -> None:
    """Overwrite the first page of each table and of its indexes: whoever reads the table meets it, others do not."""
    with closing(sqlite3.connect(ledger)) as database:
        size = _emptied_wal(database)
        roots = [
            row[0]
            for table in tables
            for row in database.execute("SELECT rootpage FROM sqlite_master WHERE tbl_name = ? AND rootpage", (table,))
        ]
    _overwrite(ledger, [(root - 1) * size for root in roots], b"\xa5" * 4096)


def damage_pages(ledger: Path, count: int, seed: int) -> None:
    """Overwrite this many pages, any but the first, with random bytes."""
    with closing(sqlite3.connect(ledger)) as database:
        size = _emptied_wal(database)
        pages = database.execute("PRAGMA page_count").fetchone()[0]
    chosen = random.Random(seed).sample(range(1, pages), min(count, pages - 1))
    _overwrite(ledger, [page * size for page in chosen], random.Random(seed).randbytes(4096))


def _emptied_wal(database: sqlite3.Connection) -> int:
    """Have all that was written in the file itself; return the size of its pages."""
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size: int = database.execute("PRAGMA page_size").fetchone()[0]
    assert size == 4096
    return size


def _overwrite(ledger: Path, offsets: list[int], page: bytes) -> None:
    """In another process: to close the file in this one would give up the locks that its connections hold."""
    subprocess.run(
        [sys.executable, "-S", "-c", _WRITE, str(ledger), *map(str, offsets)], input=page * len(offsets), check=True
    )
