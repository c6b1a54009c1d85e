"""Statements that read documents and passages."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Select, bindparam, func, select

from braid.core.ledger.database import storable
from braid.core.ledger.tables import ChunkRow, DatasetRow, DocumentRow
from braid.core.types import Filters, Passage


def select_documents() -> Select[*tuple[Any, ...]]:
    """Return a statement with the columns of `braid.core.types.Document`."""
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
    """Return the condition that a chunk is in one of the datasets of the parameter ``datasets``.

    It is for rows that are looked up by their own id, so SQLite must not use the index on ``dataset_id``, for which it
    would read every chunk of the datasets. Hence the ``+ 0``.
    """
    return (ChunkRow.dataset_id + 0).in_(bindparam("datasets", expanding=True))


def select_passages(filters: Filters | None) -> Select[*tuple[Any, ...]]:
    """Return a statement for passages of the datasets in parameter ``datasets`` that the filters select."""
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
    """Return the filters as conditions on documents."""
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
    """Return the condition that the source starts with ``prefix``, case-sensitive, as SQLite's LIKE is not."""
    prefix = storable(prefix)
    return func.substr(DocumentRow.source, 1, len(prefix)) == prefix


def passage_of(row: RowMapping) -> Passage:
    """Return a row of `select_passages` as a passage."""
    return Passage(**row)
