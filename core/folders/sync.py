"""A folder and a dataset kept equal: new and changed files are stored, moved ones renamed, the rest removed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError, NotFoundError, UnreadableDocumentError
from braid.core.ingest.ingest import (
    IngestedFile,
    IngestOptions,
    Parse,
    incoming_file,
    ingest_planned,
    parse_file,
    source_name,
)
from braid.core.ingest.plan import PlannedFile, file_type_of, plan_files
from braid.core.ingest.walk import FoundFile, find_files
from braid.core.types import Document


@dataclass(frozen=True, slots=True)
class Rename:
    """The document ``source`` is now the file ``file``, with the same bytes."""

    source: str
    file: PlannedFile


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """What would make the dataset equal to the folder."""

    puts: tuple[PlannedFile, ...] = ()
    """New or changed files."""
    renames: tuple[Rename, ...] = ()
    removals: tuple[str, ...] = ()
    """Sources whose file is gone, or is now left out."""
    unchanged: int = 0

    @property
    def steps(self) -> int:
        """How many documents it touches."""
        return len(self.puts) + len(self.renames) + len(self.removals)


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a pass did. ``stopped``: it was told to stop, and the next pass does the rest."""

    put: int = 0
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    failures: tuple[tuple[str, str], ...] = ()
    """(source, reason) of each file that cannot be read."""
    stopped: bool = False

    @property
    def changed(self) -> bool:
        """Whether anything was to be done."""
        return bool(self.put or self.renamed or self.removed or self.failures)


@dataclass(frozen=True, slots=True)
class _Failure:
    """A file that could not be read, and what tells that it has changed since, be it only in who may read it."""

    signature: tuple[int, float, float]
    reason: str


@dataclass(slots=True)
class FolderSync:
    """Keeps a dataset's documents below a folder equal to its files; other documents are never touched.

    Sources are absolute paths, or with ``options.id_prefix`` the prefix and the path within the folder. Each document
    is one transaction and nothing is remembered but the ledger, so a pass may be stopped, or killed, at any moment.
    A file of the size and modification time that are stored is not read. Where a disk is not mounted its folder stands
    empty: of a folder without any file nothing is removed unless ``allow_empty`` says that this is meant. Raises
    InvalidInputError for such a folder and when there is none, and NotFoundError when there is no such dataset.
    """

    braid: DataDirectory
    dataset_id: int
    folder: str
    options: IngestOptions = field(default_factory=IngestOptions)
    allow_empty: bool = False
    parse: Parse | None = None
    """Reads files, in another process for instance; None reads them here."""
    within: bool = False
    """Whether links that lead out of the folder are refused: who may write there need not be who may read them."""
    _failed: dict[str, _Failure] = field(default_factory=dict, init=False, repr=False)
    """Files that could not be read, by source: they are not tried again until they change."""

    def __post_init__(self) -> None:
        self.folder = os.path.abspath(self.folder)
        self.options = replace(self.options, relative=bool(self.options.id_prefix), relative_to=self.folder)
        self.braid.dataset(self.dataset_id)
        self._require_folder()

    def plan(self) -> SyncPlan:
        """What a pass would do now; files are read where a rename is to be recognized."""
        self._require_folder()
        walk = find_files([self.folder], ignore=self.options.ignore, leave_out=(self._data_dir(),))
        found = [replace(file, problem=file.problem or self._leads_out(file.path)) for file in walk]
        files, _ = plan_files(found, self.options)
        stored = {document.source: document for document in self._documents()}
        wanted = {file.source for file in files}
        self._failed = {source: failure for source, failure in self._failed.items() if source in wanted}
        unseen = self._unlisted(found)
        gone = [d for source, d in stored.items() if source not in wanted and not source.startswith(unseen)]
        if gone and not self.allow_empty and all(file.problem for file in files):
            raise self._is_empty(len(stored))
        changed = [file for file in files if not self._is_as_stored(file, stored.get(file.source))]
        renames = _renames([file for file in changed if file.source not in stored], gone)
        moved_to, moved_from = {r.file.source for r in renames}, {r.source for r in renames}
        return SyncPlan(
            puts=tuple(file for file in changed if file.source not in moved_to),
            renames=tuple(renames),
            removals=tuple(document.source for document in gone if document.source not in moved_from),
            unchanged=len(files) - len(changed),
        )

    def run(
        self,
        *,
        should_stop: Callable[[], bool] = lambda: False,
        on_step: Callable[[str, str], None] = lambda step, source: None,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> SyncReport:
        """One pass. ``on_step`` is told ``renamed``, ``put``, ``failed`` or ``removed``, and the source;
        ``on_progress`` before each step how many of all are done, and what it raises ends the pass.
        """
        plan = self.plan()
        report = SyncReport(unchanged=plan.unchanged)
        for done, work in enumerate(self._steps(plan)):
            on_progress(done, plan.steps)
            if should_stop():
                report = replace(report, stopped=True)
                break
            step, source, reason = work()
            report = _counted(report, step, source, reason)
            on_step(step, source)
        if report.changed:
            self.braid.wake()
        return report

    def unreadable(self) -> list[tuple[str, str]]:
        """(source, reason) of every file that could not be read, in this pass or an earlier one."""
        return sorted((source, failure.reason) for source, failure in self._failed.items())

    def _steps(self, plan: SyncPlan) -> list[Callable[[], tuple[str, str, str]]]:
        """Renames first, so that what moved is never removed, and removals last."""
        return [
            *(lambda rename=rename: self._rename(rename) for rename in plan.renames),
            *(lambda file=file: self._put(file) for file in plan.puts),
            *(lambda source=source: self._remove(source) for source in plan.removals),
        ]

    def _rename(self, rename: Rename) -> tuple[str, str, str]:
        file = rename.file
        if self._leads_out(file.path):
            return self._put(file)
        try:
            path = Path(file.path)
            incoming = incoming_file(path, file.source)
            document = (self.parse or parse_file)(path, incoming, self.options)
            self.braid.ledger.rename_document(self.dataset_id, rename.source, document)
        except (OSError, UnreadableDocumentError, NotFoundError, InvalidInputError):  # it changed meanwhile
            return self._put(file)
        return ("renamed", file.source, "")

    def _put(self, file: PlannedFile) -> tuple[str, str, str]:
        signature = _failure_signature(file.path)
        file = replace(file, problem=file.problem or self._leads_out(file.path))  # it may have become a link
        result: IngestedFile = ingest_planned(self.braid, self.dataset_id, file, self.options, parse=self.parse)
        self._failed.pop(file.source, None)
        if result.state == "failed" and signature is not None:
            self._failed[file.source] = _Failure(signature, result.reason)
        return (result.state, result.source, result.reason)

    def _remove(self, source: str) -> tuple[str, str, str]:
        self.braid.ledger.remove_document(self.dataset_id, source)
        return ("removed", source, "")

    def _is_as_stored(self, file: PlannedFile, document: Document | None) -> bool:
        failure = self._failed.get(file.source)
        if failure is not None and failure.signature == _failure_signature(file.path):
            return True
        signature = _signature(file.path)
        if document is None or document.state != "ready" or signature is None or document.date is None:
            return False
        return (document.size_bytes, document.date) == signature

    def _leads_out(self, path: str) -> str:
        """What is wrong with a link out of the folder; empty for everything else."""
        if not self.within or not os.path.islink(path):
            return ""
        if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.folder)):
            return ""
        return "the link leads out of the folder; copy the file into it"

    def _documents(self) -> Sequence[Document]:
        return self.braid.ledger.documents(self.dataset_id, source_prefix=self._source_of(self.folder))

    def _unlisted(self, found: Iterable[FoundFile]) -> tuple[str, ...]:
        """What the sources in folders that cannot be listed start with: of these nobody knows what is gone."""
        return tuple(self._source_of(file.path) for file in found if file.is_folder and file.problem)

    def _data_dir(self) -> str:
        """Where the walk comes upon it, also when the folder is reached by a link."""
        return os.path.join(self.folder, os.path.relpath(self.braid.data_dir, os.path.realpath(self.folder)))

    def _source_of(self, folder: str) -> str:
        if not self.options.id_prefix:
            return source_name(os.path.join(folder, "").replace(os.sep, "/"))
        below = os.path.relpath(folder, self.folder).replace(os.sep, "/")
        return source_name("" if below == os.curdir else f"{below}/", prefix=self.options.id_prefix)

    def _require_folder(self) -> None:
        if not os.path.isdir(self.folder):
            raise InvalidInputError(f"there is no folder {self.folder!r}; nothing is changed", field="folder")

    def _is_empty(self, documents: int) -> InvalidInputError:
        kept = f"{documents:,} documents of it stay" if documents != 1 else "one document of it stays"
        return InvalidInputError(
            f"the folder {self.folder!r} has no file to store, so the {kept} in dataset {self.dataset_id}: is its disk "
            "mounted? If it is meant to be empty, `watch --once --allow-empty` on the command line removes them",
            field="folder",
        )


