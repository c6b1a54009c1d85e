"""Searches come first: work in the background waits for them between its batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

RECENTLY_S = 2.0


class RightOfWay:
    """Knows of the searches under way. Safe to use from several threads."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._searches = 0
        self._last = float("-inf")

    @contextmanager
    def search(self) -> Iterator[None]:
        """A search is under way as long as the block lasts."""
        with self._free:
            self._searches += 1
        try:
            yield
        finally:
            with self._free:
                self._searches -= 1
                self._last = time.monotonic()
                self._free.notify_all()

    def give_way(self, longest_s: float) -> None:
        """Wait until no search is under way, but at most so long: the work must come to an end, too."""
        with self._free:
            self._free.wait_for(lambda: not self._searches, longest_s)

    @property
    def busy(self) -> bool:
        """Whether somebody is searching, or was a moment ago and may again."""
        with self._free:
            return bool(self._searches) or time.monotonic() - self._last < RECENTLY_S
