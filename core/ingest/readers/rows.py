"""Rows of tables: those of each of several tables side by side on a sheet; how many rows and columns are hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from braid.core.ingest.readers.document import one_line

MAX_PARTED_ROWS = 5_000
"""Rows of a sheet in which tables side by side are looked for."""
HEAD_ROWS = 4
"""Rows at the beginning of a table in which its columns are named."""
_LEAST_ROWS = _LEAST_COLUMNS = 2

Extent = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table with its lines in the file, if the file has lines."""

    cells: tuple[str, ...]
    line: int | None = None
    line_end: int | None = None

    @property
    def filled(self) -> int:
        """Number of cells that are not empty."""
        return sum(map(bool, self.cells))


def row_of(cells: Iterable[str], line: int | None = None, line_end: int | None = None) -> Row:
    """Return a row with its cells on one line each, without the empty ones at its end."""
    texts = [one_line(cell) if cell else "" for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return Row(tuple(texts), line, line_end)


NamesOf = Callable[[list[Row]], Sequence[str]]


def parted(rows: Sequence[Row], names_of: NamesOf) -> Iterator[list[Row]]:
    """Yield the rows of each table: of all that stand side by side on the sheet, or else in a part of it between two
    empty rows; all other rows as they are.

    Tables stand side by side where an empty column is between them, each begins with the names of its columns, which
    ``names_of`` finds in its first rows, or, but for the first, with one heading, and they begin or end in different
    rows, or have columns of one name. A table with an empty column within is one.
    """
    if tables := _tables(rows, names_of):
        yield from tables
        return
    whole: list[Row] = []
    for is_filled, group in groupby(rows, key=lambda row: row.filled > 0):
        part = list(group)
        if is_filled and (tables := _tables(part, names_of)):
            yield whole
            yield from tables
            whole = []
        else:
            whole += part
    yield whole


def _tables(rows: Sequence[Row], names_of: NamesOf) -> list[list[Row]]:
    """Return the rows of each of several tables side by side, from left to right; none where there are no two."""
    width = max((len(row.cells) for row in rows), default=0)
    used = [False] * width
    for row in rows:
        for column, cell in enumerate(row.cells):
            used[column] = used[column] or bool(cell)
    if all(used):
        return []
    spans = [
        (columns[0], columns[-1] + 1)
        for is_used, group in groupby(range(width), key=lambda column: used[column])
        if is_used and (columns := list(group))
    ]
    if len(spans) < 2 or any(end - first < _LEAST_COLUMNS for first, end in spans):
        return []
    tables = [[_part(row, span) for row in rows] for span in spans]
    names = [_names(table, names_of) for table in tables]
    unnamed = [table for table, own in zip(tables, names, strict=True) if not own]
    if not names[0] or not all(map(_is_list, unnamed)):
        return []
    is_repeated = len(set().union(*names)) < sum(map(len, names))
    return tables if is_repeated or len({_extent(table) for table in tables}) > 1 else []


def _is_list(table: Sequence[Row]) -> bool:
    """Return whether a table is one heading above rows of several cells, such as a price list beside a table."""
    first, *others = [row for row in table if row.filled] or [Row(())]
    return first.filled == 1 and len(others) >= _LEAST_ROWS and all(row.filled >= _LEAST_COLUMNS for row in others)


def _part(row: Row, span: Extent) -> Row:
    cells = list(row.cells[span[0] : span[1]])
    while cells and not cells[-1]:
        cells.pop()
    return replace(row, cells=tuple(cells))


def _names(table: Sequence[Row], names_of: NamesOf) -> set[str]:
    """Return the names of a table's columns; none where it does not begin with a row of them."""
    wide = [row for row in table if row.filled >= _LEAST_COLUMNS]
    names = names_of(wide[:HEAD_ROWS]) if len(wide) >= _LEAST_ROWS else ()
    return set(names) if all(names) else set()


def _extent(table: Sequence[Row]) -> Extent:
    filled = [number for number, row in enumerate(table) if row.filled]
    return filled[0], filled[-1]


class HiddenCounts:
    """Counts hidden rows and columns that have something in them, sheet by sheet."""

    def __init__(self) -> None:
        self._rows: list[str] = []
        self._columns: list[str] = []

    def add(self, sheet: str, rows: int, columns: int) -> None:
        """Add the counts of a sheet."""
        self._rows += [f"{rows} of {sheet}"] if rows else []
        self._columns += [f"{columns} of {sheet}"] if columns else []

    def metadata(self) -> dict[str, str]:
        """Return what is hidden: ``3 of Sales, 1 of Stock``; an empty text where nothing is."""
        return {"hidden_rows": ", ".join(self._rows), "hidden_columns": ", ".join(self._columns)}
