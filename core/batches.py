"""Batches of a sequence. At the bottom of core: every room may import it, and it imports none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Slice the items into runs of ``size``, in order; the last one may be shorter. Nothing for no items.

    Raises ValueError when ``size`` is not positive.
    """
    if size < 1:
        raise ValueError(f"size is {size}; a batch holds at least one item")
    return (items[start : start + size] for start in range(0, len(items), size))
