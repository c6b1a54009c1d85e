"""PDF: a section per page, by PDFium."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Final

import pypdfium2  # type: ignore[import-untyped]
from pypdfium2 import raw

from braid.core.ingest.readers.document import ParsedDocument, Section, SourceFile, join_cjk_lines
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
_HYPHENATED = re.compile("[\x02\ufffe]")
_UNTITLED = frozenset({"untitled", "無題", "제목 없음", "about:blank", "anonymous", "unspecified"})
_FILE_NAME = re.compile(r"\.[A-Za-z]{1,4}\d?$|^Microsoft \w+ - ")


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per page that has text; the others are listed in the metadata."""
    if b"%%EOF" not in file.content[-_END_WITHIN:]:
        raise file.unreadable("is a PDF document that was cut off: its end is missing; copy or download it again")
    with _PDFIUM:
        information, texts = _extract(file)
    sections = tuple(Section(text, page=number) for number, text in enumerate(map(_join_lines, texts), start=1) if text)
    if not sections:
        raise file.unreadable("has no text layer (it holds scanned pages or images); run OCR on it first")
    return ParsedDocument(_title(file, information), "pdf", sections, _metadata(information, texts))


def _extract(file: SourceFile) -> tuple[dict[str, str], list[str]]:
    """Return (document information, text of each page). All of PDFium's objects are closed here, under the lock."""
    try:
        document = pypdfium2.PdfDocument(file.content)
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise file.unreadable("is encrypted with a password; save it without one and add it again") from error
        raise
    with closing(document):
        if len(document) > MAX_PAGES:
            raise file.unreadable(f"has {len(document):,} pages; at most {MAX_PAGES:,} are read, so split it")
        return document.get_metadata_dict(), list(_page_texts(file, document))


def _page_texts(file: SourceFile, document: pypdfium2.PdfDocument) -> Iterator[str]:
    objects = 0
    for number in range(len(document)):
        with closing(document[number]) as page:
            objects += raw.FPDFPage_CountObjects(page)
            if objects > MAX_OBJECTS + len(file.content):
                raise file.unreadable(
                    "draws more on its pages than its size allows; print it to a new PDF, or split it"
                )
            with closing(page.get_textpage()) as text:
                yield str(text.get_text_bounded())


def _join_lines(text: str) -> str:
    """Remove the hyphens at line ends (PDFium marks them), and rejoin Japanese words."""
    text = _HYPHENATED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return join_cjk_lines(text).strip()


def _title(file: SourceFile, information: dict[str, str]) -> str:
    """Return the title that the author gave; not the one that a program filled in."""
    title = information.get("Title", "").strip()
    return file.stem if _is_none(title) or _FILE_NAME.search(title) else title


def _is_none(text: str) -> bool:
    """Return whether a program filled the field in for want of a text: reportlab writes "(anonymous)"."""
    return text.strip("() ").lower() in _UNTITLED


def _metadata(information: dict[str, str], texts: list[str]) -> dict[str, str]:
    blank = [str(number) for number, text in enumerate(texts, start=1) if not text.strip()]
    author = information.get("Author", "")
    return {
        "author": "" if _is_none(author) else author,
        "pages": str(len(texts)),
        PAGES_WITHOUT_TEXT: ", ".join(blank),
    }
