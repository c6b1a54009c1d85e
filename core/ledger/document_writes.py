"""Writes of a document and its chunks, each inside a transaction of the ledger."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, func, insert, literal, select, update

from braid.core.batches import batches
from braid.core.errors import InvalidInputError, JobCancelledError, NotFoundError
from braid.core.ledger.database import ROWS_PER_STATEMENT, storable
from braid.core.ledger.queries import select_documents
from braid.core.ledger.tables import ChangeRow, ChunkRow, DatasetRow, DocumentRow, JobRow
from braid.core.types import ChunkInput, DocumentInput

SUPERSEDED = "superseded"
"""State in the result of an upload that was not stored, since a later request wrote or deleted the document."""


@dataclass(frozen=True, slots=True)
class PutResult:
    """Counts of a put: chunks added, kept with their id and embedding, and removed."""

    document_id: int
    added: int = 0
    kept: int = 0
    removed: int = 0
    unchanged: bool = False


def chunk_id(document_id: int, title: str, chunk: ChunkInput, occurrence: int) -> str:
    """Return 32 hexadecimal digits that stay the same as long as the chunk's indexed text does.

    ``occurrence`` counts equal passages of one document from 0.
    """
    parts = (str(document_id), title, chunk.heading_path, chunk.text, str(occurrence))
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]


def require_dataset(connection: Connection, dataset_id: int) -> str:
    """Return the dataset's collection and lock its row for this transaction. Raises NotFoundError."""
    statement = select(DatasetRow.collection).where(DatasetRow.id == dataset_id, DatasetRow.removed_at.is_(None))
    collection = connection.execute(statement.with_for_update()).scalar_one_or_none()
    if collection is None:
        raise NotFoundError(f"there is no dataset {dataset_id}")
    return collection


def lock_datasets(connection: Connection, condition: ColumnElement[bool]) -> None:
    """Keep others from changing these datasets' chunks until the end of the transaction."""
    statement = select(DatasetRow.id).where(condition).order_by(DatasetRow.id)
    connection.execute(statement.with_for_update()).all()


def put(connection: Connection, dataset_id: int, collection: str, document: DocumentInput) -> PutResult:
    """Store a document, or replace the one with the same source."""
    old = find_document(connection, dataset_id, document.source)
    if old is not None and is_same(old, document):
        meta = {storable(key): storable(value) for key, value in document.metadata.items()}
        refresh(connection, old.id, date=document.date, meta=meta)
        return PutResult(old.id, kept=old.chunks, unchanged=True)
    values = document_values(document, state="ready", error="", chunks=len(document.chunks))
    document_id = save_document(connection, dataset_id, old, values)
    return replace_chunks(connection, dataset_id, collection, document_id, document)


def find_document(connection: Connection, dataset_id: int, source: str) -> Row[Any] | None:
    """Return the stored document with this source; None when there is none."""
    return connection.execute(
        select_documents().where(DocumentRow.dataset_id == dataset_id, DocumentRow.source == storable(source))
    ).one_or_none()


def is_same(old: Row[Any], document: DocumentInput) -> bool:
    """Return whether putting the document would change no chunk."""
    return (
        bool(document.content_hash)
        and old.state == "ready"
        and old.content_hash == document.content_hash
        and old.title == storable(document.title)
    )


def supersede_uploads(connection: Connection, dataset_id: int, source: str, *, by_job: int | None = None) -> None:
    """End the uploads of this source that are still to be read: a later request wins.

    ``by_job`` is the job that writes now; None for a request that writes at once. Raises JobCancelledError when that
    job was cancelled or superseded itself.
    """
    if by_job is not None:
        state = connection.execute(select(JobRow.state).where(JobRow.id == by_job)).scalar_one_or_none()
        if state != "running":
            raise JobCancelledError(f"job {by_job} was ended before it was done")
    result = {"source": storable(source), "state": SUPERSEDED, "document_id": None, "chunks": 0}
    values = {"state": "done", "result": result, "finished_at": time.time()}
    connection.execute(update(JobRow).where(*unread_uploads(dataset_id, source, before=by_job)).values(**values))


def unread_uploads(dataset_id: int, source: str, *, before: int | None) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of jobs that are still to read a file of this source, accepted before that job if given."""
    is_open = (JobRow.state.in_(("queued", "running")), JobRow.kind.in_(("upload", "text")))
    named = (JobRow.dataset_id == dataset_id, JobRow.title == storable(source))
    return (*is_open, *named, *(() if before is None else (JobRow.id < before,)))


def refresh(connection: Connection, document_id: int, **values: Any) -> None:
    """Update columns that neither chunks nor indexes depend on, such as date and metadata, if they differ."""
    columns = [getattr(DocumentRow, name) for name in values]
    row = connection.execute(select(*columns).where(DocumentRow.id == document_id)).one()
    if row._mapping != values:
        statement = update(DocumentRow).where(DocumentRow.id == document_id)
        connection.execute(statement.values(**values, updated_at=time.time()))


def document_values(document: DocumentInput, *, state: str, error: str, chunks: int) -> dict[str, Any]:
    """Return a document as column values. Raises InvalidInputError when its source is empty."""
    if not document.source.strip():
        raise InvalidInputError("the document's source is empty; give its path or URL", field="source")
    return {
        "source": storable(document.source),
        "title": storable(document.title),
        "file_type": document.file_type,
        "state": state,
        "error": storable(error),
        "chunks": chunks,
        "size_bytes": document.size_bytes,
        "content_hash": document.content_hash,
        "date": document.date,
        "meta": {storable(key): storable(value) for key, value in document.metadata.items()},
        "updated_at": time.time(),
    }


def save_document(connection: Connection, dataset_id: int, old: Row[Any] | None, values: Mapping[str, Any]) -> int:
    """Insert or update the document's row and return its id."""
    if old is not None:
        connection.execute(update(DocumentRow).where(DocumentRow.id == old.id).values(**values))
        return int(old.id)
    row = {**values, "dataset_id": dataset_id, "created_at": values["updated_at"]}
    add_to_counters(connection, dataset_id, documents=1, chunks=0)
    return connection.execute(insert(DocumentRow).values(**row).returning(DocumentRow.id)).scalar_one()


