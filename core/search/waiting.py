"""Waiting for several calls at once, all with the same deadline."""

from __future__ import annotations

import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TypeVar

T = TypeVar("T")


class Deadline:
    """A moment ``seconds`` from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def result(self, future: Future[T]) -> T:
        """Return the call's result. Raises what the call raises; a late call is cancelled and raises TimeoutError."""
        try:
            return future.result(max(0.0, self._end - time.monotonic()))
        except FutureTimeoutError:
            future.cancel()
            raise
