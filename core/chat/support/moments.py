"""Finds dates, months, years, weekdays and times of day in a normalized text, in their forms in three languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from braid.core.chat.support.facts import Moment
from braid.core.chat.support.numerals import KANJI, cjk_number
from braid.core.chat.support.unit_names import UNIT
from braid.core.text.dates import ERAS, MONTH_NAME, MONTHS

_N = rf"(?:\d{{1,2}}|[{KANJI}]{{1,3}}(?=\s?[月日時分]))"
_ERA_YEAR = rf"(?P<era>明治|大正|昭和|平成|令和)\s?(?P<in_era>\d{{1,2}}|元|[{KANJI}]{{1,3}})"
_YEAR = rf"(?:{_ERA_YEAR}|(?<!\d)(?P<y>\d{{4}}|[{KANJI}]{{4,7}}))\s?[年년]度?도?"
_NAME = rf"(?P<name>{MONTH_NAME})\b"
_MARK = r"(?P<mark>[-/.])"
_WEEKDAYS_EN = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAYS = {
    **{name: number for number, name in enumerate(_WEEKDAYS_EN)},
    **{name: number for number, name in enumerate("月火水木金土日")},
    **{name: number for number, name in enumerate("월화수목금토일")},
}
_UNIT = re.sub(r"\?P<\w+>", "?:", UNIT)
_AFTERNOON = re.compile(r"p\.?\s?m|午後|오후", re.IGNORECASE)
_MORNING = re.compile(r"a\.?\s?m|午前|오전", re.IGNORECASE)

Parts = frozenset[tuple[str, int]]


def moments(text: str) -> list[Moment]:
    """Return the moments in a normalized text, none within another, in order."""
    found: list[Moment] = []
    taken = bytearray(len(text))
    for form, read in _FORMS:
        for match in form.finditer(text):
            start, end = match.span()
            if any(taken[start:end]):
                continue
            readings = tuple(read(match))
            if readings:
                taken[start:end] = b"\1" * (end - start)
                found.append(Moment(start, end, readings))
    return sorted(found, key=lambda each: each.start)


def _day(year: int | None, month: int | None, day: int | None) -> Iterator[Parts]:
    if (month is None or 1 <= month <= 12) and (day is None or 1 <= day <= 31):
        named = (("y", year), ("m", month), ("d", day))
        yield frozenset((name, value) for name, value in named if value is not None)


def _number(written: str | None) -> int | None:
    if not written:
        return None
    return int(written) if written.isdecimal() else 1 if written == "元" else cjk_number(written)


def _cjk(found: re.Match[str]) -> Iterator[Parts]:
    groups = found.groupdict()
    year = _number(groups.get("y"))
    if era := groups.get("era"):
        year = ERAS[era] + (_number(groups["in_era"]) or 0)
    yield from _day(year, _number(groups.get("m")), _number(groups.get("d")))


def _named(found: re.Match[str]) -> Iterator[Parts]:
    groups = found.groupdict()
    month = MONTHS.index(groups["name"][:3].lower()) + 1
    yield from _day(_number(groups.get("y")), month, _number(groups.get("d")))


def _numeric(found: re.Match[str]) -> Iterator[Parts]:
    first, second, year = int(found[1]), int(found[3]), int(found[4])
    yield from dict.fromkeys([*_day(year, first, second), *_day(year, second, first)])


def _era_short(found: re.Match[str]) -> Iterator[Parts]:
    yield from _day(ERAS[found["era"]] + int(found["in_era"]), int(found["m"]), int(found["d"]))


def _clock(found: re.Match[str]) -> Iterator[Parts]:
    groups = found.groupdict()
    hour, minute = _number(groups["H"]), _number(groups.get("M"))
    half = found[0].endswith(("半", "반"))
    if hour is None or hour > 24 or (minute or 0) > 59:
        return
    minute = 30 if half else minute or 0
    if _AFTERNOON.search(found[0]):
        hours = [hour % 12 + 12]
    elif _MORNING.search(found[0]):
        hours = [hour % 12 if hour == 12 else hour]
    else:
        hours = [hour, hour + 12] if 1 <= hour <= 12 else [hour]
    for each in hours:
        yield frozenset({("H", each % 24), ("M", minute)})


def _part_of_year(found: re.Match[str]) -> Iterator[Parts]:
    for name, written in found.groupdict().items():
        if written:
            number = _PARTS.get(written.lower()) or _number(written)
            yield frozenset({(name, number or 0)})


def _weekday(found: re.Match[str]) -> Iterator[Parts]:
    yield frozenset({("w", _WEEKDAYS[found["w"].lower()])})


def _lone_year(found: re.Match[str]) -> Iterator[Parts]:
    yield frozenset({("y", int(found[0]))})


def _version(found: re.Match[str]) -> Iterator[Parts]:
    """Yield the parts of a version, a section's number or an address; 1.234.567 is a number with marks of thousands."""
    numbers = found[0].split(".")
    if any(len(each) != 3 for each in numbers[1:]):
        yield frozenset((f"v{place}", int(each)) for place, each in enumerate(numbers))


