"""Statements that read documents and passages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, or_, select

from braid.core.json_form import read_reason
from braid.core.ledger.database import storable
from braid.core.ledger.metadata_sql import Way, condition
from braid.core.ledger.prepared import Value
from braid.core.ledger.tables import DocumentMetadataRow, DocumentRow
from braid.core.metadata import parse_where, read_metadata
from braid.core.metadata.gaps import GAPS
from braid.core.types import PART, Document, Filters, Passage, PassageKind

_DOCUMENT = tuple(getattr(DocumentRow, "meta" if each.name == "metadata" else each.name) for each in fields(Document))


def select_documents() -> Select[*tuple[Any, ...]]:
    """Return a statement with the columns of `braid.core.types.Document`."""
    return select(*_DOCUMENT)


def document_of(row: Sequence[Any]) -> Document:
    """Return a row with the columns of `select_documents` as a document."""
    *columns, metadata = row
    document = Document(*(*columns, read_metadata(json_of(metadata))))
    return replace(document, error=read_reason(document.error)) if document.error else document


SAYS_A_GAP: ColumnElement[bool] = and_(
    DocumentMetadataRow.key.in_(GAPS), or_(DocumentMetadataRow.text != "", DocumentMetadataRow.number > 0)
)
"""The condition that a value of metadata says that something of its document was not read."""


def read_in_part() -> ColumnElement[bool]:
    """Return the condition that something of a document was not read."""
    of_document = DocumentMetadataRow.document_id == DocumentRow.id
    return select(DocumentMetadataRow.document_id).where(of_document, SAYS_A_GAP).exists()


class PassageRow(NamedTuple):
    """A row of the statements that read passages; a `Passage` takes ten times longer to make."""

    chunk_id: str
    document_id: int
    dataset_id: int
    collection: str
    source: str
    title: str
    file_type: str
    heading_path: str
    text: str
    position: int
    page: int | None
    page_end: int | None
    line: int | None
    line_end: int | None
    date: float | None
    metadata: str | dict[str, Any]
    chunk_kind: PassageKind = ""
    confidence: float | None = None
    text_hash: int = 0
    """See `braid.core.ledger.document_batch.text_hash`."""

    def passage(self) -> Passage:
        """Return the row as a passage."""
        return Passage(*(*self[:-4], read_metadata(json_of(self.metadata)), self.chunk_kind, self.confidence))


def json_of(stored: str | dict[str, Any]) -> dict[str, Any]:
    """Return what is in a column of JSON, which SQLite has as text and PostgreSQL's driver has read."""
    if stored == "{}":  # as most passages have it
        return {}
    read: dict[str, Any] = json.loads(stored) if isinstance(stored, str) else stored
    return read


def filtered(
    statement: str, filters: Filters | None, way: Way, *, of_passages: bool = True
) -> tuple[str, dict[str, Value]]:
    """Return a statement on documents ``t``, and with ``of_passages`` on their passages ``c``, with its filters on
    metadata, and the parameters of all filters.
    """
    where, parameters = condition(parse_where(filters.metadata) if filters else None, way, of_passages=of_passages)
    return f"{statement} AND {where}", {**filter_parameters(filters), **parameters}


def filter_parameters(filters: Filters | None) -> dict[str, Value]:
    """Return the filters as parameters of the statements that select documents; without filters all are selected."""
    filters = Filters() if filters is None else filters
    prefix = storable(filters.source_prefix)
    return {
        "any_type": int(not filters.file_types),
        "file_types": [storable(name) for name in filters.file_types],
        "any_source": int(not prefix),
        "prefix": prefix,
        "prefix_length": len(prefix),
        "any_start": int(filters.date_from is None),
        "date_from": filters.date_from or 0.0,
        "any_end": int(filters.date_to is None),
        "date_to": filters.date_to or 0.0,
        "any_kind": int(not filters.chunk_kinds),
        "chunk_kinds": sorted(filters.chunk_kinds),
    }


def is_part_of(source: str, dialect: str) -> ColumnElement[bool]:
    """Return the condition that a document is ``source`` itself or one of its parts, by the index of sources."""
    column = DocumentRow.source.collate("C") if dialect == "postgresql" else DocumentRow.source
    prefix = f"{source}{PART}"
    return (DocumentRow.source == source) | ((column >= f"{prefix}1") & (column < f"{prefix}:"))


def source_starts_with(prefix: str) -> ColumnElement[bool]:
    """Return the condition that the source starts with ``prefix``, case-sensitive, as SQLite's LIKE is not."""
    prefix = storable(prefix)
    return func.substr(DocumentRow.source, 1, len(prefix)) == prefix
