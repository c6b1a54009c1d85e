"""Incoming: a document that is not parsed yet, and what parses one. This module imports no reader."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.scans.reading import PageReading
from braid.core.types import DocumentInput


@dataclass(frozen=True, slots=True)
class Incoming:
    """A document that is not parsed yet: its source, the hash of its bytes, and where they are."""

    source: str
    filename: str
    """Its suffix decides the format."""
    date: float | None = None
    content_hash: str = ""
    """SHA-256 of the bytes; empty while nothing is read."""
    size_bytes: int = 0
    path: Path | None = None
    """The file to parse, unless ``content`` is given."""
    content: bytes | None = field(default=None, repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The host's facts, which win over those that the file says of itself."""
    file_type: str = ""
    """The label to store; empty means the name of the format."""
    scans: Mapping[int, PageReading] | None = field(default=None, repr=False)
    """What a machine has read so far on scanned pages, by their number from 1; None where no machine will."""

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
    """Parses a document: `braid.core.ingest.parse_pool.ParsePool.parse` in another process, or
    `braid.core.ingest.parse.parse_here` in this one.
    """

    def __call__(self, incoming: Incoming, options: IngestOptions, /) -> DocumentInput:
        """Raises UnreadableDocumentError, and OSError when the file cannot be opened.

        Where a machine will read the scanned pages (``incoming.scans`` is given), a document may have no passage yet.
        """
        ...


def last_part(source: str) -> str:
    """The file name in a source: what follows its last slash."""
    return source.rpartition("/")[2]
