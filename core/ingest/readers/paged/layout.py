"""The reading order of a page: its columns, from the boxes of its lines alone.

A page is read in the order in which it is drawn, which is right for most programs, unless it has columns: a gutter
that few lines cross, with lines of text on both sides that fill them. What crosses the gutter parts the columns above
it from those below. A table has gaps as well, but its cells do not fill their columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from statistics import median

import numpy as np

from braid.core.ingest.readers.paged.characters import LinePiece
from braid.core.ingest.readers.paged.vertical import turned

MARGIN = 0.12
"""Share of the page's height at its top and its bottom where running heads are."""
MAX_MARGIN_ROWS = 3
_STANDS_OFF = 0.9
"""Space between a running head and the text, in heights of a line."""
_MIN_COLUMN = 0.18
"""Of the width of what is on the page."""
_MIN_ROWS = 3
_FILLED, _MIN_FILLED = 0.6, 0.6
"""A line fills its column when it has ink over this share of it; so many of a column's characters are in such lines."""
_MIN_CHARACTERS = 10
"""Of a line that fills its column."""
_TIER_SPACE = 1.2
"""Least space between two tiers of lines from top to bottom, in sizes of a letter."""
_STEPS = 121
_MAX_DEPTH = 3

Row = tuple[LinePiece, ...]
"""Pieces side by side, from left to right."""


@dataclass(frozen=True, slots=True)
class RuledTable:
    """Cells between ruled lines, and the box of all, in points."""

    grid: tuple[tuple[int, ...], ...]
    """A row of numbers of cells per row; a merged cell is in several places."""
    cells: Mapping[int, tuple[LinePiece, ...]]
    """The pieces of each cell that has text, in the order in which they are drawn."""
    left: float
    top: float
    right: float
    bottom: float
    columns: tuple[float, ...]
    """Where its columns begin and end, also those without text."""
    has_lines: bool = True
    """Whether lines are drawn between its columns; else their places depend on what is in them."""

    @property
    def pieces(self) -> list[LinePiece]:
        """The pieces of all cells, row by row."""
        return [piece for cell in self.cells.values() for piece in cell]


@dataclass(frozen=True, slots=True)
class ColumnBlock:
    """Rows that follow each other in one column, and where the column is; or a table, which has none."""

    rows: tuple[Row, ...]
    left: float
    right: float
    table: RuledTable | None = None

    @property
    def pieces(self) -> list[LinePiece]:
        """All pieces in reading order."""
        return self.table.pieces if self.table else [piece for row in self.rows for piece in row]


@dataclass(frozen=True, slots=True)
class Layout:
    """A page in reading order: rows of its upper margin, its body, rows of its lower margin."""

    head: tuple[Row, ...]
    body: tuple[ColumnBlock, ...]
    foot: tuple[Row, ...]
    is_upright: bool = False
    """Whether its letters are from top to bottom; the columns of its body are turned then."""

    @property
    def pieces(self) -> list[LinePiece]:
        """All pieces in reading order."""
        head, foot = ([piece for row in rows for piece in row] for rows in (self.head, self.foot))
        return [*head, *(piece for block in self.body for piece in block.pieces), *foot]


def layout_of(pieces: Sequence[LinePiece], height: float, tables: Sequence[RuledTable] = ()) -> Layout:
    """Return the reading order of a page of ``height`` points; ``tables`` have pieces of their own.

    >>> def line(text, left, top): return Piece(0, 20, left, top, left + 200, top + 10, text)
    >>> page = [line(n, left, 200 + 12 * n) for n in range(4) for left in (50, 300)]
    >>> [piece.left for piece in layout_of(page, 800).pieces]
    [50, 50, 50, 50, 300, 300, 300, 300]
    """
    in_tables = {piece for table in tables for piece in table.pieces}
    rows = rows_of([piece for piece in (*pieces, *in_tables) if not _is_vertical(piece)])
    upper, lower = MARGIN * height, (1 - MARGIN) * height
    head = _margin(rows, lambda row: all(piece.bottom <= upper and piece not in in_tables for piece in row))
    foot = _margin(
        rows[len(head) :][::-1], lambda row: all(piece.top >= lower and piece not in in_tables for piece in row)
    )[::-1]
    in_margins = {piece for row in (*head, *foot) for piece in row}
    blocks = _blocks([piece for piece in pieces if piece not in in_margins])
    for table in tables:
        blocks = with_table(blocks, table)
    return Layout(tuple(head), tuple(blocks), tuple(foot))


