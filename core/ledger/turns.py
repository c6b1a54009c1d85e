"""A lock that is given in the order in which it was asked for."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Threads take turns. `threading.Lock` gives none an order, so that under load one may wait very long."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_taken = False

    @contextmanager
    def turn(self, timeout_s: float) -> Iterator[None]:
        """Wait for the earlier ones, at most ``timeout_s``; then go on without a turn."""
        has_turn = self._take(timeout_s)
        try:
            yield
        finally:
            if has_turn:
                self._pass_on()

    def _take(self, timeout_s: float) -> bool:
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return True
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        if mine.acquire(timeout=timeout_s):
            return True
        with self._guard:
            if mine not in self._waiting:  # it was given just now
                return True
            self._waiting.remove(mine)
        return False

    def _pass_on(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False
