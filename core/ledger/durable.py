"""Writes files so that they survive a power cut, as the database does."""

from __future__ import annotations

import errno
import os
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
