"""Waiting: for several calls at once, all with the same deadline, and for a processor."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from typing import Generic, Self, TypeVar

PATIENCE_S = 0.05
"""Time after which calls no longer wait for one another."""
MOST_THREADS = 8

LEASE_S = 0.25
"""Time after which a place counts as free: who holds it waits for something, and does not compute."""

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


class Places:
    """Lets so many threads compute at a time as there are processors, in the order in which they come.

    More of them would only take the interpreter from one another. Nobody waits for a thread that hangs: a place that
    was held for ``lease_s`` counts as free.
    """

    def __init__(self, count: int, lease_s: float = LEASE_S) -> None:
        self._count = count
        self._lease_s = lease_s
        self.start_over()

    def start_over(self) -> None:
        """Forget who holds a place, in the child of a fork: they are the parent's threads."""
        self._held: dict[object, float] = {}
        self._waiting: deque[threading.Lock] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, longest_s: float) -> Iterator[None]:
        """Hold a place until the block ends. After ``longest_s`` seconds of waiting the block runs without one."""
        turn = threading.Lock()
        turn.acquire()
        with self._lock:
            self._waiting.append(turn)
            self._admit()
        deadline = Deadline(longest_s)
        while not turn.acquire(timeout=min(self._lease_s, deadline.left_s)):
            with self._lock:
                self._admit()
                if not deadline.left_s and turn in self._waiting:
                    self._waiting.remove(turn)
                    break
        try:
            yield
        finally:
            with self._lock:
                self._held.pop(turn, None)
                self._admit()

    @contextmanager
    def hold_if_free(self) -> Iterator[bool]:
        """Hold a place until the block ends if one is free and nobody waits for it; say whether it is held."""
        turn = threading.Lock()
        with self._lock:
            is_free = not self._waiting and self._has_free()
            if is_free:
                self._held[turn] = time.monotonic()
        try:
            yield is_free
        finally:
            with self._lock:
                self._held.pop(turn, None)
                self._admit()

    def _admit(self) -> None:
        """Give the free places to those who wait for longest. The caller holds the lock."""
        while self._waiting and self._has_free():
            turn = self._waiting.popleft()
            self._held[turn] = time.monotonic()
            turn.release()

    def _has_free(self) -> bool:
        """Return whether a place is free, also one whose time is over. The caller holds the lock."""
        now = time.monotonic()
        self._held = {turn: since for turn, since in self._held.items() if now - since < self._lease_s}
        return len(self._held) < self._count
