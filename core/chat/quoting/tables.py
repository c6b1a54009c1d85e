"""Tables in a passage: rows whose cells are quoted with their row and column names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_RULE = re.compile(r"[\s|:+=]*+-[\s|:+=-]*+")
_BAR = re.compile(r"(?<!\\)\|")
_MIN_LINES = 2
_MARKUP = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_NUMBERS = re.compile(r"\d[\d.,:/]*")
_LETTERS = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class QuotedRow:
    """A row of a table. ``columns`` are empty where the table has no header."""

    columns: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def text(self) -> str:
        """All cells, the first as the row's name: ``Engineering · Q1: 52,000 EUR · Q2: 58,500 EUR``."""
        return self.quote(range(1, len(self.cells)))

    def quote(self, positions: Sequence[int]) -> str:
        """Return the row's name and the cells at these positions with the names of their columns."""
        named = [f"{name}: {cell}" if name else cell for name, cell in map(self._named, positions) if cell]
        return " · ".join([self.cells[0], *named] if self.cells[0] else named)

    def _named(self, position: int) -> tuple[str, str]:
        return self.columns[position] if position < len(self.columns) else "", self.cells[position]


def split_tables(text: str) -> tuple[str, list[QuotedRow]]:
    """Return the text without its tables, and the rows of these.

    A table is two or more lines of cells between bars, as readers of workbooks, documents and Markdown write it. Its
    first line is the header, unless its cells look like those below.
    """
    prose: list[str] = []
    rows: list[QuotedRow] = []
    for is_table, lines in _runs(text.split("\n")):
        if is_table and len(lines) >= _MIN_LINES:
            rows += _rows(lines)
        else:
            prose += lines
    return "\n".join(prose), rows


def _runs(lines: Sequence[str]) -> Iterator[tuple[bool, list[str]]]:
    """Yield neighbouring lines that are, or are not, of a table."""
    run: list[str] = []
    for line in lines:
        if run and is_row(run[0]) != is_row(line):
            yield is_row(run[0]), run
            run = []
        run.append(line)
    if run:
        yield is_row(run[0]), run


def is_row(line: str) -> bool:
    """Return whether a line has cells between bars."""
    return line.lstrip().startswith("|") or " | " in line


def _rows(lines: Sequence[str]) -> list[QuotedRow]:
    table = [cells_of(line) for line in lines if not is_rule(line)]
    if len(table) < _MIN_LINES:
        return [QuotedRow((), cells) for cells in table]
    has_header = is_rule(lines[1]) or not look_alike(table[0], table[1])
    header = table[0] if has_header else ()
    return [QuotedRow(header, cells) for cells in (table[1:] if header else table) if any(cells)]


def look_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether most cells of both rows are values of one kind: the header is in another passage."""
    shapes = [
        tuple(_LETTERS.sub("a", _NUMBERS.sub("0", cell)) for cell in pair) for pair in zip(first, second, strict=False)
    ]
    return sum("0" in one and one == other for one, other in shapes[1:]) > len(shapes[1:]) / 2


def is_rule(line: str) -> bool:
    """Return whether a line only parts a header from its rows."""
    return _RULE.fullmatch(line) is not None


def cells_of(line: str) -> tuple[str, ...]:
    """Return the cells of a line."""
    cells = [_MARKUP.sub("", cell.replace("\\|", "|").strip()) for cell in _BAR.split(line.strip())]
    framed = line.startswith("|") or (line.lstrip().startswith("|") and line.rstrip().endswith("|"))
    if len(cells) > 1 and not cells[0] and framed:  # else the first cell is empty
        cells = cells[1:]
    if len(cells) > 1 and not cells[-1]:
        cells = cells[:-1]
    return tuple(cells)
