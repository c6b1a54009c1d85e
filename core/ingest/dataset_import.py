"""Imports a file that `braid.core.ingest.dataset_export` wrote. It may be forged, so everything in it is checked."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError
from sqlalchemy import delete, insert, select

from braid.core.batches import batches
from braid.core.data_directory import DataDirectory
from braid.core.errors import InvalidInputError
from braid.core.ingest.dataset_export import (
    DOCUMENTS,
    EMBEDDINGS,
    MANIFEST,
    VERSION,
    ExportedDocument,
    Manifest,
    Progress,
)
from braid.core.ingest.readers.zip_directory import TooManyEntriesError, require_few_entries
from braid.core.ledger.database import ROWS_PER_STATEMENT
from braid.core.ledger.document_writes import put, require_dataset
from braid.core.ledger.tables import ChunkRow, EmbeddingRow
from braid.core.models.embeddings import embed_passages
from braid.core.types import ChunkInput, DocumentInput, Vector, indexed_text

MAX_ENTRIES = 100
"""Most entries of an archive whose directory is read; a valid one has two or three."""
MAX_MANIFEST_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 28
MAX_LINE_VALUES = 2_000_000
"""Most values of a document; a passage that Braid exported has seven."""
MAX_RATIO = 200
"""Highest ratio of unpacked to packed size; passages reach 5 to 20."""
MIN_COSINE = 0.98
"""Lowest cosine between an imported vector and the one that the model gives today."""
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)
_ENCRYPTED = 0x1
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts of an import. ``embedded`` passages have a vector of the file; the others are embedded again."""

    documents: int
    chunks: int
    embedded: int


def read_manifest(path: Path, *, max_bytes: int) -> Manifest:
    """Read the manifest of an export, after checking its sizes; ``max_bytes`` limits all files together, unpacked.

    Raises InvalidInputError, with the field ``file``.
    """
    with _open(path, max_bytes) as archive:
        return _manifest(archive)


def import_dataset(
    braid: DataDirectory,
    dataset_id: int,
    path: Path,
    *,
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
    with ExitStack() as stack:
        archive = stack.enter_context(_open(path, max_bytes))
        manifest = _manifest(archive)
        vectors = _Vectors(stack.enter_context(archive.open(EMBEDDINGS)), manifest) if manifest.model else None
        model = braid.model_of(dataset.collection)
        is_wanted = manifest.model is not None and manifest.model.fingerprint == model.fingerprint
        lines = stack.enter_context(archive.open(DOCUMENTS))
        for document in _documents(lines):
            chunks += len(document.chunks)
            if documents == manifest.documents or chunks > manifest.chunks:
                raise _wrong(f"{DOCUMENTS} has more in it than {MANIFEST} says")
            rows = vectors.read(len(document.chunks)) if vectors else None
            if rows is not None and is_wanted and not embedded:
                is_wanted = _is_of_model(braid, dataset.collection, document, rows)
            embedded += _store(braid, dataset_id, document, rows if is_wanted else None, model.fingerprint)
            documents += 1
            progress(documents, manifest.documents)
        if (documents, chunks) != (manifest.documents, manifest.chunks):
            raise _wrong(f"{DOCUMENTS} has less in it than {MANIFEST} says")
    braid.wake()
    return ImportReport(documents, chunks, embedded)


# ---------------------------------------------------------------- the archive


@contextmanager
def _open(path: Path, max_bytes: int) -> Iterator[zipfile.ZipFile]:
    damaged = "it is damaged, or no zip archive"
    try:
        with path.open("rb") as file:
            require_few_entries(file, MAX_ENTRIES)
    except TooManyEntriesError as error:
        raise _wrong(str(error)) from error
    try:
        archive = zipfile.ZipFile(path)
    except (*_DAMAGED, ValueError, struct.error) as error:
        raise _wrong(damaged) from error
    try:
        with archive:
            _check_entries(archive, max_bytes)
            yield archive
    except _DAMAGED as error:
        raise _wrong(damaged) from error


def _check_entries(archive: zipfile.ZipFile, max_bytes: int) -> None:
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if sorted(names) not in (sorted((MANIFEST, DOCUMENTS)), sorted((MANIFEST, DOCUMENTS, EMBEDDINGS))):
        raise _wrong(f"it must have {MANIFEST}, {DOCUMENTS} and perhaps {EMBEDDINGS} in it, and nothing else")
    if any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise _wrong("it is encrypted with a password")
    if sum(entry.file_size for entry in entries) > max_bytes:
        raise _wrong(f"it unpacks to more than {max_bytes:,} bytes, which is the limit")
    if any(entry.file_size > MAX_RATIO * entry.compress_size + MAX_MANIFEST_BYTES for entry in entries):
        raise _wrong(f"a part of it unpacks to more than {MAX_RATIO} times its size")


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    if archive.getinfo(MANIFEST).file_size > MAX_MANIFEST_BYTES:
        raise _wrong(f"{MANIFEST} is too long")
    manifest = _validate(Manifest, archive.read(MANIFEST), MANIFEST)
    if manifest.version != VERSION:
        raise _wrong(f"it is of version {manifest.version}, and this Braid reads version {VERSION}; update Braid")
    if (manifest.model is not None) != (EMBEDDINGS in archive.namelist()):
        raise _wrong(f"{EMBEDDINGS} and the model in {MANIFEST} go together, and one is missing")
    return manifest


def _documents(lines: IO[bytes]) -> Iterator[ExportedDocument]:
    number = 0
    while line := lines.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise _wrong(f"line {number} of {DOCUMENTS} is longer than {MAX_LINE_BYTES:,} bytes")
        if _values(line) > MAX_LINE_VALUES:
            raise _wrong(
                f"line {number} of {DOCUMENTS} has more than {MAX_LINE_VALUES:,} values; its document is too large"
            )
        yield _validate(ExportedDocument, line, f"line {number} of {DOCUMENTS}")


def _values(line: bytes) -> int:
    """Return a lower bound of the number of JSON values. Each needs some hundred bytes of memory; 13 bytes hold two."""
    between = _STRING.sub(b"", line)
    return sum(between.count(sign) for sign in (b",", b"{", b"["))


class _Vectors:
    """Reads the rows of the .npy file in order."""

    def __init__(self, stream: IO[bytes], manifest: Manifest) -> None:
        assert manifest.model is not None
        self._stream = stream
        self._dimensions = manifest.model.dimensions
        try:
            is_version_1 = np.lib.format.read_magic(stream) == (1, 0)
            shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(stream)
        except ValueError:
            is_version_1 = False
        if not is_version_1:
            raise _wrong(f"{EMBEDDINGS} is not a .npy file of version 1.0")
        if shape != (manifest.chunks, self._dimensions) or fortran_order or dtype != np.dtype("<f4"):
            raise _wrong(f"{EMBEDDINGS} must hold {manifest.chunks} × {self._dimensions} numbers of type float32")

    def read(self, count: int) -> Vector:
        """Return the next rows, (count, dim) float32: of unit length, or zeros for a passage without a vector."""
        wanted = 4 * self._dimensions * count
        content = self._stream.read(wanted)
        if len(content) < wanted:
            raise _wrong(f"{EMBEDDINGS} ends early")
        rows = np.frombuffer(content, dtype="<f4").reshape(count, self._dimensions)
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        if not np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-3)):
            raise _wrong(f"{EMBEDDINGS} has vectors that are not of length 1")
        return rows


