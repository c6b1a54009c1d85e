"""Moving windows of attempts, for the rate limits: in memory, or in the ledger, where several machines count them."""

from __future__ import annotations

import threading
import time
from collections import deque

from limits.storage import MemoryStorage

from braid.core.accounts.attempt_windows import AttemptWindows

SWEEP_EVERY = 1024
"""Attempts after which the keys whose windows are over are forgotten."""


class Windows(MemoryStorage):
    """The moving windows of `limits`' in-memory storage under one lock, without its timers.

    The storage starts a timer thread when the last one has ended. Two requests at once start the same one, which
    raises RuntimeError; and keys that were used once are never forgotten.
    """

    def __init__(self) -> None:
        super().__init__()
        self._attempts: dict[str, deque[float]] = {}
        self._ends: dict[str, float] = {}
        self._taken = 0
        self._lock = threading.Lock()

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Take ``amount`` of the ``limit`` per ``expiry`` seconds; False and nothing when they are not left."""
        now = time.time()
        with self._lock:
            self._sweep(now)
            attempts = self._attempts.setdefault(key, deque())
            while attempts and attempts[0] < now - expiry:
                attempts.popleft()
            if len(attempts) + amount > limit:
                return False
            attempts.extend([now] * amount)
            self._ends[key] = now + expiry
            return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """When the oldest attempt in the window was, in seconds since the epoch, and how many there are."""
        now = time.time()
        with self._lock:
            current = [at for at in self._attempts.get(key, ()) if at >= now - expiry]
        return (current[0], len(current)) if current else (now, 0)

    def give_back(self, key: str) -> None:
        """Undo the last attempt, because it is not to count."""
        with self._lock:
            if attempts := self._attempts.get(key):
                attempts.pop()

    def clear(self, key: str) -> None:
        """Forget the key."""
        with self._lock:
            self._attempts.pop(key, None)
            self._ends.pop(key, None)

    def reset(self) -> int:
        """Forget every key; returns how many there were."""
        with self._lock:
            keys = len(self._attempts)
            self._attempts.clear()
            self._ends.clear()
        return keys

    def _sweep(self, now: float) -> None:
        self._taken += 1
        if self._taken % SWEEP_EVERY == 0:
            for key in [key for key, end in self._ends.items() if end < now]:
                del self._attempts[key], self._ends[key]


class SharedWindows(Windows):
    """Moving windows that all processes of a fleet count together, in the ledger."""

    def __init__(self, windows: AttemptWindows) -> None:
        super().__init__()
        self._shared = windows

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Take ``amount`` of the ``limit`` per ``expiry`` seconds; False and nothing when they are not left."""
        return self._shared.take(key, limit=limit, window_s=expiry, amount=amount)

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """When the oldest attempt in the window was, in seconds since the epoch, and how many there are."""
        ago_s, count = self._shared.read(key, window_s=expiry)
        return time.time() - ago_s, count

    def give_back(self, key: str) -> None:
        """Undo the last attempt, because it is not to count."""
        self._shared.give_back(key)

    def clear(self, key: str) -> None:
        """Forget the key."""
        self._shared.forget(key)

    def reset(self) -> int:
        """Forget every key; returns how many there were."""
        return self._shared.forget()
