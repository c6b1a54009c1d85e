"""Periods that a question counts from today: *last month*, 昨年度, 지난주, *in the last 30 days*.

A 年度 runs from April to March; the first month of other business years is not known, and so they are not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from braid.core.text.moments import FISCAL_START
from braid.core.text.periods import Period, later_month, shortened

# unit, offset: words; the longer of two words comes first
_WORDS: tuple[tuple[str, int, str], ...] = (
    ("fiscal", -2, r"一昨年度"),
    ("fiscal", -1, r"昨年度|前年度|去年度"),
    ("fiscal", 0, r"今年度|本年度"),
    ("year", -2, r"一昨年|おととし|재작년|지지난해"),
    ("year", -1, r"昨年|去年|작년도?|지난 ?해|\b(?:last|previous) year\b"),
    ("year", 0, r"今年|本年|올해|금년|\b(?:this|the current) year\b"),
    ("month", -2, r"先々月|지지난 ?달"),
    ("month", -1, r"先月|前月|지난 ?달|저번 ?달|전월|\b(?:last|previous) month\b"),
    ("month", 0, r"今月|이번 ?달|이달|금월|\b(?:this|the current) month\b"),
    ("quarter", -1, r"前四半期|先四半期|지난 ?분기|전 ?분기|\b(?:last|previous) quarter\b"),
    ("quarter", 0, r"今四半期|이번 ?분기|\b(?:this|the current) quarter\b"),
    ("week", -2, r"先々週|지지난 ?주"),
    ("week", -1, r"先週|前週|지난 ?주|저번 ?주|\b(?:last|previous) week\b"),
    ("week", 0, r"今週|이번 ?주|금주|\bthis week\b"),
    ("day", -2, r"一昨日|おととい|그저께|그제"),
    ("day", -1, r"昨日|어제|\byesterday\b"),
    ("day", 0, r"本日|今日|오늘|\btoday\b"),
)
# Not a comparison, as in 前年比, and not a part of something else, as in "the last month of 2023".
_NOT_BEFORE = r"(?![比並同]| ?대비| of\b)"
_FORMS = tuple((unit, offset, re.compile(f"(?:{words}){_NOT_BEFORE}")) for unit, offset, words in _WORDS)
_DAYS_OF = {"d": 1, "日": 1, "일": 1, "w": 7, "週": 7, "주": 7}
_COUNTED = re.compile(
    r"\b(?:(?:in|within|during|over|from) )?the (?:last|past) (?P<n>\d{1,3}) (?P<unit>day|week|month|year)s?\b"
    r"|(?:過去|直近|ここ|この)(?P<n_ja>\d{1,3})(?P<unit_ja>日|週|[かヶカヵ]月|年)間?"
    r"|(?:최근|지난) ?(?P<n_ko>\d{1,3}) ?(?P<unit_ko>일|주|개월|년)(?:간| ?동안)?"
)


def relative_periods(text: str, today: date) -> list[Period]:
    """Return the periods that a folded question counts from ``today``, none within another, in order.

    >>> [(each.first, each.last) for each in relative_periods("先月の議事録", date(2026, 1, 15))]
    [('2025-12', '2025-12')]
    """
    found: list[Period] = []
    for period in (*_counted(text, today), *_named(text, today)):
        if not any(each.start < period.end and period.start < each.end for each in found):
            found.append(period)
    return sorted(found, key=lambda each: each.start)


def _named(text: str, today: date) -> Iterator[Period]:
    for unit, offset, form in _FORMS:
        for match in form.finditer(text):
            first, last = _span(unit, offset, today)
            yield Period(match.start(), match.end(), *shortened(first.isoformat(), last.isoformat()))


def _counted(text: str, today: date) -> Iterator[Period]:
    for match in _COUNTED.finditer(text):
        number = int(match["n"] or match["n_ja"] or match["n_ko"])
        unit = (match["unit"] or match["unit_ja"] or match["unit_ko"])[0]
        if days := _DAYS_OF.get(unit):
            first = today - timedelta(days=days * number)
        else:
            year, month = later_month(today.year, today.month, -number * (12 if unit in "y年년" else 1))
            first = date(year, month, min(today.day, 28)) if year >= 1 else date.min
        yield Period(match.start(), match.end(), *shortened(first.isoformat(), today.isoformat()))


def _span(unit: str, offset: int, today: date) -> tuple[date, date]:
    """Return the first and the last day of the unit that is ``offset`` after the one that today is in."""
    if unit == "day":
        day = today + timedelta(days=offset)
        return day, day
    if unit == "week":
        monday = today + timedelta(days=7 * offset - today.weekday())
        return monday, monday + timedelta(days=6)
    month, months = today.month, {"month": 1, "quarter": 3}.get(unit, 12)
    if unit == "quarter":
        month -= (month - 1) % 3
    year = today.year
    if unit == "year":
        month = 1
    elif unit == "fiscal":
        year, month = year - (month < FISCAL_START), FISCAL_START
    first = date(*later_month(year, month, offset * months), 1)
    return first, date(*later_month(first.year, first.month, months), 1) - timedelta(days=1)
