"""Imports an exported dataset. Reading and checking the file is the caller's: a server does it in another process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sqlalchemy import select

from braid.core.data_directory import DataDirectory
from braid.core.ingest.exports.dataset_export import Progress
from braid.core.ingest.exports.export_form import ExportedPart, ReadExport
from braid.core.ingest.incoming import Incoming
from braid.core.ledger.document_batch import put
from braid.core.ledger.document_writes import find_document, require_dataset, store_vectors
from braid.core.ledger.quota import require_document_room
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
    originals: int = 0
    """Documents whose original is kept."""
    originals_not_kept: Mapping[str, int] = field(default_factory=dict)
    """Documents whose original is not, by reason: ``missing`` in the file or when it was exported, ``damaged``,
    ``too_large``, ``off`` by setting.
    """


@dataclass(frozen=True, slots=True)
class KeepOriginals:
    """Where the originals in an export go: ``keep`` takes a document's id and file. Each is unpacked to
    ``unpack_to`` first; larger ones than ``max_bytes`` are not kept.
    """

    keep: Callable[[int, Incoming], None]
    unpack_to: Path
    max_bytes: int


def import_dataset(
    braid: DataDirectory,
    dataset_id: int,
    path: Path,
    *,
    read: ReadExport,
    max_bytes: int,
    originals: KeepOriginals | None = None,
    progress: Progress = lambda done, total: None,
    most: int | None = None,
) -> ImportReport:
    """Store the documents of an export in a dataset, one transaction each. Importing twice changes nothing.

    An original that cannot be kept costs nothing but itself; see `ImportReport`. Without ``originals`` none is kept.

    Vectors are used if the model of the dataset's collection made them, which is verified with the first vector.
    Raises InvalidInputError when something in the file is wrong, or the dataset's owner has ``most`` documents; those
    before it may be stored then. Raises NotFoundError without the dataset, and EmbeddingError when the model
    does not work.
    """
    dataset = braid.dataset(dataset_id)
    documents = chunks = embedded = 0
    kept: Counter[str] = Counter()
    with read(path, max_bytes=max_bytes, originals_to=originals.unpack_to if originals else None) as export:
        kept["missing"] = export.manifest.lost_originals
        model = braid.model_of(dataset.collection)
        given = export.manifest.model
        is_wanted = given is not None and given.fingerprint == model.fingerprint
        for part in export.parts:
            if part.rows is not None and is_wanted and not embedded:
                is_wanted = _is_of_model(braid, dataset.collection, part.document, part.rows)
            rows = part.rows if is_wanted else None
            document_id, stored = _store(braid, dataset_id, part.document, rows, model.fingerprint, most)
            embedded += stored
            kept[_keep(document_id, part, originals)] += 1
            documents += 1
            chunks += len(part.document.chunks)
            progress(documents, export.manifest.documents)
    braid.wake()
    not_kept = {reason: count for reason, count in kept.items() if count and reason not in ("", "kept")}
    return ImportReport(documents, chunks, embedded, kept["kept"], not_kept)


def _keep(document_id: int, part: ExportedPart, originals: KeepOriginals | None) -> str:
    """Keep a document's original; return ``kept``, or the reason why not, empty where there is none."""
    if part.original != "there":
        return part.original
    if originals is None:
        return "off"
    incoming = Incoming.from_file(originals.unpack_to, part.document.source)
    if incoming.content_hash != part.document.content_hash:
        return "damaged"
    if incoming.size_bytes > originals.max_bytes:
        return "too_large"
    originals.keep(document_id, incoming)
    return "kept"


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
    braid: DataDirectory,
    dataset_id: int,
    document: DocumentInput,
    rows: Vector | None,
    fingerprint: str,
    most: int | None,
) -> tuple[int, int]:
    """Store passages and vectors in one transaction, so that nothing is left to embed. Returns the document's id, and
    the count of vectors; none of a document that is there already, unchanged, with other passages.
    """
    with braid.ledger.database.write() as connection:
        collection = require_dataset(connection, dataset_id)
        if most is not None and find_document(connection, dataset_id, document.source) is None:
            require_document_room(connection, dataset_id, most)
        stored = put(connection, dataset_id, collection, document)
        if rows is None:
            return stored.document_id, 0
        columns = select(ChunkRow.id, ChunkRow.heading_path, ChunkRow.text)
        there = columns.where(ChunkRow.document_id == stored.document_id).order_by(ChunkRow.position)
        passages = connection.execute(there).all()
        if [passage[1:] for passage in passages] != [(chunk.heading_path, chunk.text) for chunk in document.chunks]:
            return stored.document_id, 0
        given = [place for place, row in enumerate(rows) if row.any()]
        store_vectors(connection, fingerprint, [passages[place].id for place in given], rows[given])
    return stored.document_id, len(given)
