"""Tables with typed columns: which hold numbers, dates or texts, and how their numbers are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from braid.core.chat.tables.amounts import PLACEHOLDERS, Amount, Style, amount, style_of, value_of
from braid.core.chat.tables.rebuild import RawTable
from braid.core.text.dates import date_of, order_of

Kind = Literal["number", "date", "text"]
Value = float | str | None
PLAIN = Style()
MAX_COLUMNS = 200
MAX_NAME_CHARS = 60
_UNIT = re.compile(r"(?<!\s)\s*+[(（\[［]\s*+([^\s()（）\[\]［］][^()（）\[\]［］]{0,19})\s*+[)）\]］]\s*$")
_TOTAL = re.compile(
    r"\W*(?:(?:sub|grand )?totals?|sum|overall|averages?|mean|all"
    r"|(?:総|小)?合?計|総計|平均|(?:총|소)?(?:합계|계)|총합|평균)\W*"
    r"|(?:sub|grand )?total\b.{0,40}|.{1,40}(?:小計|合計|소계|합계)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it can be asked: its name is unique in the table."""

    name: str
    kind: Kind
    style: Style = PLAIN
    unit: str = ""
    """The unit that the name has in parentheses: ``Budget (EUR)``."""

    @property
    def plain(self) -> str:
        """The name without its unit."""
        return _UNIT.sub("", self.name).strip() or self.name

    def write(self, value: float, *, more_places: int = 0, grouped: bool = False) -> str:
        """Write a number of this column, with its unit; ``grouped`` as `Style.write` has it."""
        text = self.style.write(value, more_places=more_places, grouped=grouped)
        return f"{text} {self.unit}" if self.unit and not (self.style.unit or self.style.prefix) else text


@dataclass(frozen=True, slots=True)
class Table:
    """A table to be asked. ``rows`` are typed, ``cells`` as they were written, ``places`` the passages of the rows."""

    name: str
    """Its name in SQL, unique among the tables of a question."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    cells: tuple[tuple[str, ...], ...]
    places: tuple[int, ...]
    totals: tuple[str, ...] = ()
    """The rows that are left out because they add up others."""
    context: str = ""
    """The title of the document, and the lines above the table."""
    document: int = 0


def typed(raw: RawTable, name: str, *, document: int = 0, title: str = "") -> Table | None:
    """Return the table with the types of its columns; None where all its rows are totals, or it is too wide."""
    width = max(len(raw.header), *map(len, raw.rows))
    if width > MAX_COLUMNS:
        return None
    names = _names(raw.header, width)
    padded = [(*row, *[""] * (width - len(row))) for row in raw.rows]
    totals = {number for number, row in enumerate(padded) if _is_total(row)}
    kept = [number for number, row in enumerate(padded) if number not in totals and any(row)]
    if not kept:
        return None
    cells = [padded[number] for number in kept]
    parts = [_column(each, [row[position] for row in cells]) for position, each in enumerate(names)]
    return Table(
        name,
        tuple(column for column, _ in parts),
        tuple(zip(*(values for _, values in parts), strict=True)),
        tuple(cells),
        tuple(raw.places[number] for number in kept),
        tuple(next(filter(None, padded[number])) for number in sorted(totals)),
        " ".join(filter(None, (title, raw.heading, raw.title))),
        document,
    )


def _names(header: Sequence[str], width: int) -> list[str]:
    """Return a name for each column: short, none empty, none twice, whatever the case."""
    names: list[str] = []
    for position in range(width):
        base = " ".join((header[position] if position < len(header) else "").replace('"', "'").split())[:MAX_NAME_CHARS]
        name, number = base or f"column {position + 1}", 2
        while name.casefold() in {"rowid", "oid", "_rowid_", *map(str.casefold, names)}:
            name, number = f"{base or 'column'} {number}", number + 1
        names.append(name)
    return names


def _is_total(row: Sequence[str]) -> bool:
    """Whether a row adds up others: its first cell says so, and there is a number in it."""
    label = next(filter(None, row), "")
    return _TOTAL.fullmatch(label) is not None and any(amount(cell) for cell in row)


def _column(name: str, cells: Sequence[str]) -> tuple[Column, list[Value]]:
    unit = found[1] if (found := _UNIT.search(name)) else ""
    filled = [cell for cell in cells if cell.lower() not in PLACEHOLDERS]
    if filled and (numbers := _numbers(filled)) is not None:
        style, amounts = numbers
        values = [value_of(amounts[cell], style.decimal) if cell in amounts else None for cell in cells]
        if all(value is not None for cell, value in zip(cells, values, strict=True) if cell in amounts):
            return Column(name, "number", style, unit), [_whole(value) for value in values]
    order = order_of(filled)
    dates = {cell: date_of(cell, order) for cell in filled}
    if filled and all(dates.values()):
        return Column(name, "date", unit=unit), [dates.get(cell) for cell in cells]
    return Column(name, "text", unit=unit), [cell if cell else None for cell in cells]


def _numbers(filled: Sequence[str]) -> tuple[Style, dict[str, Amount]] | None:
    amounts: dict[str, Amount] = {}
    for cell in dict.fromkeys(filled):
        if (found := amount(cell)) is None:
            return None
        amounts[cell] = found
    style = style_of(list(amounts.values()))
    return (style, amounts) if style else None


def _whole(value: float | None) -> float | None:
    return int(value) if value is not None and value.is_integer() and abs(value) < 2**53 else value
