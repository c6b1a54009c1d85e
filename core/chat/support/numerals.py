"""Numbers that are written with other signs than digits: 四十五, 二〇二五, 세, twelve."""

from __future__ import annotations

from collections.abc import Mapping

KANJI = "〇一二三四五六七八九十百千"
_DIGITS: Mapping[str, int] = {sign: value for value, sign in enumerate("〇一二三四五六七八九")}
_TENS: Mapping[str, int] = {"十": 10, "百": 100, "千": 1_000}
_ONES = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_ORDINALS = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth twentieth
"""
_WORDS_OF_TENS = """twenty thirty forty fifty sixty seventy eighty ninety"""
_BELOW_20 = {word: value for value, word in enumerate(f"{_ONES} {_TEENS}".split(), start=1)}
_TENS_OF_WORDS = {word: 10 * value for value, word in enumerate(_WORDS_OF_TENS.split(), start=2)}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_VALUES = {"a": 1, "dozen": 12, **_BELOW_20, **_TENS_OF_WORDS}
_BELOW_100 = rf"(?:(?:{'|'.join(_TENS_OF_WORDS)})(?:[\s-](?:{_ONES.replace(' ', '|')}))?|{'|'.join(_BELOW_20)}|dozen)"
_BELOW_1000 = rf"(?:(?:{_BELOW_100}|a)[\s-]hundred(?:\s(?:and\s)?{_BELOW_100})?|{_BELOW_100})"
_LARGE = rf"(?:{_BELOW_1000}|a)[\s-](?:{'|'.join(_SCALES)})"
WORDS = rf"(?:{_LARGE}(?:,?\s(?:and\s)?{_LARGE}){{0,2}}(?:,?\s(?:and\s)?{_BELOW_1000})?|{_BELOW_1000})"
"""An expression for English words of a number: twelve, twenty-four, two hundred and fifty thousand."""
ORDINALS: Mapping[str, int] = {word: value for value, word in enumerate(_ORDINALS.split(), start=1)}
SINO = "일이삼사오육륙칠팔구십백천만"
_SINO_DIGITS = {**{sign: value for value, sign in enumerate("일이삼사오육칠팔구", start=1)}, "륙": 6}
_SINO_TENS = {"십": 10, "백": 100, "천": 1_000}
NATIVE: Mapping[str, int] = {
    "첫": 1,
    **dict.fromkeys(("두", "둘"), 2),
    **dict.fromkeys(("세", "셋"), 3),
    **dict.fromkeys(("네", "넷"), 4),
    **{word: value for value, word in enumerate(("다섯", "여섯", "일곱", "여덟", "아홉", "열"), start=5)},
    **{
        f"열{word}": value
        for value, words in enumerate(
            ("한 하나", "두 둘", "세 셋", "네 넷", "다섯", "여섯", "일곱", "여덟", "아홉"), start=11
        )
        for word in words.split()
    },
    "스무": 20,
    "서른": 30,
    "마흔": 40,
}
"""Korean words of numbers, as they stand before what is counted."""


def cjk_number(written: str) -> int:
    """Return the number that kanji write, by place (二〇二五) or by tens (二千二十五).

    >>> cjk_number("四十五"), cjk_number("二〇二五")
    (45, 2025)
    """
    if not any(sign in _TENS for sign in written):
        return int("".join(str(_DIGITS.get(sign, 0)) for sign in written) or 0)
    total = digit = 0
    for sign in written:
        if sign in _TENS:
            total += (digit or 1) * _TENS[sign]
            digit = 0
        else:
            digit = _DIGITS.get(sign, 0)
    return total + digit


def words_number(written: str) -> int:
    """Return the number that English words write.

    >>> words_number("two hundred and fifty thousand"), words_number("twenty-four")
    (250000, 24)
    """
    total = part = 0
    for word in written.lower().replace("-", " ").replace(",", " ").split():
        if word == "hundred":
            part *= 100
        elif word in _SCALES:
            total, part = total + part * _SCALES[word], 0
        else:
            part += _VALUES.get(word, 0)
    return total + part


def sino_number(written: str) -> int:
    """Return the number that Sino-Korean syllables write.

    >>> sino_number("십오"), sino_number("이만오천")
    (15, 25000)
    """
    total = part = digit = 0
    for sign in written:
        if sign == "만":
            total, part, digit = (part + digit or 1) * 10_000, 0, 0
        elif sign in _SINO_TENS:
            part, digit = part + (digit or 1) * _SINO_TENS[sign], 0
        else:
            digit = _SINO_DIGITS[sign]
    return total + part + digit
