"""Tables of a page of a PDF without ruled lines: rows whose parts are below each other, with white between them.

Their columns are what no part of a row crosses. The lines of one cell are as near to each other as those of a text, and
nearer than two rows. Columns of text, lists, and tables of contents are none; so is what is not drawn row by row.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice, pairwise
from statistics import median

from braid.core.ingest.readers.paged.characters import LinePiece
from braid.core.ingest.readers.paged.layout import (
    ColumnBlock,
    Layout,
    Row,
    RuledTable,
    is_text,
    rows_of,
    with_table,
)
from braid.core.text.contents import contents_lines, has_leader

MAX_ROWS, MAX_COLUMNS, MAX_TABLES = 300, 60, 50
_MIN_ROWS, _MIN_COLUMNS = 3, 2
_MANY_COLUMNS, _WIDE_WHITE = 4, 1.5
"""Columns, with so many heights of a line between them, with which a table has a row less: an invoice for one thing."""
_WHITE = 0.9
"""Heights of a line that are between columns."""
_MOST_OF_CONTENTS = 3
"""Columns of a table of contents: a number, a title, a page."""
_MIN_WIDE, _MIN_FILLED = 0.6, 0.4
"""Share of the rows that have several cells, and of the cells that have text."""
_IN_ROW = 0.75
"""Heights of a line: parts whose tops are nearer to each other are of one row."""
_APART = 2.5
"""Heights of a line of white that end a table."""
_NEARER, _AS_NEAR = 0.9, 1.05
"""Of the usual distance of two rows: that of two lines of one cell."""
_LINE = 8
"""Heights of a line that all lines but the last one of a column of text are wider than."""
_MARK = re.compile(
    r"[(（\[]?(?:\d[\d.]{0,6}|[A-Za-z]|[ivxIVX]{1,5}|[가-하ア-ン])[)）\].:]?|[^\w\s]{1,3}|[①-⑳]|第\S{1,5}[条章節項]|제\s?\d{1,4}[조장절항]"
)
_NUMBER = re.compile(r"\W{0,3}\d[\d.,:/%\s-]*\W{0,2}")

Span = tuple[float, float]
Line = dict[int, Row]
"""The parts of a row by their columns."""


def with_aligned_tables(text: str, layout: Layout, left_out: set[Row]) -> Layout:
    """Return what is on a page in reading order, its margins among the rest, with these tables, and without the rows
    that are left out.
    """
    head, foot = (
        [ColumnBlock((row,), row[0].left, row[-1].right) for row in rows if row not in left_out]
        for rows in (layout.head, layout.foot)
    )
    blocks = [*head, *layout.body, *foot]
    for pieces in _one_below_another(blocks) if not layout.is_upright else ():
        for table in islice(_tables(text, rows_of(pieces)), MAX_TABLES):
            inside = set(table.pieces)
            kept = (replace(each, rows=tuple(row for row in each.rows if row[0] not in inside)) for each in blocks)
            blocks = with_table([each for each in kept if each.rows or each.table], table)
    return replace(layout, head=(), body=tuple(blocks), foot=())


def _one_below_another(blocks: Sequence[ColumnBlock]) -> list[list[LinePiece]]:
    """Return the pieces of the blocks, those together that a table may go through."""
    groups: list[list[LinePiece]] = [[]]
    bottom = 0.0
    for block in blocks:
        if block.table or min(piece.top for piece in block.pieces) < bottom:
            groups.append([])
        groups[-1] += [] if block.table else block.pieces
        bottom = max(piece.bottom for piece in block.pieces) - 1
    return groups


def _tables(text: str, rows: list[Row]) -> Iterator[RuledTable]:
    at = 0
    while at < len(rows):
        run, columns = _run(text, rows, at)
        table = _table(text, run, columns)
        if table is not None:
            yield table
        at += len(run) if table is not None or len(run) > _MIN_ROWS else 1


def _run(text: str, rows: Sequence[Row], start: int) -> tuple[list[Row], list[Span]]:
    """Return the rows, from one of several parts on, none of which has a part that crosses the white between columns,
    or two in one of them; and the columns, from left to right.
    """
    columns: list[Span] = []
    run: list[Row] = []
    for row in rows[start : start + MAX_ROWS]:
        height = max(piece.height for piece in row)
        is_apart = bool(run) and row[0].top - run[-1][0].bottom > _APART * height
        if is_apart or len(row) > MAX_COLUMNS or (not run and len(row) < _MIN_COLUMNS):
            break
        wider = None if has_leader(" ".join(piece.of(text) for piece in row)) else _with_row(columns, row)
        if wider is None or len(wider) > MAX_COLUMNS:
            break
        columns = wider
        run.append(row)
    return run or [rows[start]], columns


def _with_row(columns: list[Span], row: Row) -> list[Span] | None:
    """Return the columns with the parts of a row in them; None where one crosses two, or two are in one."""
    made = list(columns)
    taken: set[float] = set()
    for part in _parts(row):
        left, right = part[0].left, part[-1].right
        near = [span for span in made if span[0] < right and left < span[1]]
        if len(near) > 1 or (near and near[0][1] in taken):
            return None
        for span in near:
            made.remove(span)
            left, right = min(left, span[0]), max(right, span[1])
        made.append((left, right))
        taken.add(right)
    return sorted(made)


def _parts(row: Row) -> list[Row]:
    """Return the parts of a row between which there is as much white as between columns."""
    parts: list[Row] = []
    for piece in row:
        if parts and piece.left - parts[-1][-1].right < _WHITE * piece.height:
            parts[-1] = (*parts[-1], piece)
        else:
            parts.append((piece,))
    return parts


def _table(text: str, run: list[Row], columns: list[Span]) -> RuledTable | None:
    """Return the table of these rows; None where they are none."""
    lefts = [left for left, _ in columns]
    cells = [
        {
            at: sum((line[at] for line in group if at in line), ())
            for at in sorted({at for line in group for at in line})
        }
        for group in _grouped(text, [{_column(lefts, part): part for part in _parts(row)} for row in run])
    ]
    while cells and len(cells[-1]) == 1 and 0 in cells[-1]:  # a paragraph below the table
        cells.pop()
    lefts = _joined_names(text, cells, lefts)
    wide = sum(len(row) > 1 for row in cells)
    filled = sum(map(len, cells))
    white = min((after - before for (_, before), (after, _) in pairwise(columns)), default=0.0)
    is_wide = white >= _WIDE_WHITE * run[0][0].height
    has_few_rows = len(lefts) >= _MANY_COLUMNS and is_wide
    if (
        len(lefts) <= _MIN_COLUMNS - is_wide
        or wide < max(_MIN_ROWS - has_few_rows, _MIN_WIDE * len(cells))
        or filled < _MIN_FILLED * len(cells) * len(lefts)
        or not _is_drawn_by_rows(cells)
        or _is_other(text, cells, len(lefts))
    ):
        return None
    numbers = count()
    grid = tuple(tuple(next(numbers) for _ in lefts) for _ in cells)
    pieces = [piece for row in cells for cell in row.values() for piece in cell]
    return RuledTable(
        grid,
        {grid[at][column]: cell for at, row in enumerate(cells) for column, cell in sorted(row.items())},
        min(piece.left for piece in pieces),
        min(piece.top for piece in pieces),
        max(piece.right for piece in pieces),
        max(piece.bottom for piece in pieces),
        (*lefts, max(piece.right for piece in pieces)),
        has_lines=False,
    )


def _column(lefts: Sequence[float], part: Row) -> int:
    return bisect_left(lefts, (part[0].left + part[-1].right) / 2) - 1


def _is_number(text: str, part: Row) -> bool:
    return _NUMBER.fullmatch(" ".join(piece.of(text) for piece in part)) is not None


def _grouped(text: str, lines: list[Line]) -> list[list[Line]]:
    """Return the lines of each row of a table: those that are nearer to each other than rows are, and those that have
    words in one column alone, and nothing in the first.
    """
    tops = [min(part[0].top for part in line.values()) for line in lines]
    steps = [below - above for above, below in pairwise(tops)]
    most = max(map(len, lines))
    usual = median([step for step, line in zip(steps, lines[1:], strict=True) if len(line) == most] or steps or [0.0])
    groups = [[lines[0]]]
    for step, above, line in zip(steps, lines, lines[1:], strict=False):
        height = max(part[0].height for part in line.values())
        before = {at for each in groups[-1] for at in each}
        only = next(iter(line))
        goes_on = len(line) == 1 and only > 0 and only in before and step <= _AS_NEAR * usual
        goes_on = goes_on and not _is_number(text, line[only])
        is_near = step < _NEARER * usual and (line.keys() <= before or above.keys() <= line.keys())
        if step < _IN_ROW * height or is_near or goes_on:
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _joined_names(text: str, cells: list[Line], lefts: list[float]) -> list[float]:
    """Put the name of a column above its values where both stand on different sides of the column; return the lefts."""
    for at in range(len(lefts) - 1, 0, -1):
        name = cells[0].get(at - 1, ()) + cells[0].get(at, ())
        is_named_alone = any(not any(column in row for row in cells[1:]) for column in (at - 1, at))
        if not is_named_alone or any(at - 1 in row and at in row for row in cells) or _is_number(text, name):
            continue
        for row in cells:
            moved = {column - (column >= at): cell for column, cell in row.items()}
            row.clear()
            row.update(moved)
        lefts = lefts[:at] + lefts[at + 1 :]
    return lefts


def _is_drawn_by_rows(cells: Sequence[Line]) -> bool:
    lines = [[piece.line for cell in row.values() for piece in cell] for row in cells]
    return all(max(above) < min(below) for above, below in pairwise(lines))


def _is_other(text: str, cells: Sequence[Line], columns: int) -> bool:
    """Return whether these are columns of text, or of signs alone, a list with marks, or a table of contents."""
    texts = [{at: " ".join(piece.of(text) for piece in cell) for at, cell in row.items()} for row in cells]
    if any(not re.search(r"\w", "".join(row.get(at, "") for row in texts)) for at in range(columns)):
        return True
    first = [row.get(0, "-") for row in texts]
    if columns == _MIN_COLUMNS and all(_MARK.fullmatch(said) or said.endswith((":", "：")) for said in first):
        return True
    lines = [" ".join(said for _, said in sorted(row.items())) for row in texts if columns <= _MOST_OF_CONTENTS]
    if lines and 2 * sum(map(len, contents_lines(lines))) > len(lines):
        return True
    within = ([piece for row in cells for piece in row.get(at, ())] for at in range(columns))
    wide = (each for each in within if each and all(piece.width > _LINE * piece.height for piece in each[:-1]))
    return sum(map(is_text, wide)) > 1
