"""Ways in which the files of a store are damaged."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from tests.damage import remove_in_use


def remove_folder(store: Path) -> None:
    remove_in_use(store.parent)


def replace_database(store: Path) -> None:
    (store / "chroma.sqlite3").unlink()
    sqlite3.connect(store / "chroma.sqlite3").close()


def overwrite_database(store: Path) -> None:
    (store / "chroma.sqlite3").write_bytes(os.urandom(200_000))


def truncate_database(store: Path) -> None:
    os.truncate(store / "chroma.sqlite3", (store / "chroma.sqlite3").stat().st_size // 2)


def empty_database(store: Path) -> None:
    os.truncate(store / "chroma.sqlite3", 0)


DAMAGES = [overwrite_database, remove_folder, replace_database, truncate_database, empty_database]
