"""PDF: a section per page, by PDFium, in reading order."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import pypdfium2  # type: ignore[import-untyped]
from pypdfium2 import raw

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers.document import (
    Outline,
    ParsedDocument,
    Section,
    SourceFile,
    first_title,
    is_title,
    one_line,
)
from braid.core.ingest.readers.paged.aligned import with_aligned_tables
from braid.core.ingest.readers.paged.annotations import open_forms, with_annotations
from braid.core.ingest.readers.paged.characters import page_text
from braid.core.ingest.readers.paged.layout import MARGIN, Layout, RuledTable
from braid.core.ingest.readers.paged.legible import legible
from braid.core.ingest.readers.paged.line_numbers import without_line_numbers
from braid.core.ingest.readers.paged.paragraphs import Part, Words, page_parts
from braid.core.ingest.readers.paged.ruled import page_layout
from braid.core.ingest.readers.paged.running_heads import Running, is_page_number, running_of, text_of
from braid.core.ingest.readers.paged.text_pictures import LOOK_SIDE, looks_like_text, text_pictures, thumbnail
from braid.core.ingest.readers.table_rows import CAPTION, add_table, is_without_names, names_of
from braid.core.metadata.gaps import ATTACHMENTS_UNREAD, GARBLED_PAGES, PAGES_WITHOUT_TEXT
from braid.core.metadata.printed_pages import PRINTED_PAGES, PageNumber, printed_pages

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
STAMP_LETTERS, STAMP_SHARE = 100, 0.12
"""On a scan: what has no more letters, or stands in so small a part of the page, is a stamp, not the page's text."""
_SIDE = 0.1
"""Share of the page's width, on the left and on the right, where stamps are."""
_LEAST_PICTURE = 0.01
"""Share of the page that a picture has; what is smaller is an ornament."""
_RULE = 4.0
"""Points; what is no wider, or no higher, is a line."""
_THUMBNAIL, _LEAST_CONTRAST = 200, 64
"""Pixels of the longest side, and levels of grey, of 255, by which what is drawn on a page stands out from it."""
_COUNT = re.compile(rb"/Count\s+(\d{1,7})\b")
_PAGES_AROUND = 2_000
_STATED_BYTES = re.compile(rb"/Linearized[^>]{0,100}?/L\s{0,9}(\d{1,12})\b")
MAX_EMBEDDED = 50
"""Names of embedded files that are told."""


class _Read(NamedTuple):
    """A file's pages, with the numbers, from 1, of those to be read from their picture and of those that are not
    legible.
    """

    information: dict[str, str]
    pages: list[Page]
    scanned: tuple[int, ...]
    garbled: tuple[int, ...]
    embedded: list[str]
    labels: list[PageNumber | None]
    """The numbers that the file says are printed."""
    lost: frozenset[int]
    """Numbers of pages that are damaged."""
    covers: frozenset[int]
    """Numbers of the first and the last page where they are a picture, and no text."""


class _PageRead(NamedTuple):
    page: Page
    is_picture: bool
    """Whether a machine is to read it, or a picture on it."""
    is_whole: bool
    is_lost: bool = False
    is_cover: bool = False


