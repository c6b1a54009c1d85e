"""Reading documents and passages: the statements behind the ledger's answers."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Select, bindparam, func, select

from braid.core.ledger.database import storable
from braid.core.ledger.tables import ChunkRow, DatasetRow, DocumentRow
from braid.core.types import Filters, Passage


def select_documents() -> Select[*tuple[Any, ...]]:
    """The columns of `braid.core.types.Document`."""
    statement: Select[*tuple[Any, ...]] = select(
        DocumentRow.id,
        DocumentRow.dataset_id,
        DocumentRow.source,
        DocumentRow.title,
        DocumentRow.file_type,
        DocumentRow.state,
        DocumentRow.error,
        DocumentRow.chunks,
        DocumentRow.size_bytes,
        DocumentRow.content_hash,
        DocumentRow.date,
        DocumentRow.updated_at,
    )
    return statement


def within_datasets() -> ColumnElement[bool]:
    """The scope, as the parameter ``datasets``. It is checked for rows that are found by their own id, so the index
    on ``dataset_id`` must not be used: SQLite would read every chunk of the datasets for it. Hence the ``+ 0``.
    """
    return (ChunkRow.dataset_id + 0).in_(bindparam("datasets", expanding=True))


def select_passages(filters: Filters | None) -> Select[*tuple[Any, ...]]:
    """Passages of the datasets in parameter ``datasets`` that the filters select."""
    statement: Select[*tuple[Any, ...]] = (
        select(
            ChunkRow.id.label("chunk_id"),
            ChunkRow.document_id,
            ChunkRow.dataset_id,
            DatasetRow.collection,
            DocumentRow.source,
            DocumentRow.title,
            DocumentRow.file_type,
            ChunkRow.heading_path,
            ChunkRow.text,
            ChunkRow.position,
            ChunkRow.page,
            ChunkRow.page_end,
            ChunkRow.line,
            ChunkRow.line_end,
            DocumentRow.date,
            DocumentRow.meta.label("metadata"),
        )
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .join(DatasetRow, DatasetRow.id == ChunkRow.dataset_id)
        .where(
            within_datasets(),
            DatasetRow.removed_at.is_(None),
            *document_conditions(filters),
        )
    )
    return statement


def document_conditions(filters: Filters | None) -> list[ColumnElement[bool]]:
    """The filters as conditions on documents."""
    if not filters:
        return []
    conditions: list[ColumnElement[bool]] = []
    if filters.file_types:
        conditions.append(DocumentRow.file_type.in_(sorted(map(storable, filters.file_types))))
    if filters.source_prefix:
        conditions.append(source_starts_with(filters.source_prefix))
    if filters.date_from is not None:
        conditions.append(DocumentRow.date >= filters.date_from)
    if filters.date_to is not None:
        conditions.append(DocumentRow.date <= filters.date_to)
    return conditions


def source_starts_with(prefix: str) -> ColumnElement[bool]:
    """Exactly: SQLite's LIKE takes upper and lower case for equal."""
    prefix = storable(prefix)
    return func.substr(DocumentRow.source, 1, len(prefix)) == prefix


def passage_of(row: RowMapping) -> Passage:
    """A row of `select_passages` as a passage."""
    return Passage(**row)
