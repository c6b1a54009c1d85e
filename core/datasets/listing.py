"""Lists: an overview per dataset, and the documents of datasets by name and state."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, case, func, literal, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from braid.core.ledger.change_log import StateNames
from braid.core.ledger.database import Database, storable
from braid.core.ledger.queries import SAYS_A_GAP, document_of, read_in_part, select_documents
from braid.core.ledger.tables import DatasetRow, DocumentMetadataRow, DocumentRow, IndexStateRow, JobRow
from braid.core.types import Dataset, Document

DocumentState = Literal["waiting", "done", "incomplete", "failed"]
"""Not in both indexes yet, in both, readable only in part, or not readable."""
DocumentOrder = Literal["changed", "name", "type", "passages", "size"]
"""What a list is sorted by: failed ones and then those changed last, names from a to z, the most or largest first."""
NAMES = (DocumentRow.title, DocumentRow.source)
SHOWN_NAME = func.lower(case((DocumentRow.title != "", DocumentRow.title), else_=DocumentRow.source))


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts of one dataset. ``size_bytes`` is of the original files; ``failed``, ``waiting`` and ``incomplete``, those
    that were read in part, are documents.
    """

    size_bytes: int = 0
    failed: int = 0
    waiting: int = 0
    jobs: int = 0
    """Uploads and other jobs that are not done yet."""
    incomplete: int = 0

    @property
    def busy(self) -> bool:
        """Whether jobs or documents are waiting."""
        return bool(self.jobs or self.waiting)


def overviews(database: Database, datasets: Sequence[Dataset], *, index_names: StateNames) -> dict[int, Overview]:
    """Return dataset id → overview, in four statements however many datasets there are.

    Jobs are counted before documents: a job that ends in between has become a document, so nothing is missed.
    """
    ids = [dataset.id for dataset in datasets]
    jobs = (
        select(JobRow.dataset_id, func.count())
        .where(JobRow.state.in_(("queued", "running")), JobRow.dataset_id.in_(ids))
        .group_by(JobRow.dataset_id)
    )
    with database.read() as connection:
        running = {row[0]: row[1] for row in connection.execute(jobs)}
    waiting = _waiting(_applied_seqs(database, {dataset.collection for dataset in datasets}, index_names))
    documents = (
        select(
            DocumentRow.dataset_id,
            func.sum(DocumentRow.size_bytes),
            func.sum(case((DocumentRow.state == "failed", 1), else_=0)),
            func.sum(case((waiting, 1), else_=0)),
        )
        .join(DatasetRow, DatasetRow.id == DocumentRow.dataset_id)
        .where(DocumentRow.dataset_id.in_(ids))
        .group_by(DocumentRow.dataset_id)
    )
    in_part = (
        select(DocumentMetadataRow.dataset_id, func.count(DocumentMetadataRow.document_id.distinct()))
        .where(DocumentMetadataRow.dataset_id.in_(ids), SAYS_A_GAP)
        .group_by(DocumentMetadataRow.dataset_id)
    )
    with database.read() as connection:
        stored = {row[0]: [int(value or 0) for value in row[1:]] for row in connection.execute(documents)}
        incomplete = {row[0]: row[1] for row in connection.execute(in_part)}
    found = {}
    for each in ids:
        size_bytes, failed, waits = stored.get(each, (0, 0, 0))
        found[each] = Overview(size_bytes, failed, waits, running.get(each, 0), incomplete.get(each, 0))
    return found