_LOST = _PageRead(("", Layout((), (), ())), is_picture=False, is_whole=True, is_lost=True)


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per page that has text; pages whose text is in a picture alone are listed in the metadata."""
    with _PDFIUM:
        found = _extract(file)
    pages = without_line_numbers(found.pages)
    running = running_of(pages)
    parts, heads = _parts(pages, running)
    sections = [section for number, each in enumerate(parts, start=1) for section in _sections(each, number)]
    without = found.lost.union(number for number in found.scanned if not parts[number - 1])
    if sections and without == found.covers:  # all that is between the covers has been read
        without = frozenset()
    metadata = {
        **_metadata(found.information, len(found.pages), heads),
        PAGES_WITHOUT_TEXT: ", ".join(map(str, sorted(without))),
        GARBLED_PAGES: ", ".join(map(str, found.garbled)),
        ATTACHMENTS_UNREAD: ", ".join(found.embedded),
        PRINTED_PAGES: printed_pages(running.numbers) or printed_pages(found.labels),
    }
    return ParsedDocument(first_title(found.information.get("Title")), "pdf", tuple(sections), metadata, found.scanned)


def _extract(file: SourceFile) -> _Read:
    """Return what PDFium reads of the file. All of its objects are closed here, under the lock."""
    is_whole = b"%%EOF" in file.content[-_END_WITHIN:]
    try:
        document = pypdfium2.PdfDocument(file.content)
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise file.unreadable(
                "%(name)s is encrypted with a password; save it without one and add it again", code="encrypted"
            ) from error
        if not is_whole or _is_shorter_than_stated(file.content):
            raise _cut_off(file) from error
        raise
    with closing(document):
        open_forms(document)
        count = len(document)
        if count > MAX_PAGES:
            raise file.too_large(
                "%(name)s has %(pages)s pages; at most %(most)s are read, so split it", pages=count, most=MAX_PAGES
            )
        if not is_whole and (count < _stated_pages(file.content) or not count):
            raise _cut_off(file)
        pages = list(_pages(file, document))
        lost = frozenset(number for number, each in enumerate(pages, start=1) if each.is_lost)
        if lost and (not is_whole or len(lost) == count):
            raise _cut_off(file) if not is_whole else pypdfium2.PdfiumError("no page can be loaded")
        scanned = tuple(number for number, each in enumerate(pages, start=1) if each.is_picture or not each.is_whole)
        garbled = tuple(number for number, each in enumerate(pages, start=1) if not each.is_whole)
        information, embedded = document.get_metadata_dict(), _embedded(document)
        labels = [PageNumber.read(document.get_page_label(number)) for number in range(count)]
    covers = frozenset(number for number, each in enumerate(pages, start=1) if each.is_cover)
    return _Read(information, [each.page for each in pages], scanned, garbled, embedded, labels, lost, covers)


def _cut_off(file: SourceFile) -> UnreadableDocumentError:
    return file.unreadable(
        "%(name)s is a PDF document that was cut off: its end is missing; copy or download it again", code="cut_off"
    )


def _is_shorter_than_stated(content: bytes) -> bool:
    """Return whether a file that is made to be shown while it is loaded, which says its length, has been cut off."""
    stated = _STATED_BYTES.search(content, 0, _END_WITHIN)
    return stated is not None and int(stated[1]) > len(content)


def _stated_pages(content: bytes) -> int:
    """Return how many pages a file says that it has, as far as that is to be seen."""
    counts = [0]
    for found in re.finditer(rb"/Type\s*/Pages\b", content):
        around = content[max(found.start() - _PAGES_AROUND, 0) : found.end() + _PAGES_AROUND]
        counts += [int(each) for each in _COUNT.findall(around)]
    return max(counts)


def _pages(file: SourceFile, document: pypdfium2.PdfDocument) -> Iterator[_PageRead]:
    objects = 0
    for number in range(len(document)):
        try:
            opened = document[number]
        except pypdfium2.PdfiumError:  # the others are read all the same
            yield _LOST
            continue
        with closing(opened) as page:
            objects += raw.FPDFPage_CountObjects(page)
            if objects > MAX_OBJECTS + len(file.content):
                raise file.too_large(
                    "%(name)s draws more on its pages than its size allows; print it to a new PDF, or split it"
                )
            with closing(page.get_textpage()) as found:
                said = legible(page_text(found))
                text = with_annotations(page, said.text)
                layout = page_layout(page, found, text)
            is_picture = is_picture_of_text(page, text.text, layout)
            is_cover = is_picture and said.is_whole and number in (0, len(document) - 1) and _is_cover(page, layout)
            if not is_picture and said.is_whole:
                is_picture = bool(text_pictures(page))
            yield _PageRead(
                (text.text, layout if said.is_any else Layout((), (), ())), is_picture, said.is_whole, is_cover=is_cover
            )


def is_picture_of_text(page: pypdfium2.PdfPage, text: str, layout: Layout) -> bool:
    """Return whether the page's text is to be read by a machine: it has none but shows something, or only a stamp on
    an image over half of the page.
    """
    if not any(text[at].strip() for piece in layout.pieces for at in range(piece.start, piece.end)):
        return _shows_something(page)
    return _is_stamp(page, text, layout) and _image_share(page) > 1 / 2


def _is_cover(page: pypdfium2.PdfPage, layout: Layout) -> bool:
    """Return whether a page without letters is a picture of something else than lines of text, such as a title page."""
    if layout.pieces or _image_share(page) <= 1 / 2:
        return False
    pixels = thumbnail(page, LOOK_SIDE)
    return pixels is not None and not looks_like_text(pixels)


def _is_stamp(page: pypdfium2.PdfPage, text: str, layout: Layout) -> bool:
    """Return whether a page has hardly any letters, but for its margins, or all in a small part of it."""
    width, height = page.get_size()
    inner = [
        piece
        for piece in layout.pieces
        if MARGIN * height <= (piece.top + piece.bottom) / 2 <= (1 - MARGIN) * height
        and piece.right >= _SIDE * width
        and piece.left <= (1 - _SIDE) * width
    ]
    if sum(len(word) for piece in inner for word in piece.of(text).split()) <= STAMP_LETTERS:
        return True
    across = max(piece.right for piece in inner) - min(piece.left for piece in inner)
    down = max(piece.bottom for piece in inner) - min(piece.top for piece in inner)
    return bool(across * down < STAMP_SHARE * width * height)


def _image_share(page: pypdfium2.PdfPage) -> float:
    """Return the share of the page that its largest image has; 0 without one."""
    width, height = page.get_size()
    boxes = (each.get_bounds() for each in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))
    areas = ((right - left) * (top - bottom) for left, bottom, right, top in boxes)
    return float(max(areas, default=0.0) / max(width * height, 1.0))


def _shows_something(page: pypdfium2.PdfPage) -> bool:
    """Return whether a page without text is not blank: it has an image, or draws what is to be seen, but for rules."""
    if not raw.FPDFPage_CountObjects(page):
        return False
    if _image_share(page) > _LEAST_PICTURE:
        return True
    boxes = [each.get_bounds() for each in page.get_objects(max_depth=3)]
    if all(min(right - left, top - bottom) <= _RULE for left, bottom, right, top in boxes):
        return False
    pixels = thumbnail(page, _THUMBNAIL)
    return pixels is not None and int(np.ptp(pixels)) > _LEAST_CONTRAST


def _embedded(document: pypdfium2.PdfDocument) -> list[str]:
    """Return the names of files that are embedded in the document, and are not read."""
    count = document.count_attachments()
    names = [one_line(document.get_attachment(at).get_name()) for at in range(min(count, MAX_EMBEDDED))]
    return [name for name in names if name] + ([f"and {count - MAX_EMBEDDED} more"] if count > MAX_EMBEDDED else [])


def _parts(pages: list[Page], running: Running) -> tuple[list[list[Part]], list[str]]:
    """Return the paragraphs and tables of each page, and the running heads, which it is without."""
    words = Words(pages)
    layouts = [with_aligned_tables(*page, rows) for page, rows in zip(pages, running.rows, strict=True)]
    parts = [page_parts(text, layout.body, words) for (text, _), layout in zip(pages, layouts, strict=True)]
    _repeat_names(parts, layouts)
    heads = (text_of(text, row) for (text, _), rows in zip(pages, running.rows, strict=True) for row in rows)
    return parts, [head for head in dict.fromkeys(heads) if not is_page_number(head)]


def _repeat_names(parts: Sequence[list[Part]], layouts: Sequence[Layout]) -> None:
    """Write the names of the columns of a table again where it goes on at the top of the next page without them."""
    names: tuple[str, ...] = ()
    columns: tuple[float, ...] = ()
    for page, layout in zip(parts, layouts, strict=True):
        tables = [layout.body[at].table if layout.body else None for at in (0, -1)]
        first, last = (page[0], page[-1]) if page else ("", "")
        goes_on = tables[0] is not None and _has_columns(tables[0], columns)
        if names and goes_on and not isinstance(first, str) and is_without_names(first, names):
            first.insert(0, list(names))
        names = ()
        if tables[1] is not None and not isinstance(last, str):
            names, columns = names_of(last), tables[1].columns


def _has_columns(table: RuledTable, others: Sequence[float]) -> bool:
    """Return whether a table has the columns that begin and end at these places."""
    if len(table.columns) != len(others):
        return False
    if table.has_lines:
        return all(abs(one - other) <= _RULE for one, other in zip(table.columns, others, strict=True))
    middles = ((left + right) / 2 for left, right in pairwise(table.columns))
    return all(left < middle < right for middle, (left, right) in zip(middles, pairwise(others), strict=True))


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


def _metadata(information: dict[str, str], pages: int, heads: Sequence[str]) -> dict[str, str]:
    author = information.get("Author", "")
    return {
        "author": author if is_title(author) else "",
        "pages": str(pages),
        "running_heads": "; ".join(heads[:MAX_HEADS]),
    }
