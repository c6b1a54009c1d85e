"""The list of a dataset's documents: jobs that will become documents, and documents with their indexing progress."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from flask import request

from braid.app.auth.identity import identity
from braid.app.pages.datasets.blueprint import address, visible_datasets
from braid.app.site import site
from braid.app.words.gaps import gaps
from braid.core.background.dataset_jobs import UNDONE
from braid.core.datasets.listing import DocumentOrder, DocumentState, Overview, find_documents, overviews
from braid.core.indexes.document_progress import DocumentProgress, Stage, document_progress
from braid.core.jobs.store import ADDING, FAILED, OPEN, Job, JobState
from braid.core.types import Dataset, Document

PER_PAGE = 50
MAX_PAGE = 10**6
DONE: tuple[JobState, ...] = ("done",)
SHOWN_JOBS = 10
"""Waiting jobs that are listed; for the others the page shows a number."""
FILTERS: tuple[DocumentState, ...] = get_args(DocumentState)
ORDERS: tuple[DocumentOrder, ...] = get_args(DocumentOrder)
BACKWARDS = "-"
"""How the name of an order begins in an address when it goes the other way."""

RowStage = Stage | Literal["queued", "reading"]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the list. Addresses are empty if the action is not available."""

    key: str
    name: str
    stage: RowStage
    source: str = ""
    href: str = ""
    reason: str = ""
    gaps: Sequence[str] = ()
    """What of the document could not be read."""
    file_type: str = ""
    chunks: int = 0
    embedded: int = 0
    size_bytes: int = 0
    changed: float = 0.0
    """When it was stored last, in seconds since the epoch; 0 for a job."""
    document_id: int = 0
    pages_read: int = 0
    """Number of scanned pages, of ``pages``, that have been read by machine so far."""
    pages: int = 0
    retry: str = ""
    remove: str = ""
    replaced: float = 0.0
    """When the version was stored that the last upload has replaced, in seconds since the epoch; 0 without one."""
    undo: str = ""


@dataclass(frozen=True, slots=True)
class DocumentList:
    """One page of the list, with the numbers of all jobs, listed or not."""

    rows: tuple[Row, ...]
    total: int
    page: int
    more: bool
    name: str
    state: DocumentState | None
    overview: Overview
    queued: int
    reading: int
    failed_jobs: int
    order: DocumentOrder
    backwards: bool
    counts: Mapping[DocumentState | None, int]
    """Documents and jobs by state, under None all of them."""

    @property
    def arguments(self) -> dict[str, str]:
        """Query arguments that select the same documents, in the same order."""
        order = (BACKWARDS if self.backwards else "") + self.order
        given = (("name", self.name), ("state", self.state or ""), ("order", "" if order == ORDERS[0] else order))
        return {key: value for key, value in given if value}

    def sorted_by(self, order: DocumentOrder) -> dict[str, str]:
        """Return the query arguments of this list in another order; in the one that it has, of the other direction."""
        back = order == self.order and not self.backwards
        return {**self.arguments, "order": (BACKWARDS if back else "") + order}


def document_list(dataset: Dataset) -> DocumentList:
    """Return the list that the request asks for.

    Reads the progress first: if nothing is in progress then, the rows read afterwards are final.
    """
    here = site()
    names = here.braid.index_names
    fingerprint_of = here.braid.fingerprint_of
    about = overviews(here.braid.ledger.database, [dataset], index_names=names, fingerprint_of=fingerprint_of)[
        dataset.id
    ]
    name, wanted = request.args.get("name", "")[:200], request.args.get("state", "")
    state = next((known for known in FILTERS if known == wanted), None)
    page = min(max(0, request.args.get("page", 0, type=int)), MAX_PAGE)
    order, backwards = _order()
    found, total = find_documents(
        here.braid.ledger.database,
        dataset,
        index_names=names,
        fingerprint_of=fingerprint_of,
        name=name,
        state=state,
        order=order,
        backwards=backwards,
        limit=PER_PAGE,
        offset=page * PER_PAGE,
    )
    may_write = visible_datasets().may_write(dataset)
    waiting, failed = _jobs(dataset) if may_write else ([], [])
    files = here.background.store.unreadable_files([dataset.id], also_faults=True) if may_write else {}
    unreadable = files.get(dataset.id, 0) if may_write else about.failed
    new = [job for job in waiting if job.kind != "scan"]  # a document whose scanned pages wait is in the list
    # jobs are listed above the first page; their documents have no name to search for yet
    jobs_shown = page == 0 and not name
    first = (
        [_job_row(dataset, job) for job in waiting[:SHOWN_JOBS]] if jobs_shown and state in (None, "waiting") else []
    )
    lost = _lost(dataset, failed, again={job.title for job in waiting})
    read_anew = {
        job.title for job in new if job.state == "running" and here.braid.ledger.document(dataset.id, job.title)
    }
    if jobs_shown and state in (None, "failed"):
        first = [*(_job_row(dataset, job) for job in lost), *first]
    if jobs_shown and state is None:
        found = [each for each in found if each.source not in read_anew]
    return DocumentList(
        rows=(*first, *_document_rows(dataset, found)),
        total=total,
        page=page,
        more=total > (page + 1) * PER_PAGE,
        name=name,
        state=state,
        overview=about,
        queued=sum(job.state == "queued" for job in new),
        reading=sum(job.state == "running" for job in new),
        failed_jobs=sum(map(_is_mine, failed)),
        order=order,
        backwards=backwards,
        counts=_counts(dataset, about, waiting=len(waiting), new=len(new) - len(read_anew), unreadable=unreadable),
    )


