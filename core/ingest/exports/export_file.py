"""Reads a file that `braid.core.ingest.exports.dataset_export` wrote. It may be forged, so everything in it is checked.

A server does this in a process of `braid.core.ingest.parse_pool`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError

from braid.core.errors import InvalidInputError, Reason
from braid.core.ingest.exports.export_form import (
    DOCUMENTS,
    EMBEDDINGS,
    MANIFEST,
    MAX_ORIGINALS,
    ORIGINALS,
    VERSION,
    ExportedDocument,
    ExportedPart,
    Manifest,
    OpenExport,
    OriginalState,
)
from braid.core.ingest.readers.zip_directory import TooManyEntriesError, require_few_entries
from braid.core.types import ChunkInput, DocumentInput
from braid.core.vector import Vector

MAX_ENTRIES = MAX_ORIGINALS + 3
"""With more, the archive's directory is not read."""
MAX_MANIFEST_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 28
MAX_LINE_VALUES = 2_000_000
"""Per document. A passage that was exported by Braid has seven."""
MAX_RATIO = 200
"""Highest ratio of unpacked to packed size; passages reach 5 to 20."""
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)
_ENCRYPTED = 0x1
_ORIGINAL = re.compile(rf"{ORIGINALS}[0-9a-f]{{64}}")
_BLOCK_BYTES = 1 << 20
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_Model = TypeVar("_Model", bound=BaseModel)


def read_manifest(path: Path, *, max_bytes: int) -> Manifest:
    """Read the manifest of an export, after checking its sizes; ``max_bytes`` limits all files together, unpacked.

    Raises InvalidInputError, with the field ``file``.
    """
    with _opened(path, max_bytes) as archive:
        return _manifest(archive)


@contextmanager
def read_export(path: Path, *, max_bytes: int, originals_to: Path | None = None) -> Iterator[OpenExport]:
    """Read an export in this process: see `braid.core.ingest.exports.export_form.ReadExport`."""
    with ExitStack() as stack:
        archive = stack.enter_context(_opened(path, max_bytes))
        manifest = _manifest(archive)
        vectors = _Vectors(stack.enter_context(archive.open(EMBEDDINGS)), manifest) if manifest.model else None
        lines = stack.enter_context(archive.open(DOCUMENTS))
        originals = _Originals(archive, originals_to)
        try:
            yield OpenExport(manifest, _parts(lines, vectors, originals, manifest))
        finally:
            originals.remove()


def _parts(
    lines: IO[bytes], vectors: _Vectors | None, originals: _Originals, manifest: Manifest
) -> Iterator[ExportedPart]:
    documents = chunks = 0
    for exported in _documents(lines):
        document = _input(exported)
        chunks += len(document.chunks)
        if documents == manifest.documents or chunks > manifest.chunks:
            raise _wrong(f"{DOCUMENTS} has more in it than {MANIFEST} says")
        rows = vectors.read(len(document.chunks)) if vectors else None
        yield ExportedPart(document, rows, originals.unpack(document.content_hash) if exported.original else "")
        documents += 1
    if (documents, chunks) != (manifest.documents, manifest.chunks):
        raise _wrong(f"{DOCUMENTS} has less in it than {MANIFEST} says")


@contextmanager
def _opened(path: Path, max_bytes: int) -> Iterator[zipfile.ZipFile]:
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
    names = [entry.filename for entry in entries if not _ORIGINAL.fullmatch(entry.filename)]
    if sorted(names) not in (sorted((MANIFEST, DOCUMENTS)), sorted((MANIFEST, DOCUMENTS, EMBEDDINGS))):
        parts = f"{MANIFEST}, {DOCUMENTS} and perhaps {EMBEDDINGS}"
        raise _wrong(f"it must have {parts} in it, originals of documents, and nothing else")
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


def _input(document: ExportedDocument) -> DocumentInput:
    chunks = tuple(ChunkInput(**chunk.model_dump()) for chunk in document.chunks)
    return DocumentInput(**document.model_dump(exclude={"chunks", "original"}), chunks=chunks)


def _values(line: bytes) -> int:
    """A lower bound of the number of JSON values. Each needs some hundred bytes of memory; 13 bytes hold two."""
    between = _STRING.sub(b"", line)
    return sum(between.count(sign) for sign in (b",", b"{", b"["))


class _Originals:
    """Unpacks originals to one place, one after the other. Whoever keeps one compares its hash."""

    def __init__(self, archive: zipfile.ZipFile, to: Path | None) -> None:
        self._archive = archive
        self._names = {name for name in archive.namelist() if _ORIGINAL.fullmatch(name)}
        self._to = to

    def unpack(self, content_hash: str) -> OriginalState:
        """Write the file of this hash in place of the one before. A damaged one costs no other."""
        name = ORIGINALS + content_hash
        if name not in self._names:
            return "missing"
        if self._to is None:
            return "there"
        self.remove()  # the one before may be linked elsewhere by now: never write into it
        descriptor = os.open(self._to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as out, self._archive.open(name) as file:
                shutil.copyfileobj(file, out, _BLOCK_BYTES)
        except _DAMAGED:
            return "damaged"
        return "there"

    def remove(self) -> None:
        """Delete the last one."""
        if self._to is not None:
            with contextlib.suppress(FileNotFoundError):
                self._to.unlink()


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
        """The next rows, (count, dim) float32: of unit length, or zeros for a passage without a vector."""
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
    return InvalidInputError(
        Reason("this is no export of a dataset that can be imported: %(error)s", error=why), field="file"
    )
