"""Tables of a page of a PDF by their ruled lines: the cells between the lines, and the characters in each.

A table is lines that cross each other, at least two columns and two rows of cells, most of them with text. Where the
line between two cells is missing they are one. A filled box has no lines of its own, as it may be the background of a
line of text: only where boxes stand side by side at one place in several rows are they cells. A page without drawn
lines costs nothing but a look at its objects.
"""

from __future__ import annotations

import ctypes
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import NamedTuple

import numpy as np
import pypdfium2  # type: ignore[import-untyped]
from numpy.typing import NDArray
from pypdfium2 import raw

from braid.core.ingest.readers.paged import vertical
from braid.core.ingest.readers.paged.annotations import PageText, placed
from braid.core.ingest.readers.paged.characters import (
    Box,
    LinePiece,
    PageTransform,
    loose_boxes,
    pieces_of,
)
from braid.core.ingest.readers.paged.layout import ColumnBlock, Layout, RuledTable, layout_of, upright_layout
from braid.core.ingest.readers.paged.right_to_left import Corners, is_right_to_left

MAX_OBJECTS, MAX_SEGMENTS = 20_000, 5_000
"""Of a page on which tables are looked for."""
MAX_RULES, MAX_COLUMNS, MAX_ROWS = 1_000, 60, 300
MAX_GRIDS = 20
"""Of a page, from its top: PDFium is asked for the characters in each, also where one is within another."""
_STRAIGHT, _MIN_LENGTH, _NEAR = 0.5, 6.0, 3.0
"""Points: a line may be askew by; is at least as long as; lines are one, and cross, when they are as near as."""
_LEAST_OPEN = 12.0
"""Points by which lines across a page go on beyond the last one down it, where a column is."""
_THICKEST = 5.0
"""Points: a filled box that is thicker is no line."""
_LEAST_CELLS = 4
"""Filled boxes that are cells: two beside each other in each of two rows."""
_ROWS = 1 << 20
"""More than any number of a row of filled boxes."""
_MIN_FILLED = 0.4
"""Share of the cells that have text."""
_MAX_CHARACTERS = 1_500
"""Of a cell: what has more is a frame around text."""


Owners = NDArray[np.signedinteger]
"""(rows, columns): for each cell the number of the first cell that it is one with."""


class _Rule(NamedTuple):
    """A straight line along one axis: its place on the other, its start and its end, in points."""

    at: float
    start: float
    end: float


class _Characters(NamedTuple):
    """The characters of a page, and how it is turned."""

    found: pypdfium2.PdfTextPage
    page: PageText
    turn: PageTransform


def page_layout(page: pypdfium2.PdfPage, found: pypdfium2.PdfTextPage, text: PageText) -> Layout:
    """Return the reading order of a page, its ruled tables as tables, and its notes at the end."""
    characters = _Characters(found, text, PageTransform(page))
    pieces = placed(pieces_of(found, text.text[: text.count], characters.turn), text.values)
    tables: list[RuledTable] = []
    for grid in islice(_grids(*_rules(page, characters.turn)), MAX_GRIDS):
        table, pieces = _table(grid, pieces, characters)
        tables += [table] if table else []
    layout = _layout(page, characters, pieces, tables)
    notes = (ColumnBlock(((note,),), note.left, note.right) for note in text.notes)
    return replace(layout, body=(*layout.body, *notes))


def _layout(
    page: pypdfium2.PdfPage, characters: _Characters, pieces: list[LinePiece], tables: list[RuledTable]
) -> Layout:
    found, text, turn = characters
    if vertical.is_suspect(pieces, text.text):
        own = [piece for piece in pieces if piece.start < text.count]
        level, upright = vertical.split(own, text.text, turn.shown(loose_boxes(found, 0, text.count)))
        if upright:
            level += [piece for piece in pieces if piece.start >= text.count]
            return upright_layout(level, upright, page.get_size(), tables)
    if is_right_to_left(text.text):
        width = page.get_width()
        pieces, tables = _mirrored(pieces, width), [_mirrored_table(table, width) for table in tables]
    return layout_of(pieces, page.get_height(), tables)


# ---------------------------------------------------------------- lines


