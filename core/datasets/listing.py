"""Lists: an overview per dataset, and the documents of datasets by name and state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, and_, case, exists, false, func, literal, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from braid.core.ledger.change_log import StateNames
from braid.core.ledger.database import Database, storable
from braid.core.ledger.queries import SAYS_A_GAP, document_of, read_in_part, select_documents
from braid.core.ledger.tables import (
    ChunkRow,
    DatasetRow,
    DocumentMetadataRow,
    DocumentRow,
    EmbeddingRow,
    IndexStateRow,
    JobRow,
)
from braid.core.types import Dataset, Document

DocumentState = Literal["waiting", "done", "incomplete", "failed"]
"""Not in both indexes yet, in both, readable only in part, or not readable."""
DocumentOrder = Literal["changed", "name", "type", "passages", "size"]
"""What a list is sorted by: failed ones and then those changed last, names from a to z, the most or largest first."""
FingerprintOf = Callable[[str], str]
"""Returns the fingerprint of a collection's embedding model, empty where there is none."""
NAMES = (DocumentRow.title, DocumentRow.source)
MAX_LOOKED_AT = 100_000
"""Passages that are looked at for a vector each time documents are counted; of more, none is, and documents are ready
in the order in which they came."""
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
    """Uploads and other jobs that are not done yet, without ``scans``."""
    incomplete: int = 0
    scans: int = 0
    """Documents whose scanned pages are still to be read."""

    @property
    def busy(self) -> bool:
        """Whether jobs or documents are waiting."""
        return bool(self.jobs or self.scans or self.waiting)


def overviews(
    database: Database,
    datasets: Sequence[Dataset],
    *,
    index_names: StateNames,
    fingerprint_of: FingerprintOf = lambda _: "",
) -> dict[int, Overview]:
    """Return dataset id → overview, in five statements however many datasets there are.

    ``fingerprint_of`` tells the embedding model of a collection; without it a document is ready when all changes before
    it are. Jobs are counted before documents: a job that ends in between has become a document, so nothing is missed.
    """
    ids = [dataset.id for dataset in datasets]
    jobs = (
        select(JobRow.dataset_id, func.count(), func.sum(case((JobRow.kind == "scan", 1), else_=0)))
        .where(JobRow.state.in_(("queued", "running")), JobRow.dataset_id.in_(ids))
        .group_by(JobRow.dataset_id)
    )
    running = {row[0]: (row[1], int(row[2])) for row in database.fetch(jobs)}
    waiting = _waiting(database, {dataset.collection for dataset in datasets}, index_names, fingerprint_of)
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
        jobs_left, scans = running.get(each, (0, 0))
        found[each] = Overview(size_bytes, failed, waits, jobs_left - scans, incomplete.get(each, 0), scans)
    return found


def find_documents(
    database: Database,
    dataset: Dataset,
    *,
    index_names: StateNames,
    fingerprint_of: FingerprintOf = lambda _: "",
    name: str = "",
    state: DocumentState | None = None,
    order: DocumentOrder = "changed",
    backwards: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> tuple[list[Document], int]:
    """Return a page of the documents whose title or source contains ``name``, sorted, and the number of all of them.

    ``backwards`` is the other direction of the same order, ``fingerprint_of`` is that of `overviews`.
    """
    conditions: list[ColumnElement[bool]] = [DocumentRow.dataset_id == dataset.id]
    if part := storable(name).strip():
        conditions.append(_is_called(part))
    if state is not None:
        conditions.append(_in_state(database, dataset, state, index_names, fingerprint_of))
    page = select_documents().where(*conditions).order_by(*_sorted(order, backwards)).limit(limit).offset(offset)
    with database.read() as connection:
        total = connection.execute(select(func.count()).select_from(DocumentRow).where(*conditions)).scalar_one()
        return [document_of(row) for row in connection.execute(page)], total


def documents_named(database: Database, dataset_ids: Collection[int], part: str, *, limit: int = 20) -> list[Document]:
    """Return documents of the datasets whose title or source contains ``part``: those whose name, the title or else the
    source, is it, then those whose name begins with it, then those whose name has it; of each the shortest names first.

    Case is ignored as far as the database can: SQLite only does for a to z.
    """
    part = storable(part).strip()
    if not part or not dataset_ids:
        return []
    nearest = case(
        (func.lower(literal(part)) == SHOWN_NAME, 0),
        (SHOWN_NAME.istartswith(part, autoescape=True), 1),
        (SHOWN_NAME.icontains(part, autoescape=True), 2),
        else_=3,
    )
    statement = (
        select_documents()
        .where(DocumentRow.dataset_id.in_(dataset_ids), _is_called(part))
        .order_by(nearest, func.length(SHOWN_NAME), func.length(DocumentRow.source), DocumentRow.source)
        .limit(limit)
    )
    return [document_of(row) for row in database.fetch(statement)]


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
    database: Database, dataset: Dataset, state: DocumentState, index_names: StateNames, fingerprint_of: FingerprintOf
) -> ColumnElement[bool]:
    if state == "failed":
        return DocumentRow.state == "failed"
    if state == "incomplete":
        return read_in_part()
    waiting = _waiting(database, {dataset.collection}, index_names, fingerprint_of)
    return waiting if state == "waiting" else (DocumentRow.state == "ready") & ~waiting


def _waiting(
    database: Database, collections: Collection[str], index_names: StateNames, fingerprint_of: FingerprintOf
) -> ColumnElement[bool]:
    """Return the condition that a readable document of one of the collections is not in both indexes yet.

    A document whose passages have vectors is in the index by meaning, though one before it may not be.
    """
    own = select(DatasetRow.collection).where(DatasetRow.id == DocumentRow.dataset_id)
    of_document = own.correlate(DocumentRow).scalar_subquery()

    def by_collection(values: dict[str, Any]) -> ColumnElement[Any]:
        """Return the value of the document's collection, by a list and not a chain of conditions: there may be many."""
        distinct = set(values.values())
        return literal(distinct.pop()) if len(distinct) == 1 else case(values, value=of_document)

    if not collections:
        return false()
    with database.read() as connection:
        rows = connection.execute(
            select(IndexStateRow.collection, IndexStateRow.leg, IndexStateRow.applied_seq)
            .where(IndexStateRow.leg.in_(index_names.values()), IndexStateRow.collection.in_(collections))
            .where(IndexStateRow.state != "rebuilding")
        ).all()
        applied = {(row.collection, row.leg): row.applied_seq for row in rows}
        behind = {
            leg: DocumentRow.changed_seq > by_collection({each: applied.get((each, name), -1) for each in collections})
            for leg, name in index_names.items()
        }
        within = DocumentRow.dataset_id.in_(select(DatasetRow.id).where(DatasetRow.collection.in_(collections)))
        looked_at = select(func.sum(DocumentRow.chunks)).where(DocumentRow.state == "ready", within, behind["dense"])
        exact = (connection.execute(looked_at).scalar() or 0) <= MAX_LOOKED_AT
    by_meaning = behind["dense"]
    if exact:
        by_meaning &= _lacks_vectors(by_collection({each: fingerprint_of(each) for each in collections}))
    return and_(DocumentRow.state == "ready", within, or_(behind["bm25"], by_meaning))


def _lacks_vectors(model: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that a passage of the document has no vector of the model."""
    embedded = exists().where(EmbeddingRow.chunk_id == ChunkRow.id, EmbeddingRow.model == model)
    return (DocumentRow.chunks == 0) | exists().where(ChunkRow.document_id == DocumentRow.id, ~embedded)
