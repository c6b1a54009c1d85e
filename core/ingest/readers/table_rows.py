"""Records: rows of a table, each of which can be understood by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from braid.core.ingest.readers.document import Section, one_line

_HEADER_WITHIN = 10
_MAX_HEADER_CHARS = 300
_NUMBER = re.compile(r"[-+(]?[\d.,:/%\s-]+\)?(?:[eE][-+]?\d+)?%?|true|false|null|none|nan", re.IGNORECASE)


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


def records(rows: Iterable[Row], heading_path: str = "") -> Iterator[Section]:
    """Yield a record per row that is not empty.

    The chunks repeat the header row. If it is too long for that, each record has ``column: value`` lines instead.
    """
    rows = (row for row in rows if row.filled)
    first = list(islice(rows, _HEADER_WITHIN))
    position = _header_position(first)
    columns = first[position].cells if position is not None else ()
    header = " | ".join(columns)
    above = first[:position] if position is not None else []
    below = first[position + 1 :] if position is not None else first
    for row in above:
        yield _record(row, " | ".join(row.cells), heading_path)
    lone_header = position is not None and not below
    if lone_header and position is not None:
        yield _record(first[position], header, heading_path)
    for row in chain(below, rows):
        if len(header) <= _MAX_HEADER_CHARS:
            yield _record(row, " | ".join(row.cells), heading_path, header)
        else:
            yield _record(row, _label(columns, row.cells), heading_path)


def _header_position(rows: list[Row]) -> int | None:
    """Return the position of the header row: the first nearly as wide as the table, if it has names and not values."""
    width = max((row.filled for row in rows), default=0)
    for position, row in enumerate(rows):
        if row.filled >= max(1, 0.6 * width):
            names = not any(_NUMBER.fullmatch(cell) for cell in row.cells)
            return position if names and len(set(row.cells)) == len(row.cells) else None
    return None


def _record(row: Row, text: str, heading_path: str, header: str = "") -> Section:
    return Section(text, heading_path, None, row.line, row.line_end, "record", header)


def _label(columns: tuple[str, ...], cells: tuple[str, ...]) -> str:
    names = chain(columns, iter(lambda: "", None))
    return "\n".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell)
