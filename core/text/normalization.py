"""Normalization: text to its NFKC form, with the place that each character came from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence


def _characters(codepoints: Iterable[int], *, start: int = 0x300, end: int = 0x1F000) -> str:
    return "".join(chr(codepoint) for codepoint in codepoints if start <= codepoint < end)


_MARKS = [codepoint for codepoint in range(0x300, 0x1F000) if unicodedata.category(chr(codepoint))[0] == "M"]
MARKS = _characters(_MARKS, end=0x20D0) + _characters(_MARKS, start=0x2100, end=0x10000)
"""Combining marks of letters, for a character class. Those beyond U+FFFF are left out: they make classes slow."""

_IGNORABLE = "\u00ad\u034f\u200c\u200d\u2060\ufe00-\ufe0f\ufeff"  # soft hyphen, joiners, variation selectors
_IGNORABLES = re.compile(f"[{_IGNORABLE}]+")
# A character and those that NFKC may compose with it: marks, Hangul vowels and finals, their compatibility forms.
_CLUSTER = re.compile(
    f"(?s:.)[{_characters(_MARKS)}{_IGNORABLE}\u0e33\u0eb3\u1160-\u11ff\ud7b0-\ud7ff\u3131-\u318e\uff9e-\uffdc]*"
)
# NFKC sorts a run of marks in quadratic time, so only 30 in a row count (the Stream-Safe Text Process of UAX #15).
_SORTED_MARKS = _characters(filter(lambda codepoint: unicodedata.combining(chr(codepoint)), _MARKS)) + "\uff9e\uff9f"
_MANY_MARKS = re.compile(f"[{_characters(map(ord, _SORTED_MARKS), end=0x10000)}\U00010000-\U0001ffff]{{31}}")
_TOO_MANY_MARKS = re.compile(f"([{_SORTED_MARKS}]{{30}})[{_SORTED_MARKS}]+")


def normalize(text: str) -> str:
    """Return the NFKC form without ignorable characters and without marks beyond the thirtieth in a row."""
    if text.isascii():
        return text
    text = _IGNORABLES.sub("", text)
    if _MANY_MARKS.search(text):
        text = _TOO_MANY_MARKS.sub(r"\1", text)
    return unicodedata.normalize("NFKC", text)


def align(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Return the normalized text and where in ``text`` its characters come from: starts and ends (exclusive)."""
    normalized = normalize(text)
    if normalized == text:
        return text, range(len(text)), range(1, len(text) + 1)
    starts: list[int] = []
    ends: list[int] = []
    for cluster in _CLUSTER.finditer(text):
        length = len(normalize(cluster[0]))
        starts += [cluster.start()] * length
        ends += [cluster.end()] * length
    return normalized, starts, ends


def fold(text: str) -> str:
    """Return a text as questions and names are compared: NFKC, lower case, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
