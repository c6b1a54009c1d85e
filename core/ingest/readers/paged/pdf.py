"""PDF: a section per page, by PDFium, in reading order."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

import pypdfium2  # type: ignore[import-untyped]
from pypdfium2 import raw

from braid.core.ingest.readers.document import (
    Outline,
    ParsedDocument,
    Section,
    SourceFile,
    first_title,
    is_title,
)
from braid.core.ingest.readers.paged.characters import page_text
from braid.core.ingest.readers.paged.layout import Layout
from braid.core.ingest.readers.paged.paragraphs import Part, Words, page_parts
from braid.core.ingest.readers.paged.ruled import page_layout
from braid.core.ingest.readers.paged.running_heads import is_page_number, running_rows, text_of
from braid.core.ingest.readers.table_rows import CAPTION, add_table
from braid.core.metadata.gaps import PAGES_WITHOUT_TEXT

ERRORS = (pypdfium2.PdfiumError,)

_PDFIUM: Final = threading.Lock()
"""PDFium must never be called by two threads at once, not even for different files. It releases Python's own lock."""
_END_WITHIN = 2048
MAX_PAGES = 50_000
MAX_OBJECTS = 200_000
"""Pieces of text, lines and images on all pages together, and one more per byte of the file: many pages may share
what is drawn on them, and take half a second each.
"""
MAX_HEADS = 20
Page = tuple[str, Layout]
"""Its characters in the order in which they are drawn, and their order for readers."""
STAMP_LETTERS = 100
"""A page with more letters has its own text."""


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per page that has text; the others are listed in the metadata."""
    if b"%%EOF" not in file.content[-_END_WITHIN:]:
        raise file.unreadable("is a PDF document that was cut off: its end is missing; copy or download it again")
    with _PDFIUM:
        information, pages, scanned = _extract(file)
    parts, heads = _parts(pages)
    sections = [section for number, each in enumerate(parts, start=1) for section in _sections(each, number)]
    blank = [number for number, each in enumerate(parts, start=1) if not each]
    metadata = _metadata(information, len(pages), blank, heads)
    return ParsedDocument(first_title(information.get("Title")), "pdf", tuple(sections), metadata, scanned)


def _extract(file: SourceFile) -> tuple[dict[str, str], list[Page], tuple[int, ...]]:
    """Return (document information, each page, numbers of the scanned ones).

    All of PDFium's objects are closed here, under the lock.
    """
    try:
        document = pypdfium2.PdfDocument(file.content)
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise file.unreadable("is encrypted with a password; save it without one and add it again") from error
        raise
    with closing(document):
        if len(document) > MAX_PAGES:
            raise file.unreadable(f"has {len(document):,} pages; at most {MAX_PAGES:,} are read, so split it")
        pages, scanned = [], []
        for number, (page, is_picture) in enumerate(_pages(file, document), start=1):
            pages.append(page)
            scanned += [number] if is_picture else []
        return document.get_metadata_dict(), pages, tuple(scanned)


def _pages(file: SourceFile, document: pypdfium2.PdfDocument) -> Iterator[tuple[Page, bool]]:
    """Yield each page, and whether it is a picture."""
    objects = 0
    for number in range(len(document)):
        with closing(document[number]) as page:
            objects += raw.FPDFPage_CountObjects(page)
            if objects > MAX_OBJECTS + len(file.content):
                raise file.unreadable(
                    "draws more on its pages than its size allows; print it to a new PDF, or split it"
                )
            with closing(page.get_textpage()) as found:
                text = page_text(found)
                layout = page_layout(page, found, text)
            yield (text, layout), _is_picture(page, text)


def _is_picture(page: pypdfium2.PdfPage, text: str) -> bool:
    """Return whether the page's text is to be read by a machine: it has none but draws something, or hardly any, such
    as the stamp of a scanner, beside an image over half of the page.
    """
    letters = sum(not letter.isspace() for letter in text)
    if not letters:
        return bool(raw.FPDFPage_CountObjects(page))
    if letters > STAMP_LETTERS:
        return False
    width, height = page.get_size()
    boxes = (each.get_bounds() for each in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))
    return any((right - left) * (top - bottom) > width * height / 2 for left, bottom, right, top in boxes)


def _parts(pages: list[Page]) -> tuple[list[list[Part]], list[str]]:
    """Return the paragraphs and tables of each page, and the running heads, which it is without."""
    words = Words(pages)
    running = running_rows(pages)
    parts = [page_parts(*page, rows, words) for page, rows in zip(pages, running, strict=True)]
    heads = (text_of(text, row) for (text, _), rows in zip(pages, running, strict=True) for row in rows)
    return parts, [head for head in dict.fromkeys(heads) if not is_page_number(head)]


def _sections(parts: Sequence[Part], number: int) -> Iterator[Section]:
    """Yield the sections of a page: one, unless it has a long table."""
    outline = Outline()
    for before, part in zip(["", *parts], parts, strict=False):
        if isinstance(part, str):
            outline.add(part)
        else:
            above = before.rpartition("\n")[2] if isinstance(before, str) else ""
            add_table(outline, part, above if CAPTION.match(above) else "")
    for section in outline.sections():
        yield replace(section, page=number)


def _metadata(information: dict[str, str], pages: int, blank: Sequence[int], heads: Sequence[str]) -> dict[str, str]:
    author = information.get("Author", "")
    return {
        "author": author if is_title(author) else "",
        "pages": str(pages),
        "running_heads": "; ".join(heads[:MAX_HEADS]),
        PAGES_WITHOUT_TEXT: ", ".join(map(str, blank)),
    }
