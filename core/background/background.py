"""The background work of one open data directory: its jobs, their files, and the processes that read them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from braid.core.background.dataset_jobs import handlers
from braid.core.folders.store import SyncedFolder, SyncedFolders, WantedFolder
from braid.core.folders.supervisor import FolderKeeper
from braid.core.folders.sync_jobs import SYNC, FolderPasses
from braid.core.ingest.ingest import IngestOptions
from braid.core.ingest.parser import Parser
from braid.core.ingest.spool import Spool
from braid.core.jobs.runner import JobRunner
from braid.core.jobs.store import Job, JobStore, NewJob

if TYPE_CHECKING:
    from braid.core.braid import Braid

TIDY_EVERY_S = 3600.0
"""A file in the spool that is younger may belong to an upload that is not a job yet."""

logger = logging.getLogger(__name__)


class Background:
    """Works from `start` to `close`. To be opened by the process that owns the indexes, and closed before Braid is.

    ``workers`` jobs are done at a time; 0 means one for two cores.
    """

    def __init__(
        self,
        braid: Braid,
        *,
        options: IngestOptions | None = None,
        workers: int = 0,
        days: int = 7,
        parse_memory_mb: int = 2048,
        parse_timeout_s: float = 300.0,
        max_import_bytes: int = 2000 * 2**20,
        url_timeout_s: float = 30.0,
        allow_private_urls: bool = False,
    ) -> None:
        self.store = JobStore(braid.ledger)
        self.spool = Spool(braid.data_dir / "uploads")
        self.folders = SyncedFolders(braid)
        self._priority = braid.engine.priority
        self._parser = Parser(memory_mb=parse_memory_mb, timeout_s=parse_timeout_s)
        reading = options or IngestOptions()
        self.passes = FolderPasses(
            braid,
            self.folders,
            self.store,
            self.add,
            parse=self._parser.parse,
            reading=reading,
            rest=self._priority.rest,
        )
        self.keeper = FolderKeeper(self.folders, self.passes)
        does = handlers(
            braid,
            self.spool,
            self._parser,
            options=reading,
            max_import_bytes=max_import_bytes,
            url_timeout_s=url_timeout_s,
            allow_private_urls=allow_private_urls,
        )
        self._runner = JobRunner(
            self.store,
            {**does, "sync": self.passes.run},
            apart=SYNC,
            workers=workers or max(1, (os.cpu_count() or 1) // 2),
            on_done=self._forget_file,
            priority=self._priority,
        )
        self._days = days
        self._closing = threading.Event()
        self._tidying = threading.Thread(target=self._tidy_hourly, name="braid-tidy", daemon=True)

    def start(self) -> None:
        """Delete what no job needs, and go on with the jobs that were left."""
        self._tidy(older_than_s=0.0)
        self._runner.start()
        self.keeper.start()
        self._tidying.start()

    def add(self, user_id: int, jobs: Sequence[NewJob]) -> list[Job]:
        """Queue jobs, all or none, and begin with them at once. Beside searches it takes a moment longer: who uploads
        500 files comes again for each.
        """
        added = self.store.add(user_id, jobs)
        self._runner.wake()
        self._priority.rest()
        return added

    def retry(self, user_id: int, job_id: int) -> Job:
        """Try a failed or cancelled job again, at once."""
        job = self.store.retry(user_id, job_id)
        self._runner.wake()
        return job

    def keep_folder(self, user_id: int, wanted: WantedFolder) -> SyncedFolder:
        """Keep a dataset equal to a folder from now on. Raises as `SyncedFolders.checked` does."""
        folder = self.folders.add(user_id, wanted)
        self.keeper.wake()
        return folder

    def drop_folder(self, folder_id: int) -> SyncedFolder:
        """Follow the folder no longer; the documents stay. Raises NotFoundError."""
        folder = self.folders.remove(folder_id)
        self.passes.give_up(folder)
        self.keeper.wake()
        return folder

    def close(self, timeout_s: float = 10.0) -> None:
        """Finish what is at work within the time; the rest is done at the next start."""
        self._closing.set()
        self.keeper.close()
        self._runner.close(timeout_s)
        self._parser.close()

    def _forget_file(self, job: Job) -> None:
        self.spool.remove(job.payload.get("file", ""))

    def _tidy(self, *, older_than_s: float) -> None:
        self.store.prune(self._days)
        self.spool.sweep(self.store.kept_files(), older_than_s=older_than_s)

    def _tidy_hourly(self) -> None:
        while not self._closing.wait(TIDY_EVERY_S):
            try:
                self._tidy(older_than_s=TIDY_EVERY_S)
            except Exception:  # the edge of a thread: it must outlive an outage of the database
                logger.exception("event=tidying_failed")
