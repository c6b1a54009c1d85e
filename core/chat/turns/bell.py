"""Waiting for something new in a turn without a thread: a generator says what it waits for, and its reader waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


class Bell:
    """Is rung when something new has happened; safe to use from any thread."""

    def __init__(self) -> None:
        self.rung = 0
        """How often it was rung. Read it before looking whether there is something new, see `Pause.since`."""
        self._changed = threading.Condition()
        self._wakes: list[Callable[[], None]] = []

    def ring(self) -> None:
        """Wake everybody who waits."""
        with self._changed:
            self.rung += 1
            wakes, self._wakes = self._wakes, []
            self._changed.notify_all()
        for wake in wakes:
            wake()

    def wait(self, since: int, seconds: float) -> None:
        """Hold this thread until it was rung more than ``since`` times, at most so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self.rung > since, timeout=seconds)

    def when_rung(self, since: int, wake: Callable[[], None]) -> Callable[[], None]:
        """Have ``wake`` called once it was rung more than ``since`` times; returns what calls that off."""

        def call_off() -> None:
            with self._changed:
                if wake in self._wakes:
                    self._wakes.remove(wake)

        with self._changed:
            if self.rung <= since:
                self._wakes.append(wake)
                return call_off
        wake()
        return call_off


@dataclass(frozen=True, slots=True)
class Pause:
    """What a generator yields in place of waiting: go on when ``bell`` has been rung, or after so many seconds."""

    seconds: float
    bell: Bell = field(default_factory=Bell)
    since: int = 0
    """How often the bell had been rung when the generator found nothing new."""

    def wait(self) -> None:
        """Hold this thread until it is over."""
        self.bell.wait(self.since, self.seconds)

    def when_over(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Have ``wake`` called when the bell is rung; returns what calls that off. Does not count the seconds."""
        return self.bell.when_rung(self.since, wake)


def waited(steps: Iterator[T | Pause]) -> Iterator[T]:
    """Yield the steps of a generator, and hold this thread in its pauses."""
    for step in steps:
        if isinstance(step, Pause):
            step.wait()
        else:
            yield step
