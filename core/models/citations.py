"""Citations ``[1]``: only such as point at a passage that was given to the model get through."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field

from braid.core.types import Passage

_OPEN, _CLOSE = r"\[［【〔〖〚⟦", r"\]］】〕〗〛⟧"
_WITHIN = rf"[^{_OPEN}{_CLOSE}]{{0,200}}"
_MARK = re.compile(rf"\\?[{_OPEN}]({_WITHIN})[{_CLOSE}]")
_SPACED_MARK = re.compile(rf"([ \t]*){_MARK.pattern}(?=([(:])?)")
_UNFINISHED = re.compile(rf"\\?[{_OPEN}]{_WITHIN}[{_CLOSE}]?$")
_UNFINISHED_ENTITY = re.compile(r"(?:&[#\w]{0,10})+$")
_NESTED = re.compile(rf"\\?[{_OPEN}]({_WITHIN}?)(?=\\?[{_OPEN}])")
_ENTITY = re.compile(r"&(?:#0{0,6}(?P<dec>\d{2,6})|#x0{0,6}(?P<hex>[\da-f]{2,5})|(?P<name>[lr](?:sqb|brack)));", re.I)
# What may stand in a citation beside its numbers. Words longest first; "P" may be a part of a formula.
_BESIDE = re.compile(
    r"\d+|[\s,;:.、，；：。・&+/|\\#^@*_~`'\"“”‘’(){}<>=№§\-‐-―〜]+"
    r"|passages?|sources?|references?|refs?|citations?|cited?|cites|see|documents?|docs?|chunks?|pages?|numbers?|nos?"
    r"|and|or|also|to|through|(?-i:pp?)|出典|出处|来源|文献|資料|参照|参考|番号|および|及び|と"
    r"|출처|문서|자료|참고|참조|및|와|과",
    re.IGNORECASE,
)
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_ENDS_IN_MARK = re.compile(r"\[\d+\]$")
_DECIMAL = re.compile(r"\d\.\d")
_FIRST_AND_LAST = re.compile(r"(\d+)(?:\s*(?:[-‐-―~〜]|to|through)\s*(\d+))?", re.IGNORECASE)
LONGEST_RANGE = 20


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer cites. ``text`` is what the model was given of it."""

    number: int
    passage: Passage
    text: str


def without_marks(text: str) -> str:
    """Text in which nothing looks like a citation: ``[3]`` becomes ``(3)``."""
    return _MARK.sub(_in_parentheses, _NESTED.sub(lambda mark: _unnested(mark, "("), _decoded(text)))


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
    _behind_mark: bool = False

    def feed(self, piece: str) -> str:
        """What can be shown so far."""
        text = _NESTED.sub(lambda mark: _unnested(mark, ""), _decoded(self._held + piece))
        entity = _UNFINISHED_ENTITY.search(text)
        unfinished = _UNFINISHED.search(text) or entity
        end = unfinished.start() if unfinished else len(text)
        while end and text[end - 1] in " \t\\":  # they go with a citation that is removed
            end -= 1
        self._held = text[end:]
        return self._checked(text[:end])

    def flush(self) -> str:
        """The rest, when no more text comes."""
        held, self._held = self._held, ""
        return self._checked(held)

    def _checked(self, text: str) -> str:
        shown = _SPACED_MARK.sub(self._written, text)
        if self._behind_mark and shown.startswith(("(", ":")):  # what stood between them was removed
            shown = f" {shown}"
        if shown:
            self._behind_mark = _ENDS_IN_MARK.search(shown) is not None
        return shown

    def _written(self, mark: re.Match[str]) -> str:
        numbers = _numbers(mark[2])
        if not numbers:
            return mark[0]
        kept = []
        for number in numbers:
            if number in self.given:
                kept.append(f"[{number}]")
                if number not in self.cited:
                    self.cited.append(number)
            else:
                self.removed += 1
        if not kept:
            return ""
        return mark[1] + "".join(kept) + (" " if mark[3] else "")


def _numbers(within: str) -> list[int]:
    """``Source 1, 3-5`` → 1, 3, 4, 5; of a longer range the first 20. Empty for what is no citation."""
    if not _is_listing(within) or _DECIMAL.search(within):
        return []
    numbers: list[int] = []
    for first, last in _FIRST_AND_LAST.findall(_listing(within)):
        start, stop = sorted((int(first), int(last or first)))
        numbers += range(start, min(stop, start + LONGEST_RANGE - 1) + 1)
    return list(dict.fromkeys(numbers))


def _listing(within: str) -> str:
    """Without what is invisible, and without a name such as ``†source``."""
    return _INVISIBLE.sub("", within).partition("†")[0]


def _is_listing(within: str) -> bool:
    """Whether numbers, and what may stand beside them, are all there is."""
    return not _BESIDE.sub("", _listing(within))


def _in_parentheses(mark: re.Match[str]) -> str:
    return f"({_listing(mark[1]).strip()})" if _numbers(mark[1]) else mark[0]


def _unnested(mark: re.Match[str], instead: str) -> str:
    """A bracket in front of a citation's own must not make another one of what is left when that one is gone."""
    return instead + mark[1] if _is_listing(mark[1]) else mark[0]


def _decoded(text: str) -> str:
    """With brackets and digits that are written as HTML entities, which a page would show as what they are."""
    while (decoded := _ENTITY.sub(_character, text)) != text:
        text = decoded
    return text


def _character(entity: re.Match[str]) -> str:
    if entity["name"]:
        return "[" if entity["name"][0] in "lL" else "]"
    code = int(entity["dec"]) if entity["dec"] else int(entity["hex"], 16)
    character = chr(code) if code <= sys.maxunicode else ""
    return character if character.isdecimal() or re.match(rf"[{_OPEN}{_CLOSE}]", character) else entity[0]
