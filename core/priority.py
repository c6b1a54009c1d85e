"""Priority of searches: work in the background waits for them between its batches."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

_Piece = TypeVar("_Piece")

RECENTLY_S = 2.0
LONGEST_REST_S = 0.25
REST_S = 0.05
BACKGROUND_NICE = 10
"""Niceness of background threads, from 0 (like other threads) to 19 (last)."""


class SearchPriority:
    """Counts the running searches, so that background work can wait for them. Safe to use from several threads.

    Work rests for at most ``longest_rest_s`` at a time.
    """

    def __init__(self, longest_rest_s: float = LONGEST_REST_S) -> None:
        self._longest_rest_s = longest_rest_s
        self.start_over()

    def start_over(self) -> None:
        """Forget the searches that run, in the child of a fork: they are the parent's, and never end here."""
        self._free = threading.Condition()
        self._searches = 0
        self._last = float("-inf")

    @contextmanager
    def search(self) -> Iterator[None]:
        """Count a search as running until the block ends."""
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
        """Wait until no search is running, but at most ``longest_s``: background work must finish, too."""
        with self._free:
            self._free.wait_for(lambda: not self._searches, longest_s)

    def pieces(self, work: Iterable[_Piece]) -> Iterator[_Piece]:
        """Yield short pieces of background work. Before each, running searches are waited for, in all no longer than
        the pieces took plus ``longest_rest_s``: however many search, the work gets half of the time.
        """
        left_s = self._longest_rest_s
        for piece in work:
            started = time.monotonic()
            if left_s > 0:
                self.wait_for_searches(left_s)
            begun = time.monotonic()
            yield piece
            left_s += time.monotonic() - begun - (begun - started)

    def rest(self) -> None:
        """Call between short pieces of background work: waits for running searches, then pauses if there were any."""
        self.wait_for_searches(self._longest_rest_s)
        if self.busy:
            time.sleep(REST_S)

    @property
    def busy(self) -> bool:
        """Whether a search is running, or was within the last 2 seconds."""
        with self._free:
            return bool(self._searches) or time.monotonic() - self._last < RECENTLY_S


def lower_thread_priority() -> None:
    """Give this thread only the processor time that others leave. On Linux, where a thread has its own priority;
    elsewhere this does nothing.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # forbidden in some sandboxes; the work goes on without it
            thread = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread, max(os.getpriority(os.PRIO_PROCESS, thread), BACKGROUND_NICE))
