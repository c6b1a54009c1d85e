"""Makes a backup, of an app that runs or of one that does not."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Engine, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from braid.core.backup.archive import ArchiveWriter, Progress
from braid.core.backup.files import HeldFiles
from braid.core.backup.manifest import LEDGER, BackupError, BackupManifest
from braid.core.backup.record import LastBackup, note_backup
from braid.core.backup.snapshot import snapshot_of
from braid.core.errors import LedgerDamagedError
from braid.core.files.bucket import FETCHED, open_bucket
from braid.core.ledger.database import file_of, make_engine
from braid.core.ledger.durable import name_new, owner_only, sync_folder
from braid.core.ledger.live_copy import lacks_newest, take_back
from braid.core.ledger.outages import outage_of, words_of
from braid.core.ledger.schema import current_revision, require_known
from braid.core.version import version

LOCK = "backup.lock"
BUSY = "another backup of this data directory is being made; wait for it"
TEMPORARY = ".backup-"
"""Beginning of the names of folders with what is not whole yet."""
HELD = "lock"
"""File in such a folder that is locked as long as the backup is being made."""
ROOM, LEAST_ROOM = 64 * 2**20, 4 * 2**20
"""Bytes that stay free on the disk beside a backup: at most and at least; between them a quarter of what it takes."""
LEFT_S = 86_400.0
"""Age from which a folder without a lock counts as the remains of a killed backup."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The places of what is backed up. ``texts`` are further small files, named as in `braid.core.backup.manifest`."""

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
) -> BackupManifest:
    """Write a backup into a new file that only this system user can read; it is there whole or not at all.

    Writers wait for as long as it takes to begin to read, some milliseconds, and not for the copying. What was
    committed before that moment is in the backup, and so are the uploads that waited then. Raises BackupError when
    the file exists, the disk is too full, another backup is being made, or the ledger is damaged: what was copied is
    read whole before the file gets its name. The data directory remembers it as its last
    backup, unless ``note`` is False.
    """
    if target.exists() or target.is_symlink():
        raise BackupError(f"{target} exists already; name another file, a backup is never overwritten")
    for folder in (target.parent, sources.data_dir):
        if not folder.is_dir():
            raise BackupError(f"there is no folder {folder}; make it first, or name another one")
    with opened(sources) as engine:
        try:
            with locked(sources.data_dir / LOCK, BUSY), _temporary(sources.data_dir, target.parent) as made:
                partial = made / "partial"
                bucket = open_bucket(sources.files_url, sources.data_dir / FETCHED) if sources.files_url else None
                with closing(HeldFiles(sources.data_dir, sources.shared_dbs, bucket=bucket)) as files:
                    _require_room(engine, files, target.parent)
                    manifest = _write(sources, engine, files, partial, on_progress)
                size_bytes = partial.stat().st_size
                _publish(partial, target)
                if note:
                    note_backup(sources.data_dir, LastBackup(manifest.made_at, str(target.absolute()), size_bytes))
        except (SQLAlchemyError, LedgerDamagedError) as error:
            raise _no_backup(error) from error
        except engine.dialect.loaded_dbapi.Error as error:
            named = DBAPIError.instance("", None, error, engine.dialect.loaded_dbapi.Error, hide_parameters=True)
            raise _no_backup(named) from named
    return manifest


def _no_backup(error: Exception) -> BackupError:
    reason, outage = words_of(error), outage_of(error)
    if outage is None or outage.cause != "ledger_damaged":
        return BackupError(f"the ledger cannot be read: {reason}; no backup was made")
    return BackupError(
        f"the ledger is damaged: {reason}; no backup was made, and those made before are let be. Restore the newest of "
        "them that `python -m app backup --verify` calls whole"
    )


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


@contextmanager
def _temporary(data_dir: Path, folder: Path) -> Iterator[Path]:
    """Make a folder for what is not whole yet, with a lock in it, and delete those that killed backups have left.

    In the data directory nobody else makes one meanwhile.
    """
    is_ours = folder.resolve().is_relative_to(data_dir.resolve())
    for left in folder.glob(f"{TEMPORARY}*"):
        with suppress(OSError, Timeout):
            found = left.lstat()
            if not stat.S_ISDIR(found.st_mode) or (os.name != "nt" and found.st_uid != os.geteuid()):
                continue  # of another user, whose lock may lead anywhere
            if is_ours or (left / HELD).exists() or time.time() - found.st_mtime > LEFT_S:
                with FileLock(left / HELD, timeout=0):
                    shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=folder) as made, FileLock(Path(made) / HELD):
        yield Path(made)


@contextmanager
def locked(path: Path, told: str, *, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the lock of this file; raise BackupError, which says ``told``, where another one holds it for longer."""
    lock = FileLock(str(path), thread_local=False)
    try:
        lock.acquire(timeout=patience_s)
    except Timeout:
        raise BackupError(told) from None
    try:
        yield
    finally:
        lock.release()


def _require_room(engine: Engine, files: HeldFiles, folder: Path) -> None:
    """Raise BackupError when the disk has no room for the copy of the ledger and for the archive."""
    url = engine.url
    if url.get_backend_name() == "sqlite":
        ledger = sum(path.stat().st_size for path in _ledger_files(Path(str(url.database))))
    else:
        with engine.connect() as connection:
            ledger = int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())
    needed = 2 * ledger + files.size_bytes()
    free = shutil.disk_usage(folder).free
    needed += max(LEAST_ROOM, min(ROOM, needed // 4))
    if free < needed:
        raise BackupError(
            f"{folder} has {free // 2**20:,} MiB free and a backup takes up to {needed // 2**20:,}; make "
            "room, or name a file on another disk"
        )


def _ledger_files(ledger: Path) -> list[Path]:
    return [path for path in (ledger, Path(f"{ledger}-wal")) if path.is_file()]


def _write(sources: Sources, engine: Engine, files: HeldFiles, partial: Path, on_progress: Progress) -> BackupManifest:
    with open(partial, "xb", opener=owner_only) as file, ArchiveWriter(file) as archive:
        hold = files.hold if sources.with_files else lambda *_names: files.hold((), ())
        with snapshot_of(engine, hold) as snapshot:
            files.hold_originals(snapshot.originals if sources.with_files else ())
            rows, revision = snapshot.write(archive, partial.parent, on_progress), snapshot.revision
        originals = files.write(archive, on_progress)
        for name, text in sources.texts.items():
            archive.add_bytes(name, text.encode())
        manifest = BackupManifest(
            made_at=files.held_at,
            braid=version(),
            revision=revision,
            database=engine.dialect.name,
            with_keys=sources.with_keys,
            files=archive.members,
            rows=rows,
            missing=tuple(files.missing),
            originals=originals,
        )
        archive.finish(manifest)
        file.flush()
        os.fsync(file.fileno())
    return manifest


def _publish(partial: Path, target: Path) -> None:
    """Give the file its name, unless a file has taken it meanwhile."""
    try:
        name_new(partial, target)
    except FileExistsError:
        raise BackupError(f"{target} exists already; name another file, a backup is never overwritten") from None
    sync_folder(target.parent)
