"""Passes over the folders that datasets are kept equal to: each is a background job, one at a time for a folder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from braid.core.accounts.accounts import Accounts
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.folders.store import SyncedFolder, SyncedFolders, WantedFolder
from braid.core.folders.sync import FolderSync, SyncPlan
from braid.core.ingest.ingest import IngestOptions, Parse
from braid.core.jobs.runner import Progress
from braid.core.jobs.store import MAX_TITLE_CHARS, OPEN, Job, JobKind, JobState, JobStore, NewJob

SYNC: tuple[JobKind, ...] = ("sync",)
ENDED: tuple[JobState, ...] = ("done", "failed", "cancelled")
KEPT_PASSES = 10
"""Of a folder, which changed something or failed, and the last one in any case."""
SHOWN_FAILURES = 20


class FolderPasses:
    """Queues passes, does them, and tells how the last one ended.

    ``add`` queues jobs; ``parse`` reads a file, and ``reading`` says how; ``rest`` is called before each file, so that
    searches come first.
    """

    def __init__(
        self,
        braid: DataDirectory,
        folders: SyncedFolders,
        jobs: JobStore,
        add: Callable[[int, Sequence[NewJob]], list[Job]],
        *,
        parse: Parse,
        reading: IngestOptions,
        rest: Callable[[], None] = lambda: None,
    ) -> None:
        self._braid = braid
        self._folders = folders
        self._jobs = jobs
        self._add = add
        self._parse = parse
        self._reading = reading
        self._rest = rest
        self._accounts = Accounts(braid.ledger)
        self._queueing = threading.Lock()
        self._working: dict[int, FolderSync] = {}
        """Kept from pass to pass, all in one thread: a file that cannot be read is not tried again until it changes."""

    def refusal(self, folder: SyncedFolder) -> str:
        """Why the folder may not be followed now; empty when it may."""
        try:
            account = self._accounts.get(folder.user_id)
            self._braid.dataset(folder.dataset_id)
        except NotFoundError as error:
            return str(error)
        if account.is_admin and not account.disabled:
            return ""
        state = "is locked out" if account.disabled else "is no longer an administrator"
        return f"{account.name}, who added the folder, {state}; remove the folder, and add it again as an administrator"

    def plan(self, user_id: int, wanted: WantedFolder) -> SyncPlan:
        """What the first pass would do. Raises as `SyncedFolders.checked` does."""
        checked = self._folders.checked(user_id, wanted)
        options = checked.options(self._reading)
        return FolderSync(self._braid, checked.dataset_id, checked.folder, options, within=True).plan()

    def under_way(self, folder: SyncedFolder) -> Job | None:
        """The pass that waits or is at work."""
        return self._latest(folder, OPEN)

    def last(self, folder: SyncedFolder) -> Job | None:
        """The last pass that has ended."""
        return self._latest(folder, ENDED)

    def last_change(self, folder: SyncedFolder) -> Job | None:
        """The last pass that changed documents."""
        return next((job for job in self._ended(folder) if changed(job)), None)

    def queue(self, folder: SyncedFolder) -> Job | None:
        """Queue a pass; None when one waits or is at work."""
        with self._queueing:
            if self.under_way(folder) is not None:
                return None
            [job] = self._add(folder.user_id, [new_sync(folder)])
        self._forget_old(folder)
        return job

    def give_up(self, folder: SyncedFolder) -> None:
        """End the pass that waits or is at work, for good; what it has stored stays."""
        if job := self.under_way(folder):
            self._jobs.cancel(job.user_id, job.id)
        self._working.pop(folder.id, None)

    def run(self, job: Job, progress: Progress) -> Mapping[str, Any]:
        """Do a pass: the handler of jobs of the kind ``sync``. A file that cannot be read does not fail it."""
        folder = self._folders.get(job.payload["folder_id"])
        if reason := self.refusal(folder):
            raise InvalidInputError(reason, field="folder")
        self._folders.require_outside(folder.folder)

        def on_progress(done: int, total: int) -> None:
            progress(done, total)
            self._rest()

        sync = self._sync(folder)
        report, unreadable = sync.run(on_progress=on_progress), sync.unreadable()
        return {
            "put": report.put,
            "renamed": report.renamed,
            "removed": report.removed,
            "unchanged": report.unchanged,
            "failed": len(unreadable),
            "failures": [{"source": source, "reason": reason} for source, reason in unreadable[:SHOWN_FAILURES]],
        }

    def _sync(self, folder: SyncedFolder) -> FolderSync:
        sync = self._working.get(folder.id)
        if sync is None:
            options = folder.options(self._reading)
            sync = FolderSync(self._braid, folder.dataset_id, folder.folder, options, parse=self._parse, within=True)
            self._working[folder.id] = sync
        return sync

    def _forget_old(self, folder: SyncedFolder) -> None:
        """A pass every few minutes that found nothing to do is not worth a line."""
        older = self._ended(folder)[1:]
        telling = [job for job in older if job.state != "done" or changed(job)][:KEPT_PASSES]
        for job in older:
            if job not in telling:
                self._jobs.forget(job.user_id, job.id)

    def _latest(self, folder: SyncedFolder, states: tuple[JobState, ...]) -> Job | None:
        return next(iter(self._found(folder, states)), None)

    def _ended(self, folder: SyncedFolder) -> list[Job]:
        return self._found(folder, ENDED)

    def _found(self, folder: SyncedFolder, states: tuple[JobState, ...]) -> list[Job]:
        """The newest first. The same folder may have been kept before, by other rules: those passes are not its own."""
        titles, limit = [new_sync(folder).title], 10 * KEPT_PASSES
        found = self._jobs.of_dataset(folder.dataset_id, kinds=SYNC, states=states, titles=titles, limit=limit)
        return [job for job in found if job.payload["folder_id"] == folder.id]


def changed(job: Job) -> bool:
    """Whether a pass that is done stored, renamed or removed anything."""
    return job.state == "done" and any(job.result.get(count) for count in ("put", "renamed", "removed"))


def new_sync(folder: SyncedFolder) -> NewJob:
    """A pass over a folder."""
    return NewJob("sync", folder.folder[:MAX_TITLE_CHARS], folder.dataset_id, {"folder_id": folder.id})
