"""The rows of a table that lie in a period: by a column of dates, or by columns of years, months and quarters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from braid.core.chat.tables.columns import Column, Table, Value
from braid.core.chat.tables.database import literal, quoted
from braid.core.text.dates import MONTH_NAME, MONTHS
from braid.core.text.moments import UnclearPeriodError
from braid.core.text.periods import Period

_YEAR_NAME = re.compile(r"^(?:calendar |fiscal |financial )?year$|^年度?$|^(?:회계)?연도$|^년도$")
_MONTH_COLUMN = re.compile(r"^months?$|^月$|^월$")
_QUARTER_COLUMN = re.compile(r"^quarters?$|^四半期$|^분기$")
_MONTH_CELL = re.compile(rf"(?P<name>{MONTH_NAME})\.?|(?P<number>\d{{1,2}})\s?[月월]", re.IGNORECASE)
_QUARTER_CELL = re.compile(r"q\s?([1-4])|([1-4])q|第?\s?([1-4])\s?四半期|([1-4])\s?분기", re.IGNORECASE)
_ANY_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")

Months = tuple[int, int]
"""First and last month of a cell, 1–12."""


def year_column(table: Table) -> Column | None:
    """Return the column of whole years; None where there is none."""
    return next((c for c in table.columns if c.kind == "number" and _YEAR_NAME.search(c.plain.casefold())), None)


def years_of(table: Table) -> set[int]:
    """Return the years of the table's only column of dates, else of years, else of its title."""
    dates = [column for column in table.columns if column.kind == "date"]
    if dates:
        return {int(str(value)[:4]) for column in dates for value in _values(table, column)}
    if column := year_column(table):
        return {int(value) for value in _values(table, column) if isinstance(value, int | float)}
    return {int(year) for year in _ANY_YEAR.findall(table.context)}


def _values(table: Table, column: Column) -> Iterable[Value]:
    position = table.columns.index(column)
    return (row[position] for row in table.rows if row[position] is not None)


# ---------------------------------------------------------------- a column of dates


def date_condition(table: Table, column: Column, period: Period) -> str:
    """Return the SQL condition of the rows in a period. Raises UnclearPeriodError where a cell is only partly in it."""
    name, cells = quoted(column.name), {str(value) for value in _values(table, column)}
    if period.month:
        if any(len(cell) < 7 for cell in cells):
            raise UnclearPeriodError(_written(period))
        return f"substr({name}, 6, 2) = {literal(period.month)}"
    ends = [end for end in (period.first, period.last) if end]
    if any(len(cell) < len(end) and end.startswith(cell) for cell in cells for end in ends):
        raise UnclearPeriodError(_written(period))
    if period.prefix:
        return f"{name} LIKE {literal(period.prefix + '%')}"
    bounds = [(">=", period.first), ("<=", period.last)]
    return " AND ".join(
        f"{name if len(end) == 10 else f'substr({name}, 1, {len(end)})'} {operator} {literal(end)}"
        for operator, end in bounds
        if end
    )


# ---------------------------------------------------------------- columns of months and quarters


@dataclass(frozen=True, slots=True)
class Calendar:
    """A column whose cells are all months, or all quarters, of a year that another column or the title may say."""

    column: Column
    months: dict[Value, Months]
    """The months of each cell."""


def calendar_of(table: Table) -> Calendar | None:
    """Return the column of months or quarters; None where there is none, or several."""
    found = [each for column in table.columns if (each := _calendar(table, column))]
    return found[0] if len(found) == 1 else None


def _calendar(table: Table, column: Column) -> Calendar | None:
    if column.kind == "date":
        return None
    months: dict[Value, Months] = {}
    for value in set(_values(table, column)):
        cell = value if isinstance(value, str) else f"{value:g}{column.style.unit}"
        read = _months(cell, column.plain.casefold())
        if read is None:
            return None
        months[value] = read
    return Calendar(column, months) if len(months) > 1 else None


def _months(cell: str, column: str) -> Months | None:
    if found := _MONTH_CELL.fullmatch(cell.strip()):
        month = MONTHS.index(found["name"][:3].lower()) + 1 if found["name"] else int(found["number"])
        return (month, month) if 1 <= month <= 12 else None
    if found := _QUARTER_CELL.fullmatch(cell.strip()):
        quarter = int(next(filter(None, found.groups())))
        return (3 * quarter - 2, 3 * quarter)
    if cell.isdigit() and _MONTH_COLUMN.search(column) and 1 <= int(cell) <= 12:
        return (int(cell), int(cell))
    if cell.isdigit() and _QUARTER_COLUMN.search(column) and 1 <= int(cell) <= 4:
        return (3 * int(cell) - 2, 3 * int(cell))
    return None


def calendar_condition(table: Table, calendar: Calendar, period: Period, *, years: Sequence[int], said: bool) -> str:
    """Return the SQL condition of the rows in a period.

    ``years`` are those of the table, and ``said`` is whether the question names one. Raises UnclearPeriodError for a
    year that the table does not say, and for a cell that is only partly in the period.
    """
    of_years = year_column(table)
    if period.month:
        wanted = [value for value, months in calendar.months.items() if months == (int(period.month),) * 2]
        if not wanted:
            raise UnclearPeriodError(_written(period))
        return _is_one_of(calendar.column, wanted)
    if said and of_years is None and len(years) != 1:
        raise UnclearPeriodError(_written(period))
    parts = []
    for year in sorted(years):
        inside = [value for value, months in calendar.months.items() if _is_inside(year, months, period)]
        condition = _is_one_of(calendar.column, inside)
        if inside and of_years is not None:
            condition = f"{quoted(of_years.name)} = {year} AND {condition}"
        parts += [condition] if inside else []
    if not parts:
        raise UnclearPeriodError(_written(period))
    return parts[0] if len(parts) == 1 else f"({' OR '.join(f'({part})' for part in parts)})"


def _is_inside(year: int, months: Months, period: Period) -> bool:
    """Return whether the months lie in the period. Raises UnclearPeriodError where only a part of them does."""
    if len(period.first) == 10 or len(period.last) == 10:
        raise UnclearPeriodError(_written(period))
    first, last = f"{year}-{months[0]:02}", f"{year}-{months[1]:02}"
    low = (period.first + "-01")[:7] if period.first else "0000"
    high = (period.last + "-12")[:7] if period.last else "9999"
    if low <= first and last <= high:
        return True
    if last < low or first > high:
        return False
    raise UnclearPeriodError(_written(period))


def _is_one_of(column: Column, values: Sequence[Value]) -> str:
    written = ", ".join(literal(value) for value in sorted(values, key=str) if value is not None)
    return f"{quoted(column.name)} IN ({written})"


# ---------------------------------------------------------------- a column of years


def year_condition(column: Column, period: Period) -> str:
    """Return the SQL condition of the rows in a period of whole years. Raises UnclearPeriodError for any other."""
    if period.month or {len(period.first), len(period.last)} - {0, 4}:
        raise UnclearPeriodError(_written(period))
    name = quoted(column.name)
    if period.prefix:
        return f"{name} = {period.first}"
    bounds = [(">=", period.first), ("<=", period.last)]
    return " AND ".join(f"{name} {operator} {end}" for operator, end in bounds if end)


def _written(period: Period) -> str:
    return period.month or " – ".join(dict.fromkeys((period.first, period.last)))
