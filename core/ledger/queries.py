"""Statements that read documents and passages, and filters on metadata as their conditions.

The text of a condition depends on the filter's shape alone, never on its keys and values, so that the database prepares
one statement for all filters of a shape.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, or_, select

from braid.core.json_form import read_reason
from braid.core.ledger.database import storable
from braid.core.ledger.prepared import Value
from braid.core.ledger.tables import DocumentMetadataRow, DocumentRow
from braid.core.metadata import parse_where, read_metadata
from braid.core.metadata.gaps import GAPS
from braid.core.metadata.values import Kind
from braid.core.metadata.where import DOCUMENT_FACTS, FACTS, All, Condition, Not, Test, Where
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
        "file_types": sorted(_spellings(filters.file_types)),
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


# ---------------------------------------------------------------- filters on metadata

Way = Literal["all", "each"]
"""How documents are found: ``all`` that match, by the index of values, or ``each`` of a few, by its id."""

_FROM: Mapping[Way, str] = {
    "all": "t.id IN (SELECT m.document_id FROM document_metadata m WHERE m.dataset_id IN :datasets AND {row})",
    "each": "EXISTS (SELECT 1 FROM document_metadata m WHERE m.document_id = t.id AND {row})",
}
_TESTS: Mapping[Test, str] = {
    "between": "{value} >= :low{n} AND {value} <= :high{n}",
    "equal": "{value} = :value{n}",
    "greater": "{value} > :value{n}",
    "at_least": "{value} >= :value{n}",
    "less": "{value} < :value{n}",
    "at_most": "{value} <= :value{n}",
    "part": "instr({value}, :value{n}) > 0",
    "one_of": "{value} IN :value{n}",
}
_COLUMNS: Mapping[str, str] = {
    **{key: f"t.{key}" for key in ("file_type", "source", "title", "date", "dataset_id")},
    "document_id": "t.id",
    "user_id": "(SELECT d.user_id FROM datasets d WHERE d.id = t.dataset_id)",
    "collection": "(SELECT d.collection FROM datasets d WHERE d.id = t.dataset_id)",
    **{key: f"c.{key}" for key in ("page", "page_end", "line", "line_end", "position", "confidence")},
    **{key: f"NULLIF(c.{key}, '')" for key in ("heading_path", "chunk_kind")},
    "id": "c.id",
    "chunk_id": "c.id",
}
"""Where Braid's own facts are, of the document ``t`` and the passage ``c``."""


def condition(where: Where | None, way: Way, *, of_passages: bool) -> tuple[str, dict[str, Value]]:
    """Return the condition on the document ``t``, with its parameters; always true without a filter.

    With ``of_passages`` it is on the passage ``c``, too; else a document has none of the facts of a passage.
    """
    if where is None:
        return "1 = 1", {}
    writing = _Writing(way, FACTS if of_passages else DOCUMENT_FACTS)
    return writing.text(where), writing.parameters


class _Writing:
    """Writes one filter, and collects its parameters."""

    def __init__(self, way: Way, facts: Mapping[str, Kind]) -> None:
        self._way, self._facts = way, facts
        self._keys: dict[str, str] = {}
        self.parameters: dict[str, Value] = {}

    def text(self, where: Where) -> str:
        if isinstance(where, Condition):
            return self._condition(where)
        if isinstance(where, Not):
            return f"NOT {self.text(where.part)}"
        parts: Collection[str] = [self.text(part) for part in where.parts]
        return f"({(' AND ' if isinstance(where, All) else ' OR ').join(parts)})"

    def _condition(self, where: Condition) -> str:
        key, has_key = self._key(where.key), _FROM["each"]
        row = f"m.key = :{key}"
        test = self._test(where)
        if test:
            is_text = where.kind in ("text", "item")
            row = f"{row} AND m.kind = '{where.kind}'"
            row += " AND m.number IS NULL" if is_text else ""  # in the index, the number is before the text
            row += f" AND {test.format(value='m.text' if is_text else 'm.number')}"
        found = _FROM[self._way].format(row=row)
        kind = self._facts.get(where.key)
        if kind is None or (test and kind != where.kind):
            return found
        column = _COLUMNS[where.key]
        own = f"{column} IS NOT NULL" + (f" AND {test.format(value=column)}" if test else "")
        return f"({found} OR ({own} AND NOT {has_key.format(row=f'm.key = :{key}')}))"

    def _key(self, key: str) -> str:
        name = self._keys.setdefault(key, f"key{len(self._keys)}")
        self.parameters[name] = key
        return name

    def _test(self, where: Condition) -> str:
        """Return the test of ``{value}``; empty where any value will do."""
        if where.test == "any":
            return ""
        number = len(self.parameters)
        if where.test == "between":
            low, high = where.values
            self.parameters |= {f"low{number}": low, f"high{number}": high}
        else:
            self.parameters[f"value{number}"] = where.values if where.test == "one_of" else where.values[0]
        return _TESTS[where.test].format(value="{value}", n=number)


def _spellings(file_types: Iterable[str]) -> set[str]:
    """Return formats and labels as they are given, and as formats are stored: ``md`` for ``.MD``."""
    given = {storable(name) for name in file_types}
    return given | {name.strip().lower().removeprefix(".") for name in given}
