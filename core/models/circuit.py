"""A circuit breaker: what did not answer is left alone for a while, then asked once, and again by all if it answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class CircuitBreaker:
    """Remembers an outage for ``pause_s`` seconds. Safe to use from several threads; 0 seconds turn it off."""

    def __init__(self, pause_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause_s = pause_s
        self._clock = clock
        self._reason = ""
        self._until = 0.0
        self._lock = threading.Lock()

    def admit(self) -> str:
        """Empty when a call may be made; else why not. After the pause one call is the trial, and the others wait for
        it, but no longer than another pause.
        """
        with self._lock:
            left = self._until - self._clock()
            if self._reason and left > 0:
                return f"{self._reason}; it is asked again in {max(1, round(left))} s"
            if self._reason:
                self._until = self._clock() + self._pause_s
            return ""

    def failed(self, reason: str) -> None:
        """There was no answer."""
        if self._pause_s > 0:
            with self._lock:
                self._reason, self._until = reason, self._clock() + self._pause_s

    def answered(self) -> None:
        """There was one, if only an error."""
        with self._lock:
            self._reason = ""
