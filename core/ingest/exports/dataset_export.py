"""Exports a dataset as one file. `braid.core.ingest.exports.export_file` reads it.

The file is a zip archive with ``documents.jsonl`` (one document per line, with its passages), ``embeddings/0.npy``
(float32, one row per passage in the order of the lines, zeros where there is no vector), ``originals/…`` (the files
that the documents were read from, once per content, named by their SHA-256) and ``manifest.json``.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from sqlalchemy import Row, and_, select

from braid.core.data_directory import DataDirectory
from braid.core.errors import EmbeddingError
from braid.core.ingest.exports.export_form import (
    DOCUMENTS,
    EMBEDDINGS,
    MANIFEST,
    MAX_ORIGINALS,
    ORIGINALS,
    ExportedChunk,
    ExportedModel,
    Manifest,
)
from braid.core.ledger.tables import ChunkRow, DocumentRow, EmbeddingRow
from braid.core.types import Dataset, Document

DOCUMENTS_PER_READ = 100

Progress = Callable[[int, int], None]
"""(documents done, documents in all)."""
PlaceOriginal = Callable[[Document], Path | None]
"""Returns where a document's original should be; None where it has none."""
BLOCK_BYTES = 1 << 20


def export_dataset(
    braid: DataDirectory,
    dataset_id: int,
    file: IO[bytes],
    *,
    originals: PlaceOriginal = lambda document: None,
    progress: Progress = lambda done, total: None,
) -> Manifest:
    """Write a dataset with the vectors of its collection's model, one document in memory at a time, and with the
    originals that ``originals`` finds.

    Documents without passages, which failed to be read, are left out. An original that is gone, or has other bytes than
    its document was read from, is counted in the manifest. Raises NotFoundError.
    """
    dataset = braid.dataset(dataset_id)
    model = _model(braid, dataset)
    counted = _Counts()
    with (
        tempfile.TemporaryFile() as lines,
        tempfile.TemporaryFile() as vectors,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        kept = _Originals(archive)
        for document, chunks in _documents(braid, dataset, model):
            stored = braid.ledger.document_with_id(document.id, [dataset.id])
            has_original = stored is not None and kept.add(stored, originals(stored))
            lines.write(_line(document, chunks, has_original=has_original))
            if model is not None:
                vectors.write(_rows(chunks, model.dimensions))
            counted.documents += 1
            counted.chunks += len(chunks)
            progress(counted.documents, max(counted.documents, dataset.documents))
        lines.seek(0)
        with archive.open(DOCUMENTS, "w", force_zip64=True) as out:
            shutil.copyfileobj(lines, out, BLOCK_BYTES)
        if model is not None:
            _write_vectors(archive, vectors, (counted.chunks, model.dimensions))
        manifest = Manifest(
            name=dataset.name,
            documents=counted.documents,
            chunks=counted.chunks,
            model=model,
            exported_at=time.time(),
            originals=kept.documents,
            lost_originals=kept.lost,
        )
        unused = {name for name in ("originals", "lost_originals") if not getattr(manifest, name)}
        archive.writestr(MANIFEST, manifest.model_dump_json(indent=1, exclude=unused))  # as earlier versions read it
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


class _Originals:
    """Writes originals into an archive, once per content and as they are: most such files are compressed already."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._whole: dict[str, bool] = {}
        self.documents = 0
        """How many documents have their original in the archive."""
        self.lost = 0
        """How many documents have an original that is gone or has other bytes."""

    def add(self, document: Document, path: Path | None) -> bool:
        """Write a document's original, if there is one; return whether it is in the archive, whole."""
        if path is None or document.state != "ready":
            return False
        wanted = document.content_hash
        if wanted not in self._whole:
            self._whole[wanted] = len(self._whole) < MAX_ORIGINALS and self._write(wanted, path)
        is_whole = self._whole[wanted]
        self.documents += is_whole
        self.lost += not is_whole
        return is_whole

    def _write(self, content_hash: str, path: Path) -> bool:
        """Copy the file; return whether its bytes have this hash. Others stay in the archive, where no line names
        them.
        """
        digest = hashlib.sha256()
        try:
            source = path.open("rb")
        except FileNotFoundError:
            return False
        entry = zipfile.ZipInfo(ORIGINALS + content_hash, time.localtime()[:6])
        with source, self._archive.open(entry, "w", force_zip64=True) as out:
            while block := source.read(BLOCK_BYTES):
                digest.update(block)
                out.write(block)
        return digest.hexdigest() == content_hash


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
    vector = braid.ledger.database.find(any_vector)
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
        ids = braid.ledger.database.values(page.where(DocumentRow.id > last))
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


def _line(document: Row[Any], chunks: list[Row[Any]], *, has_original: bool = False) -> bytes:
    exported = {
        "source": document.source,
        "title": document.title,
        "file_type": document.file_type,
        # after a newer version that could not be read, the stored hash is not the one of these passages
        "content_hash": document.content_hash if document.state == "ready" else "",
        "size_bytes": document.size_bytes,
        "date": document.date,
        "metadata": document.meta,
        **({"original": True} if has_original else {}),
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


def _write_vectors(archive: zipfile.ZipFile, vectors: IO[bytes], shape: tuple[int, int]) -> None:
    """Write the vectors as .npy, whose header needs their number. They are not packed: they would hardly shrink."""
    entry = zipfile.ZipInfo(EMBEDDINGS, time.localtime()[:6])
    vectors.seek(0)
    with archive.open(entry, "w", force_zip64=True) as rows:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(rows, header)
        shutil.copyfileobj(vectors, rows, BLOCK_BYTES)
