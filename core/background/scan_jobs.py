"""Scan jobs: a machine reads the scanned pages of a document, page by page, after the rest of it is searchable."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from braid.core.errors import NotFoundError, ReadingInterruptedError, Reason, UnreadableDocumentError
from braid.core.ingest.formats import FORMATS
from braid.core.ingest.incoming import Incoming, last_part
from braid.core.ingest.parse_pool import ParsePool
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.scans.program import LANGUAGES, PAGE_S, Tesseract, find_tesseract, install_command
from braid.core.ingest.scans.reading import PageReading
from braid.core.ingest.spool import Spool
from braid.core.jobs.runner import JobStopped, Progress
from braid.core.jobs.store import OPEN, AddJobs, Job, JobKind, JobStore, NewJob
from braid.core.metadata.gaps import GARBLED_PAGES, PAGES_TO_READ, PAGES_WITHOUT_TEXT, SCAN_CONFIDENCE, SCANNED_PAGES
from braid.core.originals.scans import Scans
from braid.core.originals.store import Originals
from braid.core.types import Document, DocumentInput

if TYPE_CHECKING:
    from braid.core.data_directory import DataDirectory

logger = logging.getLogger(__name__)

SCAN: tuple[JobKind, ...] = ("scan",)
OFF = "scan_pages_per_minute"
"""The remedy where reading is turned off: the setting that turns it on."""
STORE_EVERY = 20
"""Pages after which what was read is stored, so that it is found, and others have their turn."""
TRIES = 2
"""Times that a page is read in one job when the process that reads it is killed."""
LOOK_EVERY_S = 0.5
"""Seconds between two looks whether a job that waits is still wanted."""


@dataclass(frozen=True, slots=True)
class ScanRules:
    """The languages of scanned pages, as Tesseract names them, and how many pages are read per minute; 0: none."""

    languages: tuple[str, ...] = LANGUAGES
    pages_per_minute: int = 30


@dataclass(slots=True, kw_only=True)
class ScanJobs:
    """Queues and runs the jobs of the kind ``scan``: one at a time, in a thread of their own."""

    directory: DataDirectory
    jobs: JobStore
    add: AddJobs
    spool: Spool
    originals: Originals
    pool: ParsePool
    options: IngestOptions
    rules: ScanRules
    keeps_files: bool
    """Whether `originals` gets the files of documents. Otherwise each job has its own copy in the spool."""
    rest: Callable[[], None]
    store: Scans = field(init=False)
    _next: float = field(init=False, default=0.0)
    """When the next page may be read, by the monotonic clock."""

    def __post_init__(self) -> None:
        self.store = Scans(self.directory.ledger.database)

    @property
    def remedy(self) -> str:
        """A remedy where scanned pages are not read, such as a command; empty where they are read."""
        if not self.rules.pages_per_minute:
            return OFF
        tesseract = find_tesseract()
        is_there = tesseract is not None and tesseract.languages(self.rules.languages)
        return "" if is_there else install_command(self.rules.languages)

    def parse(self, incoming: Incoming, options: IngestOptions, /, *, timeout_s: float | None = None) -> DocumentInput:
        """Parse a file as `ParsePool.parse`; one that is all scanned has no passage yet where it will be read."""
        if incoming.scans is None and not self.remedy:
            incoming = replace(incoming, scans={})
        return self.pool.parse(incoming, options, timeout_s=timeout_s)

    # ------------------------------------------------------------ queueing

    def queue_if_needed(self, job: Job, document_id: int, incoming: Incoming) -> None:
        """Queue the reading of a document that the job has just stored, if pages of it wait and can be read."""
        if self.remedy:
            return
        document = self.directory.ledger.document_with_id(document_id, [job.dataset_id])
        if document is None or not document.metadata.get(PAGES_TO_READ) or self._is_queued(document):
            return
        payload = {} if self.keeps_files or incoming.path is None else self._copy(incoming.path)
        if not self.add(job.user_id, [_new(document, payload)], same=_reading) and payload:
            self.spool.remove(payload["file"])

    def queue_waiting(self, user_id: int, *, dataset_ids: Collection[int] | None = None) -> tuple[int, int]:
        """Queue the reading of all documents with pages that wait, as far as their files are there.

        Returns the number of documents that were queued, and of those whose file is not there. Queues nothing while
        pages cannot be read; see `remedy`.
        """
        if self.remedy:
            return 0, 0
        found = self.store.waiting_documents(dataset_ids=dataset_ids)
        with_file = self.originals.ids_with_file(found) if found else set()
        new = [_new(each, {}) for each in found if each.id in with_file]
        added = self.add(user_id, new, same=_reading) if new else []
        return len(added), sum(each.id not in with_file for each in found)

    def _is_queued(self, document: Document) -> bool:
        titles = [document.source]
        found = self.jobs.of_dataset(document.dataset_id, kinds=SCAN, states=OPEN, titles=titles)
        return (document.id, document.content_hash) in map(_reading, found)

    def _copy(self, path: Path) -> dict[str, Any]:
        with path.open("rb") as stream:
            kept = self.spool.save(stream, max_bytes=self.options.max_file_bytes, called="the file")
        return {"file": kept.name}

    # ------------------------------------------------------------ reading

    def run(self, job: Job, progress: Progress) -> dict[str, Any]:
        """Read the scanned pages of a document that were not read yet, and store its passages again. A run begins with
        the page behind those that an interrupted one has tried; what that has given up comes last.
        """
        tesseract = find_tesseract()
        if tesseract is None or self.remedy:
            raise UnreadableDocumentError(Reason("scanned pages are not read here: %(command)s", command=self.remedy))
        document = self.directory.ledger.document_with_id(job.payload["document_id"], [job.dataset_id])
        if document is None or document.content_hash != job.payload["content_hash"]:
            return {"state": "superseded", "pages": 0}
        incoming = self._file(job, document)
        pages = self._pages(document, incoming)
        read = {page: reading for page, reading in self.store.of(document).items() if page in pages}
        for at in _from(job.done, len(pages)):
            page = pages[at]
            if page in read:
                continue
            self._wait_for_turn(progress, at, len(pages))
            reading = self._read(incoming, page, tesseract)
            if reading is None:
                progress(at + 1, len(pages))
                continue
            read[page] = reading
            if not self.store.add(document, page, read[page]):
                return {"state": "superseded", "pages": 0}
            progress(at + 1, len(pages))
            if len(read) % STORE_EVERY == 0 and len(read) < len(pages):
                self._store(document, incoming, read)
                if self.jobs.others_wait(job):
                    self.jobs.hand_over(job)
                    raise JobStopped
        return self._store(document, incoming, read)

    def _file(self, job: Job, document: Document) -> Incoming:
        spooled = job.payload.get("file")
        path = self.spool.path(spooled) if spooled else self.originals.find(document)
        if path is None or not path.exists():
            raise NotFoundError(Reason("the file of %(name)s is not kept any more; add it again", name=document.source))
        return replace(
            Incoming.from_file(path, document.source, filename=_filename(document)), date=document.date, scans={}
        )

    def _pages(self, document: Document, incoming: Incoming) -> list[int]:
        told = document.metadata.get(SCANNED_PAGES)
        if not told:  # it was stored while no machine was there
            told = self.pool.parse(incoming, self.options).metadata.get(SCANNED_PAGES)
        return [int(page) for page in str(told or "").split(", ") if page.isdecimal()]

    def _wait_for_turn(self, progress: Progress, done: int, total: int) -> None:
        """Wait until another page may be read, and for searches. Raises `JobStopped` when the job is not wanted."""
        while (left_s := self._next - time.monotonic()) > 0:
            progress(done, total)
            time.sleep(min(left_s, LOOK_EVERY_S))
        self._next = time.monotonic() + 60 / self.rules.pages_per_minute
        self.rest()

    def _read(self, incoming: Incoming, page: int, tesseract: Tesseract) -> PageReading | None:
        """Read one page; one that cannot be read has no words. None, and the page goes on waiting, where the process
        that read it was killed twice. The others are read all the same.
        """
        for _ in range(TRIES):
            try:
                return self._read_once(incoming, page, tesseract)
            except ReadingInterruptedError as error:
                logger.warning("event=scan_interrupted page=%s reason=%s", page, error)
        return None

    def _read_once(self, incoming: Incoming, page: int, tesseract: Tesseract) -> PageReading:
        assert incoming.path is not None, "the file is on the disk"
        try:
            return self.pool.read_scan(
                incoming.path,
                page,
                tesseract=tesseract,
                languages=tesseract.languages(self.rules.languages),
                timeout_s=PAGE_S,
            )
        except ReadingInterruptedError:
            raise
        except UnreadableDocumentError:
            if incoming.path is not None and not incoming.path.is_file():
                raise NotFoundError(
                    Reason("the file of %(name)s is not kept any more; add it again", name=incoming.source)
                ) from None
            return PageReading((), 0, 0)

    def _store(self, document: Document, incoming: Incoming, read: Mapping[int, PageReading]) -> dict[str, Any]:
        try:
            parsed = self.pool.parse(replace(incoming, scans=read), self.options)
        except UnreadableDocumentError as error:  # there is nothing on its pages: it is no document that is ready
            told = {key: value for key, value in document.metadata.items() if key != PAGES_TO_READ}
            is_told = self.directory.ledger.fail_reading(document, str(error), metadata=told)
            if not is_told:
                raise
            return {"state": "failed", "document_id": document.id, "pages": len(read), "chunks": 0}
        now = self.directory.ledger.document_with_id(document.id, [document.dataset_id])
        if now is None or now.content_hash != document.content_hash:
            return {"state": "superseded", "pages": 0}
        document = now  # date and metadata may have been changed while its pages were read
        old = (PAGES_TO_READ, PAGES_WITHOUT_TEXT, GARBLED_PAGES, SCAN_CONFIDENCE, SCANNED_PAGES)
        kept = {key: value for key, value in document.metadata.items() if key not in old}
        again = replace(
            parsed,
            title=document.title if document.state == "ready" else parsed.title,
            file_type=document.file_type,
            date=document.date,
            metadata={**parsed.metadata, **kept},
        )
        put = self.directory.ledger.put_reading(document.dataset_id, again)
        state = "superseded" if put is None else "put"
        return {"state": state, "document_id": document.id, "pages": len(read), "chunks": len(again.chunks)}


def _new(document: Document, payload: Mapping[str, Any]) -> NewJob:
    more = {"document_id": document.id, "content_hash": document.content_hash, "size_bytes": document.size_bytes}
    return NewJob("scan", document.source, document.dataset_id, {**more, **payload})


def _from(start: int, total: int) -> Iterator[int]:
    """Yield the places 0 … total - 1 from ``start`` on, and then those before it.

    >>> list(_from(2, 4)), list(_from(4, 4))
    ([2, 3, 0, 1], [0, 1, 2, 3])
    """
    return ((start + at) % total for at in range(total))


def _reading(job: NewJob | Job) -> tuple[Any, Any]:
    """Return which bytes of which document a scan job reads: one for earlier bytes ends without having read these."""
    return job.payload.get("document_id"), job.payload.get("content_hash")


def _filename(document: Document) -> str:
    """Return a name whose suffix is the format's, which a label that the user gave may hide."""
    name = last_part(document.source)
    suffixes = next((form.suffixes for form in FORMATS if form.file_type == document.file_type), ())
    return name if not suffixes or name.lower().endswith(suffixes) else f"{name}{suffixes[0]}"
