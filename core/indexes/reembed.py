"""Embedding a dataset again: its vectors are deleted, and the dense index follows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress

from sqlalchemy import Connection, delete, select

from braid.core.data_directory import DataDirectory
from braid.core.errors import BraidError
from braid.core.ledger.change_log import ChangeLog, StateName
from braid.core.ledger.document_writes import log_chunks, mark_changed, require_dataset
from braid.core.ledger.tables import ChunkRow, DocumentRow, EmbeddingRow
from braid.core.models.embeddings import EmbeddingModel

DOCUMENTS_PER_BATCH = 20


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


def passages_to_reembed(
    changes: ChangeLog, model_of: Callable[[str], EmbeddingModel], index: StateName
) -> dict[str, int]:
    """Count, by collection, the passages without a vector of the collection's model where it has had another model.

    ``index`` is that of the dense leg. Collections whose model cannot be made are left out: nothing is embedded for
    them.
    """
    counts = {}
    for collection, state in changes.states(index).items():
        with suppress(BraidError):
            model = model_of(collection).fingerprint
            if state.version != model or state.state == "rebuilding":
                counts[collection] = changes.chunk_count(collection) - changes.embedded_count(collection, model)
    return {collection: count for collection, count in counts.items() if count > 0}


def _forget_vectors(connection: Connection, collection: str, model: str, document_ids: Collection[int]) -> int:
    of_documents = select(ChunkRow.id).where(ChunkRow.document_id.in_(document_ids))
    connection.execute(delete(EmbeddingRow).where(EmbeddingRow.chunk_id.in_(of_documents), EmbeddingRow.model == model))
    chunk_ids = connection.execute(of_documents).scalars().all()
    if log_chunks(connection, collection, chunk_ids):
        mark_changed(connection, collection, document_ids)
    return len(chunk_ids)
