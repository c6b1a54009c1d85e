"""Scanned pages of a file: the text that a machine has read on them, beside the text that the file has itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from braid.core.errors import N_, Reason, ScannedDocumentError
from braid.core.ingest.readers.document import ParsedDocument, Section, SourceFile, join_cjk_lines
from braid.core.ingest.scans.program import find_tesseract, install_command
from braid.core.ingest.scans.reading import PageReading
from braid.core.metadata.gaps import GARBLED_PAGES, PAGES_TO_READ, PAGES_WITHOUT_TEXT, SCAN_CONFIDENCE, SCANNED_PAGES


def with_scans(file: SourceFile, parsed: ParsedDocument, scans: Mapping[int, PageReading] | None) -> ParsedDocument:
    """Return the document with what was read on its scanned pages, and with metadata that says so.

    Raises ScannedDocumentError when no machine will read (``scans`` is None) and there is no other text.
    """
    if scans is None and not parsed.sections:
        raise _unread(file, parsed)
    read = {page: scans[page] for page in parsed.scanned if scans and page in scans}
    found = {page: reading for page, reading in read.items() if reading.words}
    replaced = {page for page, reading in found.items() if not reading.is_part}
    sections = [section for section in parsed.sections if section.page not in replaced]
    sections += [Section(join_cjk_lines(reading.text), page=page) for page, reading in found.items()]
    sections.sort(key=lambda section: section.page or 0)
    letters = sum(len(reading.text) for reading in found.values())
    sure = sum(len(reading.text) * reading.confidence for reading in found.values())
    with_text = {section.page for section in sections if section.text.strip()}
    blank = {page for page, reading in read.items() if reading.is_blank}
    listed = _pages(parsed, PAGES_WITHOUT_TEXT)
    without = (page for page in listed if page not in with_text and page not in blank)
    needed = {*listed, *_pages(parsed, GARBLED_PAGES), *(section.page for section in parsed.sections)}
    wanted = parsed.scanned if scans is not None else needed.intersection(parsed.scanned)  # of a cover only a machine's
    told: dict[str, str | float] = {
        PAGES_WITHOUT_TEXT: _listed(without),
        GARBLED_PAGES: _listed(page for page in _pages(parsed, GARBLED_PAGES) if page not in found),
        PAGES_TO_READ: len(wanted) - len(read),
        SCANNED_PAGES: _listed(parsed.scanned),
        SCAN_CONFIDENCE: round(sure / letters, 3) if letters else 0,
    }
    return replace(parsed, sections=tuple(sections), metadata={**parsed.metadata, **told})


def _listed(pages: Iterable[int]) -> str:
    return ", ".join(map(str, pages))


def _pages(parsed: ParsedDocument, key: str) -> list[int]:
    return [int(page) for page in str(parsed.metadata.get(key, "")).split(", ") if page]


def _unread(file: SourceFile, parsed: ParsedDocument) -> ScannedDocumentError:
    is_garbled, can_install = len(_pages(parsed, GARBLED_PAGES)) == len(parsed.scanned), find_tesseract() is None
    template = {
        (True, True): N_(
            "%(name)s has letters without meaning, as its fonts do not say which letters they draw; run OCR on it "
            "first, or have Braid read it: %(command)s"
        ),
        (True, False): N_(
            "%(name)s has letters without meaning, as its fonts do not say which letters they draw; run OCR on it first"
        ),
        (False, True): N_(
            "%(name)s has no text layer (it holds scanned pages or images); run OCR on it first, or have Braid read "
            "it: %(command)s"
        ),
        (False, False): N_("%(name)s has no text layer (it holds scanned pages or images); run OCR on it first"),
    }[is_garbled, can_install]
    told = Reason(template, name=file.name, **({"command": install_command()} if can_install else {}))
    return ScannedDocumentError(told, pages=len(parsed.scanned), code="garbled" if is_garbled else "scanned")