def replace_chunks(
    connection: Connection, dataset_id: int, collection: str, document_id: int, document: DocumentInput
) -> PutResult:
    """Make the document's chunks those of ``document``; those that did not change keep their id and vector."""
    rows = {row["id"]: row for row in _chunk_rows(dataset_id, document_id, document)}
    before = set(connection.execute(select(ChunkRow.id).where(ChunkRow.document_id == document_id)).scalars())
    removed = sorted(before - rows.keys())
    added = [row for chunk_id, row in rows.items() if chunk_id not in before]
    kept = [row for chunk_id, row in rows.items() if chunk_id in before]
    for ids in batches(removed, ROWS_PER_STATEMENT):
        connection.execute(delete(ChunkRow).where(ChunkRow.id.in_(ids)))
    if added:
        connection.execute(insert(ChunkRow), added)
    if kept:
        _move_chunks(connection, kept)
    if log_chunks(connection, collection, [*removed, *(row["id"] for row in added)]):
        mark_changed(connection, collection, DocumentRow.id == document_id)
    add_to_counters(connection, dataset_id, documents=0, chunks=len(added) - len(removed))
    return PutResult(document_id, len(added), len(kept), len(removed))


def _move_chunks(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Update where these chunks are in the document: the text has stayed, its place may not."""
    places = [{"chunk": row["id"], **{column: row[column] for column in PLACE_COLUMNS}} for row in rows]
    connection.execute(update(ChunkRow).where(ChunkRow.id == bindparam("chunk")), places)


PLACE_COLUMNS = ("position", "page", "page_end", "line", "line_end")


def _chunk_rows(dataset_id: int, document_id: int, document: DocumentInput) -> Iterable[dict[str, Any]]:
    seen: Counter[str] = Counter()
    title = storable(document.title)
    for position, given in enumerate(document.chunks):
        chunk = ChunkInput(
            storable(given.text),
            storable(given.heading_path),
            given.page,
            given.page_end,
            given.line,
            given.line_end,
        )
        first_id = chunk_id(document_id, title, chunk, 0)
        occurrence = seen[first_id]
        seen[first_id] += 1
        yield {
            "id": first_id if occurrence == 0 else chunk_id(document_id, title, chunk, occurrence),
            "document_id": document_id,
            "dataset_id": dataset_id,
            "position": position,
            "text": chunk.text,
            "heading_path": chunk.heading_path,
            "page": chunk.page,
            "page_end": chunk.page_end,
            "line": chunk.line,
            "line_end": chunk.line_end,
        }


def _lock_log(connection: Connection) -> None:
    # Sequence numbers must become visible in their order, or an index would skip a late one. SQLite has only one
    # writer at a time.
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE changes IN SHARE ROW EXCLUSIVE MODE")


def log_chunks(connection: Connection, collection: str, chunk_ids: Sequence[str]) -> bool:
    """Record in the change log that these chunks came, went or moved. False when there are none."""
    if not chunk_ids:
        return False
    _lock_log(connection)
    connection.execute(insert(ChangeRow), [{"collection": collection, "chunk_id": key} for key in chunk_ids])
    return True


def mark_changed(connection: Connection, collection: str, condition: ColumnElement[bool]) -> None:
    """Record with these documents that the changes just logged are their last ones."""
    last = select(func.max(ChangeRow.seq)).where(ChangeRow.collection == collection).scalar_subquery()
    connection.execute(update(DocumentRow).where(condition).values(changed_seq=func.coalesce(last, 0)))


def log_dataset(connection: Connection, dataset_id: int, collection: str) -> None:
    """Record in the change log that every chunk of a dataset came or went."""
    _lock_log(connection)
    chunks = select(literal(collection), ChunkRow.id).where(ChunkRow.dataset_id == dataset_id)
    connection.execute(insert(ChangeRow).from_select(["collection", "chunk_id"], chunks))
    mark_changed(connection, collection, DocumentRow.dataset_id == dataset_id)


def add_to_counters(connection: Connection, dataset_id: int, *, documents: int, chunks: int) -> None:
    """Add to the dataset's counts of documents and chunks."""
    connection.execute(
        update(DatasetRow)
        .where(DatasetRow.id == dataset_id)
        .values(documents=DatasetRow.documents + documents, chunks=DatasetRow.chunks + chunks)
    )
