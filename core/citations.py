"""Citations ``[1]``: only such as point at a passage that was given to the model get through."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from core.types import Passage

_OPEN, _CLOSE = r"\[［【〔", r"\]］】〕"
_SEPARATOR = r"[\s,;、，\-–~〜]"
_RANGE = r"\d{1,4}(?:\s{0,3}[-–~〜]\s{0,3}\d{1,4})?"
_MARK_TEXT = (
    rf"[{_OPEN}]\s{{0,3}}(?:(?:passage|source|ref|cite|出典|출처)\s{{0,3}})?[#^]?"
    rf"({_RANGE}(?:\s{{0,3}}[,;、，]\s{{0,3}}{_RANGE}){{0,19}})\s{{0,3}}(?:†[^{_CLOSE}]{{0,80}})?[{_CLOSE}]"
)
_MARK = re.compile(_MARK_TEXT, re.IGNORECASE)
_SPACED_MARK = re.compile(rf"([ \t]*){_MARK_TEXT}(?=([(:])?)", re.IGNORECASE)
_UNFINISHED = re.compile(
    rf"[{_OPEN}][\s#^]{{0,6}}[A-Za-z出典출처]{{0,8}}(?:\d|#|\^|{_SEPARATOR}){{0,450}}(?:†[^{_CLOSE}]{{0,80}})?$"
    rf"|{_MARK_TEXT}$",
    re.IGNORECASE,
)
_NESTED = re.compile(rf"[{_OPEN}](?=(?:\d|{_SEPARATOR})*[{_OPEN}])")
_FIRST_AND_LAST = re.compile(r"(\d+)(?:\s*[-–~〜]\s*(\d+))?")
LONGEST_RANGE = 20


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer cites. ``text`` is what the model was given of it."""

    number: int
    passage: Passage
    text: str


def without_marks(text: str) -> str:
    """Text in which nothing looks like a citation: ``[3]`` becomes ``(3)``."""
    return _MARK.sub(lambda mark: f"({mark[1]})", _NESTED.sub("(", text))


@dataclass(slots=True)
class CitationFilter:
    """Lets a text through piece by piece, writes its citations as ``[1][2]`` and removes the invented ones.

    What may be the beginning of a citation is held back until it is one, or is not. A citation never becomes the
    text of a Markdown link, nor the name of a link's target. ``feed`` and ``flush`` return what may be shown.
    """

    given: frozenset[int]
    """Numbers of the passages that the model was given."""
    cited: list[int] = field(default_factory=list)
    """In the order of the text, each once."""
    removed: int = 0
    """Citations of no passage."""
    _held: str = ""

    def feed(self, piece: str) -> str:
        """What can be shown so far."""
        text = _NESTED.sub("", self._held + piece)
        unfinished = _UNFINISHED.search(text)
        end = unfinished.start() if unfinished else len(text)
        while end and text[end - 1] in " \t":  # it goes with a citation that is removed
            end -= 1
        self._held = text[end:]
        return self._checked(text[:end])

    def flush(self) -> str:
        """The rest, when no more text comes."""
        held, self._held = self._held, ""
        return self._checked(held)

    def _checked(self, text: str) -> str:
        return _SPACED_MARK.sub(self._written, text)

    def _written(self, mark: re.Match[str]) -> str:
        kept = []
        for number in _numbers(mark[2]):
            if number in self.given:
                kept.append(f"[{number}]")
                if number not in self.cited:
                    self.cited.append(number)
            else:
                self.removed += 1
        if not kept:
            return ""
        return mark[1] + "".join(kept) + (" " if mark[3] else "")


def _numbers(listed: str) -> list[int]:
    """``1, 3-5`` → 1, 3, 4, 5. Of a longer range the first 20."""
    numbers: list[int] = []
    for first, last in _FIRST_AND_LAST.findall(listed):
        start, stop = int(first), int(last or first)
        numbers += range(start, min(stop, start + LONGEST_RANGE - 1) + 1)
    return list(dict.fromkeys(numbers))
