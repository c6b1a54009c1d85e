"""Batches of a sequence."""

from __future__ import annotations

import pytest

from braid.core.batches import batches


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1, [[1], [2], [3], [4]]), (3, [[1, 2, 3], [4]]), (4, [[1, 2, 3, 4]]), (9, [[1, 2, 3, 4]])],
)
def test_all_items_in_order(size: int, expected: list[list[int]]) -> None:
    assert list(batches([1, 2, 3, 4], size)) == expected


def test_no_items_are_no_batches() -> None:
    assert list(batches([], 3)) == []


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_holds_something(size: int) -> None:
    with pytest.raises(ValueError, match=f"size is {size}"):
        batches([1], size)
