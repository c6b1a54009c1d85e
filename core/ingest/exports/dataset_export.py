"""Exports a dataset as one file. `braid.core.ingest.exports.export_file` reads it.

The file is a zip archive with ``documents.jsonl`` (one document per line, with its passages), ``embeddings/0.npy``
(float32, one row per passage in the order of the lines, zeros where there is no vector) and ``manifest.json``.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any, BinaryIO

import numpy as np
from sqlalchemy import Row, and_, select

from braid.core.data_directory import DataDirectory
from braid.core.errors import EmbeddingError
from braid.core.ingest.exports.export_form import (
    DOCUMENTS,
    EMBEDDINGS,
    MANIFEST,
    ExportedChunk,
    ExportedModel,
    Manifest,
)
from braid.core.ledger.tables import ChunkRow, DocumentRow, EmbeddingRow
from braid.core.types import Dataset

DOCUMENTS_PER_READ = 100

Progress = Callable[[int, int], None]
"""(documents done, documents in all)."""


def export_dataset(
    braid: DataDirectory, dataset_id: int, file: IO[bytes], *, progress: Progress = lambda done, total: None
) -> Manifest:
    """Write a dataset with the vectors of its collection's model, one document in memory at a time.

    Documents without passages, which failed to be read, are left out. Raises NotFoundError.
    """
    dataset = braid.dataset(dataset_id)
    model = _model(braid, dataset)
    counted = _Counts()
    with tempfile.TemporaryFile() as vectors, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(DOCUMENTS, "w", force_zip64=True) as lines:
            for document, chunks in _documents(braid, dataset, model):
                lines.write(_line(document, chunks))
                if model is not None:
                    vectors.write(_rows(chunks, model.dimensions))
                counted.documents += 1
                counted.chunks += len(chunks)
                progress(counted.documents, max(counted.documents, dataset.documents))
        if model is not None:
            _write_vectors(archive, vectors, (counted.chunks, model.dimensions))
        manifest = Manifest(
            name=dataset.name,
            documents=counted.documents,
            chunks=counted.chunks,
            model=model,
            exported_at=time.time(),
        )
        archive.writestr(MANIFEST, manifest.model_dump_json(indent=1))
    return manifest


def document_lines(braid: DataDirectory, dataset: Dataset) -> Iterator[bytes]:
    """Yield each document with its passages as a line of ``documents.jsonl``, one in memory at a time.

    A document that could not be read has no passages.
    """
    for document, chunks in _documents(braid, dataset, None, unread=True):
        yield _line(document, chunks)


class _Counts:
    documents = 0
    chunks = 0


def _model(braid: DataDirectory, dataset: Dataset) -> ExportedModel | None:
    """Return the collection's model with the length of its vectors; None when there are no vectors to export."""
    try:
        fingerprint = braid.model_of(dataset.collection).fingerprint
    except EmbeddingError:  # the model cannot be loaded; the passages are exported without vectors
        return None
    any_vector = (
        select(EmbeddingRow.vector)
        .join(ChunkRow, ChunkRow.id == EmbeddingRow.chunk_id)
        .where(ChunkRow.dataset_id == dataset.id, EmbeddingRow.model == fingerprint)
        .limit(1)
    )
    with braid.ledger.database.read() as connection:
        vector = connection.execute(any_vector).scalar_one_or_none()
    return None if vector is None else ExportedModel(fingerprint=fingerprint, dimensions=len(vector) // 4)


def _documents(
    braid: DataDirectory, dataset: Dataset, model: ExportedModel | None, *, unread: bool = False
) -> Iterator[tuple[Row[Any], list[Row[Any]]]]:
    """Yield each document with its passages, both read in one transaction; without passages only if ``unread``."""
    page = select(DocumentRow.id).where(DocumentRow.dataset_id == dataset.id)
    page = page.order_by(DocumentRow.id).limit(DOCUMENTS_PER_READ)
    if not unread:
        page = page.where(DocumentRow.chunks > 0)
    last = 0
    while True:
        with braid.ledger.database.read() as connection:
            ids = connection.execute(page.where(DocumentRow.id > last)).scalars().all()
        if not ids:
            return
        for document_id in ids:
            with braid.ledger.database.read() as connection:
                document = connection.execute(
                    select(DocumentRow.__table__).where(DocumentRow.id == document_id)
                ).one_or_none()
                chunks = list(connection.execute(_select_chunks(document_id, model)))
            if document is not None and (chunks or unread):
                yield document, chunks
        last = ids[-1]


def _select_chunks(document_id: int, model: ExportedModel | None) -> Any:
    fingerprint = model.fingerprint if model else ""
    joined = and_(EmbeddingRow.chunk_id == ChunkRow.id, EmbeddingRow.model == fingerprint)
    columns = (getattr(ChunkRow, name) for name in ExportedChunk.model_fields)
    statement = select(*columns, EmbeddingRow.vector).outerjoin(EmbeddingRow, joined)
    return statement.where(ChunkRow.document_id == document_id).order_by(ChunkRow.position)


def _line(document: Row[Any], chunks: list[Row[Any]]) -> bytes:
    exported = {
        "source": document.source,
        "title": document.title,
        "file_type": document.file_type,
        # after a newer version that could not be read, the stored hash is not the one of these passages
        "content_hash": document.content_hash if document.state == "ready" else "",
        "size_bytes": document.size_bytes,
        "date": document.date,
        "metadata": document.meta,
        "chunks": [_chunk(chunk) for chunk in chunks],
    }
    return json.dumps(exported, ensure_ascii=False).encode() + b"\n"


def _chunk(chunk: Row[Any]) -> dict[str, Any]:
    exported = {name: getattr(chunk, name) for name in ExportedChunk.model_fields}
    for name, nothing in (("chunk_kind", ""), ("confidence", None)):  # which earlier versions refuse to read
        if exported[name] == nothing:
            del exported[name]
    return exported


def _rows(chunks: list[Row[Any]], dimensions: int) -> bytes:
    missing = bytes(4 * dimensions)
    return b"".join(
        chunk.vector if chunk.vector is not None and len(chunk.vector) == len(missing) else missing for chunk in chunks
    )


def _write_vectors(archive: zipfile.ZipFile, vectors: BinaryIO | IO[bytes], shape: tuple[int, int]) -> None:
    """Write the vectors as .npy, whose header needs their number. They are not packed: they would hardly shrink."""
    entry = zipfile.ZipInfo(EMBEDDINGS, time.localtime()[:6])
    vectors.seek(0)
    with archive.open(entry, "w", force_zip64=True) as rows:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(rows, header)
        shutil.copyfileobj(vectors, rows, 1 << 20)
