"""Outages: a database that is down, a full disk, and whatever else cannot be used now but may be later.

They are told apart from faults of the code, which no waiting cures, and are logged once a minute, however many
requests and threads meet them.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final, Literal

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from braid.core.errors import (
    ClosedError,
    FilesUnavailableError,
    IndexUnavailableError,
    InvalidInputError,
    LedgerDamagedError,
    Reason,
    UnreadableDocumentError,
)
from braid.core.ledger.permissions import is_barred

Cause = Literal[
    "database_down",
    "connections_taken",
    "database_locked",
    "disk_full",
    "read_only",
    "disk_failing",
    "ledger_damaged",
    "not_permitted",
    "files_down",
    "closing",
]
TEXT_OF: Final[dict[Cause, str]] = {
    "database_down": Reason("the database does not answer; try again in a moment"),
    "connections_taken": Reason("all connections to the database are in use; try again in a moment"),
    "database_locked": Reason("another program keeps the database locked; try again in a moment"),
    "disk_full": Reason("the disk of the server is full; tell the administrator"),
    "read_only": Reason("the data of the server can only be read now; tell the administrator"),
    "disk_failing": Reason("the disk of the server cannot be used; tell the administrator"),
    "ledger_damaged": Reason("the database of the server is damaged; tell the administrator, who restores a backup"),
    "not_permitted": Reason("the server may not use some of its own files; tell the administrator"),
    "files_down": Reason("the store of files does not answer; try again in a moment"),
    "closing": Reason("Braid is being stopped; try again in a moment"),
}
"""What a user is told."""
LASTING: Final[frozenset[Cause]] = frozenset({"ledger_damaged", "not_permitted"})
"""Causes that do not end by themselves: users are not told to try again later."""
REMEDY: Final[Mapping[Cause, str]] = {
    "ledger_damaged": "stop Braid and restore the newest whole backup with `python -m app restore`; until then what "
    "can be answered is",
    "not_permitted": "give the data directory with all that is in it to the user that Braid runs as",
}
"""Remedies of outages that do not end by themselves, for the log and the command line."""
MAX_CAUSES = 20
"""Errors of a chain that are looked at."""
LOG_EVERY_S = 60.0
MAX_REASON_CHARS = 300
LEAST_FREE_BYTES = 1 << 20
"""Bytes of free disk space below which SQLite cannot make the temporary files that it needs."""

_OF_ERRNO: dict[int, Cause] = {
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EFBIG: "disk_full",
    errno.EROFS: "read_only",
    errno.EIO: "disk_failing",
    errno.EACCES: "not_permitted",
    errno.EPERM: "not_permitted",
    errno.EMFILE: "connections_taken",
    errno.ENFILE: "connections_taken",
}
_OF_SQLITE: dict[int, Cause] = {
    sqlite3.SQLITE_FULL: "disk_full",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_IOERR: "disk_failing",
    sqlite3.SQLITE_CANTOPEN: "disk_failing",
    sqlite3.SQLITE_CORRUPT: "ledger_damaged",
    sqlite3.SQLITE_NOTADB: "ledger_damaged",
    sqlite3.SQLITE_PERM: "not_permitted",
    sqlite3.SQLITE_AUTH: "not_permitted",
    sqlite3.SQLITE_BUSY: "database_locked",
    sqlite3.SQLITE_LOCKED: "database_locked",
}
_OF_SQLSTATE: dict[str, Cause] = {  # https://www.postgresql.org/docs/current/errcodes-appendix.html
    "53100": "disk_full",
    "53300": "connections_taken",
    "25006": "read_only",
    "58030": "disk_failing",
    "58P01": "ledger_damaged",  # a file of the server's is gone,
    "58P02": "ledger_damaged",  # or there where it should not be
    "XX001": "ledger_damaged",
    "XX002": "ledger_damaged",
    "42501": "not_permitted",
    "55P03": "database_locked",
    "40001": "database_locked",
    "40P01": "database_locked",
    "57014": "database_locked",
}
_ERRNO_OF_RUST = re.compile(r"\(os error (\d+)\)|Os { code: (\d+),")
_NO_TEXT = "Could not decode to UTF-8"
_NO_SLOTS = ("too many clients", "connection slots")  # a refused connection has no SQLSTATE


@dataclass(frozen=True, slots=True)
class Outage:
    """Something that cannot be used now, with the words of the driver or the system for the reason."""

    cause: Cause
    reason: str

    @property
    def text(self) -> str:
        """What a user is told."""
        return TEXT_OF[self.cause]

    @property
    def lasts(self) -> bool:
        """Whether the outage does not end by itself, so that trying again in a moment is of no use."""
        return self.cause in LASTING


def outage_of(error: BaseException) -> Outage | None:
    """Return the outage that the error comes from; None for a fault of the code, or of what it was given.

    >>> import errno
    >>> outage_of(OSError(errno.ENOSPC, "No space left on device"))
    Outage(cause='disk_full', reason='No space left on device')
    """
    found: BaseException | None = error
    was_given = False
    for _ in range(MAX_CAUSES):  # some libraries raise an error from itself
        if found is None:
            break
        was_given |= isinstance(found, (InvalidInputError, UnreadableDocumentError))
        cause = _cause(found)
        if cause and not (was_given and cause == "not_permitted"):  # a file of the caller's, of which the error tells
            return Outage(cause, _reason(found))
        found = found.__cause__
    return None


def is_outage(error: BaseException) -> bool:
    """Return whether something cannot be used now; later the same may succeed."""
    return outage_of(error) is not None


def words_of(error: BaseException) -> str:
    """Return the driver's own words, without the statement and its parameters; of another error its message."""
    return str(getattr(error, "orig", None) or error).strip()


