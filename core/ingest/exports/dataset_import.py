"""Imports an exported dataset. Reading and checking the file is the caller's: a server does it in another process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sqlalchemy import select

from braid.core.data_directory import DataDirectory
from braid.core.ingest.exports.dataset_export import Progress
from braid.core.ingest.exports.export_form import ReadExport
from braid.core.ledger.document_batch import put
from braid.core.ledger.document_writes import require_dataset, store_vectors
from braid.core.ledger.tables import ChunkRow
from braid.core.models.embeddings import embed_passages
from braid.core.types import DocumentInput, indexed_text
from braid.core.vector import Vector

MIN_COSINE = 0.98
"""Lowest cosine between an imported vector and the one that the model gives today."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts of an import. ``embedded`` passages have a vector of the file; the others are embedded again."""

    documents: int
    chunks: int
    embedded: int


def import_dataset(
    braid: DataDirectory,
    dataset_id: int,
    path: Path,
    *,
    read: ReadExport,
    max_bytes: int,
    progress: Progress = lambda done, total: None,
) -> ImportReport:
    """Store the documents of an export in a dataset, one transaction each. Importing twice changes nothing.

    Vectors are used if the model of the dataset's collection made them, which is verified with the first vector.
    Raises InvalidInputError when something in the file is wrong; documents before it may be stored then. Raises
    NotFoundError without the dataset, and EmbeddingError when the model does not work.
    """
    dataset = braid.dataset(dataset_id)
    documents = chunks = embedded = 0
    with read(path, max_bytes=max_bytes) as export:
        model = braid.model_of(dataset.collection)
        given = export.manifest.model
        is_wanted = given is not None and given.fingerprint == model.fingerprint
        for part in export.parts:
            if part.rows is not None and is_wanted and not embedded:
                is_wanted = _is_of_model(braid, dataset.collection, part.document, part.rows)
            rows = part.rows if is_wanted else None
            embedded += _store(braid, dataset_id, part.document, rows, model.fingerprint)
            documents += 1
            chunks += len(part.document.chunks)
            progress(documents, export.manifest.documents)
    braid.wake()
    return ImportReport(documents, chunks, embedded)


def _is_of_model(braid: DataDirectory, collection: str, document: DocumentInput, rows: Vector) -> bool:
    """Whether the model gives the vector of the file today. Vectors of another length would break the index."""
    found = np.flatnonzero(np.any(rows != 0, axis=1))
    if not len(found):
        return True  # no vector here to verify with; the next document is tried
    chunk = document.chunks[found[0]]
    text = indexed_text(document.title, chunk.heading_path, chunk.text)
    vector = embed_passages(braid.model_of(collection), [text])[0]
    return vector.shape == rows[found[0]].shape and float(vector @ rows[found[0]]) >= MIN_COSINE


def _store(
    braid: DataDirectory, dataset_id: int, document: DocumentInput, rows: Vector | None, fingerprint: str
) -> int:
    """Store passages and vectors in one transaction, so that nothing is left to embed. Returns the count of vectors."""
    with braid.ledger.database.write() as connection:
        collection = require_dataset(connection, dataset_id)
        stored = put(connection, dataset_id, collection, document)
        if rows is None:
            return 0
        of_document = select(ChunkRow.id).where(ChunkRow.document_id == stored.document_id)
        ids = connection.execute(of_document.order_by(ChunkRow.position)).scalars().all()
        given = [place for place, row in enumerate(rows) if row.any()]
        store_vectors(connection, fingerprint, [ids[place] for place in given], rows[given])
    return len(given)
