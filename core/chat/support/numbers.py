"""Finds numbers with their units in a normalized text: 1,234.5 kg, 3만 5천 원, 四十五人, twelve weeks, $30."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from braid.core.chat.support.bounds import bound, is_about
from braid.core.chat.support.facts import Number
from braid.core.chat.support.fractions import fractions
from braid.core.chat.support.numerals import (
    KANJI,
    NATIVE,
    ORDINALS,
    SINO,
    WORDS,
    cjk_number,
    sino_number,
    words_number,
)
from braid.core.chat.support.unit_names import BY_NAME, IN_ANY_CASE, OTHER_NAMES, UNIT, Unit
from braid.core.chat.tables.amounts import Amount, value_of

_BARE: Unit = ("", 1.0, 0.0)
_ORDINAL: Unit = ("ordinal", 1.0, 0.0)
_LABEL: Unit = ("label", 1.0, 0.0)
MAX_DIGITS = 18
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "mn": 1e6, "bn": 1e9}
_PREFIX = r"(?P<prefix>(?:US)?\$|[€£¥₩]|(?:EUR|USD|GBP|JPY|KRW|CHF|CNY)\s)\s?"
_DIGITS = (
    r"\d{1,3} ?[1-9]⁄[2-9](?!\d)|[1-9]⁄[2-9](?!\d)"
    r"|\d{1,3}(?:\.\d{3})+,\d{1,2}(?!\d)|\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}"
    r"|\d{1,3}(?: \d{3})+(?![\d.,]\d)|\d+(?:[.,]\d+)?"
)
_LARGE = r"(?:\d[\d,.]{0,20}\s?[千百十천백십]?\s?[万億兆만억조]\s?){1,4}(?:\d[\d,]{0,12}[천백십千百十]?)?"
_THOUSANDS_ONLY = re.compile(r"\d{1,3}(?:,\d{3})+")
_THOUSANDS = r"\d[\d,.]{0,12}[천千](?=\s?[원円명人개])"
_SCALE = r"(?:[\s-](?P<scale>thousand|million|billion|trillion|mn|bn)\b)?"
_SIGN = re.compile(
    r"(?:(?:(?<![\w.)%°'\"\]:])(?<!\d\s)|(?<=[\u3040-\u30ff\u4e00-\u9fff가-힣]))[-−]|マイナス|氷点下|零下|영하|마이너스|\bminus)\s?\Z",
    re.I,
)
_SIGNED = frozenset(
    ("temperature", "degree", "share", "level", "voltage", "EUR", "USD", "GBP", "JPY", "KRW", "CHF", "CNY")
)
"""Dimensions in which a dash before a number is its sign."""
_SECONDS: dict[str, float] = {
    name: seconds
    for seconds, names in (
        (1.0, "second seconds sec s 秒 초"),
        (60.0, "minute minutes min 分 분"),
        (3_600.0, "hour hours hr h 時間 시간"),
        (86_400.0, "day days d night nights 日 泊 일 박"),
        (604_800.0, "week weeks wk 週 주"),
        (2_629_800.0, "month months か月 月 개월 월"),
        (31_557_600.0, "year years yr annum 年 년"),
    )
    for name in names.split()
}
_PER_AFTER = re.compile(
    rf"\s?(?:/\s?|\b(?:per|an?|each|every)\s)(?P<latin>{'|'.join(n for n in _SECONDS if n.isascii())})(?![A-Za-z])"
    rf"|\s?/\s?(?P<other>{'|'.join(n for n in _SECONDS if not n.isascii())})",
    re.IGNORECASE,
)
_PER_BEFORE = tuple(
    (seconds, re.compile(rf"(?:(?<![가-힣\d])(?:{words}))\s?$"))
    for seconds, words in (
        (1.0, "秒速|毎秒|초속|초당|매초"),
        (60.0, "分速|毎分|분속|분당|매분"),
        (3_600.0, "時速|毎時|時給|시속|시간당|매시간?|시급"),
        (86_400.0, "日額|日給|毎日|1日に?|하루에?|일당|매일"),
        (604_800.0, "毎週|週|매주|주당|주"),
        (2_629_800.0, "月額|毎月|月給|月|월|매월|매달|월급"),
        (31_557_600.0, "年額|毎年|年|年俸|연|매년|연간"),
    )
)
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
    r"(?:\b(?:fig(?:ure)?|table|section|chapter|step|page|pages|pp|p|no|version|v|appendix|room|line|art(?:icle)?)\.?|図|表|그림|표|절)\s?$",
    re.I,
)
_BETWEEN = re.compile(r",?\s?(?:and\s|と|、)?")
_HALF = re.compile(r"半|\s반(?![가-힣])|\sand a half\b")
_DECADE = re.compile(r"1\d\d0s|20\d0s")
_ORDINAL_WORDS = re.compile(
    rf"(?<!\bone )(?<!\bat )(?<!\bper )(?<!\bevery )\b(?P<word>{'|'.join(ORDINALS)})\b(?!-|\sof all)", re.IGNORECASE
)
_WORDS = re.compile(rf"\b(?P<words>{WORDS})\b(?!-fold){UNIT}?", re.IGNORECASE)
_SINO_UNITS = {
    name: BY_NAME[name]
    for name in (
        *(
            "원",
            "명",
            "개월",
            "개",
            "년",
            "일",
            "시간",
            "층",
            "세",
            "살",
            "퍼센트",
            "미터",
            "킬로미터",
            "킬로그램",
            "회",
            "번",
        ),
        *("주", "장", "권", "대", "곳", "가구", "점", "석"),
    )
}
_SINO = re.compile(
    rf"(?<![가-힣])(?P<number>[{SINO}]*[십백천만][{SINO}]*|[{SINO[:10]}](?=\s?층))\s?"
    rf"(?P<other>{'|'.join(sorted(_SINO_UNITS, key=len, reverse=True))})(?![가-힣]{{3}})"
)
_KANJI_NUMBER = re.compile(rf"(?P<ordinal>第)?(?P<number>[{KANJI}]{{1,8}})(?P<other>{OTHER_NAMES}|番目)?")
_NATIVE = re.compile(
    rf"(?<![가-힣])(?P<word>{'|'.join(sorted(NATIVE, key=len, reverse=True))})\s?"
    rf"(?P<other>번째|{OTHER_NAMES})(?![가-힣]{{3}})"
)


def numbers(text: str) -> list[Number]:
    """Return the numbers of a normalized text whose dates are blanked out, in order. A *1* counts only with a unit."""
    found = list(fractions(text))
    for each in found:
        text = f"{text[: each.start]}{chr(0) * (each.end - each.start)}{text[each.end :]}"
    found += [number for match in _NUMBER.finditer(text) if (number := _of_digits(text, match))]
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
    if unit is None and _LABEL_BEFORE.search(before):
        unit = _LABEL
    if _DECADE.fullmatch(text, start, end):
        unit = BY_NAME["年代"]
    dimension, factor, offset = unit or _BARE
    sign = _SIGN.search(text, max(0, start - 6), start)
    if sign and (dimension in _SIGNED or not sign[0].startswith(("-", "−"))):
        values, start = tuple(-value for value in values), sign.start()
        before = text[max(0, start - 20) : start]
        dimension = "temperature" if dimension == "degree" and sign[0][0] in "氷零영" else dimension
        offset = BY_NAME["°C"][2] if dimension == "temperature" and not offset else offset
    per, end = _per(before, text, end)
    if per and dimension in ("length", "kilo"):
        dimension, factor, per = "speed", (1_000.0 if dimension == "kilo" else factor) / per, 0.0
    is_rounded = is_about(before, text, end)
    return Number(
        start,
        end,
        values,
        dimension,
        factor,
        offset,
        _places(digits),
        is_rounded,
        *bound(before, text, start, end),
        per,
    )


def _per(before: str, text: str, end: int) -> tuple[float, int]:
    """Return the seconds in which an amount is reached, 0.0 where none are said, and the end of those words."""
    if behind := _PER_AFTER.match(text, end):
        return _SECONDS[(behind["latin"] or behind["other"]).lower()], behind.end()
    for seconds, words in _PER_BEFORE:
        if words.search(before):
            return seconds, end
    return 0.0, end


def _values(digits: str) -> tuple[float, ...]:
    """Return what digits may mean: 1.234 and 1,234 are a thousand, or a little more than 1."""
    if "⁄" in digits:  # 2½
        upper, lower = digits[-3], digits[-1]
        return (float(digits[:-3] or 0) + int(upper) / int(lower),)
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
    for match in _ORDINAL_WORDS.finditer(text):
        yield _number(match, ORDINALS[match["word"].lower()], _ORDINAL)
    for match in _WORDS.finditer(text):
        value, unit = words_number(match["words"]), _unit_of(match)
        if value >= 2 or (unit and unit[0] != "count"):
            yield _bounded(text, match, value, unit or _BARE)
    for match in _NATIVE.finditer(text):
        if match["word"] != "첫" or match["other"] == "번째":
            yield _bounded(
                text, match, NATIVE[match["word"]], _ORDINAL if match["other"] == "번째" else BY_NAME[match["other"]]
            )
    for match in _SINO.finditer(text):
        yield _bounded(text, match, sino_number(match["number"]), _SINO_UNITS[match["other"]])


def _bounded(text: str, match: re.Match[str], value: float, unit: Unit) -> Number:
    number = _number(match, value, unit)
    before = text[max(0, number.start - 20) : number.start]
    sign, bounded = bound(before, text, number.start, number.end)
    per, end = _per(before, text, number.end)
    return replace(number, about=is_about(before, text, number.end), bound=sign, bounded=bounded, per=per, end=end)
