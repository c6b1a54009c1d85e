"""Watches all folders that datasets are kept equal to, and has a pass queued after their changes."""

from __future__ import annotations

import logging
import os
import threading
import time

from braid.core.folders.store import SyncedFolder, SyncedFolders
from braid.core.folders.sync_jobs import FolderPasses
from braid.core.folders.watch import RESCAN_S, FolderWatch
from braid.core.priority import lower_thread_priority

LOOK_S = 5.0
"""How long a folder that another process added waits."""
RETRY_S = 30.0
"""Between attempts to watch a folder."""
END_OF_PASS_S = 0.5
CLOSING_S = 5.0

logger = logging.getLogger(__name__)


class FolderKeeper:
    """Runs from `start` to `close`, with a thread for each folder. Only the process that does the jobs needs one."""

    def __init__(self, folders: SyncedFolders, passes: FolderPasses, *, retry_s: float = RETRY_S) -> None:
        self._folders = folders
        self._passes = passes
        self._retry_s = retry_s
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._kept: dict[int, _Keeping] = {}
        self._thread = threading.Thread(target=self._run, name="braid-folders", daemon=True)

    def start(self) -> None:
        """Watch the folders of the list. Each has a pass first, for what happened meanwhile."""
        self._thread.start()

    def wake(self) -> None:
        """The list has changed."""
        self._wake.set()

    def problem(self, folder_id: int) -> str:
        """Why a folder is not followed now; empty when it is."""
        kept = self._kept.get(folder_id)
        return kept.problem if kept else ""

    def close(self) -> None:
        """Queue nothing more. A pass under way is the job runner's."""
        self._closing.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(CLOSING_S)
        kept = list(self._kept.values())
        for each in kept:
            each.stop()
        deadline = time.monotonic() + CLOSING_S
        for each in kept:
            each.join(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        lower_thread_priority()
        while not self._closing.is_set():
            self._wake.clear()
            try:
                self._take_up()
            except Exception:  # the edge of a thread: it must outlive an outage of the database
                logger.exception("event=folders_not_read")
            self._wake.wait(LOOK_S)

    def _take_up(self) -> None:
        listed = {folder.id: folder for folder in self._folders.all()}
        for folder_id in self._kept.keys() - listed.keys():
            self._kept.pop(folder_id).stop()
        for folder_id in listed.keys() - self._kept.keys():
            keeping = _Keeping(listed[folder_id], self._passes, self._retry_s)
            self._kept[folder_id] = keeping
            keeping.start()


class _Keeping(threading.Thread):
    """Follows one folder."""

    def __init__(self, folder: SyncedFolder, passes: FolderPasses, retry_s: float) -> None:
        super().__init__(name=f"braid-folder-{folder.id}", daemon=True)
        self.problem = ""
        self._folder = folder
        self._passes = passes
        self._retry_s = retry_s
        self._stopping = threading.Event()
        self._watch: FolderWatch | None = None

    def stop(self) -> None:
        """End within a second."""
        self._stopping.set()
        if self._watch is not None:
            self._watch.stop()

    def run(self) -> None:
        lower_thread_priority()
        while not self._stopping.is_set():
            try:
                self._follow()
            except Exception:  # the edge of a thread: it must outlive an outage of the database
                logger.exception("event=folder_not_followed folder=%d", self._folder.id)
                self.problem = "internal error; the log says more"
            self._stopping.wait(self._retry_s)

    def _follow(self) -> None:
        if problem := self._missing():
            self.problem = problem
            return
        try:
            with FolderWatch(self._folder.folder) as watch:
                self._watch = watch
                if self._stopping.is_set():  # before it could be told
                    watch.stop()
                watch.follow(self._queue_pass)
        except OSError as error:
            self._look_through(error)

    def _look_through(self, error: OSError) -> None:
        """Without being told of changes: every few minutes."""
        self._queue_pass()
        if not self.problem:
            seconds = f"{RESCAN_S:,.0f} seconds"
            self.problem = f"changes are found only every {seconds}: the folder cannot be watched: {error.strerror}"
            self._stopping.wait(RESCAN_S)

    def _queue_pass(self) -> None:
        """What changes while a pass is at work may be too late for it, so another one follows."""
        self.problem = self._missing()
        if self.problem or self._passes.refusal(self._folder):
            return
        while not self._stopping.is_set():
            job = self._passes.under_way(self._folder)
            if job is not None and job.state == "running":
                self._stopping.wait(END_OF_PASS_S)
                continue
            if job is None:
                self._passes.queue(self._folder)
            return

    def _missing(self) -> str:
        folder = self._folder.folder
        return "" if os.path.isdir(folder) else f"there is no folder {folder!r}; its documents stay"
