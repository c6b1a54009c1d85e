"""Dates in cells and in texts, as ISO texts of a day, a month or a year, which sort and begin alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from typing import Literal

Order = Literal["dmy", "mdy"]

ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018, "H": 1988, "R": 2018, "S": 1925}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH_NAME = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?"
)
_YEAR_CJK = r"(?:(?P<era>明治|大正|昭和|平成|令和)\s?(?P<in_era>\d{1,2}|元)|(?P<y>\d{4}))\s?[年년]"
_CJK = rf"{_YEAR_CJK}度?(?:\s?(?P<m>\d{{1,2}})\s?[月월](?:\s?(?P<d>\d{{1,2}})\s?[日일])?)?"
_ISO = r"(?P<y>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?:(?P=mark)(?P<d>\d{1,2})\.?)?"
_SPACED = r"(?P<y>\d{4})\.\s(?P<m>\d{1,2})\.\s(?P<d>\d{1,2})\.?"
_DAY_FIRST = rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.?\s(?P<name>{MONTH_NAME})\.?,?\s(?P<y>\d{{4}})"
_MONTH_FIRST = rf"(?P<name>{MONTH_NAME})\.?\s(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s)?(?P<y>\d{{4}})"
_ERA_SHORT = r"(?P<era>[RHS])(?P<in_era>\d{1,2})[./](?P<m>\d{1,2})[./](?P<d>\d{1,2})"
_TIME = r"(?:[T\s]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_WEEKDAY = r"(?:\s?\([^\d()]{1,3}\))?"
_FORMS = tuple(
    re.compile(form + _WEEKDAY + _TIME, re.IGNORECASE)
    for form in (_CJK, _ISO, _SPACED, _DAY_FIRST, _MONTH_FIRST, _ERA_SHORT)
)
_IN_TEXT = (
    *(
        re.compile(rf"(?<![\d.]){form}(?!\d)", re.IGNORECASE)
        for form in (_CJK, _ISO, _SPACED, _DAY_FIRST, _MONTH_FIRST)
    ),
    re.compile(rf"(?<![\w.-]){_ERA_SHORT}(?![\w.-])", re.ASCII),
)
_NUMERIC = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})" + _TIME)


def date_of(cell: str, order: Order | None = None) -> str | None:
    """Return the ISO text of a date, None for another text: ``令和6年4月`` → ``2024-04``.

    ``order`` says what the first number of ``03/04/2026`` is; without it that is no date.
    """
    text = unicodedata.normalize("NFKC", cell).strip()
    for form in _FORMS:
        if found := form.fullmatch(text):
            return iso(found)
    if order and (found := _NUMERIC.fullmatch(text)):
        day, month = (int(found[1]), int(found[3])) if order == "dmy" else (int(found[3]), int(found[1]))
        return _join(int(found[4]), month, day)
    return None


def dates_in(text: str) -> tuple[str, ...]:
    """Return the days that a text names with their year, as ISO texts in the order of the text, each once.

    >>> dates_in("Signed on 3 May 2024, valid until 2025-12-31. 令和6年5月3日。R7.6.30"), dates_in("2.0.2024, in May")
    (('2024-05-03', '2025-12-31', '2025-06-30'), ())
    """
    found = sorted((each.start(), iso(each)) for form in _IN_TEXT for each in form.finditer(text) if iso(each))
    return tuple(dict.fromkeys(day for _, day in found if day and _is_day(day)))


def _is_day(text: str) -> bool:
    """Return whether an ISO text is a day of the calendar, as no month and no 30 February is."""
    try:
        return len(text) == len("2024-05-03") and bool(date.fromisoformat(text))
    except ValueError:
        return False


def order_of(cells: Sequence[str]) -> Order | None:
    """Return which number comes first in dates such as ``03/04/2026``, None where nothing tells."""
    found = [match for cell in cells if (match := _NUMERIC.fullmatch(unicodedata.normalize("NFKC", cell).strip()))]
    if any(int(match[1]) > 12 for match in found) or any(match[2] == "." for match in found):
        return None if any(int(match[3]) > 12 for match in found) else "dmy"
    return "mdy" if any(int(match[3]) > 12 for match in found) else None


def iso(found: re.Match[str]) -> str | None:
    """Return the ISO text of a match, None for a day that does not exist."""
    groups = found.groupdict()
    if era := groups.get("era"):
        year = ERAS[era.upper() if era.isascii() else era] + (1 if groups["in_era"] == "元" else int(groups["in_era"]))
    else:
        year = int(groups["y"])
    name = groups.get("name")
    month = MONTHS.index(name[:3].lower()) + 1 if name else int(groups.get("m") or 0)
    return _join(year, month, int(groups.get("d") or 0))


def _join(year: int, month: int, day: int) -> str | None:
    if not (1800 <= year <= 2200 and month <= 12 and day <= 31):
        return None
    return f"{year}" + (f"-{month:02}" if month else "") + (f"-{day:02}" if month and day else "")
