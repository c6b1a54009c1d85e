"""Numbers of lists and headings as Word, LibreOffice and Hangul show them: ``iv``, ``B``, ``①``, ``가``, ``二十一``."""

from __future__ import annotations

from collections.abc import Callable

from braid.core.metadata.printed_pages import roman

MAX_NUMBER = 30_000
"""Most that a list counts; further numbers are plain."""
_MAX_IDEOGRAPH = 9_999
_IDEOGRAPHS = "〇一二三四五六七八九"
_HANGUL_DIGITS = "영일이삼사오육칠팔구"
_AIUEO = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
_IROHA = "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセスン"
_GANADA = "가나다라마바사아자차카타파하"
_JAMO = "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"
_STEMS, _BRANCHES = "甲乙丙丁戊己庚辛壬癸", "子丑寅卯辰巳午未申酉戌亥"


def numeral(number: int, form: str) -> str:
    """Return a number in a form that Word (``lowerRoman``), OpenDocument (``i``) or Hangul (``ROMAN_SMALL``) names.

    A form that is not known is shown as a plain number; that of a bullet is empty.

    >>> [numeral(4, form) for form in ("decimal", "lowerRoman", "A", "HANGUL_SYLLABLE", "CIRCLED_DIGIT")]
    ['4', 'iv', 'D', '라', '④']
    """
    if form in ("bullet", "none", ""):
        return ""
    write = _FORMS.get(form)
    return write(number) if write is not None and 0 < number <= MAX_NUMBER else str(number)


def _letters(number: int) -> str:
    """Return a … z, aa, bb …, as Word counts."""
    return chr(ord("a") + (number - 1) % 26) * min(1 + (number - 1) // 26, 20)


def _of(row: str) -> Callable[[int], str]:
    return lambda number: row[(number - 1) % len(row)] * min(1 + (number - 1) // len(row), 20)


def _circled(number: int) -> str:
    return chr(0x2460 + number - 1) if number <= 20 else str(number)


def _enclosed(first: int, count: int) -> Callable[[int], str]:
    return lambda number: chr(first + (number - 1) % count)


def _ideographs(number: int) -> str:
    """Return 21 as 二十一."""
    if number > _MAX_IDEOGRAPH:
        return str(number)
    parts = []
    for unit, value in (("千", 1000), ("百", 100), ("十", 10), ("", 1)):
        digit, number = divmod(number, value)
        if digit:
            parts.append((_IDEOGRAPHS[digit] if digit > 1 or not unit else "") + unit)
    return "".join(parts)


def _digits(row: str) -> Callable[[int], str]:
    return lambda number: "".join(row[int(digit)] for digit in str(number))


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


_FORMS: dict[str, Callable[[int], str]] = {
    # Word
    "decimalZero": lambda number: f"{number:02}",
    "upperRoman": lambda number: roman(number).upper(),
    "lowerRoman": roman,
    "upperLetter": lambda number: _letters(number).upper(),
    "lowerLetter": _letters,
    "ordinal": _ordinal,
    "decimalFullWidth": _digits("０１２３４５６７８９"),
    "decimalEnclosedCircle": _circled,
    "decimalEnclosedParen": lambda number: f"({number})",
    "aiueo": _of(_AIUEO),
    "aiueoFullWidth": _of(_AIUEO),
    "iroha": _of(_IROHA),
    "irohaFullWidth": _of(_IROHA),
    "ganada": _of(_GANADA),
    "chosung": _of(_JAMO),
    "ideographDigital": _digits(_IDEOGRAPHS),
    "japaneseCounting": _ideographs,
    "chineseCounting": _ideographs,
    "chineseCountingThousand": _ideographs,
    "taiwaneseCounting": _ideographs,
    "koreanDigital": _digits(_HANGUL_DIGITS),
    "ideographTraditional": _of(_STEMS),
    "ideographZodiac": _of(_BRANCHES),
    # OpenDocument
    "i": roman,
    "I": lambda number: roman(number).upper(),
    "a": _letters,
    "A": lambda number: _letters(number).upper(),
    "ア, イ, ウ, ...": _of(_AIUEO),
    "イ, ロ, ハ, ...": _of(_IROHA),
    "一, 二, 三, ...": _ideographs,
    "가, 나, 다, ...": _of(_GANADA),
    "ㄱ, ㄴ, ㄷ, ...": _of(_JAMO),
    "①, ②, ③, ...": _circled,
    # Hangul
    "CIRCLED_DIGIT": _circled,
    "ROMAN_CAPITAL": lambda number: roman(number).upper(),
    "ROMAN_SMALL": roman,
    "LATIN_CAPITAL": lambda number: _letters(number).upper(),
    "LATIN_SMALL": _letters,
    "CIRCLED_LATIN_CAPITAL": _enclosed(0x24B6, 26),
    "CIRCLED_LATIN_SMALL": _enclosed(0x24D0, 26),
    "HANGUL_SYLLABLE": _of(_GANADA),
    "CIRCLED_HANGUL_SYLLABLE": _enclosed(0x326E, 14),
    "HANGUL_JAMO": _of(_JAMO),
    "CIRCLED_HANGUL_JAMO": _enclosed(0x3260, 14),
    "HANGUL_PHONETIC": _digits(_HANGUL_DIGITS),
    "IDEOGRAPH": _ideographs,
    "DECAGON_CIRCLE": _of(_STEMS),
    "DECAGON_CIRCLE_HANJA": _of(_STEMS),
}
