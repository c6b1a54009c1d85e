"""A page of a PDF as a picture, with where each character of its text is. Runs in a process that parses alone."""

from __future__ import annotations

import ctypes
import io
from contextlib import closing
from typing import Any

import numpy as np
import pypdfium2  # type: ignore[import-untyped]
from numpy.typing import NDArray
from PIL import Image
from pypdfium2 import raw

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers.paged.pdf import MAX_OBJECTS

LONGEST_SIDE = 1_600
"""Pixels."""
PER_POINT = 10
"""Units of a box per point, 1/72 inch."""
MAX_CHARACTERS = 100_000
FAST = Image.Quantize.FASTOCTREE


def draw_page(content: bytes, number: int) -> dict[str, Any]:
    """Return the picture (PNG) and the text of page ``number``, counted from 1.

    ``boxes`` (n, 4) are left, top, right and bottom of the n characters of ``text`` from the page's upper left corner,
    as it is shown, in tenths of a point, as ``width`` and ``height`` are. Raises UnreadableDocumentError.
    """
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        raise UnreadableDocumentError("the file cannot be opened") from error
    with closing(document):
        if not 1 <= number <= len(document):
            raise UnreadableDocumentError(f"there is no page {number}; the file has {len(document):,}")
        with closing(document[number - 1]) as page:
            if raw.FPDFPage_CountObjects(page) > MAX_OBJECTS:
                raise UnreadableDocumentError("the page draws more than can be shown")
            width, height = page.get_size()
            text, boxes = _characters(page, width, height)
            return {
                "picture": _picture(page, LONGEST_SIDE / max(width, height, 1.0)),
                "pages": len(document),
                "width": round(width * PER_POINT),
                "height": round(height * PER_POINT),
                "text": text,
                "boxes": boxes.tolist(),
            }


def _picture(page: pypdfium2.PdfPage, scale: float) -> bytes:
    stream = io.BytesIO()
    bitmap = page.render(scale=scale, may_draw_forms=False, rev_byteorder=True)
    with closing(bitmap):
        picture = bitmap.to_pil().convert("RGB")
        picture.quantize(64, method=FAST).save(stream, "PNG", compress_level=3)
    return stream.getvalue()


def _characters(page: pypdfium2.PdfPage, width: float, height: float) -> tuple[str, NDArray[np.int64]]:
    with closing(page.get_textpage()) as found:
        count = min(found.count_chars(), MAX_CHARACTERS)
        codes = [raw.FPDFText_GetUnicode(found, index) for index in range(count)]
        text = "".join(chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd" for code in codes)
        box = raw.FS_RECTF()
        corners = np.zeros((count, 4))
        for index in range(count):
            if raw.FPDFText_GetLooseCharBox(found, index, box):
                corners[index] = box.left, box.top, box.right, box.bottom
    return text, _as_shown(page, corners, width, height)


def _as_shown(page: pypdfium2.PdfPage, corners: NDArray[np.float64], width: float, height: float) -> NDArray[np.int64]:
    """Turn corners in the page's own coordinates, (n, 4), to the page as it is shown: cropped and rotated."""
    finer = 100
    size = round(width * finer), round(height * finer)
    origin, right, up = (_on_screen(page, size, *point) for point in ((0, 0), (1000, 0), (0, 1000)))
    turn = np.stack([right - origin, up - origin]) / 1000
    points = corners.reshape(-1, 2, 2) @ turn + origin
    ordered = np.concatenate([points.min(axis=1), points.max(axis=1)], axis=1)
    boxes: NDArray[np.int64] = np.rint(ordered * PER_POINT / finer).astype(np.int64)
    return boxes


def _on_screen(page: pypdfium2.PdfPage, size: tuple[int, int], x: float, y: float) -> NDArray[np.float64]:
    across, down = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, *size, 0, x, y, across, down)
    return np.array([across.value, down.value], dtype=np.float64)
