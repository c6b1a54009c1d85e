"""Restores a backup into a new data directory, and into an empty database where the ledger is in PostgreSQL."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, inspect, make_url
from sqlalchemy.exc import SQLAlchemyError

from braid.core.backup.archive import ArchiveReader, Progress, open_backup
from braid.core.backup.make import ROOM
from braid.core.backup.manifest import LEDGER, ORIGINALS, SETTINGS, BackupError, BackupManifest
from braid.core.backup.snapshot import copy_rows
from braid.core.backup.verify import check_ledger, require_complete
from braid.core.ledger.database import make_engine
from braid.core.ledger.durable import owner_only, sync_folder
from braid.core.ledger.outages import words_of
from braid.core.ledger.owners.site import as_copy, write_note
from braid.core.ledger.schema import create_tables, require_known
from braid.core.ledger.tables import OF_PROCESSES

UNPACKING = ".restoring"
"""Folder in the new data directory that has the files until all are checked."""


def restore_backup(
    path: Path,
    data_dir: Path,
    *,
    database_url: str = "",
    settings: Callable[[BackupManifest, str], str] = lambda manifest, text: text,
    on_progress: Progress = lambda what, done, total: None,
) -> BackupManifest:
    """Unpack a backup into a folder that is new or empty, check it, and return its manifest.

    A ledger of PostgreSQL goes into the empty database of ``database_url``. ``settings`` makes the settings file of
    the one in the backup. What is restored is a site of its own, and not taken for the one that was backed up. The
    indexes are built when the directory is opened. Raises BackupError; the folder and the database are then as empty as
    before.
    """
    with open_backup(path) as archive:
        manifest = archive.manifest
        require_known(manifest.revision, f"the backup {path}")
        require_complete(archive)
        _require_empty(data_dir)
        _require_target(manifest, database_url)
        is_new = not data_dir.exists()
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        data_dir.chmod(0o700)
        unpacking = data_dir / UNPACKING
        try:
            _require_room(archive, data_dir)
            unpacking.mkdir(mode=0o700)
            _unpack(archive, unpacking, on_progress)
            with ExitStack() as committing:
                ledger = unpacking / LEDGER
                check_ledger(ledger, manifest)
                write_note(unpacking, _begin_as_copy(ledger))
                if manifest.database != "sqlite":
                    _fill(ledger, database_url, manifest.revision, committing, on_progress)
                    ledger.unlink()
                _rewrite(unpacking / SETTINGS, lambda text: settings(manifest, text))
                _move(unpacking, data_dir)
        except BaseException:
            _empty(data_dir, remove=is_new)
            raise
    return manifest


def _require_empty(data_dir: Path) -> None:
    if data_dir.is_symlink() or (data_dir.exists() and not data_dir.is_dir()):
        raise BackupError(f"{data_dir} is no folder; name a new one")
    there = next(iter(sorted(data_dir.iterdir())), None) if data_dir.exists() else None
    if there is not None:
        raise BackupError(f"{data_dir} is not empty, it has {there.name!r}; nothing was changed, name a new folder")


def _empty(data_dir: Path, *, remove: bool) -> None:
    for path in data_dir.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    if remove:
        data_dir.rmdir()


def _require_target(manifest: BackupManifest, database_url: str) -> None:
    if manifest.database == "sqlite":
        return
    if manifest.database != "postgresql":
        raise BackupError(f"its ledger is of {manifest.database[:20]!r}, which this Braid cannot restore")
    if not database_url or make_url(database_url).get_backend_name() != "postgresql":
        raise BackupError(
            "its ledger is of PostgreSQL; name an empty database there in the setting database_url, for example with "
            "BRAID_DATABASE_URL"
        )


def _require_room(archive: ArchiveReader, data_dir: Path) -> None:
    needed = archive.size_bytes()
    free = shutil.disk_usage(data_dir).free
    if free < needed + ROOM:
        raise BackupError(f"{data_dir} has {free // 2**20:,} MiB free, and {(needed + ROOM) // 2**20:,} are needed")


def _unpack(archive: ArchiveReader, folder: Path, on_progress: Progress) -> None:
    """Write the files, whose names the manifest has checked, each new and for this system user alone."""
    names = [*archive.manifest.files, *archive.originals]
    for number, name in enumerate(names):
        on_progress("unpacking", number, len(names))
        target = folder / place_of(name)
        target.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        with open(target, "xb", opener=owner_only) as file:
            for block in archive.blocks(name):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
    on_progress("unpacking", len(names), len(names))


def place_of(name: str) -> str:
    """Return where a member belongs in the data directory."""
    content_hash = name.removeprefix(ORIGINALS)
    return name if content_hash == name else f"{ORIGINALS}{content_hash[:2]}/{content_hash}"


def _begin_as_copy(ledger: Path) -> str:
    """Empty the tables of what processes did when the backup was made, and return the id that the site gets."""
    with closing(sqlite3.connect(ledger)) as database, database:
        for table in OF_PROCESSES:
            if database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone():
                database.execute(f"DELETE FROM {table}")

        def run(statement: str, **values: str) -> list[Any]:
            return database.execute(statement, values).fetchall()

        return as_copy(run)


def _rewrite(path: Path, act: Callable[[str], str]) -> None:
    if path.is_file():
        text = act(path.read_text(encoding="utf-8"))
        with open(path, "r+", encoding="utf-8") as file:  # which stays the user's alone
            file.truncate()
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


def _move(unpacking: Path, data_dir: Path) -> None:
    """Put the files where they belong, the ledger last: without it, a directory is no data directory."""
    for path in sorted(unpacking.iterdir(), key=lambda path: path.name == LEDGER):
        path.rename(data_dir / path.name)
    unpacking.rmdir()
    sync_folder(data_dir)


def _fill(ledger: Path, url: str, revision: str, committing: ExitStack, on_progress: Progress) -> None:
    """Copy a ledger into an empty database, in a transaction that ``committing`` commits at its end."""
    source, target = create_engine(f"sqlite:///{ledger}", hide_parameters=True), make_engine(url)
    committing.callback(target.dispose)
    try:
        connection = committing.enter_context(target.begin())
        if there := sorted(inspect(connection).get_table_names()):
            raise BackupError(
                f"the database is not empty, it has the table {there[0]!r}; nothing was changed, name a new one"
            )
        create_tables(connection, revision)
        with source.connect() as reading:
            copy_rows(reading, connection, on_progress)
    except (SQLAlchemyError, ValueError) as error:  # the latter of a text in it that is not JSON
        raise BackupError(f"the database cannot be filled: {words_of(error)}") from error
    finally:
        source.dispose()