def _rules(page: pypdfium2.PdfPage, turn: PageTransform) -> tuple[list[_Rule], list[_Rule]]:
    """Return the horizontal and the vertical lines that the page draws."""
    count = raw.FPDFPage_CountObjects(page)
    segments: list[Box] = []
    filled: list[Box] = []
    for index in range(count if count <= MAX_OBJECTS else 0):
        found = raw.FPDFPage_GetObject(page, index)
        if raw.FPDFPageObj_GetType(found) == raw.FPDF_PAGEOBJ_PATH:
            for figure, is_filled_alone in _figures(found, MAX_SEGMENTS - len(segments) - 4 * len(filled)):
                if is_filled_alone and (box := _thick(figure)):
                    filled.append(box)
                else:
                    segments += figure
            if len(segments) + 4 * len(filled) >= MAX_SEGMENTS:
                return [], []
    segments += _sides(filled)
    if len(segments) < 4:
        return [], []
    boxes = turn.shown(np.array(segments))
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    flat = boxes[(height <= _STRAIGHT) & (width >= _MIN_LENGTH)]
    upright = boxes[(width <= _STRAIGHT) & (height >= _MIN_LENGTH)]
    return _joined(flat[:, [1, 0, 2]]), _joined(upright[:, [0, 1, 3]])


def _figures(path: object, most: int) -> Iterator[tuple[list[Box], bool]]:
    """Yield the straight lines of each figure of a path, and whether it is filled without an outline; nothing for a
    path with curves, and ``most`` lines for one that has more.
    """
    count = raw.FPDFPath_CountSegments(path)
    fill, stroke, matrix = ctypes.c_int(), ctypes.c_int(), raw.FS_MATRIX()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    if not (fill.value or stroke.value) or not count > 1 or not raw.FPDFPageObj_GetMatrix(path, matrix):
        return
    if count > most:
        yield [(0.0, 0.0, 0.0, 0.0)] * most, False
        return
    figures: list[list[Box]] = [[]]
    x, y = ctypes.c_float(), ctypes.c_float()
    start = last = (0.0, 0.0)
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_BEZIERTO:
            return
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
            figures.append([])
        else:
            figures[-1].append((*last, *point))
        if raw.FPDFPathSegment_GetClose(segment):
            figures[-1].append((*point, *start))
        last = point
    yield from ((figure, not stroke.value) for figure in figures if figure)


def _thick(figure: Sequence[Box]) -> Box | None:
    """Return the box around lines, left, bottom, right and top as the file has them; None for one that is a line."""
    across, down = zip(*((x, y) for line in figure for x, y in (line[:2], line[2:])), strict=True)
    left, bottom, right, top = min(across), min(down), max(across), max(down)
    return (left, bottom, right, top) if min(right - left, top - bottom) > _THICKEST else None


def _sides(filled: Sequence[Box]) -> list[Box]:
    """Return the sides of those filled boxes that are cells: side by side with another, at one place in two rows and
    more, across or, on a page that is turned, down.
    """
    if len(filled) < _LEAST_CELLS:
        return []
    boxes = np.array(filled)
    cells = _beside(boxes) | _beside(boxes[:, [1, 0, 3, 2]])
    return [
        side
        for left, bottom, right, top in boxes[cells].tolist()
        for side in (
            (left, bottom, right, bottom),
            (left, top, right, top),
            (left, bottom, left, top),
            (right, bottom, right, top),
        )
    ]


