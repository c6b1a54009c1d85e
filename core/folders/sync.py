"""A folder and a dataset kept equal: new and changed files are stored, moved ones renamed, the rest removed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotFoundError, Reason, UnreadableDocumentError
from braid.core.folders.plan import Removal, Rename, Step, SyncPlan, file_signature, plan_sync
from braid.core.ingest.incoming import Incoming, Parse
from braid.core.ingest.ingest_document import ingest_planned
from braid.core.ingest.plan import IngestOptions, PlannedFile, plan_files, source_name
from braid.core.ingest.walk import FoundFile, find_files
from braid.core.ledger.deleted_documents import DeletedDocuments
from braid.core.types import Document


@dataclass(frozen=True, slots=True)
class SyncReport:
    """The outcome of one sync. ``stopped``: it ended early on request, and the next one does the rest."""

    put: int = 0
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    failures: tuple[tuple[str, str], ...] = ()
    """(source, reason) of each file that cannot be read."""
    stopped: bool = False

    @property
    def changed(self) -> bool:
        """Whether the sync changed documents or met unreadable files."""
        return bool(self.put or self.renamed or self.removed or self.failures)


Outcome = tuple[Literal["put", "unchanged", "failed", "renamed", "removed"], str, str]
"""The effect of one step: what was done, with which source, and why it failed."""


def run_plan(
    directory: DataDirectory,
    plan: SyncPlan,
    apply: Callable[[Step], Outcome],
    *,
    should_stop: Callable[[], bool],
    on_step: Callable[[str, str], None] = lambda step, source: None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> SyncReport:
    """Apply the steps of a plan, and report their outcomes; the other parameters are those of `FolderSync.run`."""
    counts, failures, stopped = Counter(unchanged=plan.unchanged), list[tuple[str, str]](), False
    for done, step in enumerate(plan.steps):
        on_progress(done, len(plan.steps))
        if stopped := should_stop():
            break
        what, source, reason = apply(step)
        counts[what] += 1
        if what == "failed":
            failures.append((source, reason))
        on_step(what, source)
    counted = {name: counts[name] for name in ("put", "unchanged", "renamed", "removed")}
    report = SyncReport(**counted, failures=tuple(failures), stopped=stopped)
    if report.changed:
        directory.wake()
    return report


@dataclass(frozen=True, slots=True)
class _Failure:
    """A file that could not be read. A different signature means that it may be readable now."""

    signature: tuple[int, float, float]
    reason: str


@dataclass(slots=True)
class FolderSync:
    """Keeps a dataset's documents below a folder equal to its files; other documents are never touched.

    Sources are absolute paths, or with ``options.id_prefix`` the prefix and the path within the folder. Each document
    is one transaction and the ledger is the only state, so a sync may be stopped or killed at any moment. A file with
    the stored size and modification time is not read; nor is one whose document was deleted and can still be restored.
    A folder without any file may be a disk that is not mounted: nothing is removed then, unless ``allow_empty`` is set.
    Raises InvalidInputError for such a folder and for a missing one, and NotFoundError when there is no such dataset.

    >>> from braid.core.ingest.parse import parse_here
    >>> dataset = braid.ledger.add_dataset(1, "wiki")
    >>> sync = FolderSync(braid, dataset.id, str(wiki_dir), parse=parse_here)
    >>> sync.run().put, sync.run().unchanged
    (2, 2)
    """

    directory: DataDirectory
    dataset_id: int
    folder: str
    options: IngestOptions = field(default_factory=IngestOptions)
    allow_empty: bool = False
    parse: Parse = field(kw_only=True)
    within: bool = False
    """Whether links out of the folder are refused: someone who may write there could link to files of others."""
    _failed: dict[str, _Failure] = field(default_factory=dict, init=False, repr=False)
    """Failures by source. These files are not read again until they change."""

    def __post_init__(self) -> None:
        self.folder = os.path.abspath(self.folder)
        self.options = replace(self.options, relative=bool(self.options.id_prefix), relative_to=self.folder)
        self.directory.dataset(self.dataset_id)
        self._require_folder()

    def plan(self) -> SyncPlan:
        """Plan what `run` would do now; files are read where a rename has to be recognized."""
        self._require_folder()
        found = self._find_files()
        files, _ = plan_files(found, self.options)
        stored = {document.source: document for document in self._documents()}
        self._forget_failures(files)
        gone = self._find_gone(found, files, stored)
        deleted = DeletedDocuments(self.directory.ledger).left_out(self.dataset_id, self._source_of(self.folder))
        changed = [
            file
            for file in files
            if not self._is_as_stored(file, stored.get(file.source))
            and (file.source in stored or not _is_as_deleted(file, deleted.get(file.source)))
        ]
        return plan_sync(files, changed, stored, gone)

    def run(
        self,
        *,
        should_stop: Callable[[], bool] = lambda: False,
        on_step: Callable[[str, str], None] = lambda step, source: None,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> SyncReport:
        """Sync once. Each step calls ``on_step`` with ``renamed``, ``put``, ``failed`` or ``removed``, and the source.

        ``on_progress`` is called before each step with the numbers of steps done and of all; an exception that it
        raises ends the sync.
        """
        plan = self.plan()
        return run_plan(
            self.directory, plan, self._apply, should_stop=should_stop, on_step=on_step, on_progress=on_progress
        )

    def unreadable(self) -> list[tuple[str, str]]:
        """Return (source, reason) of every file that could not be read, in this sync or an earlier one."""
        return sorted((source, failure.reason) for source, failure in self._failed.items())

    # ------------------------------------------------------------ steps

    def _apply(self, step: Step) -> Outcome:
        match step:
            case Rename():
                return self._rename(step)
            case Removal():
                return self._remove(step)
            case PlannedFile():
                return self._put(step)

    def _rename(self, rename: Rename) -> Outcome:
        file = rename.file
        if self._leads_out(file.path):
            return self._put(file)
        try:
            incoming = Incoming.from_file(Path(file.path), file.source, filename=os.path.basename(file.path))
            document = self.parse(incoming, self.options)
            self.directory.ledger.rename_document(self.dataset_id, rename.source, document)
        except (OSError, UnreadableDocumentError, NotFoundError, InvalidInputError):  # it has changed since the plan
            return self._put(file)
        return "renamed", file.source, ""

    def _put(self, file: PlannedFile) -> Outcome:
        signature = _failure_signature(file.path)
        file = replace(file, problem=file.problem or self._leads_out(file.path))  # it may have become a link
        stored = ingest_planned(self.directory.ledger, self.dataset_id, file, self.options, parse=self.parse)
        self._failed.pop(file.source, None)
        if stored.state == "failed" and signature is not None:
            self._failed[file.source] = _Failure(signature, stored.reason)
        return stored.state, stored.source, stored.reason

    def _remove(self, removal: Removal) -> Outcome:
        self.directory.ledger.remove_document(self.dataset_id, removal.source)
        return "removed", removal.source, ""

    # ------------------------------------------------------------ folder and dataset

    def _find_files(self) -> list[FoundFile]:
        """Find all files of the folder; mark a link out of it with a problem."""
        walk = find_files([self.folder], ignore=self.options.ignore, leave_out=(self._data_dir(),))
        return [replace(file, problem=file.problem or self._leads_out(file.path)) for file in walk]

    def _documents(self) -> Sequence[Document]:
        return self.directory.ledger.documents(self.dataset_id, source_prefix=self._source_of(self.folder))

    def _find_gone(
        self, found: Iterable[FoundFile], files: Sequence[PlannedFile], stored: Mapping[str, Document]
    ) -> list[Document]:
        """Return the documents without a file. Raises InvalidInputError for a folder that looks unmounted.

        Documents in folders that cannot be listed stay: their files may be there.
        """
        wanted = {file.source for file in files}
        unlisted = tuple(self._source_of(file.path) for file in found if file.is_folder and file.problem)
        gone = [d for source, d in stored.items() if source not in wanted and not source.startswith(unlisted)]
        if gone and not self.allow_empty and all(file.problem for file in files):
            raise self._empty_error(len(stored))
        return gone

    def _forget_failures(self, files: Iterable[PlannedFile]) -> None:
        """Forget the failures of files that no longer exist."""
        wanted = {file.source for file in files}
        self._failed = {source: failure for source, failure in self._failed.items() if source in wanted}

    def _is_as_stored(self, file: PlannedFile, document: Document | None) -> bool:
        failure = self._failed.get(file.source)
        if failure is not None and failure.signature == _failure_signature(file.path):
            return True
        signature = file_signature(file.path)
        if document is None or document.state != "ready" or signature is None or document.date is None:
            return False
        return (document.size_bytes, document.date) == signature

    def _leads_out(self, path: str) -> str:
        """Return the problem with a link out of the folder; empty for everything else."""
        if not self.within:
            return ""
        if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.folder)):
            return ""
        return "the link leads out of the folder; copy the file into it"

    def _data_dir(self) -> str:
        """Return the data directory's path as the walk sees it, also when the folder is reached by a link."""
        return os.path.join(self.folder, os.path.relpath(self.directory.data_dir, os.path.realpath(self.folder)))

    def _source_of(self, folder: str) -> str:
        if not self.options.id_prefix:
            return source_name(os.path.join(folder, "").replace(os.sep, "/"))
        below = os.path.relpath(folder, self.folder).replace(os.sep, "/")
        return source_name("" if below == os.curdir else f"{below}/", prefix=self.options.id_prefix)

    def _require_folder(self) -> None:
        if not os.path.isdir(self.folder):
            raise InvalidInputError(
                Reason("there is no folder %(folder)s; nothing is changed", folder=repr(self.folder)), field="folder"
            )

    def _empty_error(self, documents: int) -> InvalidInputError:
        kept = f"{documents:,} documents of it stay" if documents != 1 else "one document of it stays"
        return InvalidInputError(
            f"the folder {self.folder!r} has no file to store, so the {kept} in dataset {self.dataset_id}: is its disk "
            "mounted? If it is meant to be empty, `watch --once --allow-empty` on the command line removes them",
            field="folder",
        )


def _is_as_deleted(file: PlannedFile, document: Document | None) -> bool:
    """Return whether a file has not changed since its document was deleted, which can be restored."""
    signature = file_signature(file.path) if document is not None else None
    if document is None or signature is None:
        return False
    return document.size_bytes == signature[0] and document.date in (None, signature[1])


def _failure_signature(path: str) -> tuple[int, float, float] | None:
    """Return size, modification and change time, which changes also with the permissions. None without the file."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return (stat.st_size, stat.st_mtime, stat.st_ctime)