def _order() -> tuple[DocumentOrder, bool]:
    """Return the order that the request asks for, and whether it goes the other way."""
    given = request.args.get("order", "")
    known = next((order for order in ORDERS if order == given.removeprefix(BACKWARDS)), ORDERS[0])
    return known, given == BACKWARDS + known


def _counts(
    dataset: Dataset, about: Overview, *, waiting: int, new: int, unreadable: int
) -> dict[DocumentState | None, int]:
    """Count what each filter shows; of the ``waiting`` jobs ``new`` have no document, nor have all ``unreadable``
    files.
    """
    here = site().braid
    documents = here.ledger.dataset(dataset.id).documents
    _, incomplete = find_documents(
        here.ledger.database, dataset, index_names=here.index_names, state="incomplete", limit=1
    )
    return {
        None: documents + new + max(0, unreadable - about.failed),
        "waiting": about.waiting + waiting,
        "done": max(0, documents - about.failed - about.waiting),
        "incomplete": incomplete,
        "failed": unreadable,
    }


def _jobs(dataset: Dataset) -> tuple[list[Job], list[Job]]:
    """Return the waiting jobs, running ones first, and the last failed ones."""
    store, most = site().background.store, site().settings.max_waiting_jobs
    waiting = store.of_dataset(dataset.id, kinds=ADDING, states=OPEN, newest_first=False, limit=most)
    failed = store.of_dataset(dataset.id, kinds=ADDING, states=FAILED, limit=PER_PAGE)
    return sorted(waiting, key=lambda job: job.state != "running"), failed


def _lost(dataset: Dataset, failed: Sequence[Job], again: Collection[str]) -> list[Job]:
    """Return failed jobs that left no document, such as a page that could not be fetched, and are not tried again."""
    ledger = site().braid.ledger
    latest = {job.title: job for job in reversed(failed)}
    return [job for title, job in latest.items() if title not in again and ledger.document(dataset.id, title) is None]


def _job_row(dataset: Dataset, job: Job) -> Row:
    return Row(
        key=f"job-{job.id}",
        name=job.title.rpartition("/")[2] if job.kind != "url" else job.title,
        source=job.title,
        stage="failed" if job.state == "failed" else "reading" if job.state == "running" else "queued",
        reason=job.error,
        size_bytes=int(job.payload.get("size_bytes") or 0),
        pages_read=job.done if job.kind == "scan" else 0,
        pages=job.total if job.kind == "scan" else 0,
        retry=_retry(dataset, job),
        remove=address("forget_job", dataset.id, job_id=job.id) if _is_mine(job) else "",
    )


def _retry(dataset: Dataset, job: Job) -> str:
    """Return the address that retries a job; empty for other users' jobs, which only they may retry."""
    return address("retry_job", dataset.id, job_id=job.id) if job.state == "failed" and _is_mine(job) else ""


def _is_mine(job: Job) -> bool:
    return job.user_id == identity().account.id


def _document_rows(dataset: Dataset, found: Sequence[Document]) -> list[Row]:
    progress = document_progress(site().braid, dataset.id, [document.id for document in found])
    may_write = visible_datasets().may_write(dataset)
    retries = _retries(dataset, found) if may_write else {}
    rows = [_document_row(dataset, each, progress.get(each.id), retries.get(each.source, "")) for each in found]
    return (
        [_with_replaced(dataset, row, last) for row, last in zip(rows, _last(dataset, found), strict=True)]
        if may_write
        else rows
    )


def _last(dataset: Dataset, found: Sequence[Document]) -> list[Job | None]:
    """Return the last upload of each document that is listed still."""
    store, sources = site().background.store, [document.source for document in found]
    jobs = store.of_dataset(dataset.id, kinds=UNDONE, states=DONE, titles=sources, limit=1000) if sources else []
    latest = {job.title: job for job in reversed(jobs)}
    return [latest.get(source) for source in sources]


def _with_replaced(dataset: Dataset, row: Row, last: Job | None) -> Row:
    """Return the row with what the user's last upload of it has replaced."""
    if last is None or not _is_mine(last) or last.result.get("document_id") != row.document_id:
        return row
    undo = address("undo_job", dataset.id, job_id=last.id) if last.result.get("file") else ""
    return replace(row, replaced=float(last.result.get("replaced") or 0), undo=undo)


def _retries(dataset: Dataset, found: Sequence[Document]) -> Mapping[str, str]:
    """Return source → address that retries its failed upload."""
    failed = [document.source for document in found if document.state == "failed"]
    if not failed:
        return {}
    jobs = site().background.store.of_dataset(dataset.id, kinds=ADDING, states=FAILED, titles=failed, limit=1000)
    return {job.title: _retry(dataset, job) for job in reversed(jobs)}


def _document_row(dataset: Dataset, document: Document, progress: DocumentProgress | None, retry: str) -> Row:
    return Row(
        key=f"document-{document.id}",
        name=document.title or document.source,
        source=document.source,
        href=address("document", dataset.id, document_id=document.id),
        stage=progress.stage if progress else "parsed",
        reason=document.error,
        gaps=gaps(document.metadata),
        file_type=document.file_type,
        chunks=document.chunks,
        embedded=progress.embedded if progress else 0,
        size_bytes=document.size_bytes,
        changed=document.updated_at,
        document_id=document.id,
        retry=retry,
    )
