"""The order in which boxes on a slide are read: from the top, and column by column where they stand in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ShapeBox(NamedTuple):
    """Where a shape is, in any unit; the origin is at the top left."""

    left: int
    top: int
    width: int
    height: int


_OVERLAP = 0.1
"""Share of its height or width with which a box may reach into the next, and still be apart from it."""
MAX_BOXES = 500
"""Of a slide; those with more are sorted from the top without a look at columns."""


def in_reading_order(boxes: Sequence[ShapeBox]) -> list[int]:
    """Return the places of the boxes in reading order.

    They are parted where the widest gap goes through, across or down, and each part again, as in the recursive cuts of
    Nagy and Seth (1984). Boxes that no gap parts are read from the top.

    >>> in_reading_order([Box(0, 300, 90, 50), Box(0, 0, 90, 50), Box(0, 100, 90, 50)])
    [1, 2, 0]
    """
    everything = sorted(range(len(boxes)), key=lambda at: (boxes[at].top, boxes[at].left, at))
    if len(boxes) > MAX_BOXES:
        return everything
    found: list[int] = []
    waiting = [everything]
    while waiting:
        group = waiting.pop()
        parts = _parted(boxes, group) if len(group) > 1 else []
        if parts:
            waiting += reversed(parts)
        else:
            found += group
    return found


def _parted(boxes: Sequence[ShapeBox], group: list[int]) -> list[list[int]]:
    """Return the two parts of a group at its widest gap; none where no gap goes through. Across goes before down."""
    across = _widest([(boxes[at].top, boxes[at].height, at) for at in group])
    down = _widest([(boxes[at].left, boxes[at].width, at) for at in group])
    if across is None and down is None:
        return []
    if down is None or (across is not None and across[0] >= down[0]):
        before = across[1] if across is not None else set()
    else:
        before = down[1]
    return [[at for at in group if at in before], [at for at in group if at not in before]]


def _widest(intervals: list[tuple[int, int, int]]) -> tuple[float, set[int]] | None:
    """Return the widest gap between intervals (begin, length, place), and the places before it."""
    ordered = sorted(intervals)
    best: tuple[float, int] | None = None
    end = float("-inf")
    for count, (begin, length, _) in enumerate(ordered):
        gap = begin - end
        if count and gap > 0 and (best is None or gap > best[0]):
            best = gap, count
        end = max(end, begin + length * (1 - _OVERLAP))
    return None if best is None else (best[0], {place for _, _, place in ordered[: best[1]]})
