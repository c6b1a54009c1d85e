"""Folders of one process each in the data directory; those that killed processes have left are deleted."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

FOLDER = "indexes/langchain"
"""Where they are, below the data directory."""
BEGIN_S = 10.0
"""Longest wait for other processes that begin or clean at the same time."""
_HELD = "in-use.lock"


class ScratchFolder:
    """A folder for this process alone, with a lock in it, below ``data_dir``, or without one among temporary files."""

    def __init__(self, data_dir: Path | None) -> None:
        with _alone(data_dir) as home:
            self.path = Path(tempfile.mkdtemp(prefix="store-" if home else "braid-langchain-", dir=home))
            self._lock = FileLock(self.path / _HELD, thread_local=False)
            self._lock.acquire(timeout=0)
        self._process = os.getpid()

    def remove(self) -> None:
        """Delete the folder, unless this is the child of a fork: it is its parent's."""
        if os.getpid() == self._process:
            self._lock.release(force=True)
            shutil.rmtree(self.path, ignore_errors=True)


def remove_abandoned(data_dir: Path) -> None:
    """Delete the folders of processes that were killed."""
    if (data_dir / FOLDER).exists():
        with suppress(OSError, Timeout), _alone(data_dir):
            pass


@contextmanager
def _alone(data_dir: Path | None) -> Iterator[Path | None]:
    """Delete what others have left, and keep them from looking until the end."""
    if data_dir is None:
        yield None
        return
    home = data_dir / FOLDER
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(home / "begin.lock", timeout=BEGIN_S):
        for left in home.glob("store-*"):
            with suppress(OSError, Timeout), FileLock(left / _HELD, timeout=0):
                shutil.rmtree(left, ignore_errors=True)
        yield home
