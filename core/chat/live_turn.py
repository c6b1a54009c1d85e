"""Live turns: each runs in a thread beside the request that waits for it, so that it can be stopped at any time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from braid.core.chat.types import Event
from braid.core.spans import carried

if TYPE_CHECKING:
    from collections.abc import Generator


@dataclass(frozen=True, slots=True)
class _Ended:
    """The last item of the queue: the turn has ended, was stopped, or failed."""

    error: Exception | None = None


class LiveTurn:
    """Runs the events in a thread. `stop` may be called from any thread, and more than once."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._queue: queue.SimpleQueue[Event | _Ended] = queue.SimpleQueue()
        self._stopped = threading.Event()
        threading.Thread(target=carried(self._run), name="braid-turn", daemon=True).start()

    @property
    def stopped(self) -> bool:
        """Whether the turn was stopped before its end."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End the turn: at once for the request that waits, and for the model as soon as its next piece comes."""
        self._stopped.set()
        self._queue.put(_Ended())

    def events(self, patience_s: float) -> Iterator[Event | None]:
        """Yield the events as they happen, and None after each ``patience_s`` seconds of silence.

        Raises what the turn raises.
        """
        while True:
            try:
                item = self._queue.get(timeout=patience_s)
            except queue.Empty:
                yield None
                continue
            if isinstance(item, _Ended):
                if item.error:
                    raise item.error
                return
            yield item

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
    """The turns that run for as long as somebody waits for them."""

    def __init__(self) -> None:
        self._turns: set[LiveTurn] = set()
        self._lock = threading.Lock()

    def add(self, turn: LiveTurn) -> None:
        """Remember a turn until `remove`."""
        with self._lock:
            self._turns.add(turn)

    def remove(self, turn: LiveTurn) -> None:
        """Forget a turn."""
        with self._lock:
            self._turns.discard(turn)

    def stop_all(self) -> None:
        """Stop every turn, before the server ends."""
        with self._lock:
            turns = list(self._turns)
        for turn in turns:
            turn.stop()
