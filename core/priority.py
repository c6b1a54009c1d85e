"""Searches come first: work in the background waits for them between its batches."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

RECENTLY_S = 2.0
LONGEST_REST_S = 0.25
REST_S = 0.05
BACKGROUND_NICE = 10
"""Of 0 (as others) to 19 (last)."""


class SearchPriority:
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

    def wait_for_searches(self, longest_s: float) -> None:
        """Wait until no search is under way, but at most so long: the work must come to an end, too."""
        with self._free:
            self._free.wait_for(lambda: not self._searches, longest_s)

    def rest(self) -> None:
        """For who does many short pieces of work, after each: none while a search is under way, and beside searches
        fewer than the processor can do.
        """
        self.wait_for_searches(LONGEST_REST_S)
        if self.busy:
            time.sleep(REST_S)

    @property
    def busy(self) -> bool:
        """Whether somebody is searching, or was a moment ago and may again."""
        with self._free:
            return bool(self._searches) or time.monotonic() - self._last < RECENTLY_S


def lower_thread_priority() -> None:
    """Let this thread, which works in the background, have what processor time the others leave. On Linux a thread
    has a priority of its own; elsewhere this does nothing.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # forbidden in some sandboxes; it is a help, not a need
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BACKGROUND_NICE)
