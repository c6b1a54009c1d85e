"""The background work of one open data directory: jobs, their files, synced folders, and processes that parse."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from braid.core.background.dataset_jobs import UNPACKED_FACTOR, DatasetJobs
from braid.core.background.retention import Retention, RetentionDays
from braid.core.background.scan_jobs import SCAN, ScanJobs, ScanRules
from braid.core.background.tidying import Clock, Tidying
from braid.core.errors import OtherSiteError
from braid.core.folders.rules import FolderRules
from braid.core.folders.store import SyncedFolders
from braid.core.folders.supervisor import FolderSupervisor
from braid.core.folders.sync_jobs import SYNC, SyncJobs
from braid.core.forks import tell_of_forks
from braid.core.ingest.parse_now import ParseNow
from braid.core.ingest.parse_pool import TIMEOUT_S, ParsePool, ParseStoppedError
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.spool import Readable, Spool
from braid.core.jobs.runner import Handler, JobRunner, JobStopped, Progress
from braid.core.jobs.store import Job, JobKind, JobStore, NewJob, Same
from braid.core.ledger.outages import log_failure
from braid.core.originals.pages import PagePictures
from braid.core.originals.store import Originals

if TYPE_CHECKING:
    from braid.core.braid import Braid

TIDY_EVERY_S = 3600.0
TIDY = "tidy"
FOLDERS = "folders"
"""Names of work that one process alone does, of several that run jobs."""

logger = logging.getLogger(__name__)


class Background:
    """Runs from `start` to `close`, as soon as this process owns the indexes. Close it before Braid.

    In other processes it queues jobs, which the owner runs.

    ``workers`` jobs of one user run at a time; 0 means one per two cores. One more is kept for other users. A user may
    have ``most_documents``, and ``most_waiting`` jobs that wait or have failed; None sets no limit.
    """

    def __init__(
        self,
        braid: Braid,
        *,
        options: IngestOptions | None = None,
        workers: int = 0,
        days: int = 7,
        parse_memory_mb: int = 2048,
        parse_timeout_s: float = TIMEOUT_S,
        max_import_bytes: int = 2000 * 2**20,
        url_timeout_s: float = 30.0,
        allow_private_urls: bool = False,
        folder_rules: FolderRules | None = None,
        keep_originals: bool = True,
        scans: ScanRules | None = None,
        retention: RetentionDays | None = None,
        clock: Clock | None = None,
        most_documents: int | None = None,
        most_waiting: int | None = None,
    ) -> None:
        self._braid = braid
        self._most_waiting = most_waiting
        self.retention = Retention(braid, retention or RetentionDays())
        self.store = JobStore(braid.ledger)
        self.spool = Spool.of(braid)
        self.originals = Originals(braid)
        self.pages = PagePictures(braid.data_dir / "pages")
        self.folders = SyncedFolders(braid, folder_rules)
        self._priority = braid.priority
        self._pool = ParsePool(memory_mb=parse_memory_mb, timeout_s=parse_timeout_s)
        self.parse_now = ParseNow(self._pool, self.spool)
        options = options or IngestOptions()
        self.scans = ScanJobs(
            directory=braid,
            jobs=self.store,
            add=self._add,
            spool=self.spool,
            originals=self.originals,
            pool=self._pool,
            options=options,
            rules=scans or ScanRules(),
            keeps_files=keep_originals,
            rest=self._priority.rest,
        )
        self.sync_jobs = SyncJobs(
            braid,
            self.folders,
            self.store,
            self._add,
            parse=self.scans.parse,
            options=options,
            rest=self._priority.rest,
        )
        self._dataset_jobs = DatasetJobs(
            directory=braid,
            spool=self.spool,
            parse=self.scans.parse,
            queue_scan=self.scans.queue_if_needed,
            read_export=self._pool.read_export,
            options=options,
            originals=self.originals,
            keeps_originals=keep_originals,
            max_import_bytes=max_import_bytes,
            most_documents=most_documents,
            url_timeout_s=url_timeout_s,
            allow_private_urls=allow_private_urls,
        )
        self._handlers: dict[JobKind, Handler] = {
            **self._dataset_jobs.handlers(),
            "import": self._import,
            "sync": self._sync,
            "scan": self.scans.run,
        }
        self._workers = workers or max(1, (os.cpu_count() or 1) // 2)
        self.tidying = Tidying(braid, self.spool, self.originals, self.retention, days=days, clock=clock)
        self._wanted = False
        self._make_threads()
        tell_of_forks(self)

    def _make_threads(self) -> None:
        self.supervisor = FolderSupervisor(self.folders, self.sync_jobs, is_mine=lambda: self._braid.holds(FOLDERS))
        self._runner = JobRunner(
            self.store,
            {kind: self._stopping(run) for kind, run in self._handlers.items()},
            apart=(*SYNC, *SCAN),
            workers=self._workers + 1,
            per_user=self._workers,
            on_done=self._remove_file,
            priority=self._priority,
            is_woken=self._braid.is_woken,
        )
        self._closing = threading.Event()
        self._tidying = threading.Thread(target=self._tidy_hourly, name="braid-tidy", daemon=True)

    def start(self) -> None:
        """Delete old files that no job needs, and continue with the jobs of the last run: now, or when this process
        becomes the owner of the indexes.
        """
        self._wanted = True
        if self._braid.bucket is not None:
            self._tidying.start()  # also a process that does not work has copies and pictures
        self._braid.when_owner(self._start)

    def _start(self) -> None:
        if self._closing.is_set():
            return
        if self._braid.bucket is None:
            self._try_to_tidy()
            self._tidying.start()
        self._runner.start()
        self.supervisor.start()
        self._braid.each_beat(self._take_back)
        self._braid.when_woken("jobs", self._runner.wake)

    def after_fork(self, *, in_child: bool) -> None:
        """Start over in the child: it has no threads, and does not own the indexes."""
        if in_child:
            is_closed = self._closing.is_set()
            self._make_threads()
            if is_closed:
                self._closing.set()
            elif self._wanted:
                self.start()

    def add(self, user_id: int, jobs: Sequence[NewJob]) -> list[Job]:
        """Queue the jobs that a user asks for, all or none, and wake the runner. Raises InvalidInputError for too many.

        While searches run it returns a moment later: a browser that uploads 500 files calls it 500 times.
        """
        return self._add(user_id, jobs, most=self._most_waiting)

    def _add(
        self, user_id: int, jobs: Sequence[NewJob], *, same: Same | None = None, most: int | None = None
    ) -> list[Job]:
        added = self.store.add(user_id, jobs, same=same, most=most)
        self._runner.wake()
        self._priority.rest()
        return added

    def new_import(
        self, user_id: int, stream: Readable, *, max_bytes: int, name: str = "", most_datasets: int | None = None
    ) -> NewJob:
        """Spool an export and add the dataset it goes to, under the exported name unless ``name`` is given.

        Raises InvalidInputError (``file``, ``name``) and ParserUnavailableError.
        """
        kept = self.spool.save(stream, max_bytes=max_bytes, called="the export")
        try:
            path = self.spool.path(kept.name)
            manifest = self.parse_now.read_manifest(user_id, path, max_bytes=UNPACKED_FACTOR * max_bytes)
            dataset = self._braid.ledger.add_dataset(user_id, name or manifest.name, most=most_datasets)
        except BaseException:
            self.spool.remove(kept.name)
            raise
        return NewJob("import", dataset.name, dataset.id, {"file": kept.name, "size_bytes": kept.size_bytes})

    def retry(self, user_id: int, job_id: int) -> Job:
        """Queue a failed or cancelled job again, and wake the runner."""
        job = self.store.retry(user_id, job_id)
        self._runner.wake()
        return job

    def _take_back(self) -> None:
        """Queue again the jobs of processes that have died meanwhile."""
        if not self._closing.is_set() and (count := self.store.requeue()):
            logger.info("event=jobs_requeued count=%d", count)
            self._runner.wake()

    def close(self, timeout_s: float = 10.0) -> None:
        """Wait up to ``timeout_s`` for running jobs; the next start runs the others."""
        self._closing.set()
        self.supervisor.close()
        self._runner.close(timeout_s)
        self._pool.close()
        if self._tidying.is_alive():
            self._tidying.join(timeout_s)

    def _stopping(self, run: Handler) -> Handler:
        """The handler, whose process that parses is killed when the job is cancelled, or gone with its user."""

        def is_stopped(job: Job) -> bool:
            try:
                return not self.store.is_running(job)
            except SQLAlchemyError:  # the database is out; nothing says that the job was cancelled
                return False

        def run_until_stopped(job: Job, progress: Progress) -> Mapping[str, Any]:
            try:
                with self._pool.stopping(lambda: is_stopped(job)):
                    return run(job, progress)
            except ParseStoppedError as error:
                raise JobStopped from error

        return run_until_stopped

    def _sync(self, job: Job, progress: Progress) -> Mapping[str, Any]:
        """Sync a folder, then have a machine read the scanned pages in it."""
        result = self.sync_jobs.run(job, progress)
        self.scans.queue_waiting(job.user_id, dataset_ids=[job.dataset_id])
        return result

    def _import(self, job: Job, progress: Progress) -> Mapping[str, Any]:
        """Import a dataset, then have a machine read the pages that were not read where it comes from."""
        result = self._dataset_jobs.import_spooled(job, progress)
        self.scans.queue_waiting(job.user_id, dataset_ids=[job.dataset_id])
        return result

    def _remove_file(self, job: Job) -> None:
        self.spool.remove(job.payload.get("file", ""))

    def _tidy_hourly(self) -> None:
        if self._braid.bucket is not None:  # which may be down, or take long: the start does not wait for it
            self._try_to_tidy()
        while not self._closing.wait(TIDY_EVERY_S):
            self._try_to_tidy()

    def _count_missing(self) -> None:
        """Note how many originals are gone, which somebody else must have deleted; one line when there are more."""
        noticed, missing = self._braid.ledger.noticed, self.originals.missing()
        if missing > (noticed.missing_originals or 0):
            logger.error("event=originals_missing count=%d remedy=restore_a_backup", missing)
        noticed.missing_originals = missing

    def _try_to_tidy(self) -> None:
        try:
            self.tidying.tidy(everything=self._braid.holds(TIDY))
            if self._braid.holds(TIDY):
                self._count_missing()
        except OtherSiteError as error:
            logger.error('event=not_tidied reason="%s"', error)
        except Exception as error:  # the edge of a thread: it must outlive an outage of the database or the bucket
            log_failure(logger, "tidying", error)
