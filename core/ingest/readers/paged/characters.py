"""The characters of a page of a PDF: in lines, with the box of each line as the page is shown."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

import numpy as np
import pypdfium2  # type: ignore[import-untyped]
from numpy.typing import NDArray
from pypdfium2 import raw

from braid.core.ingest.readers.paged.right_to_left import Corners, gaps_between, is_right_to_left, with_ligatures

GAP = 0.7
"""Least space between two parts of a line that may be of two columns, or cells, in heights of the line."""
HYPHENS = "\x02\ufffe"
"""How PDFium marks a hyphen at the end of a line; it leaves the line break out."""
NOTHING = "\ufeff"
"""Stands where PDFium counts a character that is no part of a text: the second one of a letter beyond U+FFFF, and a
line break within a row.
"""
_TOUCHING = 0.1
"""Most space, and overlap, of two letters of a word, in heights of their font."""
_BREAK_WITHIN = re.compile(r"(?<=\S)\r\n(?=\S)")
_NAMED = str.maketrans(
    {
        **{chr(0xF730 + digit): str(digit) for digit in range(10)},
        **{chr(0xF761 + at): chr(ord("A") + at) for at in range(26)},
        **dict(zip("\uf8eb\uf8f6\uf8ee\uf8f9\uf8f1\uf8fc\uf8e8\uf8e9\uf8ea", "()[]{}®©™", strict=True)),
        **dict.fromkeys(
            "\uf8e6\uf8e7\uf8ec\uf8ed\uf8ef\uf8f0\uf8f2\uf8f3\uf8f4\uf8f7\uf8f8\uf8fa\uf8fb\uf8fd\uf8fe", " "
        ),
    }
)
"""Characters for private use that have a name in Adobe's list of glyphs: small capitals, figures of old style, and the
parts of tall brackets, of which the uppermost is the bracket.
"""
_LINE = re.compile(f"[^\\r\\n{HYPHENS}]+[{HYPHENS}]?")

Box = tuple[float, float, float, float]


class LinePiece(NamedTuple):
    """A line, or a part of one with wide gaps on both sides: its characters on the page, and their box in points."""

    start: int
    end: int
    left: float
    top: float
    right: float
    bottom: float
    line: int
    """Number of its line in the order in which the page is drawn."""

    @property
    def width(self) -> float:
        """From left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """From top to bottom."""
        return self.bottom - self.top

    def of(self, text: str) -> str:
        """Return its characters in the text of its page, each white space as one space."""
        return " ".join(text[self.start : self.end].replace(NOTHING, "").split())


def page_text(found: pypdfium2.PdfTextPage) -> str:
    """Return the characters of a page, one for each that PDFium counts, in the order in which they are drawn."""
    count = found.count_chars()
    text = str(found.get_text_range()) if count else ""
    if len(text) != count:
        codes = [raw.FPDFText_GetUnicode(found, index) for index in range(count)]
        pairs = zip(codes, [*codes[1:], 0], [0, *codes[:-1]], strict=True)
        text = "".join(_letter(code, following, before) for code, following, before in pairs)
    text = _BREAK_WITHIN.sub(lambda each: NOTHING * 2 if _is_in_row(found, *each.span()) else each[0], text)
    return with_ligatures(found, text if text.isascii() else text.translate(_NAMED))


def _is_in_row(found: pypdfium2.PdfTextPage, start: int, end: int) -> bool:
    """Return whether the letters before and after a line break touch: PDFium breaks the rows of a page that it takes
    for one with lines from top to bottom.
    """
    before, after = loose_boxes(found, start - 1, 1)[0], loose_boxes(found, end, 1)[0]
    height = min(before[1] - before[3], after[1] - after[3])
    is_level = np.abs(before[[1, 3]] - after[[1, 3]]).max() <= _TOUCHING * height
    return bool(is_level and abs(after[0] - before[2]) <= _TOUCHING * height)


def _letter(code: int, following: int, before: int) -> str:
    """Return a character by the code that PDFium has for it; of two that are one, the first is it."""
    if 0xD800 <= code < 0xDC00 <= following < 0xE000:
        return chr(0x10000 + (code - 0xD800) * 0x400 + following - 0xDC00)
    if 0xDC00 <= code < 0xE000 and 0xD800 <= before < 0xDC00:
        return NOTHING
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def pieces_of(found: pypdfium2.PdfTextPage, text: str, turn: PageTransform) -> list[LinePiece]:
    """Return the lines that are within the page, cut at wide gaps, in the order in which they are drawn."""
    pieces = []
    for number, match in enumerate(_LINE.finditer(text)):
        for first, last, drawn in _parts(found, match, turn):
            box = _box(found, text, (first, last), drawn, turn)
            if box is not None and turn.is_within(box):
                pieces.append(LinePiece(first, last, *box, number))
    return pieces