_PARTS = {
    **{
        word: number
        for number, words in enumerate(("first 1st", "second 2nd", "third 3rd", "fourth 4th"), start=1)
        for word in words.split()
    },
    **dict.fromkeys(("上", "상"), 1),
    **dict.fromkeys(("下", "하"), 2),
}
_PART_WORDS = r"(?:first|second|third|fourth|1st|2nd|3rd|4th)"
_NO_NUMBER_BEFORE = r"(?<![\d.,])(?<!\d[-/])"
_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Iterator[Parts]]], ...] = (
    (
        re.compile(
            rf"\bQ(?P<q>[1-4])\b|\b(?P<q1>{_PART_WORDS})[\s-]quarter\b(?!-?final)|第?\s?(?P<q2>[1-4一二三四])\s?四半期"
            r"|(?:제\s?)?(?P<q3>[1-4])\s?(?:사)?분기",
            re.I,
        ),
        lambda found: (frozenset((("q", value),)) for each in _part_of_year(found) for _, value in each),
    ),
    (
        re.compile(
            r"\b(?P<h>first|second)[\s-]half(?=\sof\s(?:\d{4}|the year))|(?P<h1>[上下])半?期|(?P<h2>[상하])반기", re.I
        ),
        lambda found: (frozenset((("h", value),)) for each in _part_of_year(found) for _, value in each),
    ),
    (
        re.compile(
            rf"{_YEAR}(?:\s?(?P<m>{_N})\s?[月월](?:\s?(?P<d>{_N})\s?[日일](?!間|間|간))?)?(?!代|대(?![회학표])|間|간)"
        ),
        _cjk,
    ),
    (
        re.compile(
            rf"{_NO_NUMBER_BEFORE}(?P<y>\d{{4}}){_MARK}\s?(?P<m>\d{{1,2}})(?P=mark)\s?(?P<d>\d{{1,2}})(?!\d|[-/.]\d)\.?"
        ),
        _cjk,
    ),
    (re.compile(rf"{_NO_NUMBER_BEFORE}(?P<y>(?:19|20)\d\d)[-/](?P<m>0[1-9]|1[0-2]|[1-9])(?![\d]|[-/.,]\d)"), _cjk),
    (re.compile(rf"{_NO_NUMBER_BEFORE}(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}})(?!\d|[-/.]\d)"), _numeric),
    (
        re.compile(
            rf"(?<![\d.,])(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.?\s(?:of\s)?{_NAME}\.?(?:,?\s(?P<y>\d{{4}})(?!\d))?", re.I
        ),
        _named,
    ),
    (
        re.compile(
            rf"\b{_NAME}\.?\s(?:the\s)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:|\.\d|%)(?:,?\s(?P<y>\d{{4}})(?!\d))?",
            re.I,
        ),
        _named,
    ),
    (re.compile(rf"\b{_NAME}\.?,?\s(?:of\s)?(?P<y>\d{{4}})(?!\d)", re.I), _named),
    (
        re.compile(r"(?<![A-Za-z\d])(?P<era>[RHS])(?P<in_era>\d{1,2})[./](?P<m>\d{1,2})[./](?P<d>\d{1,2})(?!\d)"),
        _era_short,
    ),
    (re.compile(rf"(?<!\d)(?P<m>{_N})\s?[月월](?!曜|요)(?:\s?(?P<d>{_N})\s?[日일](?!間|간))?"), _cjk),
    (re.compile(r"\b(?P<name>January|February|April|June|July|August|September|October|November|December)\b"), _named),
    (
        re.compile(r"(?<=\bin )(?P<name>March|May)\b|(?<=\bof )(?P<name2>March)\b(?!\w)"),
        lambda found: _named_either(found),
    ),
    (
        re.compile(
            r"(?:(?:午前|午後|오전|오후)\s?)?(?<![\d:.])(?P<H>\d{1,2}):(?P<M>\d{2})(?![\d:])(?:\s?(?:[ap]\.?\s?m\b\.?))?",
            re.I,
        ),
        _clock,
    ),
    (re.compile(r"(?<![\d:.])(?P<H>\d{1,2})\s?[ap]\.?m\b\.?", re.I), _clock),
    (
        re.compile(
            rf"(?:(?:午前|午後|오전|오후)\s?)?(?<!\d)(?P<H>{_N})\s?(?:時(?!間|代|期|点|計)|시(?!간))(?:\s?(?P<M>{_N})\s?[分분]|半|\s?반)?"
        ),
        _clock,
    ),
    (re.compile(r"\b(?P<w>monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?=s?\b)", re.I), _weekday),
    (re.compile(r"(?P<w>[月火水木金土日])曜|(?P<w2>[월화수목금토일])요일"), lambda found: _weekday_either(found)),
    (re.compile(r"(?<![\d.,])\d{1,5}(?:\.\d{1,5}){2,5}(?![\d,]|\.\d)"), _version),
    (
        re.compile(
            r"(?<![\d.,:/$€£¥₩%A-Za-z_-])(?:1[0-9]|20)\d\d(?!\d|[.,:/]\d|[A-Za-z_]|\s?[年년](?:代|대)|\s?[十百千万億兆십백천만억조])"
            rf"(?!{_UNIT})"
        ),
        _lone_year,
    ),
)
"""Forms in the order in which they take characters; a year alone is last."""


def _named_either(found: re.Match[str]) -> Iterator[Parts]:
    yield from _day(None, 3 if "March" in found[0] else 5, None)


def _weekday_either(found: re.Match[str]) -> Iterator[Parts]:
    yield frozenset({("w", _WEEKDAYS[found["w"] or found["w2"]])})