def _renames(new: Sequence[PlannedFile], gone: Sequence[Document]) -> list[Rename]:
    """New files with the bytes and the format of a document that is gone; each document once, by source."""
    by_size: dict[int, list[Document]] = {}
    for document in gone:
        if document.state == "ready" and document.content_hash:
            by_size.setdefault(document.size_bytes, []).append(document)
    found: list[Rename] = []
    for file in new:
        signature = _signature(file.path)
        candidates = by_size.get(signature[0], []) if signature is not None and not file.problem else []
        digest = _digest(file.path) if candidates else ""
        same = [d for d in candidates if d.content_hash == digest and _same_format(d.source, file.path)]
        if same:
            candidates.remove(same[0])
            found.append(Rename(same[0].source, file))
    return found


def _same_format(source: str, path: str) -> bool:
    return file_type_of(source) == file_type_of(path)


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:  # reading it will say what is wrong
        return ""


def _signature(path: str) -> tuple[int, float] | None:
    """Size in bytes and modification time, as the ledger has them; None for a file that is not there."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return (stat.st_size, stat.st_mtime)


def _failure_signature(path: str) -> tuple[int, float, float] | None:
    """With the time of the last change of any kind: a file that may be read from now on has the bytes it had."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return (stat.st_size, stat.st_mtime, stat.st_ctime)


def _counted(report: SyncReport, step: str, source: str, reason: str) -> SyncReport:
    match step:
        case "put":
            return replace(report, put=report.put + 1)
        case "renamed":
            return replace(report, renamed=report.renamed + 1)
        case "removed":
            return replace(report, removed=report.removed + 1)
        case "failed":
            return replace(report, failures=(*report.failures, (source, reason)))
        case _:
            return replace(report, unchanged=report.unchanged + 1)
