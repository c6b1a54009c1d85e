"""Numbers of lines beside the text, as transcripts and contracts have them: they are no part of its sentences."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from braid.core.ingest.readers.paged.characters import LinePiece
from braid.core.ingest.readers.paged.layout import ColumnBlock, Layout, Row, block_of

_MIN_LINES, _MIN_PAGES = 8, 2
_MIN_NUMBERED = 0.9
"""Share of the pieces of a page's text that are beside a number."""
_MIN_WIDTH = 12.0
"""Width of the usual line, in heights: a ranking has a number before each of its names as well."""
_MIN_GOING_ON = 0.2
"""Share of the lines that end within a sentence, where the numbers do not begin again on each page: items of a list
do not.
"""
_NEAR = 3.0
"""Points that the edges of the numbers of a page differ by."""
_ENDS = ".!?。！？:："

Page = tuple[str, Layout]


def without_line_numbers(pages: Sequence[Page]) -> list[Page]:
    """Return the pages without the numbers of their lines, where at least two, and most, have a number beside each
    line, and they begin again on each page or count on from page to page.
    """
    found = [_numbers_of(*page) for page in pages]
    numbered = [numbers for numbers in found if numbers]
    written = sum(bool(layout.body) for _, layout in pages)
    if len(numbered) < _MIN_PAGES or 2 * len(numbered) < written:
        return list(pages)
    firsts = {next(iter(numbers.values())) for numbers in numbered}
    count_on = all(max(one.values()) + 1 == min(after.values()) for one, after in pairwise(numbered))
    lines = [line for page, numbers in zip(pages, found, strict=True) if numbers for line in _lines(page, numbers)]
    goes_on = sum(not line.endswith(tuple(_ENDS)) for line in lines) >= _MIN_GOING_ON * len(lines)
    if len(firsts) > 1 and not (count_on and goes_on):
        return list(pages)
    return [(text, _without(layout, numbers)) for (text, layout), numbers in zip(pages, found, strict=True)]


def _numbers_of(text: str, layout: Layout) -> dict[LinePiece, int]:
    """Return the numbers, from top to bottom, of a column that is left of all text of a page and has one beside each
    line; empty where there is none.
    """
    pieces = [piece for row in _rows(layout) for piece in row]
    numbers = {piece: int(said) for piece in pieces if (said := _said(text, piece)).isdecimal() and len(said) <= 4}
    if len(numbers) < _MIN_LINES:
        return {}
    left, right = (median(getattr(piece, side) for piece in numbers) for side in ("left", "right"))
    column = sorted(
        (piece for piece in numbers if min(abs(piece.left - left), abs(piece.right - right)) <= _NEAR),
        key=lambda piece: piece.top,
    )
    in_column = set(column)
    others = [piece for block in layout.body for row in block.rows for piece in row if piece not in in_column]
    if len(column) < _MIN_LINES or any(numbers[below] != numbers[above] + 1 for above, below in pairwise(column)):
        return {}
    edge = max(piece.right for piece in column)
    bottoms = [piece.bottom for piece in column]
    beside = [
        piece
        for piece in others
        if (at := bisect_left(bottoms, (piece.top + piece.bottom) / 2)) < len(column) and column[at].top <= piece.bottom
    ]
    is_usual = (
        len(beside) >= _MIN_NUMBERED * len(others)
        and len(others) <= len(column) / _MIN_NUMBERED
        and all(piece.left >= edge for piece in others)
        and bool(beside)
        and median(piece.width / max(piece.height, 1.0) for piece in beside) >= _MIN_WIDTH
    )
    return {piece: numbers[piece] for piece in column} if is_usual else {}


def _rows(layout: Layout) -> Iterator[Row]:
    yield from (*layout.head, *(row for block in layout.body for row in block.rows), *layout.foot)


def _said(text: str, piece: LinePiece) -> str:
    return piece.of(text)


def _lines(page: Page, numbers: dict[LinePiece, int]) -> list[str]:
    text, layout = page
    return [_said(text, piece) for block in layout.body for row in block.rows for piece in row if piece not in numbers]


def _without(layout: Layout, numbers: dict[LinePiece, int]) -> Layout:
    if not numbers:
        return layout

    def kept(rows: Sequence[Row]) -> tuple[Row, ...]:
        found: list[Row] = []
        for row in rows:
            starts = [at for at, piece in enumerate(row) if piece in numbers]
            cuts = sorted({0, *starts, len(row)})
            parts = (
                tuple(piece for piece in row[first:last] if piece not in numbers) for first, last in pairwise(cuts)
            )
            found += [part for part in parts if part]
        return tuple(found)

    blocks: list[ColumnBlock] = []
    for block in layout.body:
        rows = kept(block.rows)
        if rows or block.table:
            blocks.append(block if block.table else block_of(rows))
    return replace(layout, head=kept(layout.head), body=tuple(blocks), foot=kept(layout.foot))