def _validate(kind: type[_Model], content: bytes, where: str) -> _Model:
    try:
        return kind.model_validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise _wrong(f"{where}: {place or 'it'}: {first['msg']}") from None


def _wrong(why: str) -> InvalidInputError:
    return InvalidInputError(f"this is no export of a dataset that can be imported: {why}", field="file")


# ---------------------------------------------------------------- the ledger


def _is_of_model(braid: DataDirectory, collection: str, document: ExportedDocument, rows: Vector) -> bool:
    """Return whether the model makes the file's vector today. Vectors of another length would break the index."""
    found = np.flatnonzero(np.any(rows != 0, axis=1))
    if not len(found):
        return True  # no vector here to verify with; the next document is tried
    chunk = document.chunks[found[0]]
    text = indexed_text(document.title, chunk.heading_path, chunk.text)
    vector = embed_passages(braid.model_of(collection), [text])[0]
    return vector.shape == rows[found[0]].shape and float(vector @ rows[found[0]]) >= MIN_COSINE


def _store(
    braid: DataDirectory, dataset_id: int, document: ExportedDocument, rows: Vector | None, fingerprint: str
) -> int:
    """Store passages and vectors in one transaction, so that nothing is left to embed. Returns the count of vectors."""
    fields = document.model_dump(exclude={"chunks"})
    chunks = tuple(ChunkInput(**chunk.model_dump()) for chunk in document.chunks)
    with braid.ledger.database.write() as connection:
        collection = require_dataset(connection, dataset_id)
        stored = put(connection, dataset_id, collection, DocumentInput(**fields, chunks=chunks))
        if rows is None:
            return 0
        of_document = select(ChunkRow.id).where(ChunkRow.document_id == stored.document_id)
        ids = connection.execute(of_document.order_by(ChunkRow.position)).scalars().all()
        given = [
            {"chunk_id": chunk_id, "model": fingerprint, "vector": row.tobytes()}
            for chunk_id, row in zip(ids, rows, strict=True)
            if row.any()
        ]
        for batch in batches(given, ROWS_PER_STATEMENT):
            old = EmbeddingRow.chunk_id.in_([row["chunk_id"] for row in batch])
            connection.execute(delete(EmbeddingRow).where(old, EmbeddingRow.model == fingerprint))
            connection.execute(insert(EmbeddingRow), batch)
    return len(given)