def upright_layout(
    level: Sequence[LinePiece],
    upright: Sequence[LinePiece],
    size: tuple[float, float],
    tables: Sequence[RuledTable] = (),
) -> Layout:
    """Return the reading order of a page of ``size``, width and height in points, with columns of letters from top to
    bottom: ``upright``, a piece per letter. What is above or below them, such as a page number, is ``level``.
    """
    width, height = size
    top, bottom = min(piece.top for piece in upright), max(piece.bottom for piece in upright)
    rows = rows_of(level)
    above = [row for row in rows if row[0].top < top]
    below = [row for row in rows if row[0].top >= top]
    head = [row for row in above if row[0].bottom <= min(top, MARGIN * height)]
    foot = [row for row in below if row[0].top >= max(bottom, (1 - MARGIN) * height)]
    before, after = (
        [block_of(tuple(row for row in side if row not in margin))] if len(side) > len(margin) else []
        for side, margin in ((above, head), (below, foot))
    )
    columns = [block for tier in _tiers(turned(upright, width)) for block in _split(tier, _gutter(tier), _MAX_DEPTH)]
    columns = [replace(block, rows=tuple(map(_joined, block.rows))) for block in columns]
    of_tables = [ColumnBlock((), table.left, table.right, table) for table in tables]
    return Layout(tuple(head), (*before, *columns, *after, *of_tables), tuple(foot), is_upright=True)


def _joined(row: Row) -> Row:
    """Return a row of letters with those in one piece that are drawn, and stand, one after the other."""
    joined = [row[0]]
    for letter in row[1:]:
        last = joined[-1]
        if letter.line == last.line and letter.start == last.end and letter.left - last.right < last.height / 2:
            top, bottom = min(last.top, letter.top), max(last.bottom, letter.bottom)
            joined[-1] = LinePiece(last.start, letter.end, last.left, top, letter.right, bottom, last.line)
        else:
            joined.append(letter)
    return tuple(joined)


def _tiers(letters: list[LinePiece]) -> list[list[LinePiece]]:
    """Return the letters of a turned page in parts between white that goes from its top to its bottom: what is tiers
    before it is turned. Lines of a poem fill no column.
    """
    space = _TIER_SPACE * median(letter.height for letter in letters)
    tiers: list[list[LinePiece]] = []
    reach = -space
    for letter in sorted(letters, key=lambda letter: letter.left):
        if letter.left - reach >= space:
            tiers.append([])
        tiers[-1].append(letter)
        reach = max(reach, letter.right)
    return tiers if all(len(rows_of(tier)) >= _MIN_ROWS for tier in tiers) else [letters]


def _blocks(pieces: list[LinePiece]) -> list[ColumnBlock]:
    upright = [piece for piece in pieces if not _is_vertical(piece)]
    if 2 * len(upright) < len(pieces) or (gutter := _gutter(upright)) is None:
        rows = tuple(tuple(group) for _, group in groupby(pieces, key=lambda piece: piece.line))
        return list(map(block_of, _runs(rows))) if rows else []
    blocks = _split(upright, gutter, _MAX_DEPTH)
    sideways = tuple((piece,) for piece in pieces if _is_vertical(piece))
    return [*blocks, *([block_of(sideways)] if sideways else [])]


