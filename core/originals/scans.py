"""Text that machines read on scanned pages, kept in the ledger by document and page, and the pages that still wait."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection

from sqlalchemy import ColumnElement, delete, exists, func, insert, select

from braid.core.ingest.scans.reading import PageReading
from braid.core.ledger.database import Database
from braid.core.ledger.queries import document_of, select_documents
from braid.core.ledger.tables import DatasetRow, DocumentMetadataRow, DocumentRow, ScanRow
from braid.core.metadata.gaps import PAGES_TO_READ
from braid.core.types import Document


class Scans:
    """Keeps the readings of a document's pages by the hash of its bytes: a changed document begins without readings.

    >>> Scans(braid.ledger.database).waiting()
    (0, 0)
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, document: Document, page: int, reading: PageReading) -> bool:
        """Keep what was read on a page, counted from 1; False when the document, or its bytes, are gone."""
        packed = zlib.compress(json.dumps(reading.to_json(), ensure_ascii=False).encode())
        values = {"document_id": document.id, "page": page, "content_hash": document.content_hash, "reading": packed}
        with self._database.write() as connection:
            there = (DocumentRow.id == document.id, DocumentRow.content_hash == document.content_hash)
            if connection.execute(select(DocumentRow.id).where(*there)).first() is None:
                return False
            connection.execute(delete(ScanRow).where(ScanRow.document_id == document.id, ScanRow.page == page))
            connection.execute(insert(ScanRow).values(**values))
        return True

    def of(self, document: Document) -> dict[int, PageReading]:
        """Return the readings of all pages of the document that were read, by page."""
        columns = select(ScanRow.page, ScanRow.reading).where(*_of(document)).order_by(ScanRow.page)
        return {row.page: _unpacked(row.reading) for row in self._database.fetch(columns)}

    def get(self, document: Document, page: int) -> PageReading | None:
        """Return the reading of one page; None where no machine has read it."""
        column = select(ScanRow.reading).where(*_of(document), ScanRow.page == page)
        packed = self._database.find(column)
        return None if packed is None else _unpacked(packed)

    def waiting(self) -> tuple[int, int]:
        """Return how many pages wait to be read by a machine, and of how many documents."""
        counts = select(func.coalesce(func.sum(DocumentMetadataRow.number), 0), func.count()).where(*_WAIT)
        [(pages, documents)] = self._database.fetch(counts)
        return int(pages or 0), int(documents)

    def waiting_documents(self, *, dataset_ids: Collection[int] | None = None) -> list[Document]:
        """Return the documents with pages that wait, of these datasets if any are given, the smallest first."""
        wait = exists().where(DocumentMetadataRow.document_id == DocumentRow.id, *_WAIT)
        statement = select_documents().where(wait).order_by(DocumentRow.size_bytes, DocumentRow.id)
        if dataset_ids is not None:
            statement = statement.where(DocumentRow.dataset_id.in_(dataset_ids))
        return [document_of(row) for row in self._database.fetch(statement)]

    def sweep(self) -> int:
        """Delete the readings of bytes that a document no longer has; return how many."""
        same = (DocumentRow.id == ScanRow.document_id, DocumentRow.content_hash == ScanRow.content_hash)
        return self._database.change(delete(ScanRow).where(~exists().where(*same)))


_WAIT: tuple[ColumnElement[bool], ...] = (
    DocumentMetadataRow.key == PAGES_TO_READ,
    DocumentMetadataRow.kind == "number",
    DocumentMetadataRow.number > 0,
    DocumentMetadataRow.dataset_id.in_(select(DatasetRow.id).where(DatasetRow.removed_at.is_(None))),
)


def _of(document: Document) -> tuple[ColumnElement[bool], ...]:
    return ScanRow.document_id == document.id, ScanRow.content_hash == document.content_hash


def _unpacked(packed: bytes) -> PageReading:
    return PageReading.from_json(json.loads(zlib.decompress(packed)))
