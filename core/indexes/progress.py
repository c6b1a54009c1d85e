"""Progress of documents into the indexes, in SQL that reads only the documents asked for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, delete, func, select

from braid.core.data_directory import DataDirectory
from braid.core.errors import EmbeddingError
from braid.core.ledger.document_writes import log_chunks, mark_changed, require_dataset
from braid.core.ledger.tables import ChunkRow, DocumentRow, EmbeddingRow, IndexStateRow
from braid.core.types import Leg

Stage = Literal["failed", "parsed", "keyword_ready", "embedding", "done"]
DOCUMENTS_PER_BATCH = 20


@dataclass(frozen=True, slots=True)
class DocumentProgress:
    """Progress of one document. ``embedded`` of ``chunks`` passages have a vector of the collection's model."""

    document_id: int
    chunks: int
    embedded: int
    bm25_ready: bool
    """The keyword index has all of its passages."""
    dense_ready: bool
    """The dense index has applied all of its changes; passages that the model refused are not in it."""
    failed: bool
    error: str

    @property
    def stage(self) -> Stage:
        """The progress in one word. ``embedding`` goes with ``embedded`` of ``chunks``."""
        if self.failed:
            return "failed"
        if self.dense_ready:
            return "done" if self.bm25_ready else "parsed"
        if self.embedded:
            return "embedding"
        return "keyword_ready" if self.bm25_ready else "parsed"


def document_progress(
    directory: DataDirectory, dataset_id: int, document_ids: Collection[int]
) -> dict[int, DocumentProgress]:
    """Return the progress of these documents of the dataset; those that are not in it are left out.

    Raises NotFoundError when there is no such dataset.
    """
    dataset = directory.ledger.dataset(dataset_id)
    columns = (DocumentRow.id, DocumentRow.state, DocumentRow.error, DocumentRow.chunks, DocumentRow.changed_seq)
    wanted = (DocumentRow.dataset_id == dataset_id, DocumentRow.id.in_(document_ids))
    with directory.ledger.database.read() as connection:
        documents = connection.execute(select(*columns).where(*wanted)).all()
        applied = _read_applied(connection, dataset.collection)
        embedded = _count_embedded(connection, _model(directory, dataset.collection), [row.id for row in documents])
    return {
        row.id: DocumentProgress(
            document_id=row.id,
            chunks=row.chunks,
            embedded=embedded.get(row.id, 0),
            bm25_ready=row.changed_seq <= applied.get("bm25", -1),
            dense_ready=row.changed_seq <= applied.get("dense", -1),
            failed=row.state == "failed",
            error=row.error,
        )
        for row in documents
    }


def reembed(directory: DataDirectory, dataset_id: int) -> int:
    """Forget the dataset's vectors, so that all are made again in the background; return how many passages.

    Until then the old ones answer. A few documents are one transaction; calling it again after a crash does no harm.
    Raises NotFoundError, and EmbeddingError when the model cannot be loaded.
    """
    dataset = directory.dataset(dataset_id)
    model = directory.model_of(dataset.collection).fingerprint
    page = select(DocumentRow.id).where(DocumentRow.dataset_id == dataset_id, DocumentRow.chunks > 0)
    page = page.order_by(DocumentRow.id).limit(DOCUMENTS_PER_BATCH)
    last, passages = 0, 0
    while True:
        with directory.ledger.database.write() as connection:
            collection = require_dataset(connection, dataset_id)
            ids = connection.execute(page.where(DocumentRow.id > last)).scalars().all()
            if not ids:
                break
            passages += _forget_vectors(connection, collection, model, ids)
            last = ids[-1]
    directory.wake()
    return passages


def _read_applied(connection: Connection, collection: str) -> dict[Leg, int]:
    """Return leg → the last change that its index has, without indexes that are being built."""
    states = connection.execute(select(IndexStateRow).where(IndexStateRow.collection == collection))
    return {row.leg: row.applied_seq for row in states if row.state != "rebuilding"}


def _model(directory: DataDirectory, collection: str) -> str:
    try:
        return directory.model_of(collection).fingerprint
    except EmbeddingError:
        return ""


def _count_embedded(connection: Connection, model: str, document_ids: Collection[int]) -> dict[int, int]:
    # The key of the table is enough: the vectors themselves are not read.
    statement = (
        select(ChunkRow.document_id, func.count(EmbeddingRow.chunk_id))
        .join(EmbeddingRow, (EmbeddingRow.chunk_id == ChunkRow.id) & (EmbeddingRow.model == model))
        .where(ChunkRow.document_id.in_(document_ids))
        .group_by(ChunkRow.document_id)
    )
    return {row[0]: row[1] for row in connection.execute(statement)}


def _forget_vectors(connection: Connection, collection: str, model: str, document_ids: Collection[int]) -> int:
    of_documents = select(ChunkRow.id).where(ChunkRow.document_id.in_(document_ids))
    connection.execute(delete(EmbeddingRow).where(EmbeddingRow.chunk_id.in_(of_documents), EmbeddingRow.model == model))
    chunk_ids = connection.execute(of_documents).scalars().all()
    if log_chunks(connection, collection, chunk_ids):
        mark_changed(connection, collection, DocumentRow.id.in_(document_ids))
    return len(chunk_ids)
