"""A chat turn that runs beside the request that waits for it, so that it can be stopped at any time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from braid.core.chat.types import Event

if TYPE_CHECKING:
    from collections.abc import Generator


@dataclass(frozen=True, slots=True)
class _Ended:
    """Nothing follows: the turn is over, or was stopped, or failed."""

    error: Exception | None = None


class LiveTurn:
    """Runs the events in a thread. `stop` may be called from any thread, and more than once."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._queue: queue.SimpleQueue[Event | _Ended] = queue.SimpleQueue()
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name="braid-turn", daemon=True).start()

    @property
    def stopped(self) -> bool:
        """Whether somebody stopped it before its end."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End it: who waits is told at once, and the model as soon as it says something."""
        self._stopped.set()
        self._queue.put(_Ended())

    def events(self, patience_s: float) -> Iterator[Event | None]:
        """The events as they happen, and None after each ``patience_s`` seconds of silence. Raises what they raise."""
        while True:
            try:
                found = self._queue.get(timeout=patience_s)
            except queue.Empty:
                yield None
                continue
            if isinstance(found, _Ended):
                if found.error:
                    raise found.error
                return
            yield found

    def _run(self) -> None:
        ended = _Ended()
        try:
            with closing(cast("Generator[Event]", self._events)):
                for event in self._events:
                    if self._stopped.is_set():
                        break
                    self._queue.put(event)
        except Exception as error:  # handed to the thread that waits
            ended = _Ended(error)
        self._queue.put(ended)


class LiveTurns:
    """The turns that run now, by user and a name that the browser gave. A turn of somebody else cannot be stopped."""

    def __init__(self) -> None:
        self._turns: dict[tuple[int, str], LiveTurn] = {}
        self._lock = threading.Lock()

    def add(self, user_id: int, name: str, turn: LiveTurn) -> None:
        """Remember a turn until `remove`."""
        with self._lock:
            self._turns[user_id, name] = turn

    def remove(self, user_id: int, name: str) -> None:
        """Forget a turn."""
        with self._lock:
            self._turns.pop((user_id, name), None)

    def stop(self, user_id: int, name: str) -> bool:
        """Stop a turn; False when there is none of this name, because it is over."""
        with self._lock:
            turn = self._turns.get((user_id, name))
        if turn is not None:
            turn.stop()
        return turn is not None

    def stop_all(self) -> None:
        """Stop every turn, before the server ends."""
        with self._lock:
            turns = list(self._turns.values())
        for turn in turns:
            turn.stop()