def remedy_for(file: Path, error: SQLAlchemyError) -> str:
    """Return what is wrong with a SQLite file that cannot be opened, and what to do; empty where that is not known.

    SQLite calls a full disk "disk I/O error", and one that cannot be written to "unable to open database file".
    """
    code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & 0xFF
    if _OF_SQLITE.get(code) == "ledger_damaged":
        return "it is damaged; restore a backup with `python -m app restore`"
    if code == sqlite3.SQLITE_PERM:
        return "let this user read and write it"
    folder = next(folder for folder in file.absolute().parents if folder.exists())
    if not os.access(folder, os.W_OK):
        return f"{str(folder)!r} cannot be written to; mount it writable, or let this user write there"
    if shutil.disk_usage(folder).free < LEAST_FREE_BYTES:
        return f"the disk of {str(folder)!r} is full; free some space"
    return ""


def name_permission(file: Path, error: BaseException | None) -> None:
    """Have an error of SQLite say so where it is one of permission: it says no more than that it "cannot open"."""
    if not isinstance(error, sqlite3.Error) or getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CANTOPEN:
        return
    for path in (file.parent, file, Path(f"{file}-wal"), Path(f"{file}-shm")):
        if is_barred(path):
            error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_PERM, "SQLITE_PERM"
            error.args = (f"{os.strerror(errno.EACCES)}: {path}",)
            return


def log_failure(logger: logging.Logger, doing: str, error: Exception) -> None:
    """Log what broke off ``doing``: an outage as `log_outage` does, anything else with its traceback."""
    if outage := outage_of(error):
        log_outage(logger, outage, doing)
    else:
        logger.error("event=failed in=%s", doing, exc_info=error)


def log_outage(logger: logging.Logger, outage: Outage, doing: str) -> None:
    """Log an outage in one line, at most once per `LOG_EVERY_S` and cause, with how often it was met since the last."""
    _met.setdefault(outage.cause, _Met()).log(logger, outage, doing)


def forget() -> None:
    """Count and log from the beginning, as in a new process."""
    _met.clear()


