"""Numbers that are written with other signs than digits: 四十五, 二〇二五, 세, twelve."""

from __future__ import annotations

from collections.abc import Mapping

KANJI = "〇一二三四五六七八九十百千"
_DIGITS: Mapping[str, int] = {sign: value for value, sign in enumerate("〇一二三四五六七八九")}
_TENS: Mapping[str, int] = {"十": 10, "百": 100, "千": 1_000}
_SMALL = """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty
"""
_TENS_OF_WORDS = """thirty forty fifty sixty seventy eighty ninety"""
_ORDINALS = """second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"""
WORDS: Mapping[str, int] = {
    **{word: value for value, word in enumerate(_SMALL.split(), start=2)},
    **{word: 10 * value for value, word in enumerate(_TENS_OF_WORDS.split(), start=3)},
    "dozen": 12,
    "hundred": 100,
}
"""English words of numbers; *one* is as often a pronoun."""
ORDINALS: Mapping[str, int] = {word: value for value, word in enumerate(_ORDINALS.split(), start=2)}
NATIVE: Mapping[str, int] = {
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
