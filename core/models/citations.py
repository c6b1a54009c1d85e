"""Removes citations ``[1]`` that refer to no passage in the prompt."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import Any

from braid.core.json_form import pick, to_json
from braid.core.types import Passage

_OPEN, _CLOSE = r"\[［【〔〖〚⟦", r"\]］】〕〗〛⟧"
_WITHIN = rf"[^{_OPEN}{_CLOSE}]{{0,200}}"
_MARK = re.compile(rf"\\?[{_OPEN}]({_WITHIN})[{_CLOSE}]")
_SPACED_MARK = re.compile(rf"([ \t]*){_MARK.pattern}(?=([(:])?)")
_UNFINISHED = re.compile(rf"\\?[{_OPEN}]{_WITHIN}[{_CLOSE}]?$")
_UNFINISHED_ENTITY = re.compile(r"(?:&[#\w]{0,10})+$")
_NESTED = re.compile(rf"\\?[{_OPEN}]({_WITHIN}?)(?=\\?[{_OPEN}])")
_ENTITY = re.compile(r"&(?:#0{0,6}(?P<dec>\d{2,6})|#x0{0,6}(?P<hex>[\da-f]{2,5})|(?P<name>[lr](?:sqb|brack)));", re.I)
# Allowed in a citation beside its numbers. Longest words first; "P" may be part of a formula.
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
    """A passage that an answer cites. ``text`` is the part of it that the model was given."""

    number: int
    passage: Passage
    text: str


def citation_json(citation: Citation) -> dict[str, Any]:
    """Return the citation as JSON: its number, the place of its passage, and its text."""
    place = ("chunk_id", "document_id", "dataset_id", "source", "title", "heading_path", "page", "line")
    return {"number": citation.number, **pick(to_json(citation.passage), *place), "text": citation.text}


def without_marks(text: str) -> str:
    """Return the text with nothing in it that looks like a citation: ``[3]`` becomes ``(3)``."""
    return _MARK.sub(_in_parentheses, _NESTED.sub(lambda mark: _unnest(mark, "("), _decode(text)))


@dataclass(slots=True)
class CitationFilter:
    """Takes a text piece by piece, writes its citations as ``[1][2]`` and removes the invented ones.

    A possible beginning of a citation is held back until the citation is complete, or is none. A citation never
    becomes the text of a Markdown link, nor the name of a link's target.
    """

    given: frozenset[int]
    """Numbers of the passages in the prompt."""
    cited: list[int] = field(default_factory=list)
    """Numbers in the order of the text, each once."""
    removed: int = 0
    """Number of citations that were removed."""
    _held: str = ""
    _behind_mark: bool = False

    def feed(self, piece: str) -> str:
        """Take the next piece; return the text that can be shown now."""
        text = _NESTED.sub(lambda mark: _unnest(mark, ""), _decode(self._held + piece))
        entity = _UNFINISHED_ENTITY.search(text)
        unfinished = _UNFINISHED.search(text) or entity
        end = unfinished.start() if unfinished else len(text)
        while end and text[end - 1] in " \t\\":  # they go with a citation that is removed
            end -= 1
        self._held = text[end:]
        return self._check(text[:end])

    def flush(self) -> str:
        """Return the rest of the text. Call it once, after the last piece."""
        held, self._held = self._held, ""
        return self._check(held)

    def _check(self, text: str) -> str:
        shown = _SPACED_MARK.sub(self._rewrite_mark, text)
        if self._behind_mark and shown.startswith(("(", ":")):  # a mark between them was removed
            shown = f" {shown}"
        if shown:
            self._behind_mark = _ENDS_IN_MARK.search(shown) is not None
        return shown

    def _rewrite_mark(self, mark: re.Match[str]) -> str:
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
    """Return the numbers of ``Source 1, 3-5``: 1, 3, 4, 5. Of a longer range the first 20; none if no citation."""
    if not _is_listing(within) or _DECIMAL.search(within):
        return []
    numbers: list[int] = []
    for first, last in _FIRST_AND_LAST.findall(_listing(within)):
        start, stop = sorted((int(first), int(last or first)))
        numbers += range(start, min(stop, start + LONGEST_RANGE - 1) + 1)
    return list(dict.fromkeys(numbers))


def _listing(within: str) -> str:
    """Remove invisible characters, and a name such as ``†source``."""
    return _INVISIBLE.sub("", within).partition("†")[0]


def _is_listing(within: str) -> bool:
    """Return whether the text has only numbers and what is allowed beside them."""
    return not _BESIDE.sub("", _listing(within))


def _in_parentheses(mark: re.Match[str]) -> str:
    return f"({_listing(mark[1]).strip()})" if _numbers(mark[1]) else mark[0]


def _unnest(mark: re.Match[str], instead: str) -> str:
    """Remove a bracket directly before a citation: with the citation gone, it would make another of what follows."""
    return instead + mark[1] if _is_listing(mark[1]) else mark[0]


def _decode(text: str) -> str:
    """Replace HTML entities of brackets and digits, which a page would show as the characters."""
    while (decoded := _ENTITY.sub(_character, text)) != text:
        text = decoded
    return text


def _character(entity: re.Match[str]) -> str:
    if entity["name"]:
        return "[" if entity["name"][0] in "lL" else "]"
    code = int(entity["dec"]) if entity["dec"] else int(entity["hex"], 16)
    character = chr(code) if code <= sys.maxunicode else ""
    return character if character.isdecimal() or re.match(rf"[{_OPEN}{_CLOSE}]", character) else entity[0]
