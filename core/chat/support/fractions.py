"""Finds fractions in a normalized text: two thirds, half of, 2/3, 三分の二, 3분의 2, 절반."""

from __future__ import annotations

import re
from collections.abc import Iterator

from braid.core.chat.support.facts import Number
from braid.core.chat.support.numerals import KANJI, cjk_number

_UPPER = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_LOWER = {"third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10}
_WORDS = re.compile(
    rf"\b(?P<upper>{'|'.join(_UPPER)})[\s-](?P<lower>{'|'.join(_LOWER)})(?P<many>s?)\b(?P<of>\sof\b)?", re.IGNORECASE
)
_SIGNS = re.compile(r"(?<![\d/.,A-Za-z-])(?P<upper>[1-9])/(?P<lower>[2-9]|10)(?![\d/.,A-Za-z])(?!\s?[月월])")
_CJK = re.compile(rf"(?P<lower>\d{{1,3}}|[{KANJI}]{{1,3}})(?:分の|분의)\s?(?P<upper>\d{{1,3}}|[{KANJI}]{{1,3}})")
_HALF = re.compile(
    r"\b(?:a\s)?half(?=\s(?:of|the|its|their|his|her|our)\b)|(?<!前)(?<!後)半[分数額](?!以)|(?<!過)半数|절반", re.I
)
PERCENT = 100.0


def fractions(text: str) -> Iterator[Number]:
    """Yield the fractions as shares, whose base unit is a percent."""
    for found in _WORDS.finditer(text):
        upper, lower = _UPPER[found["upper"].lower()], _LOWER[found["lower"].lower()]
        if bool(found["many"]) == (upper > 1) and (found["of"] or found["upper"].lower() != "a"):
            yield _share(found, upper / lower)
    for found in _SIGNS.finditer(text):
        if int(found["upper"]) < int(found["lower"]):
            yield _share(found, int(found["upper"]) / int(found["lower"]))
    for found in _CJK.finditer(text):
        upper, lower = (int(one) if one.isdecimal() else cjk_number(one) for one in (found["upper"], found["lower"]))
        if 0 < upper < lower:
            yield _share(found, upper / lower)
    for found in _HALF.finditer(text):
        yield _share(found, 0.5)


def _share(found: re.Match[str], value: float) -> Number:
    end = found.end() - len(found.groupdict().get("of") or "")
    return Number(found.start(), end, (value,), "share", PERCENT)
