"""Where a data directory is moved to, and what is refused before anything is written there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError

from braid.core.backup.make import Sources
from braid.core.backup.manifest import LEDGER, BackupError
from braid.core.ledger.database import make_engine
from braid.core.ledger.member import LEASE_S, living_names

DRIVERS = ("sqlite+pysqlite", "postgresql+psycopg")
POSTGRESQL_PORT = 5432


@dataclass(frozen=True, slots=True)
class Destination:
    """A database, and the folder that the files are copied to; without one they stay where they are."""

    url: str
    folder: Path | None = None

    @property
    def shown(self) -> str:
        """The database without its password."""
        return shown(self.url)


def destination_of(to: str, files: Path | None = None) -> Destination:
    """Return the destination of a database's URL, or of a folder for both the ledger, in SQLite, and the files.

    Raises BackupError for a database that Braid cannot move to.
    """
    if "://" not in to:
        if files is not None:
            raise BackupError(f"{to} is a folder, which takes the files as well; leave out the folder {files} for them")
        folder = Path(to).absolute()
        return Destination(f"sqlite:///{folder / LEDGER}", folder)
    try:
        url = make_url(to)
        kind = f"{url.get_backend_name()}+{url.get_driver_name()}"
    except (ArgumentError, ModuleNotFoundError) as error:
        raise BackupError(f"{to.partition('://')[0]}://… is no URL of a database: {error}") from error
    if kind not in DRIVERS:
        raise BackupError(
            f"a ledger cannot be moved to {kind}; write postgresql+psycopg://user@host/database, or name a folder"
        )
    if kind == DRIVERS[0]:
        if not url.database or ":memory:" in url.database or url.database.startswith("file:"):
            raise BackupError(f"{to} names no file for the ledger; write sqlite:////folder/ledger.db, or name a folder")
        to = f"sqlite:///{Path(url.database).absolute()}"
    return Destination(to, None if files is None else files.absolute())


def open_destination(source: Sources, to: Destination) -> Engine:
    """Return the engine of the destination, whose folder is made.

    Raises BackupError where source and destination are one, and where the folder has what no move has put there.
    """
    if _is_same(make_url(source.url), make_url(to.url)):
        raise BackupError(f"the ledger is at {to.shown} already; nothing was changed, name another place")
    engine = make_engine(to.url)
    if to.folder is None:
        return engine
    folder, data_dir = to.folder.resolve(), source.data_dir.resolve()
    if folder == data_dir:
        raise BackupError(f"{to.folder} is the data directory that is moved; nothing was changed, name a new folder")
    if folder.is_relative_to(data_dir):
        raise BackupError(f"{to.folder} is within the data directory that is moved; name a folder outside of it")
    if to.folder.exists() and not to.folder.is_dir():
        raise BackupError(f"{to.folder} is no folder; name a new one")
    to.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return engine


def require_empty(folder: Path, *, ledger: bool) -> None:
    """Raise BackupError for a folder with files in it. With ``ledger``, an empty one of a killed move may be there."""
    there = sorted(name for name in os.listdir(folder) if not (ledger and name.startswith(LEDGER)))
    if there:
        raise BackupError(f"{folder} is not empty, it has {there[0]!r}; nothing was changed, name a new folder")


def require_no_member(connection: Connection) -> None:
    """Raise BackupError while a process of a fleet has this database open; it has no lock on a data directory."""
    if names := living_names(connection):
        where = connection.engine.url.render_as_string(hide_password=True)
        raise BackupError(
            f"{len(names)} processes of a fleet have {where} open, such as {names[0].partition('/')[0]}; stop them "
            f"first, and wait {LEASE_S:.0f} s for those that were killed; nothing was changed"
        )


def shown(url: str) -> str:
    """Return the URL of a database without its password."""
    return make_url(url).render_as_string(hide_password=True)


def _is_same(one: URL, other: URL) -> bool:
    if one.get_backend_name() != other.get_backend_name():
        return False
    if one.get_backend_name() == "sqlite":
        return bool(one.database and other.database) and _file(one) == _file(other)
    return _address(one) == _address(other)


def _file(url: URL) -> Path:
    return Path(str(url.database)).resolve()


def _address(url: URL) -> tuple[object, ...]:
    return url.host, url.port or POSTGRESQL_PORT, url.database, sorted(url.query.items())
