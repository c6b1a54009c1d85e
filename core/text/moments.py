"""The moments that a question names: a year, half of one, a quarter, a month or a day, as far as they are said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from braid.core.text.dates import ERAS, MONTH_NAME, MONTHS

Unit = Literal["year", "fiscal year", "half", "quarter", "month", "day"]
MONTHS_OF: dict[Unit, int] = {"year": 12, "fiscal year": 12, "half": 6, "quarter": 3, "month": 1, "day": 1}
"""Months of a unit; a day is in one."""
FISCAL_START = 4
"""The month in which a 年度 begins."""


MOST_MOMENTS = 8
"""No question for a period names more."""


class UnclearPeriodError(Exception):
    """A period that is not understood; the message is what the question says."""


@dataclass(frozen=True, slots=True)
class PeriodEnd:
    """One end of a period, as far as it is said. ``number`` counts halves, quarters or months of the year from 1."""

    start: int
    end: int
    unit: Unit
    year: int | None = None
    number: int = 0
    day: int = 0
    fiscal: bool = False
    """Whether the year begins in April."""


_ERA_NAMES = "明治|大正|昭和|平成|令和"
_YEAR_CJK = (
    rf"(?:(?P<era>{_ERA_NAMES})\s?(?P<in_era>\d{{1,2}}|元)|(?<![\d.,])(?P<y>\d{{4}}))\s?[年년](?P<fy>度)?(?:도)?"
)
_PART = (
    r"(?:(?P<m>\d{1,2})\s?[月월](?!別|별|ごと|毎|間)(?:\s?(?P<d>\d{1,2})\s?[日일](?!間|간))?"
    r"|第?\s?(?P<q>[1-4])\s?四半期(?!別|ごと)|q(?P<q2>[1-4])(?![a-z\d])|(?P<q3>[1-4])\s?분기(?!별)"
    r"|(?P<h1>上半期|상반기)|(?P<h2>下半期|하반기))"
)
# "4〜6月": a number whose unit only the next one has.
_BARE_UNIT = r"\s?(?:[-‐–~〜]|から|부터|에서)\s?第?\d{1,2}\s?(?P<unit>[月월日일]|四半期|분기)"
_ORDINAL = r"(?P<o>first|second|third|fourth|1st|2nd|3rd|4th)"
_Y = r"(?P<y>\d{4})(?![\d,]|\.\d)"
_NAME = rf"(?P<name>{MONTH_NAME})\b\.?"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_BETWEEN_DAYS = "(?:[-–~]|to|through|until|and)"
_OF = r"(?: of)?(?: the year)?,? "
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"{_YEAR_CJK}\s?(?:の|의)?\s?(?:(?P<m>\d{{1,2}})\s?[月월]\s?)?第?(?P<bare>\d{{1,2}})(?={_BARE_UNIT})",
        rf"(?<![\d.,])(?:(?P<m>\d{{1,2}})\s?[月월]\s?)?第?(?P<bare>\d{{1,2}})(?={_BARE_UNIT})",
        rf"{_YEAR_CJK}(?:\s?(?:の|의)?\s?{_PART})?",
        r"(?<![\d.,])(?P<y>\d{4})\.\s(?P<m>\d{1,2})\.(?:\s(?P<d>\d{1,2})\.?(?!\d))?",
        r"(?<![\d.,/-])(?P<y>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?:(?P=mark)(?P<d>\d{1,2})\.?)?(?![\d,]|[-/.]\d)",
        r"\b(?P<fiscal>(?:fiscal|financial) year|fy)\s?'?\d{2,4}(?:\s?[/–-]\s?\d{2,4})?",
        rf"\b{_DAY}(?: of)? {_NAME}(?:,? {_Y})?",
        rf"\b{_NAME} {_Y}",
        rf"\b{_NAME} {_DAY}(?![\d,.]*\d)(?:,? {_Y})?",
        rf"\b{_DAY}(?=\s?{_BETWEEN_DAYS}\s?(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{MONTH_NAME})\b)",
        rf"(?<![\d.,]){_Y}\s?[-/]?\s?q(?P<q>[1-4])\b",
        rf"\bq(?P<q>[1-4])\b(?:{_OF}{_Y})?",
        rf"\b{_ORDINAL} (?P<part>quarter|half)\b(?:{_OF}{_Y})?",
        rf"\bh(?P<h>[12])\b(?:{_OF}{_Y})?",
        rf"(?<!\d){_PART}",
        rf"\b{_NAME}(?!\w)",
        r"(?<![\d.,])(?P<y>(?:1[89]|20)\d\d)(?![\d,%]|\.\d)",
        r"(?<!\d)(?P<d>\d{1,2})\s?[日일](?!間|간|本|본)",
    )
)
_AFTER_DAY = re.compile(rf"\s?{_BETWEEN_DAYS}\s?(?:the )?{_DAY}\b(?:,? {_Y})?(?!\s?[a-z%])")
_BY_MARK: dict[str, Unit] = {
    "月": "month",
    "월": "month",
    "日": "day",
    "일": "day",
    "四半期": "quarter",
    "분기": "quarter",
}
_TIME_BEFORE = re.compile(
    r"\b(?:in|during|of|for|from|since|until|till|through|to|between|and|before|after|by|starting) (?:the )?$|[-–~]\s?$"
)
_TIME_AFTER = re.compile(r"\s(?:to|through|until)\s|\s?[-–~]\s?(?=[a-z\d])")


def moments_in(text: str) -> list[PeriodEnd]:
    """Return all moments in a folded question, none within another, in the order of the text.

    Raises UnclearPeriodError for a business year whose first month is not known, and for many moments.
    """
    found: list[PeriodEnd] = []
    for form in _FORMS:
        for match in form.finditer(text):
            if not any(each.start < match.end() and match.start() < each.end for each in found):
                found.append(_moment(match))
            if len(found) > MOST_MOMENTS:
                raise UnclearPeriodError(match[0])
    found.sort(key=lambda each: each.start)
    return [each for each in _with_last_days(text, found) if _is_said_as_time(text, each)]


def _with_last_days(text: str, moments: Sequence[PeriodEnd]) -> Iterator[PeriodEnd]:
    """Yield the moments, with the second day of ``April 1 to 15, 2026``, which is only a number."""
    end = 0
    for each in moments:
        if each.start < end:  # the year of that day
            continue
        yield each
        if each.unit == "day" and each.number and text[each.start : each.end].isascii():
            after = _AFTER_DAY.match(text, each.end)
            if after and not any(after.start("d") >= one.start > each.start for one in moments):
                end = after.end()
                year = int(after["y"]) if after["y"] else None
                yield PeriodEnd(after.start("d"), end, "day", year, 0, int(after["d"]))


def _moment(match: re.Match[str]) -> PeriodEnd:
    """Return the moment of a match. Raises UnclearPeriodError for a business year whose first month is not known."""
    said = {name: value for name, value in match.groupdict().items() if value}
    if "fiscal" in said:
        raise UnclearPeriodError(match[0])
    unit: Unit
    number, day, year = 0, int(said.get("d", 0)), None
    if era := said.get("era"):
        year = ERAS[era] + (1 if said["in_era"] == "元" else int(said["in_era"]))
    elif "y" in said:
        year = int(said["y"])
    if "name" in said:
        said["m"] = str(MONTHS.index(said["name"][:3]) + 1)
    if bare := said.get("bare"):
        unit = _BY_MARK[said["unit"]]
        number, day = (int(said.get("m", 0)), int(bare)) if unit == "day" else (int(bare), 0)
    elif quarter := said.get("q") or said.get("q2") or said.get("q3"):
        unit, number = "quarter", int(quarter)
    elif "o" in said:
        unit = "quarter" if said["part"] == "quarter" else "half"
        number = {"f": 1, "s": 2, "t": 3}.get(said["o"][0], 0) or int(said["o"][0])
        number = 4 if said["o"] == "fourth" else number
    elif "h" in said or "h1" in said or "h2" in said:
        unit, number = "half", 2 if "h2" in said or said.get("h") == "2" else 1
    elif day:
        unit, number = "day", int(said.get("m", 0))
    elif "m" in said:
        unit, number = "month", int(said["m"])
    else:
        unit = "fiscal year" if "fy" in said else "year"
    if number > 12 // MONTHS_OF[unit]:
        raise UnclearPeriodError(match[0])
    return PeriodEnd(match.start(), match.end(), unit, year, number, day, "fy" in said)


def _is_said_as_time(text: str, moment: PeriodEnd) -> bool:
    """Return whether a moment is meant as one: not the verb *may*, nor the product *Q2*."""
    word = text[moment.start : moment.end]
    if moment.year is None and word.isascii() and word.isalnum():
        around = text[max(0, moment.start - 1) : moment.start] + text[moment.end : moment.end + 1]
        beside = not around.isascii()  # of a script without spaces
        return beside or bool(_TIME_BEFORE.search(text, 0, moment.start) or _TIME_AFTER.match(text, moment.end))
    return True
