"""Makes a backup, of an app that runs or of one that does not."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import Engine, make_url
from sqlalchemy.exc import SQLAlchemyError

from braid.core.backup.archive import ArchiveWriter, Progress
from braid.core.backup.files import HeldFiles
from braid.core.backup.manifest import LEDGER, BackupError, Manifest
from braid.core.backup.record import LastBackup, note_backup
from braid.core.backup.snapshot import snapshot_of
from braid.core.files.bucket import FETCHED, open_bucket
from braid.core.ledger.database import file_of, make_engine
from braid.core.ledger.durable import sync_folder
from braid.core.ledger.live_copy import lacks_newest, take_back
from braid.core.ledger.outages import words_of
from braid.core.ledger.schema import current_revision, require_known
from braid.core.version import version

LOCK = "backup.lock"
TEMPORARY = ".backup-"
"""Beginning of the names of folders with what is not whole yet."""
ROOM = 64 * 2**20
"""Bytes that stay free on the disk beside a backup."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What is backed up. ``texts`` are further small files, by the names of `braid.core.backup.manifest`."""

    data_dir: Path
    shared_dbs: Path
    database_url: str = ""
    """Empty means SQLite in the data directory."""
    texts: Mapping[str, str] = field(default_factory=dict)
    with_keys: bool = False
    """Whether the texts have keys and passwords, for the manifest."""
    files_url: str = ""
    """Where uploads and originals are, unless in the data directory."""
    with_files: bool = True
    """Whether uploads and originals are backed up."""

    @property
    def url(self) -> str:
        """The URL of the ledger's database."""
        return self.database_url or f"sqlite:///{self.data_dir / LEDGER}"

    @property
    def is_live_copy(self) -> bool:
        """Whether the ledger was copied while it was in use, without its newest changes."""
        url = make_url(self.url)
        return url.get_backend_name() == "sqlite" and bool(url.database) and lacks_newest(Path(str(url.database)))


def make_backup(
    sources: Sources,
    target: Path,
    *,
    note: bool = True,
    on_progress: Progress = lambda what, done, total: None,
) -> Manifest:
    """Write a backup into a new file that only this system user can read; it is there whole or not at all.

    Writers wait for as long as it takes to begin to read, some milliseconds, and not for the copying. What was
    committed before that moment is in the backup, and so are the uploads that waited then. Raises BackupError when
    the file exists, the disk is too full, or another backup is being made. The data directory remembers it as its last
    backup, unless ``note`` is False.
    """
    if target.exists() or target.is_symlink():
        raise BackupError(f"{target} exists already; name another file, a backup is never overwritten")
    for folder in (target.parent, sources.data_dir):
        if not folder.is_dir():
            raise BackupError(f"there is no folder {folder}; make it first, or name another one")
    with opened(sources) as engine:
        try:
            with _alone(sources.data_dir), _temporary(sources.data_dir, target.parent) as made:
                partial = Path(made) / "partial"
                bucket = open_bucket(sources.files_url, sources.data_dir / FETCHED) if sources.files_url else None
                with closing(HeldFiles(sources.data_dir, sources.shared_dbs, bucket=bucket)) as files:
                    _require_room(engine, files, target.parent)
                    manifest = _write(sources, engine, files, partial, on_progress)
                size_bytes = partial.stat().st_size
                _publish(partial, target)
                if note:
                    note_backup(sources.data_dir, LastBackup(manifest.made_at, str(target.absolute()), size_bytes))
        except SQLAlchemyError as error:
            reason = words_of(error)
            raise BackupError(f"the ledger cannot be read: {reason}; no backup was made") from error
    return manifest


def revision_of(sources: Sources) -> tuple[str, str]:
    """Return the database, without its password, and the revision of its tables.

    Raises BackupError where there is none, and InvalidInputError for one that this code does not know.
    """
    with opened(sources) as engine:
        where = engine.url.render_as_string(hide_password=True)
        try:
            with engine.connect() as connection:
                current = current_revision(connection)
        except SQLAlchemyError as error:
            reason = words_of(error)
            raise BackupError(f"the database at {where} cannot be read: {reason}") from error
    if current is None:
        raise BackupError(f"the database at {where} has no tables of Braid yet; the first start makes them")
    require_known(current, f"the database at {where}")
    return where, current


