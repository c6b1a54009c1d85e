"""Lines from right to left, as Arabic, Hebrew and Persian are written.

PDFium has the characters of such a line in the order in which they are read, but for those that share one drawn letter.
A page of such lines is read as its mirror image: its columns, cells and parts of lines then follow each other from left
to right, as on any other page.
"""

from __future__ import annotations

import re

import numpy as np
import pypdfium2  # type: ignore[import-untyped]
from numpy.typing import NDArray

Corners = NDArray[np.float64]
"""(n, 4): left, top, right, bottom in points from the upper left corner of the page as it is shown."""

_LETTERS = "\u05d0-\u05ea\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb1d-\ufdff\ufe70-\ufefc"
_LETTER = re.compile(f"[{_LETTERS}]")
_OTHER_LETTER = re.compile(f"[^\\W\\d_{_LETTERS}]")
_ALEF_LAM = re.compile("[\u0622\u0623\u0625\u0627]\u0644")
_MARKS = "\u0591-\u05bd\u064b-\u065f\u0670"
_MARK_BEFORE = re.compile(f" ([{_MARKS}]+)([{_LETTERS}])")
_BETWEEN_SCRIPTS = re.compile(f"(?<=[{_LETTERS}])(?=[a-zA-Z])|(?<=[a-zA-Z])(?=[{_LETTERS}])")
_SAME = 0.01
"""Points by which two boxes of one drawn letter may differ."""


def is_right_to_left(text: str) -> bool:
    """Return whether most letters are of a script that is written from right to left.

    >>> [is_right_to_left(text) for text in ("שלום PDF", "The word שלום", "2026")]
    [True, False, False]
    """
    return _LETTER.search(text) is not None and len(_LETTER.findall(text)) > len(_OTHER_LETTER.findall(text))


def with_ligatures(found: pypdfium2.PdfTextPage, text: str) -> str:
    """Return the characters of a page with lam before alef where one drawn letter is both: PDFium has them reversed."""
    if _ALEF_LAM.search(text) is None:
        return text
    letters = list(text)
    for match in _ALEF_LAM.finditer(text):
        first, second = match.start(), match.start() + 1
        boxes = np.array([found.get_charbox(first), found.get_charbox(second)])
        if np.ptp(boxes, axis=0).max() <= _SAME:
            letters[first], letters[second] = text[second], text[first]
    return "".join(letters)


def gaps_between(boxes: Corners, least: float) -> NDArray[np.bool_]:
    """Return for each box of a line but the last whether a gap of at least ``least`` is between it and the next one.

    A word of Latin letters, or a number, has its characters from left to right within the line: characters that touch
    are taken together before gaps are looked for.
    """
    apart = _space(boxes[:-1], boxes[1:]) > least
    starts = np.concatenate([[0], np.flatnonzero(apart) + 1])
    lows, highs = np.minimum.reduceat(boxes, starts), np.maximum.reduceat(boxes, starts)
    words = np.concatenate([lows[:, :2], highs[:, 2:]], axis=1)
    apart[starts[1:] - 1] = _space(words[:-1], words[1:]) > least
    return apart


def _space(first: Corners, second: Corners) -> NDArray[np.float64]:
    """Return the white between two boxes beside each other, in either direction; below 0 where they overlap."""
    space: NDArray[np.float64] = np.maximum(second[:, 0] - first[:, 2], first[:, 0] - second[:, 2])
    return space


def spaced(text: str) -> str:
    """Return a text with a space between two scripts, and with a mark that PDFium has apart after its letter.

    >>> spaced("שלוםPDF")
    'שלום PDF'
    """
    if _LETTER.search(text) is None:
        return text
    return _BETWEEN_SCRIPTS.sub(" ", _MARK_BEFORE.sub(r"\2\1", text))
