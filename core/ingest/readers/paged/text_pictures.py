"""Pictures of text on a page that has text of its own, such as a pasted screen: a machine reads them beside it.

A picture is taken for one where it has a plain background and lines of strokes. A photograph has no such background,
and a drawing no such lines.
"""

from __future__ import annotations

import ctypes
from contextlib import closing

import numpy as np
import pypdfium2  # type: ignore[import-untyped]
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from pypdfium2 import raw

from braid.core.ingest.readers.paged.characters import Box, PageTransform

LEAST_SHARE = 0.12
"""Share of the page that a picture has at least."""
MAX_OBJECTS, MAX_PICTURES = 5_000, 20
"""Of a page on which pictures of text are looked for."""
LOOK_SIDE = 1_000
"""Pixels of the page as it is looked at."""
_LEVELS, _PLAIN, _INK = 8, 0.55, 48
"""Levels of grey that count as one; least share of a picture that is background; levels by which ink differs."""
_LEAST_CROSSINGS, _LEAST_DENSITY = 16, 0.1
"""Edges of strokes in a row of pixels, and per pixel between the first and the last, that a line of text has."""
_LEAST_LINES, _LEAST_ROWS = 3, 0.08
"""Lines of text, and their share of the picture's height."""

Grey = NDArray[np.uint8]


def text_pictures(page: pypdfium2.PdfPage) -> list[Box]:
    """Return the boxes of a page's pictures of text, in points from the upper left corner of the page as shown."""
    boxes = _large_pictures(page)
    if not boxes:
        return []
    pixels = thumbnail(page, LOOK_SIDE)
    scale = LOOK_SIDE / max(*page.get_size(), 1.0)
    return [box for box in boxes if pixels is not None and looks_like_text(_cut(pixels, box, scale))]


def thumbnail(page: pypdfium2.PdfPage, longest_side: int) -> Grey | None:
    """Return a page in grey, (height, width), its longest side of so many pixels; None for one that cannot be drawn, as
    its box is none.
    """
    try:
        drawn = page.render(scale=longest_side / max(*page.get_size(), 1.0), grayscale=True)
    except ValueError:
        return None
    with closing(drawn):
        pixels: Grey = drawn.to_numpy().reshape(drawn.height, drawn.width).copy()
        return pixels


def without_surroundings(picture: Image.Image, boxes: list[Box], scale: float) -> Image.Image:
    """Return a picture of a page, of ``scale`` pixels per point, of which only these boxes are left."""
    left = Image.new(picture.mode, picture.size, "white")
    mask = Image.new("L", picture.size, 0)
    for box in boxes:
        ImageDraw.Draw(mask).rectangle([side * scale for side in box], fill=255)
    left.paste(picture, mask=mask)
    return left


def looks_like_text(pixels: Grey) -> bool:
    """Return whether a picture in grey, (height, width), has lines of text on a plain background."""
    if min(pixels.shape) < _LEAST_CROSSINGS:
        return False
    counts = np.bincount(pixels.ravel() // _LEVELS, minlength=256 // _LEVELS + 2)
    most = int(counts.argmax())
    if counts[max(most - 1, 0) : most + 2].sum() < _PLAIN * pixels.size:
        return False
    ink = np.abs(pixels.astype(np.int16) - most * _LEVELS) > _INK
    edges = ink[:, 1:] != ink[:, :-1]
    crossings = edges.sum(axis=1)
    width = edges.shape[1] - edges.argmax(axis=1) - edges[:, ::-1].argmax(axis=1)
    is_text = (crossings >= _LEAST_CROSSINGS) & (crossings >= _LEAST_DENSITY * width)
    lines = np.count_nonzero(is_text[1:] & ~is_text[:-1]) + int(is_text[0])
    return bool(lines >= _LEAST_LINES and is_text.mean() >= _LEAST_ROWS)


def _large_pictures(page: pypdfium2.PdfPage) -> list[Box]:
    count = raw.FPDFPage_CountObjects(page)
    width, height = page.get_size()
    found: list[Box] = []
    sides = tuple(ctypes.c_float() for _ in range(4))
    for index in range(count if count <= MAX_OBJECTS else 0):
        each = raw.FPDFPage_GetObject(page, index)
        if raw.FPDFPageObj_GetType(each) != raw.FPDF_PAGEOBJ_IMAGE or not raw.FPDFPageObj_GetBounds(each, *sides):
            continue
        left, bottom, right, top = (side.value for side in sides)
        if (right - left) * (top - bottom) >= LEAST_SHARE * width * height > 0:
            found.append((left, bottom, right, top))
    return [tuple(box) for box in PageTransform(page).shown(np.array(found[:MAX_PICTURES])).tolist()] if found else []


def _cut(pixels: Grey, box: Box, scale: float) -> Grey:
    height, width = pixels.shape
    left, right = (int(min(max(side * scale, 0), width)) for side in (box[0], box[2]))
    top, bottom = (int(min(max(side * scale, 0), height)) for side in (box[1], box[3]))
    return pixels[top:bottom, left:right]
