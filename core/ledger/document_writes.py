"""Writes of a document and its chunks, each inside a transaction of the ledger."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, delete, insert, literal, select, update

from braid.core.errors import InvalidInputError, JobCancelledError, NotFoundError, Reason
from braid.core.json_form import stored_json, stored_reason
from braid.core.ledger import prepared
from braid.core.ledger.database import execute, execute_each, storable, tell
from braid.core.ledger.queries import document_of
from braid.core.ledger.tables import (
    AccessRequestRow,
    ChangeRow,
    ChunkRow,
    DatasetRow,
    DocumentMetadataRow,
    DocumentRow,
    JobRow,
    ShareRow,
    SyncedFolderRow,
    TermRow,
)
from braid.core.metadata import clean_metadata
from braid.core.metadata.values import index_rows, shown
from braid.core.types import Document, DocumentInput

if TYPE_CHECKING:
    from braid.core.vector import Vector

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
    """The passages are as they were, since the document's bytes and title are."""
    is_new: bool = False
    """Nothing was stored under its source."""
    refreshed: bool = False
    """Its passages are unchanged, and its date or metadata is another one."""
    source: str = ""
    """The source that the document is stored under."""


def require_dataset(connection: Connection, dataset_id: int) -> str:
    """Return the dataset's collection and lock its row for this transaction. Raises NotFoundError."""
    row = execute(connection, prepared.LOCK_DATASET, dataset_id=dataset_id).one_or_none()
    if row is None:
        raise NotFoundError(Reason("there is no dataset %(id)s", id=dataset_id))
    return str(row.collection)


def lock_datasets(connection: Connection, condition: ColumnElement[bool]) -> None:
    """Keep others from changing these datasets' chunks until the end of the transaction."""
    statement = select(DatasetRow.id).where(condition).order_by(DatasetRow.id)
    connection.execute(statement.with_for_update()).all()


def find_document(connection: Connection, dataset_id: int, source: str) -> Document | None:
    """Return the stored document with this source; None when there is none."""
    if source != storable(source):
        return None
    row = execute(connection, prepared.DOCUMENT, dataset_id=dataset_id, source=source).one_or_none()
    return None if row is None else document_of(row)


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
    wanted = unread_uploads(dataset_id, source, before=by_job)
    execute(connection, prepared.SUPERSEDE_UPLOADS, result=stored_json(result), now=time.time(), **wanted)


def unread_uploads(dataset_id: int, source: str, *, before: int | None) -> dict[str, int | str]:
    """Return which jobs are still to read a file of this source, accepted before that job if given."""
    return {"dataset_id": dataset_id, "source": storable(source), "before": sys.maxsize if before is None else before}


def refresh(connection: Connection, document_id: int, **values: Any) -> None:
    """Update columns that neither chunks nor indexes depend on, such as date and metadata, if they differ."""
    columns = [getattr(DocumentRow, name) for name in values]
    row = connection.execute(select(*columns).where(DocumentRow.id == document_id)).one()
    if row._mapping != values:
        statement = update(DocumentRow).where(DocumentRow.id == document_id)
        connection.execute(statement.values(**values, updated_at=time.time()))


def document_values(document: DocumentInput, *, state: str, error: str, chunks: int) -> dict[str, Any]:
    """Return a document as column values. Raises InvalidInputError when its source is empty, or for its metadata."""
    if not document.source.strip():
        raise InvalidInputError("the document's source is empty; give its path or URL", field="source")
    return {
        "source": storable(document.source),
        "title": storable(document.title),
        "file_type": document.file_type,
        "state": state,
        "error": stored_reason(storable(error)),
        "chunks": chunks,
        "size_bytes": document.size_bytes,
        "content_hash": document.content_hash,
        "date": document.date,
        "meta": clean_metadata(document.metadata),
        "updated_at": time.time(),
    }


def require_storable(source: str) -> None:
    """Raise InvalidInputError for a source that would be stored as another one."""
    if source != storable(source):
        message = f"the source is {shown(source)}; leave out NUL characters and halves of surrogate pairs"
        raise InvalidInputError(message, field="source")


def save_document(connection: Connection, dataset_id: int, old: Document | None, values: Mapping[str, Any]) -> int:
    """Insert or update the document's row and return its id."""
    if old is not None:
        connection.execute(update(DocumentRow).where(DocumentRow.id == old.id).values(**values))
        return old.id
    row = {**values, "dataset_id": dataset_id, "created_at": values["updated_at"]}
    add_to_counters(connection, dataset_id, documents=1, chunks=0)
    return connection.execute(insert(DocumentRow).values(**row).returning(DocumentRow.id)).scalar_one()


def write_metadata(
    connection: Connection, dataset_id: int, metadata: Mapping[int, Mapping[str, Any]], *, stored: Collection[int]
) -> None:
    """Write the documents' metadata, in its JSON form by document id, where filters look for it.

    ``stored`` are the documents that had some before.
    """
    if stored:
        execute(connection, prepared.DELETE_METADATA, document_ids=stored)
    of_document = {"dataset_id": dataset_id}
    rows = [
        {**of_document, "document_id": document_id, **row._asdict()}
        for document_id, values in metadata.items()
        for row in index_rows(values)
    ]
    execute_each(connection, prepared.INSERT_METADATA, rows)


