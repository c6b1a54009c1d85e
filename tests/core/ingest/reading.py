"""What readers make of a file."""

from __future__ import annotations

from braid.core.ingest.readers import ParsedDocument, read_document

MAX_BYTES = 5_000_000


def read(filename: str, content: bytes | str) -> ParsedDocument:
    return read_document(filename, content.encode() if isinstance(content, str) else content, max_bytes=MAX_BYTES)