def _runs(rows: tuple[Row, ...]) -> list[tuple[Row, ...]]:
    """Return rows in the order in which they are drawn, column by column where they are drawn so: each column begins
    further up than the one before ends, on its right. Rows above the first one that go on over it are apart.
    """
    columns: list[list[Row]] = [[rows[0]]]
    for before, after in pairwise(rows):
        if after[0].bottom < before[0].top and after[0].left >= before[-1].right:
            columns.append([])
        columns[-1].append(after)
    if len(columns) == 1:
        return [rows]
    lefts = [min(row[0].left for row in column) for column in columns[1:]]
    runs: list[tuple[Row, ...]] = []
    for column, left in zip(columns, [*lefts, float("inf")], strict=True):
        above = next((at for at, row in enumerate(column) if row[-1].right <= left), len(column))
        runs += filter(None, (tuple(column[:above]), tuple(column[above:])))
        if not is_text([piece for row in column[above:] or column for piece in row]):
            return [rows]
    return runs


def with_table(blocks: Sequence[ColumnBlock], table: RuledTable) -> list[ColumnBlock]:
    """Return the blocks with the table before what is below it in its column."""
    made, last = ColumnBlock((), table.left, table.right, table), len(blocks)
    for at, block in enumerate(blocks):
        if block.right <= table.left or block.left >= table.right:
            continue
        last = at + 1
        tops = [row[0].top for row in block.rows] or [block.table.top if block.table else 0.0]
        below = next((number for number, top in enumerate(tops) if top >= table.top), None)
        if below is not None:
            above = [replace(block, rows=block.rows[:below])] if below else []
            rest = replace(block, rows=block.rows[below:])
            return [*blocks[:at], *above, made, rest, *blocks[at + 1 :]]
    return [*blocks[:last], made, *blocks[last:]]


def block_of(rows: tuple[Row, ...]) -> ColumnBlock:
    """Return the block of these rows, of which there is at least one."""
    pieces = [piece for row in rows for piece in row]
    return ColumnBlock(rows, min(piece.left for piece in pieces), max(piece.right for piece in pieces))


def _is_vertical(piece: LinePiece) -> bool:
    return piece.end - piece.start > 2 and piece.height > 2 * piece.width


def rows_of(pieces: Sequence[LinePiece]) -> list[Row]:
    """Return the rows from top to bottom: pieces whose middles are within each other's height."""
    rows: list[list[LinePiece]] = []
    for piece in sorted(pieces, key=lambda piece: piece.top + piece.bottom):
        middle = (piece.top + piece.bottom) / 2
        last = rows[-1][0] if rows else None
        if last is not None and last.top <= middle <= last.bottom:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [tuple(sorted(row, key=lambda piece: piece.left)) for row in rows]


def _margin(rows: list[Row], is_near_edge: Callable[[Row], bool]) -> list[Row]:
    """Return the first rows, if they are near the page's edge and stand off from the rest, if there is any."""
    if len(rows) <= MAX_MARGIN_ROWS and rows and is_near_edge(rows[-1]):
        return rows
    for count in range(min(MAX_MARGIN_ROWS, len(rows) - 1), 0, -1):
        last, following = rows[count - 1][0], rows[count][0]
        space = max(following.top - last.bottom, last.top - following.bottom)
        if is_near_edge(rows[count - 1]) and space >= _STANDS_OFF * max(last.height, following.height):
            return rows[:count]
    return []


# ------------------------------------------------------------ columns


