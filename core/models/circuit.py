"""A circuit breaker: after an outage, calls are refused for a while, then one is tried, and all are if it succeeds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class CircuitBreaker:
    """Remembers an outage for ``pause_s`` seconds; 0 turns it off. Safe to use from several threads."""

    def __init__(self, pause_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause_s = pause_s
        self._clock = clock
        self._reason = ""
        self._until = 0.0
        self._is_well = False
        """Whether the last call that ended was answered."""
        self._lock = threading.Lock()

    def admit(self) -> str:
        """Return the empty text when a call may be made, else the reason why not.

        After the pause one call is let through as a trial; the others are refused for at most another pause.
        """
        with self._lock:
            left = self._until - self._clock()
            if self._reason and left > 0:
                return f"{self._reason}; it is asked again in {max(1, round(left))} s"
            if self._reason:
                self._until = self._clock() + self._pause_s
            return ""

    def record_outage(self, reason: str) -> None:
        """Refuse calls from now on: this one had no answer."""
        if self._pause_s > 0:
            with self._lock:
                self._reason, self._until, self._is_well = reason, self._clock() + self._pause_s, False

    def record_slow(self, reason: str) -> None:
        """Take a call that had no answer in time for an outage, unless the one before it was answered: then it may be
        the fault of its own, long prompt, and others need not suffer for it.
        """
        with self._lock:
            was_well, self._is_well = self._is_well, False
        if not was_well:
            self.record_outage(reason)

    def record_answer(self) -> None:
        """Let calls through: this one was answered, if only by an error."""
        with self._lock:
            self._reason, self._is_well = "", True
