"""Lines from top to bottom in columns from right to left, as Japanese, Chinese and Korean are written as well.

Such a page is seen by where its letters stand, each below the one before. Turned by a quarter, its columns are rows
from top to bottom, and its tiers are columns from left to right: it is read as any page that is turned so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from braid.core.ingest.readers.document import CJK
from braid.core.ingest.readers.paged.characters import Box, LinePiece
from braid.core.ingest.readers.paged.right_to_left import Corners

_UPRIGHT = re.compile(f"[{CJK}\uac00-\ud7a3]")
LEAST_LETTERS = 8
"""Letters below each other by which a page is known to be written so."""
_BESIDE, _STEP = 0.5, 2.0
"""In sizes of a letter: the next one of a column is no further aside than, and no further down than."""


class Split(NamedTuple):
    """The pieces of a page: those from left to right, and those from top to bottom, a letter each."""

    level: list[LinePiece]
    upright: list[LinePiece]


def is_suspect(pieces: Sequence[LinePiece], text: str) -> bool:
    """Return whether lines from top to bottom are likely: half of the letters stand alone or in tall pieces."""
    if _UPRIGHT.search(text) is None:
        return False
    letters = alone = 0
    for piece in pieces:
        count = len(_UPRIGHT.findall(text, piece.start, piece.end))
        letters += count
        is_tall = piece.height > 1.5 * piece.width or piece.height > 2 * piece.width / max(count, 1)
        alone += count * (count == 1 or is_tall)
    return letters >= LEAST_LETTERS and 2 * alone >= letters


def split(pieces: Sequence[LinePiece], text: str, boxes: Corners) -> Split:
    """Return the pieces with those of columns apart. ``boxes`` (n, 4) are of the n characters of ``text``."""
    at = [index for piece in pieces for index in range(piece.start, piece.end) if not text[index].isspace()]
    below = _below(at, text, boxes)
    if sum(below.values()) < LEAST_LETTERS or 2 * sum(below.values()) < sum(map(len, _UPRIGHT.findall(text))):
        return Split(list(pieces), [])
    columns = boxes[[index for index, is_below in below.items() if is_below]]
    top, bottom = columns[:, 1].min(), columns[:, 3].max()
    level = [piece for piece in pieces if _is_level(piece, below) or piece.bottom <= top or piece.top >= bottom]
    kept = set(level)
    upright = [
        LinePiece(index, index + 1, *_box(boxes, index), piece.line)
        for piece in pieces
        if piece not in kept
        for index in range(piece.start, piece.end)
        if not text[index].isspace()
    ]
    return Split(level, upright)


def turned(pieces: Sequence[LinePiece], width: float) -> list[LinePiece]:
    """Return the pieces of a page of ``width`` points as they are on the page turned by a quarter against the clock."""
    return [
        piece._replace(left=piece.top, top=width - piece.right, right=piece.bottom, bottom=width - piece.left)
        for piece in pieces
    ]


def _below(at: Sequence[int], text: str, boxes: Corners) -> dict[int, bool]:
    """Return for each letter whether it is in a column: below the one before in the text, or above the next one."""
    below = dict.fromkeys(at, False)
    for one, other in pairwise(at):
        if not _UPRIGHT.match(text[one]) and not _UPRIGHT.match(text[other]):
            continue
        size = max(float(boxes[one, 2] - boxes[one, 0]), float(boxes[other, 2] - boxes[other, 0]), 1.0)
        across, down = ((boxes[other, :2] + boxes[other, 2:] - boxes[one, :2] - boxes[one, 2:]) / 2).tolist()
        if abs(across) <= _BESIDE * size and 0 < down <= _STEP * size:
            below[one] = below[other] = True
    return below


def _box(boxes: Corners, index: int) -> Box:
    left, top, right, bottom = boxes[index].tolist()
    return left, top, right, bottom


def _is_level(piece: LinePiece, below: dict[int, bool]) -> bool:
    """Return whether a piece is wide and hardly a letter of it is in a column."""
    inside = [below[index] for index in range(piece.start, piece.end) if index in below]
    return piece.width > 2 * piece.height and 4 * sum(inside) < len(inside)
