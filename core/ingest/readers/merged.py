"""Merged cells: a text over several cells is shown once, and repeated only where its rows or columns need it.

In a table, the text above several columns names each of them, and the text beside several rows belongs to each. In a
form, whose rows have cells of other widths, a text that covers many cells is still one text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MAX_COVERED = 500_000
"""Most cells of a table that merged ones cover together; whatever is merged beyond stays as it is."""


_MIN_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class MergedCells:
    """A range of merged cells, its row and column counted from 0."""

    row: int
    column: int
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a web page or document, with the rows and columns that it covers."""

    text: str
    columns: int = 1
    rows: int = 1


class Grid(NamedTuple):
    """The rows of a table as they are stored."""

    rows: list[list[str]]
    is_form: bool = False
    """Whether the rows have cells of other widths, so that none names the columns of the others."""


def laid_out(rows: Sequence[Sequence[Cell]]) -> Grid:
    """Return the rows of a table whose cells cover several rows or columns."""
    taken: list[set[int]] = [set() for _ in rows]
    texts: list[list[str]] = []
    spans: list[MergedCells] = []
    left = MAX_COVERED
    for number, row in enumerate(rows):
        line: list[str] = []
        column = 0
        for cell in row:
            while column in taken[number]:
                column += 1
            width, height = cell.columns, max(1, min(cell.rows, len(rows) - number))
            if width * height > left:
                width = height = 1
            left -= width * height
            if height > 1:
                for below in taken[number + 1 : number + height]:
                    below.update(range(column, column + width))
            line += [""] * (column - len(line)) + [cell.text]
            if width * height > 1:
                spans.append(MergedCells(number, column, height, width))
            column += width
        texts.append(line)
    return merged(texts, spans)


def merged(rows: Iterable[Sequence[str]], spans: Iterable[MergedCells]) -> Grid:
    """Return rows whose merged cells have their text in the first cell alone, as they are to be stored.

    Columns that only merged cells cover are left out. A form's rows have their texts side by side, without gaps.
    """
    texts = [list(row) for row in rows]
    named = [span for span in _bounded(spans, len(texts)) if _at(texts, span.row, span.column)]
    if not named:
        return Grid(texts)
    texts, named = _without_covered(texts, named)
    filled = [sum(map(bool, row)) for row in texts]
    if _is_form(filled, named) and not _has_header(texts, filled, named):
        return Grid([list(filter(None, row)) for row in texts], is_form=True)
    _repeat(texts, filled, named)
    return Grid(texts)


def _bounded(spans: Iterable[MergedCells], rows: int) -> Iterator[MergedCells]:
    left = MAX_COVERED
    for span in spans:
        area = span.rows * span.columns
        if area <= left and span.row < rows:
            left -= area
            yield span


def _at(rows: Sequence[Sequence[str]], row: int, column: int) -> str:
    return rows[row][column] if column < len(rows[row]) else ""


def _without_covered(rows: list[list[str]], spans: list[MergedCells]) -> tuple[list[list[str]], list[MergedCells]]:
    """Leave out the columns that merged cells cover and in which none begins, as on sheets ruled like grid paper."""
    begun = {column for row in rows for column, text in enumerate(row) if text}
    covered = {column for span in spans for column in range(span.column + 1, span.column + span.columns)}
    unused = sorted(covered - begun)
    if not unused:
        return rows, spans
    gone = set(unused)
    width = max(max(map(len, rows), default=0), unused[-1] + 1)
    place, places = 0, []  # of each column, and of the one after the last
    for column in range(width + 1):
        places.append(place)
        place += column not in gone
    kept = [[text for column, text in enumerate(row) if column not in gone] for row in rows]
    moved = []
    for span in spans:
        first, end = places[span.column], places[min(span.column + span.columns, width)]
        moved.append(MergedCells(span.row, first, span.rows, max(1, end - first)))
    return kept, moved


def _is_form(filled: list[int], spans: list[MergedCells]) -> bool:
    """Whether most rows of more than one text have one that is merged over columns in which other rows have texts."""
    titles = {number for number, count in enumerate(filled) if count < 2}
    wide = {span.row for span in spans if span.columns > 1} - titles
    lone = {span.row for span in spans if span.columns > 1 and span.rows > 1} & titles
    return 2 * len(wide | lone) > len(filled) - len(titles) + len(lone)


def _has_header(rows: list[list[str]], filled: list[int], spans: list[MergedCells]) -> bool:
    """Whether the first row that is no title names each column, as in timetables: other rows may be merged at will."""
    first = next((number for number, count in enumerate(filled) if count > 1), None)
    if first is None or any(span.row == first and span.columns > 1 for span in spans):
        return False
    return _MIN_COLUMNS <= filled[first] == max(map(len, rows))


def _repeat(rows: list[list[str]], filled: list[int], spans: list[MergedCells]) -> None:
    """Write the texts of merged cells again: above the names of columns, and beside each row that has other texts."""
    wide = {span.row for span in spans if span.columns > 1}
    most = max(filled)
    names = next((at for at, count in enumerate(filled) if count > 1 and at not in wide and 2 * count >= most), 0)
    for span in sorted(spans, key=lambda each: -each.row):
        text = rows[span.row][span.column]
        columns = range(span.column, span.column + span.columns)
        below = span.row + span.rows
        is_header = span.row < names and filled[span.row] > 1 and below < len(rows)
        width = span.columns if is_header and all(_at(rows, below, column) for column in columns) else 1
        for number in range(span.row, span.row + span.rows):
            if number > span.row and (number >= len(rows) or not filled[number]):
                continue
            row = rows[number]
            row += [""] * (span.column + width - len(row))
            row[span.column : span.column + width] = [text] * width
