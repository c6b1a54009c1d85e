"""Where the list of shared datasets is: in a file, or in the ledger, which the machines of a fleet have in common."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from braid.core.datasets.entry import MAX_FILE_BYTES
from braid.core.errors import RegistryError
from braid.core.ledger import prepared
from braid.core.ledger.database import Database, execute, storable
from braid.core.ledger.durable import sync_folder

LOCK_TIMEOUT_S = 10.0
LOCK_NOT_AVAILABLE = "55P03"
"""PostgreSQL's code for a lock that was not had in time."""
EMPTY = "[]\n"
MADE_EMPTY = 0
"""Version of an empty list that was made where there was no file, and that nobody has edited."""
SETTLED_NS = 2_000_000_000
"""Age from which a later write shows in the file's times, however coarse the file system's clock."""

logger = logging.getLogger(__name__)

State = object
"""What tells one state of a list from another; None is equal to no state."""
Write = Callable[[bytes], None]


class SharedList(Protocol):
    """The text of the list, valid or not. The methods raise RegistryError for what a person can correct."""

    name: str
    """What messages call it."""
    gone: str
    """Why there is none any more, and what to do."""

    def look(self, known: State) -> tuple[bytes | None, State] | None:
        """Return the content, None where there is none, with its state; None while the state is the one known."""

    def read(self) -> bytes | None:
        """Return the content, cut just over the limit; None where there is none."""

    def alone(self) -> contextlib.AbstractContextManager[Write]:
        """Keep other threads and processes from writing, not from reading; yields what replaces the content."""


class ListFile:
    """A list in a file, ``shared_dbs.json``, which administrators and programs edit as well."""

    gone = "the file was deleted; put it back or save the list again"

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path

    def look(self, known: State) -> tuple[bytes | None, State] | None:
        """Return content and state as `SharedList` says; a file that is not settled is equal to no state."""
        try:
            if known == _signature(self._path.stat()):
                return None
            content, found = _read(self._path)
        except FileNotFoundError:
            return None, None
        except OSError as error:
            raise _unreadable(error) from error
        settled = time.time_ns() - found.st_mtime_ns > SETTLED_NS
        return content, _signature(found) if settled else None

    def read(self) -> bytes | None:
        """Return the content; None where there is no file."""
        try:
            return _read(self._path)[0]
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(error) from error

    @contextlib.contextmanager
    def alone(self) -> Iterator[Write]:
        """Hold the lock beside the file."""
        target = self._path.resolve()
        lock = FileLock(target.with_name(f".{target.name}.lock"), timeout=LOCK_TIMEOUT_S)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            held = lock.acquire(poll_interval=0.01)
        except Timeout as error:
            raise RegistryError(_locked(target.name)) from error
        except OSError as error:
            raise self._unwritable(error) from error
        with held:
            yield self._write

    def _write(self, content: bytes) -> None:
        try:
            _replace_file(self._path.resolve(), content)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> RegistryError:
        return RegistryError(
            f"{self.name} cannot be written: {error.strerror}; it is unchanged. Fix that and try again"
        )


class ListInLedger:
    """The list in one row of the ledger. Its version grows with each change, and is read each time: what one process
    has changed, the next question of any other finds.
    """

    name = "the list of shared datasets"
    gone = "it was deleted from the ledger; save the list again"

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def is_there(self) -> bool:
        """Whether the ledger has a list."""
        return bool(self._database.rows(prepared.SHARED_LIST_VERSION))

    def take_over(self, path: Path, *, has_shared: bool) -> None:
        """Have the ledger keep the list, that of the file if there is one, unless it keeps one already.

        An empty one that was made where there was no file gives way to the first file: other machines may have one.
        """
        [kept] = self._rows() or [("", MADE_EMPTY)]
        if kept[1] != MADE_EMPTY:
            if has_another(path, kept[0]):
                logger.warning(
                    "event=list_ignored the list of shared datasets is in the ledger, and %s, which has another one, "
                    "is not read: `python -m app shared-db import FILE` puts it in effect; delete it if it is old",
                    path,
                )
            return
        content = ListFile(path).read()
        text, version = (EMPTY, MADE_EMPTY) if content is None else (_text(content), 1)
        with self._database.write() as connection:
            made = execute(
                connection, prepared.ADD_SHARED_LIST, text=text, version=version, made_empty=MADE_EMPTY
            ).rowcount
        if made and content is not None:
            logger.warning(
                "event=list_imported the list of shared datasets is in the ledger from now on; %s is read no more", path
            )
        elif made and has_shared:
            logger.warning(
                "event=list_missing the ledger has shared datasets, but there is no %s that lists them: nobody can "
                "read them until `python -m app shared-db import FILE`",
                path,
            )

    def look(self, known: State) -> tuple[bytes | None, State] | None:
        """Return content and version, if that is not the one known; no version for one that may be rolled back, since
        another content can have the same later.
        """
        rows = self._database.rows(prepared.SHARED_LIST_VERSION)
        if rows and rows[0][0] == known:
            return None
        found = next(((text.encode(), version) for text, version in self._rows()), (None, None))
        return (found[0], None) if self._database.is_changing else found

    def read(self) -> bytes | None:
        """Return the content; None where the ledger has none."""
        return next((text.encode() for text, _ in self._rows()), None)

    @contextlib.contextmanager
    def alone(self) -> Iterator[Write]:
        """Hold the row in a transaction, which ends with what was written."""
        with self._database.write() as connection:
            if connection.dialect.name == "postgresql":
                self._lock(connection)

            def write(content: bytes) -> None:
                execute(connection, prepared.SET_SHARED_LIST, text=_text(content))

            yield write

    def _lock(self, connection: Connection) -> None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_S:g}s'")
        try:
            execute(connection, prepared.LOCK_SHARED_LIST)
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", "") != LOCK_NOT_AVAILABLE:
                raise
            raise RegistryError(_locked(self.name)) from error

    def _rows(self) -> list[tuple[str, int]]:
        return self._database.rows(prepared.SHARED_LIST)


def has_another(path: Path, kept: str) -> bool:
    """Return whether a file is there that has another list than is kept in the ledger, white space aside: who edits it
    may take it for the one in effect.
    """
    with contextlib.suppress(RegistryError):
        content = ListFile(path).read()
        return content is not None and _text(content).split() != kept.split()
    return False


def fingerprint(content: bytes) -> str:
    """Return what tells this content from any other."""
    return hashlib.sha256(content).hexdigest()


def _text(content: bytes) -> str:
    """Return the content as a text that a database can store: an invalid one stays invalid."""
    return storable(content.decode("utf-8", "replace"))


def _locked(name: str) -> str:
    return f"{name} has been locked by another process for {LOCK_TIMEOUT_S:g} s; try again"


def _unreadable(error: OSError) -> RegistryError:
    return RegistryError(f"it cannot be read: {error.strerror}; fix that")


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    """Read the content, cut just over the limit, and the file's state from before it was read."""
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        return file.read(MAX_FILE_BYTES + 1), found


def _signature(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_mtime_ns, found.st_size, found.st_ino


def _replace_file(target: Path, content: bytes) -> None:
    """Replace the file atomically, even if the machine stops; it keeps its permissions."""
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        with temporary.open("wb") as file:
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)
