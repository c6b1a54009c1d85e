"""Plain text, and formats that are read as such: the lines as they are."""

from __future__ import annotations

from braid.core.ingest.readers.document import ParsedDocument, Section, SourceFile
from braid.core.ingest.readers.encoding import decode

ERRORS: tuple[type[Exception], ...] = ()


def read(file: SourceFile) -> ParsedDocument:
    """Return one section with the whole text."""
    section = Section(decode(file.content), line=1)
    return ParsedDocument(file.stem, file.file_type, (section,))
