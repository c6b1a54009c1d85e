"""A backup in the background: a page asks for one, and later for its outcome."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from braid.core.background.shared_work import SharedWork
from braid.core.backup.make import Sources, make_backup
from braid.core.backup.upgrade import FOLDER
from braid.core.data_directory import DataDirectory
from braid.core.errors import BraidError
from braid.core.ledger.outages import log_failure

PAGE = "page-"
"""Beginning of the names of backups that a page asked for. What a command or a person puts beside them is let be."""
KEPT = 3
"""Backups of pages that are kept; the oldest is deleted once a new one is whole."""
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
        self._database = directory.ledger.database
        self._sources = sources
        self._work = SharedWork(directory.ledger, "backup")

    @property
    def state(self) -> BackupState:
        """The state now, whichever process makes the backup."""
        found, is_running = self._work.read()
        return BackupState(is_running, found.get("done", 0), found.get("total", 0), found.get("error", ""))

    def start(self) -> bool:
        """Start a backup. False when one is being made already."""
        if not self._work.begin(done=0, total=0, error=""):
            return False
        threading.Thread(target=self._run, name="braid-backup", daemon=True).start()
        return True

    def _run(self) -> None:
        reason = ""
        try:
            self._make()
        except BraidError as error:
            reason = str(error)
            self._database.note(error)
        except OSError as error:
            reason = f"the file cannot be written: {error.strerror or error}"
        except Exception as error:  # the edge of a thread: the page must not wait for ever
            logger.exception("event=backup_failed")
            reason = f"internal error ({type(error).__name__}); the log says more"
        if reason:
            logger.error("event=backup_failed reason=%r", reason)
        try:
            self._work.end(error=reason)
        except SQLAlchemyError as error:  # it counts as interrupted
            log_failure(logger, "a backup", error)

    def _make(self) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        target = self.folder / f"{PAGE}{time.strftime('%Y%m%d-%H%M%S')}.zip"
        make_backup(self._sources(), target, on_progress=self._shown())
        logger.info("event=backup_made file=%s bytes=%d", target, target.stat().st_size)
        for path in sorted(self.folder.glob(f"{PAGE}*.zip"))[:-KEPT]:
            path.unlink(missing_ok=True)

    def _shown(self) -> Callable[[str, int, int], None]:
        shown_at = time.monotonic()

        def show(_what: str, done: int, total: int) -> None:
            nonlocal shown_at
            if time.monotonic() - shown_at >= SHOW_EVERY_S:
                self._work.show(done=done, total=total)
                shown_at = time.monotonic()

        return show
