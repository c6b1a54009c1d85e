"""Sync jobs: background jobs that make a dataset equal to its folder, one at a time per folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from braid.core.accounts.accounts import Accounts
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.folders.plan import SyncPlan
from braid.core.folders.store import NewSyncedFolder, SyncedFolder, SyncedFolders
from braid.core.folders.sync import FolderSync
from braid.core.ingest.incoming import Parse
from braid.core.ingest.plan import IngestOptions
from braid.core.jobs.runner import Progress
from braid.core.jobs.store import MAX_TITLE_CHARS, OPEN, AddJobs, Job, JobKind, JobState, JobStore, NewJob

SYNC: tuple[JobKind, ...] = ("sync",)
ENDED: tuple[JobState, ...] = ("done", "failed", "cancelled")
KEPT_JOBS = 10
"""Jobs kept per folder among those that changed something or failed. The last job is kept in any case."""
SHOWN_FAILURES = 20


class SyncJobs:
    """Queues sync jobs, runs them, and finds the last ones.

    ``add`` queues jobs and wakes the runner; ``rest`` is called before each file, so that searches come first.
    """

    def __init__(
        self,
        directory: DataDirectory,
        folders: SyncedFolders,
        jobs: JobStore,
        add: AddJobs,
        *,
        parse: Parse,
        options: IngestOptions,
        rest: Callable[[], None] = lambda: None,
    ) -> None:
        self._directory = directory
        self._folders = folders
        self._jobs = jobs
        self._add = add
        self._parse = parse
        self._options = options
        self._rest = rest
        self._accounts = Accounts(directory.ledger)
        self._syncs: dict[int, FolderSync] = {}
        """Syncs by folder id, for the thread of sync jobs alone. They are kept because each knows the unreadable files.
        """

    def refusal(self, folder: SyncedFolder) -> str:
        """Return the reason why the folder may not be synced now; empty when it may."""
        try:
            account = self._accounts.get(folder.user_id)
            self._directory.dataset(folder.dataset_id)
        except NotFoundError as error:
            return str(error)
        if account.is_admin and not account.disabled:
            return ""
        state = "is locked out" if account.disabled else "is no longer an administrator"
        return f"{account.name}, who added the folder, {state}; remove the folder, and add it again as an administrator"

    def plan(self, user_id: int, new: NewSyncedFolder) -> SyncPlan:
        """Plan the first sync of a folder that is not added yet. Raises as `SyncedFolders.validate` does."""
        new = self._folders.validate(user_id, new)
        options = new.options(self._options)
        return FolderSync(self._directory, new.dataset_id, new.folder, options, parse=self._parse, within=True).plan()

    def find_active(self, folder: SyncedFolder) -> Job | None:
        """Return the job that is queued or running."""
        return next(iter(self._find(folder, OPEN)), None)

    def find_last(self, folder: SyncedFolder) -> Job | None:
        """Return the last job that has ended."""
        return next(iter(self._find(folder, ENDED)), None)

    def find_last_change(self, folder: SyncedFolder) -> Job | None:
        """Return the last job that changed documents."""
        return next((job for job in self._find(folder, ENDED) if has_changes(job)), None)

    def queue(self, folder: SyncedFolder) -> Job | None:
        """Queue a job; None when one is queued or running, whichever process queued it."""
        added = self._add(folder.user_id, [new_sync_job(folder)], same=_folder_of)
        if not added:
            return None
        self._forget_old(folder)
        return added[0]

    def cancel(self, folder: SyncedFolder) -> None:
        """Cancel the job of a folder that was removed from the list; documents that it has stored stay."""
        if job := self.find_active(folder):
            self._jobs.cancel(job.user_id, job.id)
        self._syncs.pop(folder.id, None)

    def run(self, job: Job, progress: Progress) -> Mapping[str, Any]:
        """Sync a folder: the handler of jobs of the kind ``sync``. An unreadable file does not make the job fail."""
        folder = self._folders.get(job.payload["folder_id"])
        if reason := self.refusal(folder):
            raise InvalidInputError(reason, field="folder")
        self._folders.rules.require_public(folder.folder)

        def on_progress(done: int, total: int) -> None:
            progress(done, total)
            self._rest()

        sync = self._sync_of(folder)
        report, unreadable = sync.run(on_progress=on_progress), sync.unreadable()
        return {
            "put": report.put,
            "renamed": report.renamed,
            "removed": report.removed,
            "unchanged": report.unchanged,
            "failed": len(unreadable),
            "failures": [{"source": source, "reason": reason} for source, reason in unreadable[:SHOWN_FAILURES]],
        }

    def _sync_of(self, folder: SyncedFolder) -> FolderSync:
        sync = self._syncs.get(folder.id)
        if sync is None:
            options = folder.options(self._options)
            sync = FolderSync(
                self._directory, folder.dataset_id, folder.folder, options, parse=self._parse, within=True
            )
            self._syncs[folder.id] = sync
        return sync

    def _forget_old(self, folder: SyncedFolder) -> None:
        """Delete ended jobs but the last one and some that matter: most, every few minutes, found nothing to do."""
        older = self._find(folder, ENDED)[1:]
        kept = [job for job in older if job.state != "done" or has_changes(job)][:KEPT_JOBS]
        for job in older:
            if job not in kept:
                self._jobs.forget(job.user_id, job.id)

    def _find(self, folder: SyncedFolder, states: tuple[JobState, ...]) -> list[Job]:
        """Return the folder's jobs, newest first. Jobs of an earlier entry for the same path, now removed, are left
        out.
        """
        titles, limit = [new_sync_job(folder).title], 10 * KEPT_JOBS
        jobs = self._jobs.of_dataset(folder.dataset_id, kinds=SYNC, states=states, titles=titles, limit=limit)
        return [job for job in jobs if job.payload["folder_id"] == folder.id]


def has_changes(job: Job) -> bool:
    """Return whether a sync job is done and stored, renamed or removed documents."""
    return job.state == "done" and any(job.result.get(count) for count in ("put", "renamed", "removed"))


def _folder_of(job: NewJob | Job) -> int:
    """Return the id of the folder that a sync job is for: another one may have had the same path."""
    folder_id: int = job.payload["folder_id"]
    return folder_id


def new_sync_job(folder: SyncedFolder) -> NewJob:
    """Describe a job that syncs a folder."""
    return NewJob("sync", folder.folder[:MAX_TITLE_CHARS], folder.dataset_id, {"folder_id": folder.id})
