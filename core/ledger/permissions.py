"""Checks that this system user may use the files of a data directory, before anything is opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from braid.core.errors import InvalidInputError

FOLDERS = ("uploads", "originals", "indexes", "pages", "fetched")
READ = ("secret_key", "shared_dbs.json")
WRITTEN = ("ledger.db", "ledger.db-wal", "ledger.db-shm", "owner.lock", "backup.lock", "upgrade.lock")
DEPTH = 2
"""Levels of folders below each of `FOLDERS` that are looked at, such as ``indexes/bm25/user_1``."""
MOST_FOLDERS = 1000
"""Folders below `FOLDERS` that are looked at: there may be any number of collections."""
_BOTH = os.R_OK | os.W_OK


def is_barred(path: Path, mode: int = _BOTH) -> bool:
    """Return whether this user lacks a permission for a file or folder that is there, and is not on a read-only disk.

    ``mode`` is as for `os.access`; a folder is to be entered, too.
    """
    wanted = mode | os.X_OK if os.path.isdir(path) else mode
    if os.name == "nt" or not os.path.lexists(path):
        return False
    if os.access(path, wanted, effective_ids=os.access in os.supports_effective_ids) or not os.path.exists(path):
        return False
    return not (mode & os.W_OK and os.statvfs(path).f_flag & os.ST_RDONLY)


def barred(data_dir: Path) -> Path | None:
    """Return the first of a data directory's own files and folders that this user may not use; None if all is well.

    What others have put beside them is not looked at, nor any file below the folders.
    """
    files = chain(((data_dir / name, os.R_OK) for name in READ), ((data_dir / name, _BOTH) for name in WRITTEN))
    folders = ((path, _BOTH) for path in islice(_folders(data_dir), MOST_FOLDERS))
    return next((path for path, mode in chain([(data_dir, _BOTH)], files, folders) if is_barred(path, mode)), None)


def require_permission(data_dir: Path) -> None:
    """Raise InvalidInputError, which names the path, its owner and the remedy, where this user may not use it."""
    path = barred(data_dir)
    if path is None:
        return
    found, user = path.stat(), _name(os.geteuid())
    said = (
        f"{str(path)!r} belongs to {_name(found.st_uid)} (mode {stat.S_IMODE(found.st_mode):o}), and this user, {user},"
    )
    if found.st_uid == os.geteuid():
        remedy = f"may not read and write it, as Braid does even to search; allow it: chmod -R u+rwX {data_dir}"
    else:
        remedy = f"may not use it; give the data directory to the user that Braid runs as: chown -R {user} {data_dir}"
    raise InvalidInputError(f"{said} {remedy}", field="data_dir")


def _folders(data_dir: Path) -> Iterator[Path]:
    level = [data_dir / name for name in FOLDERS if os.path.isdir(data_dir / name)]
    for depth in range(DEPTH + 1):
        yield from level
        if depth < DEPTH:
            level = [inner for folder in level for inner in _inner(folder)]


def _inner(folder: Path) -> list[Path]:
    """Return the folders among the first entries of a folder; none where it cannot be read, which is said of itself."""
    try:
        with os.scandir(folder) as found:
            return [Path(each.path) for each in islice(found, MOST_FOLDERS) if each.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
