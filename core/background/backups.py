"""A backup in the background: a page asks for one, and later for its outcome."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from braid.core.backup.make import Sources, make_backup
from braid.core.backup.upgrade import FOLDER
from braid.core.errors import BraidError

PAGE = "page-"
"""Beginning of the names of backups that a page asked for. What a command or a person puts beside them is let be."""
KEPT = 3
"""Backups of pages that are kept; the oldest is deleted once a new one is whole."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BackupState:
    """The state of the backup that is being made: ``done`` of ``total`` of a step, or why the last one failed."""

    running: bool = False
    done: int = 0
    total: int = 0
    error: str = ""


class Backups:
    """Makes one backup at a time into the folder ``backups`` of the data directory. Its state is the process's own."""

    def __init__(self, data_dir: Path, sources: Callable[[], Sources]) -> None:
        self.folder = data_dir / FOLDER
        self._sources = sources
        self._lock = threading.Lock()
        self._state = BackupState()

    @property
    def state(self) -> BackupState:
        """The state now."""
        with self._lock:
            return self._state

    def start(self) -> bool:
        """Start a backup. False when one is being made already."""
        with self._lock:
            if self._state.running:
                return False
            self._state = BackupState(running=True)
        threading.Thread(target=self._run, name="braid-backup", daemon=True).start()
        return True

    def _run(self) -> None:
        state = BackupState()
        try:
            self._make()
        except BraidError as error:
            state = BackupState(error=str(error))
        except OSError as error:
            state = BackupState(error=f"the file cannot be written: {error.strerror or error}")
        except Exception as error:  # the edge of a thread: the page must not wait for ever
            logger.exception("event=backup_failed")
            state = BackupState(error=f"internal error ({type(error).__name__}); the log says more")
        if state.error:
            logger.error("event=backup_failed reason=%r", state.error)
        with self._lock:
            self._state = state

    def _make(self) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        target = self.folder / f"{PAGE}{time.strftime('%Y%m%d-%H%M%S')}.zip"
        make_backup(self._sources(), target, on_progress=self._show)
        logger.info("event=backup_made file=%s bytes=%d", target, target.stat().st_size)
        for path in sorted(self.folder.glob(f"{PAGE}*.zip"))[:-KEPT]:
            path.unlink(missing_ok=True)

    def _show(self, _what: str, done: int, total: int) -> None:
        with self._lock:
            self._state = replace(self._state, done=done, total=total)
