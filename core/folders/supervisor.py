"""Watches the synced folders and queues a sync job when one changes."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

from braid.core.folders.store import NewSyncedFolder, SyncedFolder, SyncedFolders
from braid.core.folders.sync_jobs import SyncJobs
from braid.core.folders.watch import RESCAN_S, FolderWatch
from braid.core.ledger.outages import log_failure
from braid.core.priority import lower_thread_priority

LIST_POLL_S = 5.0
"""Seconds between two reads of the list, for folders that another process adds."""
RETRY_S = 30.0
"""Seconds between two attempts to watch a folder."""
JOB_POLL_S = 0.5
CLOSING_S = 5.0

logger = logging.getLogger(__name__)


class FolderSupervisor:
    """Runs from `start` to `close`, with one watching thread per folder, in the process that runs the jobs.

    Of several such processes only that watches for which ``is_mine`` is true.
    """

    def __init__(
        self,
        folders: SyncedFolders,
        jobs: SyncJobs,
        *,
        retry_s: float = RETRY_S,
        list_poll_s: float = LIST_POLL_S,
        is_mine: Callable[[], bool] = lambda: True,
    ) -> None:
        self._folders = folders
        self._jobs = jobs
        self._retry_s = retry_s
        self._list_poll_s = list_poll_s
        self._is_mine = is_mine
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._watchers: dict[int, _Watcher] = {}
        self._thread = threading.Thread(target=self._run, name="braid-folders", daemon=True)

    def start(self) -> None:
        """Watch the folders of the list. Each is synced first, for changes since the last run."""
        self._thread.start()

    def add(self, user_id: int, new: NewSyncedFolder) -> SyncedFolder:
        """Add a folder and watch it from now on. Raises as `SyncedFolders.validate` does."""
        folder = self._folders.add(user_id, new)
        self._wake.set()
        return folder

    def remove(self, folder_id: int) -> SyncedFolder:
        """Remove a folder, cancel its job and stop watching it; the documents stay. Raises NotFoundError."""
        folder = self._folders.remove(folder_id)
        self._jobs.cancel(folder)
        self._wake.set()
        return folder

    def problem(self, folder_id: int) -> str:
        """Return the reason why a folder is not watched now, here or by another process; empty when it is."""
        watcher = self._watchers.get(folder_id)
        return watcher.problem if watcher else self._folders.problems().get(folder_id, "")

    def close(self) -> None:
        """Stop watching. A running sync job is ended by the job runner."""
        self._closing.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(CLOSING_S)
        watchers = list(self._watchers.values())
        for watcher in watchers:
            watcher.stop()
        deadline = time.monotonic() + CLOSING_S
        for watcher in watchers:
            watcher.join(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        lower_thread_priority()
        while not self._closing.is_set():
            self._wake.clear()
            try:
                self._follow_list()
            except Exception as error:  # the edge of a thread: it must outlive an outage of the database
                log_failure(logger, "reading the list of synced folders", error)
            self._wake.wait(self._list_poll_s)

    def _follow_list(self) -> None:
        """Stop the watchers of removed folders, start one for each new folder, and note the problems for others."""
        is_mine = self._is_mine()
        listed = {folder.id: folder for folder in self._folders.all()} if is_mine else {}
        for folder_id in self._watchers.keys() - listed.keys():
            self._watchers.pop(folder_id).stop()
        for folder_id in listed.keys() - self._watchers.keys():
            watcher = _Watcher(listed[folder_id], self._jobs, self._retry_s)
            self._watchers[folder_id] = watcher
            watcher.start()
        if is_mine:
            self._folders.note_problems(
                {folder_id: watcher.problem for folder_id, watcher in self._watchers.items() if watcher.problem}
            )


class _Watcher(threading.Thread):
    """Watches one folder."""

    def __init__(self, folder: SyncedFolder, jobs: SyncJobs, retry_s: float) -> None:
        super().__init__(name=f"braid-folder-{folder.id}", daemon=True)
        self.problem = ""
        self._folder = folder
        self._jobs = jobs
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
            except Exception as error:  # the edge of a thread: it must outlive an outage of the database
                log_failure(logger, f"following folder {self._folder.id}", error)
                self.problem = "internal error; the log says more"
            self._stopping.wait(self._retry_s)

    def _follow(self) -> None:
        if problem := self._find_missing():
            self.problem = problem
            return
        try:
            with FolderWatch(self._folder.folder) as watch:
                self._watch = watch
                if self._stopping.is_set():  # `stop` ran before it could see the watch
                    watch.stop()
                watch.follow(self._queue_sync)
        except OSError as error:
            self._rescan(error)

    def _rescan(self, error: OSError) -> None:
        """Queue a sync job every few minutes, for a folder that the system cannot watch."""
        self._queue_sync()
        if not self.problem:
            seconds = f"{RESCAN_S:,.0f} seconds"
            self.problem = f"changes are found only every {seconds}: the folder cannot be watched: {error.strerror}"
            self._stopping.wait(RESCAN_S)

    def _queue_sync(self) -> None:
        """Queue a sync job, after the running one if there is one: that may have missed the last change."""
        self.problem = self._find_missing()
        if self.problem or self._jobs.refusal(self._folder):
            return
        while not self._stopping.is_set():
            job = self._jobs.find_active(self._folder)
            if job is not None and job.state == "running":
                self._stopping.wait(JOB_POLL_S)
                continue
            if job is None:
                self._jobs.queue(self._folder)
            return

    def _find_missing(self) -> str:
        folder = self._folder.folder
        return "" if os.path.isdir(folder) else f"there is no folder {folder!r}; its documents stay"
