"""What was read on a picture of a page: words, where they are, and how sure the machine is of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from braid.core.lru import lazy

_CJK = "\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff9f"
_ENDS_IN_CJK, _BEGINS_IN_CJK = re.compile(f"[{_CJK}]$"), re.compile(f"^[{_CJK}]")


IS_PART = "is_part"
"""Key of a picture's ``info`` that tells `PageReading.is_part`."""


class ScannedWord(NamedTuple):
    """A word, or in Japanese some characters, with its box in pixels from the upper left corner."""

    text: str
    left: int
    top: int
    right: int
    bottom: int
    confidence: int
    """Percent."""
    line: int
    """Number of its line on the page."""
    paragraph: int


@dataclass(frozen=True)
class PageReading:
    """The words of a page in reading order, on a picture of ``width`` × ``height`` pixels."""

    words: Sequence[ScannedWord]
    width: int
    height: int
    turn: int = 0
    """Degrees, clockwise, by which the page was turned to be read: 0, 90, 180 or 270. The size and the boxes are those
    of the turned page.
    """
    skew: float = 0.0
    """Degrees, clockwise, by which the lines of the turned page are askew; the boxes are those of the page put straight
    about its middle.
    """
    languages: str = ""
    """As Tesseract names them."""
    is_blank: bool = False
    """Whether nothing is to be seen on the page, not even a picture."""
    is_part: bool = False
    """Whether only pictures were read on a page that has text of its own: the reading stands beside it."""

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> PageReading:
        """Return the reading that `to_json` wrote."""
        return cls(**{**read, "words": tuple(ScannedWord(*each) for each in read["words"])})

    def to_json(self) -> dict[str, Any]:
        """Return the reading as JSON."""
        names = ("width", "height", "turn", "skew", "languages", "is_blank", "is_part")
        return {"words": [list(each) for each in self.words], **{name: getattr(self, name) for name in names}}

    @property
    def text(self) -> str:
        """The page as text, a line per line, with an empty line between paragraphs."""
        return self._spelled[0]

    def characters(self) -> tuple[str, list[tuple[int, int, int, int]]]:
        """Return the text, and the box of each character of it; spaces and line breaks have an empty one."""
        text, starts = self._spelled
        boxes = [(0, 0, 0, 0)] * len(text)
        for word, start in zip(self.words, starts, strict=True):
            boxes[start : start + len(word.text)] = _split(word)
        return text, boxes

    @property
    def confidence(self) -> float:
        """How sure the machine is of the page, 0–1, each letter counted alike; 0 without text."""
        return self._confidence(0, sum(len(word.text) for word in self.words))

    def confidence_of(self, passage: str) -> float | None:
        """Return how sure the machine is of a passage of the page; where it is not found, of the whole page, or None if
        it can be of the page's own text.
        """
        wanted, there = "".join(passage.split()), "".join(word.text for word in self.words)
        start = there.find(wanted)
        if start >= 0 and wanted:
            return self._confidence(start, start + len(wanted))
        return None if self.is_part else self.confidence

    def _confidence(self, start: int, end: int) -> float:
        """Return the mean of the words between these letters, spaces not counted."""
        sure = letters = begin = 0
        for word in self.words:
            length = max(0, min(end, begin + len(word.text)) - max(start, begin))
            letters += length
            sure += length * word.confidence
            begin += len(word.text)
        return round(sure / letters / 100, 3) if letters else 0.0

    @lazy
    def _spelled(self) -> tuple[str, list[int]]:
        """The text, and where each word begins in it."""
        starts, text = [0] if self.words else [], self.words[0].text if self.words else ""
        for before, word in pairwise(self.words):
            text += _gap(before, word)
            starts.append(len(text))
            text += word.text
        return text, starts


def _gap(before: ScannedWord, word: ScannedWord) -> str:
    if word.paragraph != before.paragraph:
        return "\n\n"
    if word.line != before.line:
        return "\n"
    return "" if _ENDS_IN_CJK.search(before.text) and _BEGINS_IN_CJK.search(word.text) else " "


def _split(word: ScannedWord) -> list[tuple[int, int, int, int]]:
    """Return a box per character, each as wide as the others; as high in lines from top to bottom."""
    count = len(word.text)
    if word.bottom - word.top > 1.5 * (word.right - word.left) and count > 1:
        edges = [word.top + (word.bottom - word.top) * place // count for place in range(count + 1)]
        return [(word.left, edges[place], word.right, edges[place + 1]) for place in range(count)]
    edges = [word.left + (word.right - word.left) * place // count for place in range(count + 1)]
    return [(edges[place], word.top, edges[place + 1], word.bottom) for place in range(count)]
