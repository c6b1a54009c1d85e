"""What a citation mark looks like: ``[1]``, also with other brackets, several numbers, or words beside them."""

from __future__ import annotations

import re
import sys

_OPEN, _CLOSE = r"\[［【〔〖〚⟦", r"\]］】〕〗〛⟧"
_WITHIN = rf"[^{_OPEN}{_CLOSE}]{{0,200}}"
_MARK = re.compile(rf"\\?[{_OPEN}]({_WITHIN})[{_CLOSE}]")
SPACED_MARK = re.compile(rf"([ \t]*){_MARK.pattern}(?=([(:])?)")
UNFINISHED = re.compile(rf"\\?[{_OPEN}]{_WITHIN}[{_CLOSE}]?$")
UNFINISHED_ENTITY = re.compile(r"(?:&[#\w]{0,10})+$")
NESTED = re.compile(rf"\\?[{_OPEN}]({_WITHIN}?)(?=\\?[{_OPEN}])")
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
ENDS_IN_MARK = re.compile(r"\[\d+\]$")
_DECIMAL = re.compile(r"\d\.\d")
_FIRST_AND_LAST = re.compile(r"(\d+)(?:\s*(?:[-‐-―~〜]|to|through)\s*(\d+))?", re.IGNORECASE)
LONGEST_RANGE = 20


def without_marks(text: str) -> str:
    """Return the text with nothing in it that looks like a citation: ``[3]`` becomes ``(3)``."""
    return _MARK.sub(_in_parentheses, NESTED.sub(lambda mark: unnest(mark, "("), decode_entities(text)))


def cited_numbers(within: str) -> list[int]:
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
    """Whether the text has only numbers and what is allowed beside them."""
    return not _BESIDE.sub("", _listing(within))


def _in_parentheses(mark: re.Match[str]) -> str:
    return f"({_listing(mark[1]).strip()})" if cited_numbers(mark[1]) else mark[0]


def unnest(mark: re.Match[str], instead: str) -> str:
    """Remove a bracket directly before a citation: with the citation gone, it would make another of what follows."""
    return instead + mark[1] if _is_listing(mark[1]) else mark[0]


def decode_entities(text: str) -> str:
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
