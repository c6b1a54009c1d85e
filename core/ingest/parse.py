"""Parse: the bytes of one document become a title and chunks, in this process.

A server parses nothing here that others sent: see `braid.core.ingest.parse_pool`.
"""

from __future__ import annotations

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.readers import read_document
from braid.core.types import DocumentInput


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
