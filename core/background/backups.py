"""A backup in the background: a page asks for one, and later for its outcome."""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from braid.core.background.shared_work import SharedWork
from braid.core.backup.archive import open_backup
from braid.core.backup.make import Sources, make_backup
from braid.core.backup.manifest import BackupError
from braid.core.backup.upgrade import FOLDER
from braid.core.data_directory import DataDirectory

PAGE = "page-"
"""Beginning of the names of backups that a page asked for. What a command or a person puts beside them is let be."""
KEPT = 3
"""Backups of pages that are kept, of those with documents and of those without any: once a new one is whole, the oldest
of its kind is deleted. So those of a site that has lost its documents take the place of no good one, however many."""
SHOW_EVERY_S = 1.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BackupState:
    """The state of the backup that is being made: ``done`` of ``total`` of a step, or why the last one failed."""

    running: bool = False
    done: int = 0
    total: int = 0
    error: str = ""


class Backups:
    """Makes one backup at a time, of all processes, into the folder ``backups`` of the data directory."""

    def __init__(self, directory: DataDirectory, sources: Callable[[], Sources]) -> None:
        self.folder = directory.data_dir / FOLDER
        self._sources = sources
        self._work = SharedWork(directory.ledger, "backup")

    @property
    def state(self) -> BackupState:
        """The state now, whichever process makes the backup."""
        found, is_running = self._work.read()
        return BackupState(is_running, found.get("done", 0), found.get("total", 0), found.get("error", ""))

    def start(self) -> bool:
        """Start a backup. False when one is being made already."""
        return self._work.start(self._make, done=0, total=0)

    def _make(self) -> Mapping[str, Any]:
        target = self.folder / f"{PAGE}{time.strftime('%Y%m%d-%H%M%S')}.zip"
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            manifest = make_backup(self._sources(), target, on_progress=self._shown())
        except OSError as error:
            raise BackupError(f"the file cannot be written: {error.strerror or error}") from error
        logger.info("event=backup_made file=%s bytes=%d", target, target.stat().st_size)
        has_documents = manifest.documents > 0
        alike = [path for path in sorted(self.folder.glob(f"{PAGE}*.zip")) if _has_documents(path) is has_documents]
        for path in alike[:-KEPT]:
            path.unlink(missing_ok=True)
        return {}

    def _shown(self) -> Callable[[str, int, int], None]:
        shown_at = time.monotonic()

        def show(_what: str, done: int, total: int) -> None:
            nonlocal shown_at
            if time.monotonic() - shown_at >= SHOW_EVERY_S:
                self._work.show(done=done, total=total)
                shown_at = time.monotonic()

        return show


def _has_documents(path: Path) -> bool | None:
    """Return whether a backup has documents; None where nobody can tell, as of one that a later Braid made."""
    try:
        with open_backup(path) as archive:
            return archive.manifest.documents > 0
    except (BackupError, OSError, ValueError, EOFError, RuntimeError, zlib.error) as error:
        logger.warning("event=backup_unreadable file=%s type=%s", path, type(error).__name__)
        return None