def times_met() -> dict[Cause, int]:
    """Return how often each outage was met since the process started."""
    return {cause: _met[cause].times if cause in _met else 0 for cause in TEXT_OF}


class _Met:
    """How often one outage was met. Without a lock, which a fork could leave locked: a figure may be one too low."""

    def __init__(self) -> None:
        self.times = 0
        self._logged = 0
        self._next = 0.0

    def log(self, logger: logging.Logger, outage: Outage, doing: str) -> None:
        self.times += 1
        now = monotonic()
        if now < self._next:
            return
        self._next = now + LOG_EVERY_S
        times, self._logged = self.times - self._logged, self.times
        remedy = f' remedy="{REMEDY[outage.cause]}"' if outage.cause in REMEDY else ""
        logger.error(
            'event=outage cause=%s times=%d in="%s" reason="%s"%s', outage.cause, times, doing, outage.reason, remedy
        )


_met: dict[Cause, _Met] = {}


def _cause(error: BaseException) -> Cause | None:
    if isinstance(error, ClosedError):
        return "closing"
    if isinstance(error, RuntimeError) and str(error).startswith("cannot schedule new futures after"):
        return "closing"
    if isinstance(error, PoolTimeoutError):
        return "connections_taken"
    if isinstance(error, FilesUnavailableError):
        return "files_down"
    if isinstance(error, LedgerDamagedError):
        return "ledger_damaged"
    if isinstance(error, IndexUnavailableError):  # it may come from another process, without its cause
        return _cause_in_words(error.inner)
    if isinstance(error, OSError):
        return _OF_ERRNO.get(error.errno or 0)
    if type(error) is ValueError or type(error).__module__ == "chromadb.errors":  # of the indexes
        return _cause_in_words(str(error))
    return _cause_in_database(error) if isinstance(error, DBAPIError) else None


def _cause_in_words(said: str) -> Cause | None:
    """Return what tantivy and Chroma, whose errors have no number, say of the disk."""
    if found := _ERRNO_OF_RUST.search(said):
        return _OF_ERRNO.get(int(found[1] or found[2]))
    return "disk_full" if "database or disk is full" in said else None


def _cause_in_database(error: DBAPIError) -> Cause | None:
    original: object = error.orig
    code, state = getattr(original, "sqlite_errorcode", None), getattr(original, "sqlstate", None)
    if isinstance(code, int) and (cause := _OF_SQLITE.get(code & 0xFF)):
        return cause
    if isinstance(state, str) and (cause := _OF_SQLSTATE.get(state)):
        return cause
    if any(words in str(original) for words in _NO_SLOTS):
        return "connections_taken"
    if _is_no_text(original):
        return "ledger_damaged"
    is_down = error.connection_invalidated or isinstance(error, (OperationalError, InterfaceError))
    return "database_down" if is_down else None


def _is_no_text(original: object) -> bool:
    """Whether Python's driver says that a text is none: SQLite hands out what is in the file, without an error."""
    return isinstance(original, sqlite3.OperationalError) and str(original).startswith(_NO_TEXT)


def _reason(error: BaseException) -> str:
    """Return the driver's own words, without the statement and its parameters, or the system's.

    They name a file where it is one of the server's own that it may not use: nothing else says what to change.
    """
    words = words_of(error)
    if isinstance(error, OSError):
        words = str(error.strerror)
        if error.filename is not None and _OF_ERRNO.get(error.errno or 0) == "not_permitted":
            words = f"{words}: {os.fsdecode(error.filename)}"
    elif _is_no_text(getattr(error, "orig", None)):
        words = words.partition(" with text")[0]  # the text may be a document's
    elif isinstance(error, IndexUnavailableError):
        words = error.inner
    elif isinstance(error, PoolTimeoutError):
        words = "no connection of the pool became free"
    return " ".join(words.split())[:MAX_REASON_CHARS]
