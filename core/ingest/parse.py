"""Parse: the bytes of one document become a title and chunks, in this process or in another one."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, Self

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.readers import read_document
from braid.core.types import DocumentInput


@dataclass(frozen=True, slots=True)
class Incoming:
    """A document that is not parsed yet: its source, the hash of its bytes, and where they are."""

    source: str
    filename: str
    """File name, whose suffix decides the format."""
    date: float | None = None
    content_hash: str = ""
    """SHA-256 of the bytes; empty while nothing is read."""
    size_bytes: int = 0
    path: Path | None = None
    """The file to parse, unless ``content`` is given."""
    content: bytes | None = field(default=None, repr=False)

    @classmethod
    def from_file(cls, path: Path, source: str, *, filename: str = "") -> Self:
        """Hash a file without keeping its bytes in memory. ``filename``: the last part of ``source`` by default.

        When the file changes before it is parsed, its modification time is newer than ``date``. Raises OSError.
        """
        with path.open("rb") as opened:
            stat = os.fstat(opened.fileno())
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        return cls(source, filename or last_part(source), stat.st_mtime, digest, stat.st_size, path)

    @classmethod
    def from_bytes(cls, content: bytes, source: str, *, filename: str = "", date: float | None = None) -> Self:
        """Hash bytes in memory. ``filename``: the last part of ``source`` by default."""
        return cls(source, filename or last_part(source), date)._with_content(content)

    def read(self, max_bytes: int) -> Self:
        """Add the file's bytes, at most one more than ``max_bytes``, with their own hash. Raises OSError."""
        if self.content is not None or self.path is None:
            return self
        with self.path.open("rb") as opened:
            return self._with_content(opened.read(max_bytes + 1))

    def _with_content(self, content: bytes) -> Self:
        digest = hashlib.sha256(content).hexdigest()
        return replace(self, content=content, content_hash=digest, size_bytes=len(content))


class Parse(Protocol):
    """Parses a document: `parse_here`, or `braid.core.ingest.parse_pool.ParsePool.parse` in another process."""

    def __call__(self, incoming: Incoming, options: IngestOptions, /) -> DocumentInput:
        """Raises UnreadableDocumentError, and OSError when the file cannot be opened."""
        ...


def parse_here(incoming: Incoming, options: IngestOptions) -> DocumentInput:
    """Read and chunk a document in this process. Raises as `Parse` does."""
    incoming = incoming.read(options.max_file_bytes)
    parsed = read_document(incoming.filename, incoming.content or b"", max_bytes=options.max_file_bytes)
    chunks = chunk_sections(parsed, chunk_chars=options.chunk_chars, overlap_chars=options.chunk_overlap_chars)
    if not chunks:
        raise UnreadableDocumentError(f"{incoming.filename} has no text in it")
    return DocumentInput(
        source=incoming.source,
        title=parsed.title,
        file_type=parsed.file_type,
        chunks=chunks,
        content_hash=incoming.content_hash,
        size_bytes=incoming.size_bytes,
        date=incoming.date,
        metadata=parsed.metadata,
    )


def last_part(source: str) -> str:
    """Return the file name in a source: what follows its last slash."""
    return source.rpartition("/")[2]