class PageTransform:
    """From the coordinates of a page to the page as it is shown: cropped and rotated."""

    def __init__(self, page: pypdfium2.PdfPage) -> None:
        self._finer = 100
        self.width, self.height = page.get_size()
        size = round(self.width * self._finer), round(self.height * self._finer)
        self._origin, right, up = (_on_screen(page, size, *point) for point in ((0, 0), (1000, 0), (0, 1000)))
        self._turn = np.stack([right - self._origin, up - self._origin]) / 1000

    def shown(self, corners: Corners) -> Corners:
        """Turn boxes (n, 4), two opposite corners each."""
        points = (corners.reshape(-1, 2, 2) @ self._turn + self._origin) / self._finer
        return np.concatenate([points.min(axis=1), points.max(axis=1)], axis=1)

    def is_within(self, box: Box) -> bool:
        """Return whether the middle of a shown box is on the page."""
        left, top, right, bottom = box
        return bool(0 <= (left + right) / 2 <= self.width and 0 <= (top + bottom) / 2 <= self.height)


def _on_screen(page: pypdfium2.PdfPage, size: tuple[int, int], x: float, y: float) -> NDArray[np.float64]:
    across, down = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, *size, 0, x, y, across, down)
    return np.array([across.value, down.value], dtype=np.float64)


def _parts(
    found: pypdfium2.PdfTextPage, line: re.Match[str], turn: PageTransform
) -> Iterator[tuple[int, int, Corners]]:
    """Yield the parts of a line between wide gaps, and the boxes of their ink. Only a line drawn in parts is looked at
    by its characters.
    """
    start, end = line.span()
    shown = _drawn(found, start, end, turn)
    if len(shown) < 2 or not _gaps(shown).any():
        yield start, end, shown
        return
    boxes = turn.shown(loose_boxes(found, start, end - start))
    visible = np.flatnonzero((boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))
    inked = visible[[not chr(raw.FPDFText_GetUnicode(found, start + int(at))).isspace() for at in visible]]
    first = start
    gaps = _gaps(boxes[inked], is_right_to_left(line[0]))
    for at in np.flatnonzero(gaps):
        following = start + int(inked[at + 1])
        yield first, following, _drawn(found, first, following, turn)
        first = following
    yield first, end, shown if first == start else _drawn(found, first, end, turn)


def _gaps(boxes: Corners, from_the_right: bool = False) -> NDArray[np.bool_]:
    """Return for each box but the last whether the next one is far to its right, or to its left."""
    height = max(median((boxes[:, 3] - boxes[:, 1]).tolist()), 1.0) if len(boxes) else 1.0
    if from_the_right and len(boxes):
        return gaps_between(boxes, GAP * height)
    after = boxes[1:, 0] - boxes[:-1, 2]
    gaps: NDArray[np.bool_] = (after > GAP * height) | (after < -3 * height)
    return gaps


def _drawn(found: pypdfium2.PdfTextPage, start: int, end: int, turn: PageTransform) -> Corners:
    """Return the boxes of the ink of characters, one for those in one row that are drawn together."""
    boxes = [found.get_rect(index) for index in range(found.count_rects(start, end - start))]
    return turn.shown(np.array(boxes).reshape(-1, 4))


def loose_boxes(found: pypdfium2.PdfTextPage, start: int, count: int) -> Corners:
    """Return the boxes of characters as the file has them, as high as their font; empty ones where there is none."""
    box = raw.FS_RECTF()
    corners = np.zeros((count, 4))
    for index in range(count):
        if raw.FPDFText_GetLooseCharBox(found, start + index, box):
            corners[index] = box.left, box.top, box.right, box.bottom
    return corners


def _box(
    found: pypdfium2.PdfTextPage, text: str, span: tuple[int, int], drawn: Corners, turn: PageTransform
) -> Box | None:
    """Return where a piece is: as wide as its ink, and as high as the font, so that lines of one size are alike."""
    inked = [at for at in range(*span) if not text[at].isspace() and text[at] not in HYPHENS]
    if not len(drawn) or not inked:
        return None
    some = {inked[0], inked[len(inked) // 2], inked[-1]}
    fonts = turn.shown(np.concatenate([loose_boxes(found, at, 1) for at in sorted(some)]))
    font = fonts[np.argmax(fonts[:, 3] - fonts[:, 1])]
    if drawn[:, 3].max() - drawn[:, 1].min() > 2 * (font[3] - font[1]):  # a line that runs downwards
        left, top, right, bottom = np.concatenate([drawn[:, :2].min(axis=0), drawn[:, 2:].max(axis=0)])
    else:
        left, top, right, bottom = drawn[:, 0].min(), font[1], drawn[:, 2].max(), font[3]
    return float(left), float(top), float(right), float(bottom)
