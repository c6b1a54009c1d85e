"""Parse: the bytes of one document become a title and chunks, in this process.

A server parses nothing here that others sent: see `braid.core.ingest.parse_pool`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from braid.core.errors import (
    BraidError,
    ReaderFaultError,
    ReadingInterruptedError,
    Reason,
    ScannedDocumentError,
    UnreadableDocumentError,
)
from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.contents import with_contents_apart
from braid.core.ingest.headings import with_headings
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.document import ParsedDocument
from braid.core.ingest.scans.program import PAGE_S, Tesseract, find_tesseract
from braid.core.ingest.scans.reading import PageReading
from braid.core.metadata.gaps import PAGES_TO_READ, SCANNED_PAGES
from braid.core.metadata.versions import SEEN_CHARS, recognized
from braid.core.types import ChunkInput, DocumentInput

logger = logging.getLogger(__name__)


def parse_here(incoming: Incoming, options: IngestOptions) -> DocumentInput:
    """Read and chunk a document in this process. Raises as `Parse` does."""
    incoming = incoming.read(options.max_file_bytes)
    content, scans = incoming.content or b"", incoming.scans
    parsed = read_document(incoming.filename, content, max_bytes=options.max_file_bytes, scans=scans)
    parsed = with_headings(with_contents_apart(parsed))
    chunks = chunk_sections(parsed, chunk_chars=options.chunk_chars, overlap_chars=options.chunk_overlap_chars)
    if scans:
        chunks = tuple(_with_confidence(chunk, scans) for chunk in chunks)
    if not chunks and not parsed.metadata.get(PAGES_TO_READ):
        raise UnreadableDocumentError(Reason("%(name)s has no text in it", name=incoming.filename), code="no_text")
    return DocumentInput(
        source=incoming.source,
        title=parsed.title,
        file_type=parsed.file_type,
        chunks=chunks,
        content_hash=incoming.content_hash,
        size_bytes=incoming.size_bytes,
        date=incoming.date,
        metadata={**_version_of(parsed), **parsed.metadata},
    )


def _version_of(parsed: ParsedDocument) -> Mapping[str, str]:
    """Return since when a text says that it is in force, and what it replaces; nothing for tables and code."""
    beginning: list[str] = []
    for section in parsed.sections:
        if section.kind != "prose" or sum(map(len, beginning)) > SEEN_CHARS:
            break
        beginning.append(section.text)
    return recognized("\n".join(beginning))


def parse_and_read(incoming: Incoming, options: IngestOptions) -> DocumentInput:
    """Parse a document as `parse_here`, and read its scanned pages, if any, where Tesseract is installed.

    Raises UnreadableDocumentError also where that fails in a way that nobody foresees, which the log tells: a fault in
    one file is no fault of the others.
    """
    try:
        return _parse_and_read(incoming, options)
    except ReaderFaultError as error:
        logger.warning("event=parser_fault fault=%s", error.fault)
        raise
    except (BraidError, OSError):
        raise
    except MemoryError as error:
        raise UnreadableDocumentError(
            Reason("%(name)s takes more memory than there is; split it", name=incoming.filename)
        ) from error
    except Exception as error:  # the edge of a file
        fault = ReaderFaultError.of(incoming.filename, error)
        logger.warning("event=parser_fault fault=%s", fault.fault)
        raise fault from error


def _parse_and_read(incoming: Incoming, options: IngestOptions) -> DocumentInput:
    tesseract = find_tesseract()
    languages = tesseract.languages(options.scan_languages) if tesseract else ()
    if tesseract is None or not languages:
        return parse_here(incoming, options)
    incoming = incoming.read(options.max_file_bytes)
    document = parse_here(replace(incoming, scans={}), options)
    pages = [int(page) for page in str(document.metadata.get(SCANNED_PAGES, "")).split(", ") if page]
    if not pages:
        return document
    readings = {page: _read_page(incoming.content or b"", page, tesseract, languages) for page in pages}
    read = {page: reading for page, reading in readings.items() if reading is not None}
    document = parse_here(replace(incoming, scans=read), options)
    if not document.chunks and len(read) < len(pages):
        told = f"the scanned pages of {incoming.filename} were not read, since what reads them was killed; add it again"
        raise ScannedDocumentError(told, pages=len(pages) - len(read))
    if not document.chunks:
        raise UnreadableDocumentError(Reason("%(name)s has no text in it", name=incoming.filename), code="no_text")
    return document


def _read_page(content: bytes, page: int, tesseract: Tesseract, languages: tuple[str, ...]) -> PageReading | None:
    from braid.core.ingest.readers.paged.page_picture import page_for_reading
    from braid.core.ingest.scans.recognize import read_picture

    try:
        picture = page_for_reading(content, page)
        return read_picture(picture, tesseract, languages=languages, timeout_s=PAGE_S)
    except ReadingInterruptedError:  # the page goes on waiting
        return None
    except UnreadableDocumentError:  # the other pages are read all the same
        return PageReading((), 0, 0)


def _with_confidence(chunk: ChunkInput, scans: Mapping[int, PageReading]) -> ChunkInput:
    """Return the chunk with how sure the machine is that read it; as it is where the page has its own text."""
    reading = scans.get(chunk.page or 0)
    return replace(chunk, confidence=reading.confidence_of(chunk.text)) if reading and reading.words else chunk
