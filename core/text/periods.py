"""The period that a question names: a day, a month, a quarter, half a year, a year, or from one of them to another.

A year that only one end of a range has is that of the other end, too: ``from November to February 2026`` begins in
2025.
A Japanese 年度 runs from April to March; that of other countries is not known, and so is not understood.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, timedelta

from braid.core.text.moments import FISCAL_START, MONTHS_OF, PeriodEnd, UnclearPeriodError, moments_in


@dataclass(frozen=True, slots=True)
class Period:
    """Days from ``first`` to ``last``, both included, as ISO texts of a day, month or year; empty at an open end."""

    start: int
    end: int
    first: str
    last: str
    month: str = ""
    """A month of any year, in two digits, in place of first and last."""

    @property
    def prefix(self) -> str:
        """What all ISO texts of the period begin with; empty where only comparing tells."""
        return self.first if self.first == self.last else ""


def first_day(period: Period) -> str:
    """Return the first day as an ISO text; empty for an open end."""
    if not period.first:
        return ""
    year, month, day = (*map(int, period.first.split("-")), 1, 1)[:3]
    return _day(year, month, day)


def last_day(period: Period) -> str:
    """Return the last day as an ISO text; empty for an open end."""
    if not period.last:
        return ""
    year, month, day = (*map(int, period.last.split("-")), 0, 0)[:3]
    month = month or 12
    return _day(year, month, day or calendar.monthrange(year, month)[1])


def period_in(text: str, years: Collection[int]) -> Period | None:
    """Return the period that a folded question names; None where it names none.

    ``years`` are those of the column with the dates: the only one of them is meant where no year is said. Raises
    UnclearPeriodError for a range that is not understood, and for several periods.
    """
    moments = moments_in(text)
    if not moments:
        return None
    if len(moments) > 2:
        raise UnclearPeriodError(_said(text, moments[0].start, moments[-1].end))
    if len(moments) == 2:
        return _range(text, moments[0], moments[1], years)
    return _single(text, moments[0], years)


def _said(text: str, start: int, end: int) -> str:
    return text[start:end].strip()[:80]


# ---------------------------------------------------------------- ranges

_TO = re.compile(
    r"\s?(?:(?:\bup )?\bto\b|\bthrough\b|\bthru\b|\buntil\b|\btill\b|[-‐‑‒–—―ー~〜]|から|より|부터|에서)"
    r"\s?(?:の|、|,)?\s?(?:the )?(?:end of )?"
)
_AND = re.compile(r"\s?(?:\band\b|と|、|과|와|및)\s?(?:the )?")
_BETWEEN = re.compile(r"\bbetween (?:the )?$")
_FROM = re.compile(r"\b(?:from|between|for|in|during|of|over) (?:the )?(?:(?:start|beginning) of )?$")
_END = re.compile(r"\s?(?:まで|迄|の間|까지|사이)(?:での|の|に|で|의|에|는|을)?(?:\s?(?:間に|동안))?|,? inclusive\b")
_WITHIN = re.compile(r"\s?(?:中|の間|に|の|で|동안|중|에|의)")
_MEANS_BETWEEN = re.compile(r"\s?(?:の間|사이)")
# What stands before or after the only moment of an open range; 以前 and 이전 include it, by their dictionaries.
_OPEN: tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...] = (
    (
        ">=",
        re.compile(r"\b(?:since|starting(?: in| from)?|as of) (?:the )?(?:(?:start|beginning) of )?$"),
        re.compile(
            r"\s?(?:以降|以後|以来|から|이후|이래|부터)(?:の|に|で|의|에|로)?"
            r"|,? (?:and later|or later|onwards?|on\b(?= |$|\?))"
        ),
    ),
    (
        "<=",
        re.compile(r"\b(?:until|till|through|up to|by the end of) (?:the )?(?:end of )?$"),
        re.compile(r"\s?(?:まで|迄|以前|까지|이전)(?:の|に|で|의|에)?|,? (?:and|or) earlier\b"),
    ),
    (">", re.compile(r"\bafter (?:the )?$"), re.compile(r"\s?(?:より後|よりあと|より(?:も)?以後)(?:の|に)?")),
    ("<", re.compile(r"\bbefore (?:the )?$"), re.compile(r"\s?(?:より(?:も)?前)(?:の|に)?")),
)


def _range(text: str, one: PeriodEnd, other: PeriodEnd, years: Collection[int]) -> Period:
    """Return the period from one moment to another. Raises UnclearPeriodError for a list, or anything else."""
    start, end = one.start, other.end
    between = text[one.end : other.start]
    closed = _END.match(text, end)
    is_between = _BETWEEN.search(text, 0, start) is not None or _MEANS_BETWEEN.match(text, end) is not None
    if not (_TO.fullmatch(between) or (is_between and _AND.fullmatch(between))):
        raise UnclearPeriodError(_said(text, start, end))
    if before := _FROM.search(text, 0, start):
        start = before.start()
    if closed:
        end = closed.end()
    if any(before.search(text, 0, one.start) for sign, before, _ in _OPEN if sign != ">="):
        raise UnclearPeriodError(_said(text, one.start, end))
    one, other = _completed(one, other, years)
    if one.year is None or other.year is None:
        raise UnclearPeriodError(_said(text, start, end))
    first, last = _first_day(one), _last_day(other)
    if not (first and last) or first > last:
        raise UnclearPeriodError(_said(text, start, end))
    return Period(start, end, *shortened(first, last))


def _completed(one: PeriodEnd, other: PeriodEnd, years: Collection[int]) -> tuple[PeriodEnd, PeriodEnd]:
    """Return both ends with the year, and the month, that only the other one has."""
    if one.unit == "day" and other.unit == "day":
        if not other.number:
            other = replace(other, number=one.number)
        if not one.number:
            one = replace(one, number=other.number)
    if one.year is not None and other.fiscal != one.fiscal and other.year is None:
        other = replace(other, fiscal=one.fiscal)
    if other.year is not None and one.year is None:
        one = replace(one, fiscal=other.fiscal)
    if one.year is None and other.year is None and len(years) == 1:
        one, other = replace(one, year=next(iter(years))), replace(other, year=next(iter(years)))
    elif one.unit in ("year", "fiscal year") or other.unit in ("year", "fiscal year"):
        pass
    elif one.year is None and other.year is not None:
        one = replace(one, year=other.year - (_in_year(one) > _in_year(other)))
    elif other.year is None and one.year is not None:
        other = replace(other, year=one.year + (_in_year(other) < _in_year(one)))
    return one, other


def _in_year(moment: PeriodEnd) -> tuple[int, int]:
    """Return the place of a moment in its year: month and day."""
    month = (moment.number - 1) * MONTHS_OF[moment.unit] + 1
    if moment.fiscal and moment.unit == "month":
        month = (month - FISCAL_START) % 12 + 1
    return month, moment.day


def _single(text: str, moment: PeriodEnd, years: Collection[int]) -> Period:
    """Return the period of one moment, or the one that it begins or ends."""
    start, end, sign = _open_end(text, moment)
    if moment.year is None and len(years) == 1:
        moment = replace(moment, year=next(iter(years)))
    if moment.year is None and moment.unit == "month" and not sign:
        return Period(start, end, "", "", f"{moment.number:02}")
    if moment.year is None or (moment.unit == "day" and not moment.number):
        raise UnclearPeriodError(_said(text, start, end))
    first, last = _first_day(moment), _last_day(moment)
    if not (first and last):
        raise UnclearPeriodError(_said(text, start, end))
    after, before = (_beside(last, 1), ""), ("", _beside(first, -1))
    ends = {">=": (first, ""), "<=": ("", last), ">": after, "<": before, "": (first, last)}
    return Period(start, end, *shortened(*ends[sign]))


def _open_end(text: str, moment: PeriodEnd) -> tuple[int, int, str]:
    """Return where the words of a moment begin and end, and its operator: empty for the moment itself."""
    start, end, sign = moment.start, moment.end, ""
    for operator, before, after in _OPEN:
        found_before, found_after = before.search(text, 0, moment.start), after.match(text, moment.end)
        if found_before or found_after:
            if sign:
                raise UnclearPeriodError(_said(text, start, end))
            sign = operator
            start = found_before.start() if found_before else start
            end = found_after.end() if found_after else end
    if before_it := _FROM.search(text, 0, moment.start):
        if not sign and before_it[0].startswith(("from", "between", "over")):
            raise UnclearPeriodError(_said(text, before_it.start(), end))  # since then, or in it?
        start = min(start, before_it.start())
    if not sign and (after_it := _WITHIN.match(text, end)):
        end = after_it.end()
    return start, end, sign


# ---------------------------------------------------------------- days


def _first_month(moment: PeriodEnd) -> tuple[int, int]:
    """Return year and month in which a moment begins."""
    assert moment.year is not None
    month = 1 if moment.unit in ("year", "fiscal year") else (moment.number - 1) * MONTHS_OF[moment.unit] + 1
    if not moment.fiscal:
        return moment.year, month
    if moment.unit in ("month", "day"):  # a month has its own name
        return moment.year + (month < FISCAL_START), month
    return later_month(moment.year, FISCAL_START, month - 1)


def later_month(year: int, month: int, months: int) -> tuple[int, int]:
    """Return the year and the month that is some months later, or earlier."""
    count = year * 12 + month - 1 + months
    return count // 12, count % 12 + 1


def _first_day(moment: PeriodEnd) -> str:
    """Return the ISO text of the first day; empty for a day that does not exist."""
    year, month = _first_month(moment)
    return _day(year, month, moment.day or 1)


def _last_day(moment: PeriodEnd) -> str:
    year, month = _first_month(moment)
    if moment.unit == "day":
        return _day(year, month, moment.day)
    year, month = later_month(year, month, MONTHS_OF[moment.unit] - 1)
    return _day(year, month, calendar.monthrange(year, month)[1]) if 1 <= month <= 12 else ""


def _day(year: int, month: int, day: int) -> str:
    if not (1800 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
        return ""
    return f"{year}-{month:02}-{day:02}"


def _beside(day: str, days: int) -> str:
    """Return the ISO text of the day that is some days later, or earlier."""
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def shortened(first: str, last: str) -> tuple[str, str]:
    """Return both ends as years where they are whole ones, else as months, else as days."""
    if first[5:] in ("", "01-01") and last[5:] in ("", "12-31"):
        return first[:4], last[:4]
    year, month = (int(last[:4]), int(last[5:7])) if last else (0, 0)
    if first[8:] in ("", "01") and (not last or int(last[8:]) == calendar.monthrange(year, month)[1]):
        return first[:7], last[:7]
    return first, last