@contextmanager
def opened(sources: Sources) -> Iterator[Engine]:
    """Connect to the ledger, which is not upgraded, and leave it as somebody who may be the last to close it."""
    url = make_url(sources.url)
    if url.get_backend_name() == "sqlite" and not (url.database and Path(url.database).is_file()):
        raise BackupError(
            f"there is no ledger at {url.database or sources.url}; name the data directory with --data-dir"
        )
    engine = make_engine(sources.url)
    file = file_of(engine)
    is_copy = file is not None and lacks_newest(file)
    try:
        yield engine
    finally:
        engine.dispose()
        if file is not None and not is_copy:
            take_back(file)


def _temporary(data_dir: Path, folder: Path) -> tempfile.TemporaryDirectory[str]:
    """Make a folder for what is not whole yet. In the data directory, what a kill has left of others is deleted."""
    if folder.resolve().is_relative_to(data_dir.resolve()):
        for left in folder.glob(f"{TEMPORARY}*"):
            shutil.rmtree(left, ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=folder)


@contextmanager
def _alone(data_dir: Path) -> Iterator[None]:
    """Be the only one who makes a backup of this data directory."""
    lock = FileLock(str(data_dir / LOCK), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BackupError("another backup of this data directory is being made; wait for it") from None
    try:
        yield
    finally:
        lock.release()


def _require_room(engine: Engine, files: HeldFiles, folder: Path) -> None:
    """Raise BackupError when the disk has no room for the copy of the ledger and for the archive."""
    url = engine.url
    if url.get_backend_name() == "sqlite":
        ledger = sum(path.stat().st_size for path in _ledger_files(Path(str(url.database))))
        needed = 2 * ledger
    else:
        with engine.connect() as connection:
            needed = int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())
    needed += files.size_bytes()
    free = shutil.disk_usage(folder).free
    if free < needed + ROOM:
        raise BackupError(
            f"{folder} has {free // 2**20:,} MiB free and a backup takes up to {(needed + ROOM) // 2**20:,}; make "
            "room, or name a file on another disk"
        )


def _ledger_files(ledger: Path) -> list[Path]:
    return [path for path in (ledger, Path(f"{ledger}-wal")) if path.is_file()]


def _write(sources: Sources, engine: Engine, files: HeldFiles, partial: Path, on_progress: Progress) -> Manifest:
    with open(partial, "xb", opener=owner_only) as file:
        archive = ArchiveWriter(file)
        hold = files.hold if sources.with_files else lambda *_names: files.hold((), ())
        with snapshot_of(engine, hold) as snapshot:
            files.hold_originals(snapshot.originals if sources.with_files else ())
            described: dict[str, Any] = snapshot.write(archive, partial.parent, on_progress)
            revision = snapshot.revision
        originals = files.write(archive, on_progress)
        for name, text in sources.texts.items():
            archive.add_bytes(name, text.encode())
        manifest = Manifest(
            made_at=files.held_at,
            braid=version(),
            revision=revision,
            with_keys=sources.with_keys,
            files=archive.members,
            missing=tuple(files.missing),
            originals=originals,
            **described,
        )
        archive.finish(manifest)
        file.flush()
        os.fsync(file.fileno())
    return manifest


def _publish(partial: Path, target: Path) -> None:
    """Give the file its name, unless a file has taken it meanwhile."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise BackupError(f"{target} exists already; name another file, a backup is never overwritten") from None
    except OSError:  # a file system without hard links
        partial.rename(target)
    sync_folder(target.parent)


def owner_only(path: str, flags: int) -> int:
    """Open a file, as an ``opener`` of `open`, that only this system user can read."""
    return os.open(path, flags, 0o600)
