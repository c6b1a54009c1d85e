"""A page of a PDF as a picture, with where each character of its text is. Runs in a process that parses alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pypdfium2  # type: ignore[import-untyped]
from numpy.typing import NDArray
from PIL import Image
from pypdfium2 import raw

from braid.core.errors import Reason, UnreadableDocumentError
from braid.core.ingest.readers.paged.annotations import open_forms, with_annotations
from braid.core.ingest.readers.paged.characters import LinePiece, PageTransform, loose_boxes, page_text
from braid.core.ingest.readers.paged.legible import legible
from braid.core.ingest.readers.paged.pdf import MAX_OBJECTS, is_picture_of_text
from braid.core.ingest.readers.paged.picture import (
    FINEST_SIDE,
    LONGEST_SIDE,
    READ_DPI,
    draw_picture,
    for_reading,
    readable,
    shown,
)
from braid.core.ingest.readers.paged.ruled import page_layout
from braid.core.ingest.readers.paged.text_pictures import text_pictures, without_surroundings
from braid.core.ingest.readers.sniff import sniff
from braid.core.ingest.scans.reading import IS_PART

PER_POINT = 10
"""Units of a box per point, 1/72 inch."""
POINTS_PER_INCH = 72
LEAST_DPI = 100
LARGE_SHARE, SCAN_SHARE = 0.05, 0.5
"""Of the page, that an image of a scan has, as some have one for the paper and a finer one for the letters; and that
all such images have together.
"""
MAX_DRAWN, DRAWN_TEXT = 100, 20
"""Segments of paths on a page that is a scan: a frame has five, a letter some twenty; and as how many a text counts."""
MAX_CHARACTERS = 100_000


def draw_page(content: bytes, number: int, turn: int = 0) -> dict[str, Any]:
    """Return the picture (PNG) and the text of page ``number``, counted from 1. A picture of an image file, or one that
    is to be turned by ``turn`` degrees clockwise, has no text.

    ``boxes`` (n, 4) are left, top, right and bottom of the n characters of ``text`` from the page's upper left corner,
    as it is shown, in tenths of a point, as ``width`` and ``height`` are. Raises UnreadableDocumentError.
    """
    if not _is_pdf(content):
        return draw_picture(content, number, turn)
    with _opened_page(content, number) as (document, page):
        width, height = page.get_size()
        picture = _picture(page, LONGEST_SIDE / max(width, height, 1.0))
        if turn:
            return {**shown(picture, turn), "pages": len(document), "text": "", "boxes": []}
        text, boxes = _characters(page)
        return {
            "picture": shown(picture)["picture"],
            "pages": len(document),
            "width": round(width * PER_POINT),
            "height": round(height * PER_POINT),
            "text": text,
            "boxes": boxes.tolist(),
        }


def page_for_reading(content: bytes, number: int) -> Image.Image:
    """Return a page of a PDF or image file in grey, at about 300 dots per inch, for a machine that reads it; of a page
    that has text of its own only its pictures of text, and `IS_PART` in the picture's ``info``.

    Raises UnreadableDocumentError.
    """
    if not _is_pdf(content):
        return for_reading(content, number)
    with _opened_page(content, number) as (_, page):
        dpi = min(_resolution(page), FINEST_SIDE / max(*page.get_size(), 1.0) * POINTS_PER_INCH)
        picture = _picture(page, dpi / POINTS_PER_INCH).convert("L")
        boxes = text_pictures(page) if _has_own_text(page) else []
        if boxes:
            picture = without_surroundings(picture, boxes, dpi / POINTS_PER_INCH)
        for_machine = readable(picture, dpi)
        for_machine.info[IS_PART] = bool(boxes)
        return for_machine


def _has_own_text(page: pypdfium2.PdfPage) -> bool:
    """Return whether a page has a text that is read as the file has it."""
    with closing(page.get_textpage()) as found:
        said = legible(page_text(found)[:MAX_CHARACTERS])
        text = with_annotations(page, said.text)
        return said.is_whole and not is_picture_of_text(page, text.text, page_layout(page, found, text))


def _resolution(page: pypdfium2.PdfPage) -> float:
    """Return the dots per inch of the finest large image on a page that is a scan, from `LEAST_DPI` to `READ_DPI`; the
    latter for other pages: where letters may be drawn, and where there is a form, as PDFium tells the bounds of what is
    in it in the form's own coordinates.
    """
    width, height = page.get_size()
    covered, finest, drawn = 0.0, 0.0, 0
    for found in page.get_objects(max_depth=1):
        drawn += _drawn(found)
        if found.type == raw.FPDF_PAGEOBJ_FORM or drawn > MAX_DRAWN:
            return READ_DPI
        if found.type != raw.FPDF_PAGEOBJ_IMAGE:
            continue
        left, bottom, right, top = found.get_bounds()
        area = (right - left) * (top - bottom)
        if area >= LARGE_SHARE * width * height > 0:
            across, down = found.get_px_size()
            covered += area
            finest = max(finest, math.sqrt(across * down / area) * POINTS_PER_INCH)
    is_scan = covered > SCAN_SHARE * width * height
    return min(max(finest, LEAST_DPI), READ_DPI) if is_scan else READ_DPI


def _drawn(found: pypdfium2.PdfObject) -> int:
    """Return how many segments an object of a page draws; a text that nobody sees draws none."""
    if found.type == raw.FPDF_PAGEOBJ_PATH:
        return max(int(raw.FPDFPath_CountSegments(found)), 0)
    if found.type == raw.FPDF_PAGEOBJ_TEXT:
        is_seen = raw.FPDFTextObj_GetTextRenderMode(found) != raw.FPDF_TEXTRENDERMODE_INVISIBLE
        return DRAWN_TEXT if is_seen else 0
    return 0


def _is_pdf(content: bytes) -> bool:
    return sniff(content).kind == "pdf"


@contextmanager
def _opened_page(content: bytes, number: int) -> Iterator[tuple[pypdfium2.PdfDocument, pypdfium2.PdfPage]]:
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        raise UnreadableDocumentError(Reason("the file cannot be opened")) from error
    with closing(document):
        open_forms(document)
        if not 1 <= number <= len(document):
            raise UnreadableDocumentError(
                Reason(
                    "there is no page %(number)s; the file has %(pages)s",
                    number=number,
                    pages=format(len(document), ","),
                )
            )
        try:
            opened = document[number - 1]
        except pypdfium2.PdfiumError as error:
            raise UnreadableDocumentError(Reason("page %(number)s is damaged", number=number)) from error
        with closing(opened) as page:
            if raw.FPDFPage_CountObjects(page) > MAX_OBJECTS:
                raise UnreadableDocumentError(Reason("the page draws more than can be shown"))
            yield document, page


def _picture(page: pypdfium2.PdfPage, scale: float) -> Image.Image:
    try:
        bitmap = page.render(scale=scale, rev_byteorder=True)
    except ValueError as error:  # its box is none
        raise UnreadableDocumentError(Reason("the page draws more than can be shown")) from error
    with closing(bitmap):
        picture: Image.Image = bitmap.to_pil().convert("RGB")
        return picture


def _characters(page: pypdfium2.PdfPage) -> tuple[str, NDArray[np.int64]]:
    """Return the characters in reading order, a line break after each piece of a line, and their boxes."""
    with closing(page.get_textpage()) as found:
        text = with_annotations(page, legible(page_text(found)[:MAX_CHARACTERS]).text)
        corners = np.zeros((len(text.text), 4))
        corners[: text.count] = PageTransform(page).shown(loose_boxes(found, 0, text.count))
        layout = page_layout(page, found, text)
    for value in (*text.values, *text.notes):
        corners[value.start : value.end] = _evenly(value)
    at = [index for piece in layout.pieces for index in (*range(piece.start, piece.end), -1)]
    shown = np.concatenate([corners, np.zeros((1, 4))])[at]
    boxes: NDArray[np.int64] = np.rint(shown * PER_POINT).astype(np.int64)
    return "".join("\n" if index < 0 else text.text[index] for index in at), boxes


def _evenly(value: LinePiece) -> NDArray[np.float64]:
    """Return a box per character of what was filled in or noted, each as wide as the others."""
    edges = np.linspace(value.left, value.right, value.end - value.start + 1)
    boxes = np.array([[value.left, value.top, value.right, value.bottom]] * (value.end - value.start))
    boxes[:, 0], boxes[:, 2] = edges[:-1], edges[1:]
    return boxes
