"""Writes files whole, for this system user alone, and so that they survive a power cut, as the database does."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NOT_OFFERED = (errno.EINVAL, errno.ENOTSUP)


def sync_folder(folder: Path) -> None:
    """Have the folder's new names on the disk: that of a file is not, when the file is.

    Windows and some file systems have no call for it; there it does nothing. Raises OSError, as on a broken disk.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folder
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
    finally:
        os.close(descriptor)


def owner_only(path: str, flags: int) -> int:
    """Open a file, as an ``opener`` of `open`, that only this system user can read."""
    return os.open(path, flags, 0o600)


def name_new(partial: Path, path: Path) -> None:
    """Give a file its name. Raises FileExistsError when another one has it, where the file system has hard links."""
    try:
        os.link(partial, path)
    except FileExistsError:
        raise
    except OSError:
        partial.replace(path)


def replace_whole(path: Path, content: bytes) -> None:
    """Write a small file in place of the one that may be there; nobody reads half of it."""
    with _whole(path, content) as partial:
        partial.replace(path)


def write_first(path: Path, content: bytes) -> None:
    """Write a small file, unless another thread or process was first. An empty one counts as none."""
    with _whole(path, content) as partial, suppress(FileExistsError):
        if path.exists() and not path.stat().st_size:
            path.unlink()
        name_new(partial, path)


@contextmanager
def _whole(path: Path, content: bytes) -> Iterator[Path]:
    """Yield a file beside ``path`` with this content, which is to get that name; the name is on the disk at the end."""
    partial = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        with open(partial, "xb", opener=owner_only) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield partial
    finally:
        partial.unlink(missing_ok=True)
    sync_folder(path.parent)
