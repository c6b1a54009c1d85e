"""Merged cells: each cell of a merged range gets the text that is shown over all of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MAX_COVERED = 500_000
"""Most cells of a table that merged ones cover together; whatever is merged beyond stays as it is."""


@dataclass(frozen=True, slots=True)
class Span:
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


def filled(rows: Iterable[Sequence[str]], spans: Iterable[Span]) -> Iterator[list[str]]:
    """Yield the rows with the text of merged cells in each cell; a line that is a title alone is left as it is."""
    beginning: dict[int, list[Span]] = defaultdict(list)
    left = MAX_COVERED
    for span in spans:
        if (area := span.rows * span.columns) <= left:
            left -= area
            beginning[span.row].append(span)
    covering: list[tuple[Span, str]] = []
    for number, row in enumerate(rows):
        cells = list(row)
        is_title = sum(map(bool, cells)) == 1
        covering = [(span, text) for span, text in covering if span.row + span.rows > number]
        for span in beginning.get(number, ()):
            text = cells[span.column] if span.column < len(cells) else ""
            if text and not (is_title and span.rows == 1):
                covering.append((span, text))
        for span, text in covering:
            end = span.column + span.columns
            cells += [""] * (end - len(cells))
            cells[span.column : end] = [text] * (end - span.column)
        yield cells


def laid_out(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """Return the rows of a table whose cells cover several rows or columns, each text in all the places it covers."""
    grid: list[dict[int, str]] = [{} for _ in rows]
    left = MAX_COVERED
    for number, row in enumerate(rows):
        column = 0
        is_title = sum(bool(cell.text) for cell in row) == 1 and not grid[number]
        for cell in row:
            while column in grid[number]:
                column += 1
            width, height = (1, 1) if is_title and cell.rows == 1 else (cell.columns, cell.rows)
            if width * height > left:
                width = height = 1
            left -= width * height
            for line in grid[number : number + height]:
                line.update(dict.fromkeys(range(column, column + width), cell.text))
            column += width
    return [[line.get(at, "") for at in range(max(line, default=-1) + 1)] for line in grid]
