"""Pauses between attempts at collections that fail, doubling from one second to a minute."""

from __future__ import annotations

import time

FIRST_RETRY_S = 1.0
LAST_RETRY_S = 60.0
OUTAGE_RETRY_S = 10.0
"""Longest pause while a server does not answer: what waits for it is to be found soon after its return."""


class Retries:
    """When each failing collection is tried again. `retry_now` may be called from any thread."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._pause: dict[str, float] = {}

    def is_due(self, collection: str) -> bool:
        """Return whether the collection may be tried now."""
        return time.monotonic() >= self._due.get(collection, 0.0)

    def postpone(self, collection: str, *, most_s: float = LAST_RETRY_S) -> float:
        """Put the next attempt off; returns the pause in seconds, twice the one before, at most ``most_s``."""
        pause = min(2 * self._pause.get(collection, FIRST_RETRY_S / 2), most_s)
        self._pause[collection] = pause
        self._due[collection] = time.monotonic() + pause
        return pause

    def retry_now(self, collection: str) -> None:
        """Let the next attempt be made at once."""
        self._due.pop(collection, None)

    def succeed(self, collection: str) -> None:
        """Begin with the first pause again at the next failure."""
        self._pause.pop(collection, None)
