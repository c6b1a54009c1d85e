"""The columns of text on a picture of a page, from its ink alone: a gutter is a tall strip without ink between lines
that fill what is beside it, so that the cells of a table are no columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from braid.core.ingest.scans.skew import ink_of

_SCALE = 4
"""Pixels of the picture per pixel that is looked at: 75 dots per inch."""
_GUTTERS, _MIN_HEIGHT = (20, 12, 7), 75
"""Least widths of a gutter, tried one after the other, and its least height, in such pixels: the spaces of a heading
are narrower than the gutter below it.
"""
_EDGE = 0.15
"""Share of the width, on the left and on the right, where no gutter is."""
_MIN_LINES = 3
_FILLED, _MIN_FILLED = 0.6, 0.6
"""A line fills its column when it goes over this share of its width; so much of the length of all lines is of such."""
_MAX_STRIPS = 20
"""Most strips that are looked at for one gutter, from the tallest on."""
_HALF_LINE = 12
"""Pixels that are looked at."""
_ROOM = 12
"""Pixels of the picture around a column."""

Ink = NDArray[np.bool_]


class PictureBox(NamedTuple):
    """A part of a picture in pixels from its upper left corner."""

    left: int
    top: int
    right: int
    bottom: int


def columns_of(picture: Image.Image) -> list[PictureBox]:
    """Return the parts of the page in reading order; one for a page without columns."""
    small = picture.convert("L").reduce(_SCALE)
    ink = ink_of(small)
    parts = list(_parts(ink, PictureBox(0, 0, small.width, small.height)))
    if len(parts) < 2:
        return [PictureBox(0, 0, *picture.size)]
    return [
        PictureBox(
            max(part.left * _SCALE - _ROOM, 0),
            max(part.top * _SCALE - _ROOM, 0),
            min(part.right * _SCALE + _ROOM, picture.width),
            min(part.bottom * _SCALE + _ROOM, picture.height),
        )
        for part in parts
    ]


def _parts(ink: Ink, within: PictureBox) -> Iterator[PictureBox]:
    """Yield what is above a gutter, left of it, right of it and below it, each divided in the same way."""
    box = _trimmed(ink, within)
    if box is None:
        return
    inside = ink[box.top : box.bottom, box.left : box.right]
    gutter = next(filter(None, (_gutter(inside, width) for width in _GUTTERS)), None)
    if gutter is None:
        yield box
        return
    top, bottom, middle = box.top + gutter.top, box.top + gutter.bottom, box.left + (gutter.left + gutter.right) // 2
    yield from _parts(ink, PictureBox(box.left, box.top, box.right, top))
    yield from _parts(ink, PictureBox(box.left, top, middle, bottom))
    yield from _parts(ink, PictureBox(middle, top, box.right, bottom))
    yield from _parts(ink, PictureBox(box.left, bottom, box.right, box.bottom))


def _trimmed(ink: Ink, box: PictureBox) -> PictureBox | None:
    """Return the part of a box that has ink."""
    inside = ink[box.top : box.bottom, box.left : box.right]
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    if not len(rows):
        return None
    first, last = int(rows[0]), int(rows[-1]) + 1
    return PictureBox(box.left + int(columns[0]), box.top + first, box.left + int(columns[-1]) + 1, box.top + last)


def _gutter(ink: Ink, least: int) -> PictureBox | None:
    """Return the tallest strip without ink, as wide as ``least``, that has columns on both sides.

    What is taller may be white between two pictures above or below the columns; in the rows of a strip that has none
    on its sides no other is looked for, or some rows of a table would be columns.
    """
    height, width = ink.shape
    edge = max(int(width * _EDGE), 1)
    if height < _MIN_HEIGHT or width <= 2 * edge + least:
        return None
    sums = np.concatenate([np.zeros((height, 1), dtype=np.int64), np.cumsum(ink, axis=1)], axis=1)
    lefts = np.arange(edge, width - edge - least)
    is_white = sums[:, lefts + least] == sums[:, lefts]
    tallest, ends, run = (np.zeros(len(lefts), dtype=np.int64) for _ in range(3))
    for row in range(height):
        run = np.where(is_white[row], run + 1, 0)
        ends = np.where(run > tallest, row + 1, ends)
        tallest = np.maximum(tallest, run)
    for _ in range(_MAX_STRIPS):
        at = int(np.argmax(tallest))
        if tallest[at] < _MIN_HEIGHT:
            return None
        same = np.flatnonzero((tallest == tallest[at]) & (ends == ends[at]))
        strip = PictureBox(
            int(lefts[same[0]]), int(ends[at] - tallest[at]), int(lefts[same[-1]]) + least, int(ends[at])
        )
        beside = ink[strip.top : strip.bottom, : strip.left], ink[strip.top : strip.bottom, strip.right :]
        if all(_is_text(side) for side in beside):
            return _between_lines(ink, strip)
        shared = np.minimum(ends, strip.bottom) - np.maximum(ends - tallest, strip.top)
        tallest[2 * shared > tallest] = 0
    return None


def _between_lines(ink: Ink, strip: PictureBox) -> PictureBox:
    """Return the strip without the lower half of a line above it, and the upper half of one below it."""
    blank = np.asarray(ink.sum(axis=1)) == 0
    top, bottom = strip.top, strip.bottom
    above = np.flatnonzero(blank[top : top + _HALF_LINE])
    below = np.flatnonzero(blank[bottom - _HALF_LINE : bottom])
    if top > 0 and len(above):
        top += int(above[0])
    if bottom < len(ink) and len(below):
        bottom += int(below[-1]) + 1 - _HALF_LINE
    return strip._replace(top=top, bottom=bottom)


def _is_text(ink: Ink) -> bool:
    """Return whether most of what stands there is in lines that fill the width."""
    columns = np.flatnonzero(ink.any(axis=0))
    if not len(columns):
        return False
    width = int(columns[-1]) - int(columns[0]) + 1
    has_ink = np.concatenate([[False], ink.any(axis=1), [False]])
    edges = np.flatnonzero(has_ink[1:] != has_ink[:-1])
    lines = [np.flatnonzero(ink[start:end].any(axis=0)) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    lengths = [int(line[-1]) - int(line[0]) + 1 for line in lines]
    filled = [length for length in lengths if length >= _FILLED * width]
    return len(filled) >= _MIN_LINES and sum(filled) >= _MIN_FILLED * sum(lengths)