def _beside(boxes: Corners) -> NDArray[np.bool_]:
    """Return for each box whether it ends where another of its height begins, or begins where one ends, and such a
    place is there in another row as well.
    """
    low, high, heights = boxes[:, 1], boxes[:, 3], boxes[:, 3] - boxes[:, 1]
    is_level = (np.abs(low[:, None] - low) <= _NEAR) & (np.abs(high[:, None] - high) <= _NEAR)
    first, second = np.nonzero(is_level & (np.abs(boxes[:, 2][:, None] - boxes[:, 0]) <= _NEAR))
    places = np.rint(boxes[second, 0]).astype(np.int64)
    rows = np.rint(low[second] / heights[second]).astype(np.int64)
    there = np.unique(places * _ROWS + rows % _ROWS)
    found, counts = np.unique(np.unique(there[:, None] + _ROWS * np.arange(-1, 2)) // _ROWS, return_counts=True)
    is_shared = np.isin(places, found[counts > 1])
    is_cell = np.zeros(len(boxes), dtype=np.bool_)
    is_cell[first[is_shared]] = is_cell[second[is_shared]] = True
    return is_cell


def _joined(lines: NDArray[np.float64]) -> list[_Rule]:
    """Return lines (n, 3) of place, start and end, those joined that go on in each other."""
    rules: list[_Rule] = []
    for near in _clusters(lines[np.argsort(lines[:, 0], kind="stable")]):
        at, first = float(np.mean(near[:, 0])), len(rules)
        for _, start, end in near[np.argsort(near[:, 1], kind="stable")]:
            if len(rules) > first and start <= rules[-1].end + _NEAR:
                rules[-1] = rules[-1]._replace(end=max(rules[-1].end, float(end)))
            else:
                rules.append(_Rule(at, float(start), float(end)))
    return rules


def _clusters(lines: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Yield lines, sorted by their place, in groups of those at nearly one place."""
    start = 0
    for index in range(1, len(lines) + 1):
        if index == len(lines) or lines[index, 0] - lines[start, 0] > _NEAR:
            yield lines[start:index]
            start = index


# ---------------------------------------------------------------- grids


@dataclass(frozen=True, slots=True)
class _Grid:
    """Places of lines across and down in points, and which of the cells between them are one."""

    rows: Sequence[float]
    columns: Sequence[float]
    owners: Owners

    def covers(self, piece: LinePiece) -> bool:
        """Return whether a piece is within the outermost lines, at least in part."""
        is_beside = piece.right < self.columns[0] or piece.left > self.columns[-1]
        return not is_beside and piece.bottom >= self.rows[0] and piece.top <= self.rows[-1]

    def cells_of(self, boxes: Corners) -> Owners:
        """Return the cell in which the middle of each box is; -1 outside."""
        row = np.searchsorted(self.rows, (boxes[:, 1] + boxes[:, 3]) / 2)
        column = np.searchsorted(self.columns, (boxes[:, 0] + boxes[:, 2]) / 2)
        return np.pad(self.owners, 1, constant_values=-1)[row, column]

    def cell_around(self, piece: LinePiece) -> int | None:
        """Return the cell that a piece is in as a whole, if it is in one."""
        top, bottom = np.searchsorted(self.rows, (piece.top, piece.bottom)).tolist()
        left, right = np.searchsorted(self.columns, (piece.left, piece.right)).tolist()
        if min(top, left) < 1 or bottom >= len(self.rows) or right >= len(self.columns):
            return None
        owners = self.owners[top - 1 : bottom, left - 1 : right]
        return int(owners[0, 0]) if (owners == owners[0, 0]).all() else None


def _grids(across: Sequence[_Rule], down: Sequence[_Rule]) -> Iterator[_Grid]:
    """Yield the grids of lines that cross each other, also by way of others, from the top of the page."""
    if not (3 <= len(across) <= MAX_RULES and 2 <= len(down) <= MAX_RULES):
        return
    flat, upright = np.array(across), np.array(down)
    crosses = (
        (upright[None, :, 0] >= flat[:, None, 1] - _NEAR)
        & (upright[None, :, 0] <= flat[:, None, 2] + _NEAR)
        & (flat[:, None, 0] >= upright[None, :, 1] - _NEAR)
        & (flat[:, None, 0] <= upright[None, :, 2] + _NEAR)
    )
    left = set(range(len(across)))
    while left:
        rows, columns, fresh = set[int](), set[int](), {min(left)}
        while fresh:
            rows |= fresh
            new = set(np.flatnonzero(crosses[sorted(fresh)].any(axis=0)).tolist()) - columns
            columns |= new
            fresh = set(np.flatnonzero(crosses[:, sorted(new)].any(axis=1)).tolist()) - rows
        left -= rows
        grid = _grid([across[row] for row in sorted(rows)], [down[column] for column in sorted(columns)])
        if grid:
            yield grid


def _grid(across: Sequence[_Rule], down: Sequence[_Rule]) -> _Grid | None:
    rows, columns = ([*dict.fromkeys(rule.at for rule in rules)] for rules in (across, down))
    columns = _with_open_sides(across, columns) if columns else []
    if not (3 <= len(rows) <= MAX_ROWS + 1 and 3 <= len(columns) <= MAX_COLUMNS + 1):
        return None
    owners = np.arange((len(rows) - 1) * (len(columns) - 1)).reshape(len(rows) - 1, -1)
    for row, column in zip(*np.nonzero(~_lines(down, columns, rows).T[:, 1:-1]), strict=True):
        _unite(owners, owners[row, column], owners[row, column + 1])
    for row, column in zip(*np.nonzero(~_lines(across, rows, columns)[1:-1]), strict=True):
        _unite(owners, owners[row, column], owners[row + 1, column])
    return _Grid(rows, columns, owners)


def _with_open_sides(across: Sequence[_Rule], columns: list[float]) -> list[float]:
    """Return the places of lines down the page with those where the lines across it end, on a side on which nothing is
    drawn down.
    """
    left, right = min(rule.start for rule in across), max(rule.end for rule in across)
    starts = sum(rule.start <= left + _NEAR for rule in across)
    ends = sum(rule.end >= right - _NEAR for rule in across)
    least = max(2, len(across) / 2)
    before = [left] if columns[0] - left >= _LEAST_OPEN and starts >= least else []
    after = [right] if right - columns[-1] >= _LEAST_OPEN and ends >= least else []
    return [*before, *columns, *after]


def _lines(rules: Sequence[_Rule], places: Sequence[float], others: Sequence[float]) -> NDArray[np.bool_]:
    """Return for each place of a line whether one is drawn there between each two neighbours of the others."""
    middles = (np.array(others[:-1]) + np.array(others[1:])) / 2
    numbers = {place: number for number, place in enumerate(places)}
    drawn = np.zeros((len(places), len(middles)), dtype=np.bool_)
    for rule in rules:
        drawn[numbers[rule.at]] |= (rule.start <= middles) & (middles <= rule.end)
    return drawn


def _unite(owners: Owners, one: int, other: int) -> None:
    owners[owners == max(one, other)] = min(one, other)


# ---------------------------------------------------------------- text


def _table(grid: _Grid, pieces: list[LinePiece], characters: _Characters) -> tuple[RuledTable | None, list[LinePiece]]:
    """Return the table of a grid, and the pieces that are not in it; None where the grid is none."""
    cells: dict[int, list[LinePiece]] = defaultdict(list)
    others: list[LinePiece] = []
    letters = Counter[int]()
    for piece in pieces:
        for owner, part in _parts(piece, grid, characters) if grid.covers(piece) else [(-1, piece)]:
            (others if owner < 0 else cells[owner]).append(part)
            letters[owner] += (part.end - part.start) * (owner >= 0)
            if letters[owner] > _MAX_CHARACTERS:
                return None, pieces
    filled = np.isin(grid.owners, list(cells))
    is_table = (
        filled.any(axis=0).sum() >= 2
        and filled.any(axis=1).sum() >= 2
        and len(cells) >= _MIN_FILLED * len(np.unique(grid.owners))
    )
    if not is_table:
        return None, pieces
    kept = grid.owners[filled.any(axis=1)][:, filled.any(axis=0)]
    numbers = tuple(tuple(row) for row in kept.tolist())
    box = (grid.columns[0], grid.rows[0], grid.columns[-1], grid.rows[-1])
    return RuledTable(
        numbers, {owner: tuple(parts) for owner, parts in sorted(cells.items())}, *box, tuple(grid.columns)
    ), others


def _parts(piece: LinePiece, grid: _Grid, characters: _Characters) -> Iterator[tuple[int, LinePiece]]:
    """Yield the parts of a piece with the cell that each is in; -1 outside of the table."""
    found, page, turn = characters
    text = page.text
    if piece.start >= page.count:
        middle = np.array([piece[2:6]], dtype=np.float64)
        yield int(grid.cells_of(middle)[0]), piece
        return
    if (only := grid.cell_around(piece)) is not None:
        yield only, piece
        return
    boxes = turn.shown(loose_boxes(found, piece.start, piece.end - piece.start))
    has_box = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    inked = [int(at) for at in np.flatnonzero(has_box) if not text[piece.start + at].isspace()]
    for cell, group in groupby(zip(grid.cells_of(boxes[inked]), inked, strict=True), key=lambda pair: pair[0]):
        places = [at for _, at in group]
        (left, top), (right, bottom) = boxes[places, :2].min(axis=0), boxes[places, 2:].max(axis=0)
        box = (float(left), float(top), float(right), float(bottom))
        yield int(cell), LinePiece(piece.start + places[0], piece.start + places[-1] + 1, *box, piece.line)


def _mirrored(pieces: Sequence[LinePiece], width: float) -> list[LinePiece]:
    """Return the pieces of a page of ``width`` points as they are in its mirror image."""
    return [piece._replace(left=width - piece.right, right=width - piece.left) for piece in pieces]


def _mirrored_table(table: RuledTable, width: float) -> RuledTable:
    """Return a table of a page of ``width`` points as it is in the page's mirror image."""
    return replace(
        table,
        grid=tuple(row[::-1] for row in table.grid),
        cells={number: tuple(_mirrored(pieces, width)) for number, pieces in table.cells.items()},
        left=width - table.right,
        right=width - table.left,
        columns=tuple(width - each for each in table.columns[::-1]),
    )
