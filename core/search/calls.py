"""Several calls at once, all with the same deadline."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Generic, Self, TypeVar

PATIENCE_S = 0.05
"""Time after which calls no longer wait for one another."""
MOST_THREADS = 8

K = TypeVar("K")
T = TypeVar("T")


class Deadline:
    """A moment ``seconds`` from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left_s(self) -> float:
        """Seconds until then; 0.0 when it is past."""
        return max(0.0, self._end - time.monotonic())

    def result(self, future: Future[T]) -> T:
        """Return the call's result. Raises what the call raises; a late call is cancelled and raises TimeoutError."""
        try:
            return future.result(self.left_s)
        except TimeoutError:
            future.cancel()
            raise


class Calls(Generic[K, T]):
    """Calls that run one after the other in one thread, since most take less time than handing them to another.

    ``then`` is called in that thread once all have returned or raised; where several threads work, it may be called
    more than once.
    """

    def __init__(
        self, executor: Executor, calls: Mapping[K, Callable[[], T]], then: Callable[[], object] | None = None
    ) -> None:
        self.keys = tuple(calls)
        self.results: dict[K, T] = {}
        """Of those that have returned."""
        self.errors: dict[K, BaseException] = {}
        """Of those that have raised."""
        self._executor = executor
        self._left = deque(calls.items())
        self._then = then
        self._ended = threading.Event()

    @property
    def are_done(self) -> bool:
        """Whether all have returned or raised."""
        return len(self.results) + len(self.errors) == len(self.keys)

    def start(self) -> Self:
        """Let a thread work."""
        if self._left:
            self._executor.submit(self.work)
        return self

    def hasten(self, deadline: Deadline) -> Self:
        """Wait a moment; while a call takes longer, let more threads run those that have not begun.

        A thread that waits for its place, see `Places`, has not begun, and is waited for until the deadline.
        """
        has_begun = False
        while not self.are_done and not has_begun and deadline.left_s:
            has_begun = len(self._left) < len(self.keys)
            self._ended.wait(min(PATIENCE_S, deadline.left_s))
        late = len(self.keys) - len(self.results) - len(self.errors)
        for _ in range(min(late - 1, MOST_THREADS)):
            self._executor.submit(self.work)
        return self

    def result(self, key: K, deadline: Deadline) -> T:
        """Return a call's result. Raises what the call raises, and TimeoutError where it is late; no call begins then
        any more.
        """
        if key in self.results:
            return self.results[key]
        if not self.are_done and not self._ended.wait(deadline.left_s):
            self._left.clear()
        if key in self.errors:
            raise self.errors[key]
        if key not in self.results:
            raise TimeoutError
        return self.results[key]

    def work(self) -> None:
        """Run calls until none is left."""
        while self._left:
            try:
                key, call = self._left.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                self.results[key] = call()
            except BaseException as error:  # raised where the result is asked for
                self.errors[key] = error
        if self.are_done:
            self._ended.set()
            if self._then is not None:
                self._then()
