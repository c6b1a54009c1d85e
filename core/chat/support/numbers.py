"""Finds numbers with their units in a normalized text: 1,234.5 kg, 3만 5천 원, 四十五人, twelve weeks, $30."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from braid.core.chat.support.facts import Number
from braid.core.chat.support.numerals import KANJI, NATIVE, ORDINALS, WORDS, cjk_number
from braid.core.chat.support.unit_names import BY_NAME, IN_ANY_CASE, OTHER_NAMES, UNIT, Unit
from braid.core.chat.tables.amounts import Amount, value_of

_BARE: Unit = ("", 1.0, 0.0)
_ORDINAL: Unit = ("ordinal", 1.0, 0.0)
_LABEL: Unit = ("label", 1.0, 0.0)
MAX_DIGITS = 18
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "mn": 1e6, "bn": 1e9}
_PREFIX = r"(?P<prefix>(?:US)?\$|[€£¥₩]|(?:EUR|USD|GBP|JPY|KRW)\s)\s?"
_DIGITS = (
    r"\d{1,3}(?:\.\d{3})+,\d{1,2}(?!\d)|\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}"
    r"|\d{1,3}(?: \d{3})+(?![\d.,]\d)|\d+(?:[.,]\d+)?"
)
_LARGE = r"(?:\d[\d,.]{0,20}\s?[千百十천백십]?\s?[万億兆만억조]\s?){1,4}(?:\d[\d,]{0,12}[천백십千百十]?)?"
_THOUSANDS_ONLY = re.compile(r"\d{1,3}(?:,\d{3})+")
_THOUSANDS = r"\d[\d,.]{0,12}[천千](?=\s?[원円명人개])"
_SCALE = r"(?:[\s-](?P<scale>thousand|million|billion|trillion|mn|bn)\b)?"
_SHORT_SCALE = re.compile(r"(?:k|m|mn|bn?)\b", re.I)
_SHORT_SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9}
_RANGE_TO = r"\s?(?:[-–—~〜～]|to|から|부터|에서)\s?\d[\d,.]{0,20}"
_NUMBER = re.compile(
    rf"(?:{_PREFIX})?(?P<number>(?<![A-Za-z\d_.])(?<![A-Za-z]-)(?<!\d,)(?<!\d/)(?:{_LARGE}|{_THOUSANDS}|{_DIGITS})){_SCALE}"
    rf"(?P<tail>(?:st|nd|rd|th)\b|番目|번째|{UNIT})?",
)
_AFTER_RANGE = re.compile(rf"{_RANGE_TO}{_SCALE}{UNIT}?")
_BEFORE_LATIN = re.compile(r"[A-Za-z_]|-[A-Za-z]|/\d|\.\d")
_ORDINAL_BEFORE = re.compile(r"(?:第|제)\s?$")
_ORDINAL_TAIL = re.compile(r"st|nd|rd|th|番目|번째")
_LABEL_BEFORE = re.compile(
    r"(?:\b(?:fig(?:ure)?|table|section|chapter|step|page|pages|p|no|version|v|appendix|room|line|art(?:icle)?)\.?|図|表|그림|표|절)\s?$",
    re.I,
)
_ABOUT_BEFORE = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|nearly|almost|some)\s|約|およそ|ほぼ|약\s?|대략\s?|거의\s?)$", re.I
)
_ABOUT_AFTER = re.compile(r"\s?(?:ほど|程度|くらい|ぐらい|余り?|前後|정도|여|가량|남짓)")
_BOUND_BEFORE = (
    (1, re.compile(r"\b(?:over|at least|more than|no (?:less|fewer) than|exceeding|above|minimum of)\s$", re.I)),
    (-1, re.compile(r"\b(?:under|at most|less than|fewer than|no more than|up to|below|maximum of|within)\s$", re.I)),
)
_BOUND_AFTER = (
    (
        1,
        re.compile(
            r"[가-힣\u4e00-\u9fff]{0,2}?\s?(?:以上|超|を超え|を上回|を過ぎ|余り?|이상|초과|[을를이가]? ?(?:넘|지나)"
            r"|여\s?[명개]|or more)"
        ),
    ),
    (-1, re.compile(r"[가-힣\u4e00-\u9fff]{0,2}?\s?(?:以下|未満|以内|を下回|이하|미만|이내|까지|or (?:less|fewer))")),
)
_BETWEEN = re.compile(r",?\s?(?:and\s|と|、)?")
_HALF = re.compile(r"半|\s반(?![가-힣])|\sand a half\b")
_DECADE = re.compile(r"1\d\d0s|20\d0s")
_WORD = "|".join(sorted({**WORDS, **ORDINALS}, key=len, reverse=True))
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_WORDS = re.compile(rf"\b(?P<word>{_WORD})\b(?:-(?P<one>{_ONES})\b)?{_SCALE}{UNIT}?", re.IGNORECASE)
_KANJI_NUMBER = re.compile(rf"(?P<ordinal>第)?(?P<number>[{KANJI}]{{1,8}})(?P<other>{OTHER_NAMES}|番目)?")
_NATIVE = re.compile(
    rf"(?<![가-힣])(?P<word>{'|'.join(sorted(NATIVE, key=len, reverse=True))})\s?"
    rf"(?P<other>번째|{OTHER_NAMES})(?![가-힣]{{3}})"
)


def numbers(text: str) -> list[Number]:
    """Return the numbers of a normalized text whose dates are blanked out, in order. A *1* counts only with a unit."""
    found = [number for match in _NUMBER.finditer(text) if (number := _of_digits(text, match))]
    if any(sign in text for sign in KANJI):
        found += [number for match in _KANJI_NUMBER.finditer(text) if (number := _of_kanji(match))]
    found += _of_words(text)
    return list(_joined(text, sorted(found, key=lambda each: each.start)))


def _joined(text: str, found: Sequence[Number]) -> Iterator[Number]:
    """Yield the numbers, with those of one duration, such as 1 h 30 min or 1時間半, as one."""
    last: Number | None = None
    for each in found:
        if last and _goes_on(last, each) and _BETWEEN.fullmatch(text, last.end, each.start):
            values = tuple(a + b * each.factor / last.factor for a in last.values for b in each.values)
            last = replace(last, end=each.end, values=values)
            continue
        if last:
            yield last
        half = _HALF.match(text, each.end) if each.dimension == "time" else None
        last = replace(each, end=half.end(), values=tuple(value + 0.5 for value in each.values)) if half else each
    if last:
        yield last


def _goes_on(first: Number, second: Number) -> bool:
    return first.dimension == second.dimension == "time" and second.factor < first.factor


def _of_digits(text: str, match: re.Match[str]) -> Number | None:
    digits = match["number"].strip()
    if sum(map(str.isdigit, digits)) > MAX_DIGITS:
        return None
    start, end = match.start(), match.end()
    short = _SHORT_SCALE.match(text, match.end("number")) if match["prefix"] and match["scale"] is None else None
    if short:
        end = short.end()
    elif match["tail"] is None:
        end = match.start("number") + len(digits) if match["scale"] is None else end
        if _BEFORE_LATIN.match(text, end):
            return None
    scale = _SHORT_SCALES[short[0].lower()] if short else _SCALES.get((match["scale"] or "").lower(), 1.0)
    values = tuple(value * scale for value in _values(digits))
    if scale == 1.0 and (after := _AFTER_RANGE.match(text, end)) and after["scale"]:
        values += tuple(value * _SCALES[after["scale"].lower()] for value in values)
    if not values:
        return None
    before = text[max(0, start - 20) : start]
    unit = _unit_of(match) or _unit_of_range(text, end)
    if _ORDINAL_TAIL.fullmatch(match["tail"] or "") or _ORDINAL_BEFORE.search(before):
        unit = _ORDINAL
    if _LABEL_BEFORE.search(before):
        unit = _LABEL
    if _DECADE.fullmatch(text, start, end):
        unit = BY_NAME["年代"]
    dimension, factor, offset = unit or _BARE
    about = bool(_ABOUT_BEFORE.search(before) or _ABOUT_AFTER.match(text, end))
    bound = _bound(before, text, start, end)
    return Number(start, end, values, dimension, factor, offset, _places(digits), about, *bound)


def _bound(before: str, text: str, start: int, end: int) -> tuple[int, tuple[int, int]]:
    """Return 1 for *at least*, -1 for *at most*, else 0, and the characters of the number with those words."""
    for sign, words in _BOUND_BEFORE:
        if found := words.search(before):
            return sign, (start - len(before) + found.start(), end)
    for sign, words in _BOUND_AFTER:
        if found := words.match(text, end):
            return sign, (start, found.end())
    return 0, (start, end)


def _values(digits: str) -> tuple[float, ...]:
    """Return what digits may mean: 1.234 and 1,234 are a thousand, or a little more than 1."""
    if any(sign in digits for sign in "万億兆만억조"):
        large = value_of(Amount(digits))
        return () if large is None else (large,)
    if digits[-1] in "천千":
        return tuple(1_000 * value for value in _values(digits[:-1]))
    if _THOUSANDS_ONLY.fullmatch(digits):
        return (float(re.sub(r"\D", "", digits)),)
    found = [value_of(Amount(digits.replace("’", "'")), decimal) for decimal in (".", ",")]
    return tuple(dict.fromkeys(value for value in found if value is not None))


def _places(digits: str) -> int:
    whole, mark, rest = digits.rpartition(".")
    return len(rest) if mark and rest.isdigit() and "." not in whole else 0


def _unit_of(match: re.Match[str]) -> Unit | None:
    groups = match.groupdict()
    if prefix := groups.get("prefix"):
        return BY_NAME.get(prefix.strip(), None) or IN_ANY_CASE.get(prefix.strip().lower()) or BY_NAME["$"]
    if other := groups.get("other"):
        return BY_NAME.get(other)
    if latin := groups.get("latin"):
        name = re.sub(r"[\s-]", " ", latin)
        return BY_NAME.get(name) or IN_ANY_CASE.get(name.lower())
    return None


def _unit_of_range(text: str, end: int) -> Unit | None:
    match = _AFTER_RANGE.match(text, end)
    return _unit_of(match) if match else None


def _number(match: re.Match[str], value: float, unit: Unit) -> Number:
    dimension, factor, offset = unit
    return Number(*match.span(), (float(value),), dimension, factor, offset)


def _of_kanji(match: re.Match[str]) -> Number | None:
    value, other = cjk_number(match["number"]), match["other"]
    if match["ordinal"] or other == "番目":
        return _number(match, value, _ORDINAL)
    if other is None or value < 2:
        return None
    return _number(match, value, BY_NAME[other])


def _of_words(text: str) -> Iterator[Number]:
    for match in _WORDS.finditer(text):
        word = match["word"].lower()
        if word in ORDINALS:
            if word != "second" and match.end() == match.end("word"):
                yield _number(match, ORDINALS[word], _ORDINAL)
            continue
        value = WORDS[word] + WORDS.get((match["one"] or "").lower(), 1 if match["one"] else 0)
        unit = _unit_of(match)
        if value >= 2 or unit:
            scaled = value * _SCALES.get((match["scale"] or "").lower(), 1.0)
            yield _number(match, scaled, unit or _BARE)
    for match in _NATIVE.finditer(text):
        unit = _ORDINAL if match["other"] == "번째" else BY_NAME[match["other"]]
        yield _number(match, NATIVE[match["word"]], unit)