def _gutter(pieces: Sequence[LinePiece]) -> float | None:
    """Return where the space between two columns is; None where there are none."""
    if len(pieces) < 2 * _MIN_ROWS:
        return None
    left, right = min(piece.left for piece in pieces), max(piece.right for piece in pieces)
    places = np.linspace(left + _MIN_COLUMN * (right - left), right - _MIN_COLUMN * (right - left), _STEPS)
    lefts, rights = (np.array([getattr(piece, side) for piece in pieces]) for side in ("left", "right"))
    weights = np.array([piece.end - piece.start for piece in pieces])
    crossing = ((lefts < places[:, None]) & (rights > places[:, None])) @ weights
    runs = [(len(list(group)), lowest) for lowest, group in groupby(crossing == crossing.min())]
    best, at, widest = 0.0, 0, 0
    for length, lowest in runs:
        if lowest and length > widest:
            widest, best = length, float((places[at] + places[at + length - 1]) / 2)
        at += length
    return best if _are_columns(pieces, best) else None


def _are_columns(pieces: Sequence[LinePiece], gutter: float) -> bool:
    before = [piece for piece in pieces if piece.right <= gutter]
    after = [piece for piece in pieces if piece.left >= gutter]
    if not before or not after or not is_text(before) or not is_text(after):
        return False
    top = max(min(piece.top for piece in side) for side in (before, after))
    bottom = min(max(piece.bottom for piece in side) for side in (before, after))
    return bottom - top >= _MIN_ROWS * median(piece.height for piece in pieces)


def is_text(pieces: Sequence[LinePiece]) -> bool:
    """Return whether most of the characters are in rows that fill the width."""
    rows = rows_of(pieces)
    width = max(piece.right for piece in pieces) - min(piece.left for piece in pieces)
    filled = [row for row in rows if sum(piece.width for piece in row) >= _FILLED * width]
    characters = sum(map(_length, filled))
    return (
        len(filled) >= _MIN_ROWS
        and characters >= _MIN_CHARACTERS * len(filled)
        and characters >= _MIN_FILLED * sum(map(_length, rows))
    )


def _length(row: Row) -> int:
    return sum(piece.end - piece.start for piece in row)


def _split(pieces: Sequence[LinePiece], gutter: float | None, depth: int) -> list[ColumnBlock]:
    """Return the blocks of columns, each band between rows that cross the gutter for itself."""
    if gutter is None or depth == 0:
        rows = tuple(rows_of(pieces))
        return [block_of(rows)] if rows else []
    blocks: list[ColumnBlock] = []
    band: list[LinePiece] = []

    def end_band() -> None:
        for side in ([p for p in band if p.right <= gutter], [p for p in band if p.right > gutter]):
            blocks.extend(_split(side, _gutter(side), depth - 1))
        band.clear()

    for crosses, group in groupby(_crossing(pieces, gutter), key=lambda pair: pair[0]):
        crossed = [row for _, row in group]
        if crosses:
            end_band()
            blocks.append(block_of(tuple(crossed)))
        else:
            band.extend(piece for row in crossed for piece in row)
    end_band()
    return blocks


def _crossing(pieces: Sequence[LinePiece], gutter: float) -> list[tuple[bool, Row]]:
    """Return the rows with whether each crosses the gutter: with a piece, or as one of several rows of a table."""
    rows = rows_of(pieces)
    tabular = [_is_of_table(row, gutter, pieces) for row in rows]
    beside = [any(pair) for pair in zip([False, *tabular[:-1]], [*tabular[1:], False], strict=True)]
    return [
        (any(piece.left < gutter < piece.right for piece in row) or (is_cells and near), row)
        for row, is_cells, near in zip(rows, tabular, beside, strict=True)
    ]


def _is_of_table(row: Row, gutter: float, pieces: Sequence[LinePiece]) -> bool:
    left, right = min(piece.left for piece in pieces), max(piece.right for piece in pieces)
    before = sum(piece.width for piece in row if piece.right <= gutter)
    after = sum(piece.width for piece in row if piece.left >= gutter)
    gaps = [second.left - first.right for first, second in pairwise(row)]
    fills = before >= _FILLED * (gutter - left) or after >= _FILLED * (right - gutter)
    return len(gaps) >= 2 and before > 0 and after > 0 and not fills