def find_documents(
    database: Database,
    dataset: Dataset,
    *,
    index_names: StateNames,
    name: str = "",
    state: DocumentState | None = None,
    order: DocumentOrder = "changed",
    backwards: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> tuple[list[Document], int]:
    """Return a page of the documents whose title or source contains ``name``, sorted, and the number of all of them.

    ``backwards`` is the other direction of the same order.
    """
    conditions: list[ColumnElement[bool]] = [DocumentRow.dataset_id == dataset.id]
    if part := storable(name).strip():
        conditions.append(_is_called(part))
    if state is not None:
        conditions.append(_in_state(database, dataset, state, index_names))
    page = select_documents().where(*conditions).order_by(*_sorted(order, backwards)).limit(limit).offset(offset)
    with database.read() as connection:
        total = connection.execute(select(func.count()).select_from(DocumentRow).where(*conditions)).scalar_one()
        return [document_of(row) for row in connection.execute(page)], total


def documents_named(database: Database, dataset_ids: Collection[int], part: str, *, limit: int = 20) -> list[Document]:
    """Return documents of the datasets whose title or source contains ``part``, those that begin with it first.

    Case is ignored as far as the database can: SQLite only does for a to z.
    """
    part = storable(part).strip()
    if not part or not dataset_ids:
        return []
    begins = or_(*(name.istartswith(part, autoescape=True) for name in NAMES))
    statement = (
        select_documents()
        .where(DocumentRow.dataset_id.in_(dataset_ids), _is_called(part))
        .order_by(begins.desc(), func.length(DocumentRow.source), DocumentRow.source)
        .limit(limit)
    )
    with database.read() as connection:
        return [document_of(row) for row in connection.execute(statement)]


def _sorted(order: DocumentOrder, backwards: bool) -> list[ColumnElement[object]]:
    """Return the order; documents that are equal in it are by id, so that pages of the list never overlap."""
    by: dict[DocumentOrder, tuple[tuple[ColumnElement[object] | InstrumentedAttribute[object], bool], ...]] = {
        "changed": (
            (case((DocumentRow.state == "failed", 1), else_=0), True),
            (DocumentRow.updated_at, True),
            (DocumentRow.id, True),
        ),
        "name": ((SHOWN_NAME, False), (DocumentRow.id, False)),
        "type": ((DocumentRow.file_type, False), (SHOWN_NAME, False), (DocumentRow.id, False)),
        "passages": ((DocumentRow.chunks, True), (DocumentRow.id, True)),
        "size": ((DocumentRow.size_bytes, True), (DocumentRow.id, True)),
    }
    return [column.desc() if falls != backwards else column.asc() for column, falls in by[order]]


def _is_called(part: str) -> ColumnElement[bool]:
    return or_(*(name.icontains(part, autoescape=True) for name in NAMES))


def _in_state(
    database: Database, dataset: Dataset, state: DocumentState, index_names: StateNames
) -> ColumnElement[bool]:
    if state == "failed":
        return DocumentRow.state == "failed"
    if state == "incomplete":
        return read_in_part()
    applied = _applied_seqs(database, {dataset.collection}, index_names).get(dataset.collection, -1)
    behind = DocumentRow.changed_seq > applied if state == "waiting" else DocumentRow.changed_seq <= applied
    return (DocumentRow.state == "ready") & behind


def _waiting(applied: dict[str, int]) -> ColumnElement[bool]:
    """Return the condition that a readable document is not in both indexes yet. Needs the dataset joined."""
    seqs = [(DatasetRow.collection == collection, seq) for collection, seq in applied.items()]
    known = case(*seqs, else_=-1) if seqs else literal(-1)
    return (DocumentRow.state == "ready") & (DocumentRow.changed_seq > known)


def _applied_seqs(database: Database, collections: Collection[str], index_names: StateNames) -> dict[str, int]:
    """Return collection → the last change that both indexes have, if neither is missing or being rebuilt."""
    states = (
        select(IndexStateRow.collection, func.min(IndexStateRow.applied_seq))
        .where(IndexStateRow.leg.in_(index_names.values()), IndexStateRow.collection.in_(collections))
        .where(IndexStateRow.state != "rebuilding")
        .group_by(IndexStateRow.collection)
        .having(func.count() == len(index_names))
    )
    with database.read() as connection:
        return {row[0]: row[1] for row in connection.execute(states)}
