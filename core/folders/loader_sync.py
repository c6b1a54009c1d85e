"""A dataset kept equal to what a loader of another package lists: the pages of a wiki, the mails of a mailbox."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from itertools import islice
from typing import Any

from braid.core.data_directory import DataDirectory
from braid.core.errors import BraidError, InvalidInputError
from braid.core.extras import installed
from braid.core.folders.plan import Step, SyncPlan
from braid.core.folders.sync import Outcome, SyncReport, run_plan
from braid.core.ingest.incoming import Incoming, Parse, last_part
from braid.core.ingest.ingest_document import ingest_document
from braid.core.ingest.plan import IngestOptions, PlannedFile, file_type_of, source_name
from braid.core.ingest.walk import ignore_spec
from braid.core.ledger.deleted_documents import DeletedDocuments

LOADERS = "braid.loaders"
"""Group of entry points: the name is what an address begins with, the object a function that takes the rest of the
address and returns an iterable of `ListedDocument`.
"""
MAX_LISTED = 1_000_000
MAX_FAULT_CHARS = 300


class LoaderError(BraidError):
    """A loader of another package cannot be loaded, failed, or listed what is no list of documents."""


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document that a loader lists, and how to read its bytes.

    >>> page = ListedDocument("Home.md", lambda: b"# Home", date=1_700_000_000.0, metadata={"space": "team"})
    >>> page.read()
    b'# Home'
    """

    name: str
    """Unique in the list; its suffix decides the format."""
    read: Callable[[], bytes]
    """Called only for a document that is new, or has another date than the one stored."""
    date: float | None = None
    """When the document was changed, in seconds since the epoch. Without a date it is read each time."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


def find_loader(address: str) -> EntryPoint | None:
    """Return the loader that an address such as ``wiki:team`` begins with; None where no such loader is installed."""
    name, colon, _ = address.partition(":")
    return installed(LOADERS).get(name) if colon else None


@dataclass(slots=True)
class LoaderSync:
    """Keeps the documents below an address equal to what its loader lists; those with other sources are never touched.

    Sources are the address, a slash and the name in the list, or with ``options.id_prefix`` the prefix and the name.
    Each document is one transaction. One that the loader cannot read keeps its stored version. One that was deleted and
    can still be restored is left out until it has another date. Raises LoaderError, before anything is changed, when
    the list cannot be read to its end; InvalidInputError for an address without a loader, and for an empty list while
    there are documents, unless ``allow_empty`` is set; NotFoundError when there is no such dataset.
    """

    directory: DataDirectory
    dataset_id: int
    address: str
    options: IngestOptions = field(default_factory=IngestOptions)
    allow_empty: bool = False
    parse: Parse = field(kw_only=True)
    _failed: dict[str, float] = field(default_factory=dict, init=False, repr=False)
    """The dates of documents that cannot be read: they are read again when they have another one."""

    def plan(self) -> SyncPlan:
        """Plan what `run` would do now; no document is read."""
        return self._plan(self._listed())

    def run(self, *, should_stop: Callable[[], bool] = lambda: False) -> SyncReport:
        """Sync once. When ``should_stop()`` becomes true, the sync ends after the current document."""
        listed = self._listed()

        def apply(step: Step) -> Outcome:
            if isinstance(step, PlannedFile):
                return self._put(step.source, listed[step.source])
            self.directory.ledger.remove_document(self.dataset_id, step.source)
            return "removed", step.source, ""

        return run_plan(self.directory, self._plan(listed), apply, should_stop=should_stop)

    def _listed(self) -> dict[str, ListedDocument]:
        """Return the listed documents by source, without those that the options leave out."""
        self.directory.dataset(self.dataset_id)
        point = find_loader(self.address)
        if point is None:
            known = ", ".join(installed(LOADERS)) or "none"
            raise InvalidInputError(
                f"{self.address!r} begins with no loader that is installed (there is {known})", field="address"
            )
        name = f"the loader {point.name} of {point.value}"
        try:
            listed = list(islice(point.load()(self.address.partition(":")[2]), MAX_LISTED + 1))
        except Exception as error:  # the edge to another package
            raise LoaderError(f"{name} failed, so nothing is changed: {_fault(error)}") from error
        if len(listed) > MAX_LISTED:
            raise LoaderError(f"{name} lists more than {MAX_LISTED:,} documents; give an address with fewer")
        ignored = ignore_spec(self.options.ignore)
        found: dict[str, ListedDocument] = {}
        for document in listed:
            if not isinstance(document, ListedDocument) or not isinstance(document.name, str):
                raise LoaderError(f"{name} lists {type(document).__name__}, not ListedDocument with a name")
            date: object = document.date
            if date is not None and not (isinstance(date, (int, float)) and math.isfinite(date)):
                told = f"{document.name!r} the date {date!r}, not seconds since the epoch"
                raise LoaderError(f"{name} gives {told}, so nothing is changed")
            if ignored.match_file(document.name) or not self._is_wanted(document):
                continue
            source = source_name(document.name, prefix=self._prefix)
            if source in found:
                raise LoaderError(f"{name} lists {document.name!r} twice; give each document a name of its own")
            found[source] = document
        return found

    def _plan(self, listed: Mapping[str, ListedDocument]) -> SyncPlan:
        documents = self.directory.ledger.documents(self.dataset_id, source_prefix=self._prefix)
        stored = {
            each.source: each.date if each.state == "ready" else self._failed.get(each.source) for each in documents
        }
        gone = tuple(source for source in stored if source not in listed)
        if gone and not listed and not self.allow_empty:
            raise InvalidInputError(
                f"{self.address!r} lists nothing, so the {len(gone):,} documents of it in dataset {self.dataset_id} "
                "stay; if that is meant, `watch --once --allow-empty` on the command line removes them",
                field="address",
            )
        deleted = DeletedDocuments(self.directory.ledger).left_out(self.dataset_id, self._prefix)
        changed = [
            source
            for source, each in listed.items()
            if (each.date is None or each.date != stored.get(source))
            and (source in stored or source not in deleted or deleted[source].date not in (None, each.date))
        ]
        puts = tuple(PlannedFile(listed[source].name, source) for source in changed)
        return SyncPlan(puts, removals=gone, unchanged=len(listed) - len(puts))

    def _put(self, source: str, listed: ListedDocument) -> Outcome:
        """Store one document."""
        try:
            content: object = listed.read()
        except Exception as error:  # the edge to another package: the other documents are stored all the same
            return "failed", source, f"it cannot be loaded: {_fault(error)}"
        if not isinstance(content, bytes):
            return "failed", source, f"the loader read {type(content).__name__}, not bytes"
        incoming = Incoming.from_bytes(content, source, filename=last_part(listed.name), date=listed.date)
        try:
            incoming = replace(incoming, metadata=listed.metadata)
            stored = ingest_document(self.directory.ledger, self.dataset_id, incoming, self.options, parse=self.parse)
        except InvalidInputError as error:  # metadata that cannot be stored
            return "failed", source, str(error)
        self._failed.pop(source, None)
        if stored.state == "failed" and listed.date is not None:
            self._failed[source] = listed.date
        return stored.state, source, stored.reason

    @property
    def _prefix(self) -> str:
        return source_name("", prefix=self.options.id_prefix or f"{self.address}/")

    def _is_wanted(self, listed: ListedDocument) -> bool:
        since, file_types = self.options.since, self.options.file_types
        if file_types and file_type_of(listed.name) not in file_types:
            return False
        return since is None or listed.date is None or listed.date >= since


def _fault(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:MAX_FAULT_CHARS]
