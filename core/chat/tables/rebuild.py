"""Passages back to tables: the rows that a document's passages hold, in order, under their header."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from braid.core.chat.quoting.tables import cells_of, is_row, is_rule, look_alike

MAX_ROWS = 50_000
_SPLIT_ROW_CHARS = 350
"""A passage of one row as long as this may hold a part of it only."""
_LABELLED = re.compile(r"([^:\n]{1,80}): (.+)")
_TITLE = re.compile(r"[#\s*_]*(.{1,120}?)[\s*_:：]*")
TABLE_TYPES = frozenset({"xlsx", "xls", "csv", "tsv", "ods"})


@dataclass(frozen=True, slots=True)
class TablePassage:
    """A passage, as far as tables are concerned."""

    text: str
    heading: str = ""
    line: int | None = None
    line_end: int | None = None


@dataclass(slots=True)
class RawTable:
    """A table as its cells are written. ``places`` are the passages of the rows."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    heading: str = ""
    whole: bool = True
    """False where a row may be broken in two, so that nothing can be counted."""
    _open: bool = True
    """Whether the passage before ended in this table."""

    def add(self, cells: tuple[str, ...], place: int) -> None:
        """Add a row."""
        self.rows.append(cells)
        self.places.append(place)


def tables_of(pieces: Sequence[TablePassage], file_type: str) -> list[RawTable]:
    """Return the tables of a document that have a header and rows, from all its passages in order."""
    tables: list[RawTable] = []
    for place, piece in enumerate(pieces):
        if file_type in TABLE_TYPES and _add_labelled(tables, piece, place):
            continue
        lines = piece.text.split("\n")
        before = tables[-1] if tables and tables[-1]._open and tables[-1].heading == piece.heading else None
        for table in tables[-1:]:
            table._open = False
        runs = _runs(lines)
        if file_type in TABLE_TYPES and runs:  # a row may have one cell, and so no bar
            lines = [line for line in lines[runs[0][0] :] if line.strip()]
            runs = [(0, len(lines))]
        for start, end in runs:
            _add_run(tables, piece, place, (lines, start, end), before if start == 0 else None)
    return [table for table in tables if table.whole and table.rows and sum(len(t.rows) for t in tables) <= MAX_ROWS]


def _runs(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return (start, end) of the runs of table lines."""
    runs: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        if is_row(line):
            if runs and runs[-1][1] == number:
                runs[-1] = (runs[-1][0], number + 1)
            else:
                runs.append((number, number + 1))
    return runs


def _add_run(
    tables: list[RawTable],
    piece: TablePassage,
    place: int,
    run: tuple[Sequence[str], int, int],
    before: RawTable | None,
) -> None:
    lines, start, end = run
    rows = [cells_of(line) for line in lines[start:end] if not is_rule(line)]
    ends_piece = end == len(lines)
    is_broken = ends_piece and start == 0 and len(rows) <= 2 and len(lines[end - 1]) >= _SPLIT_ROW_CHARS
    if before is not None and rows:
        fresh = rows[1:] if rows[0] == before.header else _without_overlap(before.rows, rows)
        if rows[0] != before.header and any(len(row) != len(before.header) for row in fresh[:1] + before.rows[-1:]):
            before.whole = False
        before.whole = before.whole and not is_broken
        before._open = ends_piece
        for cells in fresh:
            before.add(cells, place)
        return
    has_rule = any(is_rule(line) for line in lines[start + 1 : start + 2])
    if len(rows) < 2 or (not has_rule and look_alike(rows[0], rows[1])):
        return
    table = RawTable(_title(piece, lines, start), rows[0], heading=piece.heading, whole=not is_broken, _open=ends_piece)
    for cells in rows[1:]:
        table.add(cells, place)
    tables.append(table)


def _without_overlap(known: Sequence[tuple[str, ...]], rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Leave out the rows that the passage repeats from the one before."""
    for shared in range(min(len(known), len(rows)), 0, -1):
        if list(known[-shared:]) == rows[:shared]:
            return rows[shared:]
    return rows


def _title(piece: TablePassage, lines: Sequence[str], start: int) -> str:
    """Return the line directly above a table if it is short, else the nearest heading."""
    above = next((line for line in reversed(lines[:start]) if line.strip()), "")
    found = _TITLE.fullmatch(above.strip())
    if found and not re.search(r"[.。!?！？]$", above.strip()):
        return found[1]
    return piece.heading.rpartition(" > ")[2]


def _add_labelled(tables: list[RawTable], piece: TablePassage, place: int) -> bool:
    """Add the rows of a passage of ``column: value`` lines, which tables with long headers become; False for others."""
    blocks = [block.split("\n") for block in piece.text.split("\n\n")]
    found = [[_LABELLED.fullmatch(line) for line in block] for block in blocks]
    if any(is_row(line) for block in blocks for line in block) or not all(all(block) for block in found):
        return False
    rows: list[Mapping[str, str]] = [{match[1]: match[2] for match in block if match} for block in found]
    last = tables[-1] if tables and tables[-1]._open and tables[-1].heading == piece.heading else None
    if last is None:
        last = RawTable(piece.heading.rpartition(" > ")[2], (), heading=piece.heading)
        tables.append(last)
    last.header = tuple(dict.fromkeys((*last.header, *(name for row in rows for name in row))))
    last.whole = last.whole and max(map(len, piece.text.split("\n\n"))) < _SPLIT_ROW_CHARS * 2
    for row in rows:
        last.add(tuple(row.get(name, "") for name in last.header), place)
    return True