def store_vectors(connection: Connection, model: str, chunk_ids: Sequence[str], vectors: Vector) -> None:
    """Store vectors (n, dim) float32 under the model, in place of those that are there; not of chunks that are gone."""
    if connection.dialect.name == "postgresql":  # so that none of the chunks goes meanwhile
        execute(connection, prepared.LOCK_DATASETS_OF_CHUNKS, ids=chunk_ids)
    rows = [
        {"chunk_id": chunk_id, "model": model, "vector": vector.astype("<f4").tobytes()}
        for chunk_id, vector in zip(chunk_ids, vectors, strict=True)
    ]
    execute_each(connection, prepared.STORE_VECTOR, rows)


def _begin_to_log(connection: Connection) -> None:
    tell(connection, "changes")
    # Sequence numbers must become visible in their order, or an index would skip a late one. SQLite has only one
    # writer at a time.
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE changes IN SHARE ROW EXCLUSIVE MODE")


def log_chunks(connection: Connection, collection: str, chunk_ids: Sequence[str]) -> bool:
    """Record in the change log that these chunks came, went or moved. False when there are none."""
    if not chunk_ids:
        return False
    _begin_to_log(connection)
    execute_each(connection, prepared.LOG_CHUNK, [{"collection": collection, "chunk_id": each} for each in chunk_ids])
    return True


def mark_changed(connection: Connection, collection: str, document_ids: Collection[int]) -> None:
    """Record with these documents that the last change of the log is theirs: no later one is."""
    execute(connection, prepared.MARK_CHANGED, collection=collection, document_ids=document_ids)


def log_dataset(connection: Connection, dataset_id: int, collection: str) -> None:
    """Record in the change log that every chunk of a dataset came or went."""
    _begin_to_log(connection)
    chunks = select(literal(collection), ChunkRow.id).where(ChunkRow.dataset_id == dataset_id)
    connection.execute(insert(ChangeRow).from_select(["collection", "chunk_id"], chunks))
    execute(connection, prepared.MARK_DATASET_CHANGED, collection=collection, dataset_id=dataset_id)


def delete_documents(connection: Connection, dataset_id: int, collection: str, ids: Sequence[int]) -> None:
    """Delete documents of a dataset with their chunks, which go into the change log."""
    chunk_ids = connection.execute(select(ChunkRow.id).where(ChunkRow.document_id.in_(ids))).scalars().all()
    log_chunks(connection, collection, chunk_ids)
    connection.execute(delete(DocumentRow).where(DocumentRow.id.in_(ids)))
    add_to_counters(connection, dataset_id, documents=-len(ids), chunks=-len(chunk_ids))


def move_documents(connection: Connection, ids: Sequence[int], *, of: int, to: int, collection: str) -> None:
    """Make documents of one dataset documents of another one, with their chunks, which come into or leave the
    collection.
    """
    chunk_ids = connection.execute(select(ChunkRow.id).where(ChunkRow.document_id.in_(ids))).scalars().all()
    connection.execute(update(DocumentRow).where(DocumentRow.id.in_(ids)).values(dataset_id=to))
    for table in (ChunkRow, DocumentMetadataRow, TermRow):
        connection.execute(update(table).where(table.document_id.in_(ids)).values(dataset_id=to))
    if log_chunks(connection, collection, chunk_ids):
        mark_changed(connection, collection, ids)
    add_to_counters(connection, of, documents=-len(ids), chunks=-len(chunk_ids))
    add_to_counters(connection, to, documents=len(ids), chunks=len(chunk_ids))


def erase_deletions(connection: Connection, condition: ColumnElement[bool]) -> None:
    """Delete documents for good that could have been restored: those of the deletions that the condition selects."""
    rows = DatasetRow.documents_of.is_not(None), condition
    connection.execute(delete(DocumentRow).where(DocumentRow.dataset_id.in_(select(DatasetRow.id).where(*rows))))
    connection.execute(delete(DatasetRow).where(*rows))


def delete_dataset(connection: Connection, dataset_id: int) -> None:
    """Delete a dataset with its documents and its name; the row stays. Raises NotFoundError."""
    log_dataset(connection, dataset_id, require_dataset(connection, dataset_id))
    connection.execute(delete(DocumentRow).where(DocumentRow.dataset_id == dataset_id))
    for table in (SyncedFolderRow, ShareRow, AccessRequestRow, TermRow):
        connection.execute(delete(table).where(table.dataset_id == dataset_id))
    erase_deletions(connection, DatasetRow.documents_of == dataset_id)
    gone = {"name": "", "removed_at": time.time(), "documents": 0, "chunks": 0}
    connection.execute(update(DatasetRow).where(DatasetRow.id == dataset_id).values(**gone))


def add_to_counters(connection: Connection, dataset_id: int, *, documents: int, chunks: int) -> None:
    """Add to the dataset's counts of documents and chunks."""
    execute(connection, prepared.ADD_TO_COUNTERS, dataset_id=dataset_id, documents=documents, chunks=chunks)
