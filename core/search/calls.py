"""Several calls at once, all with the same deadline."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
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
        except FutureTimeoutError:
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
        self.futures: dict[K, Future[T]] = {key: Future() for key in calls}
        self._executor = executor
        self._left = deque((self.futures[key], call) for key, call in calls.items())
        self._then = then

    def start(self) -> Self:
        """Let a thread work."""
        if self._left:
            self._executor.submit(self.work)
        return self

    def hasten(self, deadline: Deadline) -> Self:
        """Wait a moment; while a call takes longer, let more threads run those that have not begun.

        A thread that waits for its place, see `Places`, has not begun, and is waited for until the deadline.
        """
        late = {future for future in self.futures.values() if not future.done()}
        has_begun = False
        while late and not has_begun and deadline.left_s:
            has_begun = len(self._left) < len(self.futures)
            _, late = wait(late, min(PATIENCE_S, deadline.left_s))
        for _ in range(min(len(late) - 1, MOST_THREADS)):
            self._executor.submit(self.work)
        return self

    def work(self) -> None:
        """Run calls until none is left."""
        while self._left:
            try:
                future, call = self._left.popleft()
            except IndexError:  # another thread was faster
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:  # raised where the result is asked for
                future.set_exception(error)
        if self._then is not None and all(future.done() for future in self.futures.values()):
            self._then()
