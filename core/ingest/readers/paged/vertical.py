"""Lines from top to bottom in columns from right to left, as Japanese, Chinese and Korean are written as well.

Such a page is seen by where its letters stand, each below the one before. Turned by a quarter, its columns are rows
from top to bottom, and its tiers are columns from left to right: it is read as any page that is turned so.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Sequence, Set
from itertools import groupby, pairwise
from operator import itemgetter
from statistics import median
from typing import NamedTuple

from braid.core.ingest.readers.document import CJK
from braid.core.ingest.readers.paged.characters import NOTHING, LinePiece
from braid.core.ingest.readers.paged.right_to_left import Corners

_UPRIGHT = re.compile(f"[{CJK}\uac00-\ud7a3]")
LEAST_LETTERS = 8
"""Letters below each other by which a page is known to be written so."""
_BESIDE, _STEP = 0.5, 2.0
"""In sizes of a letter: the next one of a column is no further aside than, and no further down than."""


_WHOLE, _READING = 0.8, 0.6
"""Shares of the size of a letter: one is as wide as its column from, and furigana are up to."""
_NEAR = 1.0
"""Points between a column and its furigana."""
_KANA = re.compile("[\u3041-\u30ff]")


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
    return Split(level, _letters((piece for piece in pieces if piece not in kept), text, boxes))


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


def _letters(pieces: Iterable[LinePiece], text: str, boxes: Corners) -> list[LinePiece]:
    """Return the letters of the pieces without furigana, each with a box as wide as its column.

    The boxes of ``、``, ``一`` and brackets, which fill only part of it, are widened, and so are those of the digits of
    an upright number, which also get the same height.
    """
    letters = [
        LinePiece(index, index + 1, left, top, right, bottom, piece.line)
        for piece in pieces
        for index in range(piece.start, piece.end)
        for left, top, right, bottom in boxes[index : index + 1].tolist()
        if not text[index].isspace() and text[index] != NOTHING
    ]
    size = median(letter.width for letter in letters) if letters else 0.0
    whole = [letter for letter in letters if letter.width >= _WHOLE * size]
    edges = {round(letter.right) for letter in whole}
    kept = [letter for letter in letters if not _is_reading(letter, text, size, edges)]
    lefts: list[float] = []
    for left in sorted(letter.left for letter in whole):
        if not lefts or left - lefts[-1] > _BESIDE * size:
            lefts.append(left)
    found: list[LinePiece] = []
    placed = sorted((bisect(lefts, letter.left + _NEAR), letter.top, letter) for letter in kept)
    for _, column in groupby(placed, key=itemgetter(0)):
        found += _in_column([letter for *_, letter in column], size)
    return sorted(found)


def _is_reading(letter: LinePiece, text: str, size: float, edges: Set[int]) -> bool:
    """Return whether a letter is of furigana: kana half as wide as the letters of the column that it stands beside."""
    is_small = letter.width <= _READING * size and _KANA.match(text[letter.start]) is not None
    return is_small and not edges.isdisjoint(range(round(letter.left) - 1, round(letter.left) + 2))


def _in_column(letters: list[LinePiece], size: float) -> list[LinePiece]:
    """Return the letters of a column, from its top, with the places that they have."""
    whole: LinePiece | None = None
    for at in (*range(len(letters)), *reversed(range(len(letters)))):  # what begins a column is as wide as the next one
        letter = letters[at]
        if letter.width >= _WHOLE * size:
            whole = letter
        elif whole is not None and whole.left - _NEAR <= letter.left and letter.right <= whole.right + _NEAR:
            letters[at] = letter._replace(left=whole.left, right=whole.right)
    for at, following in enumerate([*letters[2:], *letters[-1:]][: len(letters) - 1], start=1):
        before, letter = letters[at - 1 : at + 1]
        end = before.bottom + letter.width
        if before.top <= (letter.top + letter.bottom) / 2 <= before.bottom:
            letters[at] = letter._replace(top=before.top, bottom=before.bottom)
        elif letter.height < _WHOLE * letter.width and letter.bottom <= end + _NEAR:
            end = min(end, following.top) if following.top >= (letter.top + letter.bottom) / 2 else end
            letters[at] = letter._replace(top=before.bottom, bottom=max(end, letter.bottom))
    return [
        one._replace(bottom=other.top + _NEAR) if 0 <= other.top - one.bottom < one.width / 2 else one
        for one, other in zip(letters, [*letters[1:], *letters[-1:]], strict=True)
    ]


def _is_level(piece: LinePiece, below: dict[int, bool]) -> bool:
    """Return whether a piece is wide and hardly a letter of it is in a column."""
    inside = [below[index] for index in range(piece.start, piece.end) if index in below]
    return piece.width > 2 * piece.height and 4 * sum(inside) < len(inside)
