"""Live turns: each runs in a thread beside the request that waits for it, so that it can be stopped at any time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from braid.core.chat.turns.bell import Bell, Pause
from braid.core.errors import TooManyError
from braid.core.spans import carried

if TYPE_CHECKING:
    from collections.abc import Generator

Happened = TypeVar("Happened")

MOST_TURNS = 128
MOST_OF_A_USER = 32
"""Turns that run at once for somebody who waits; each has a thread, and the passages that it found in memory."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """The last item of the queue: the turn has ended, was stopped, or failed."""

    error: Exception | None = None


class LiveTurn(Generic[Happened]):
    """Runs the events in a thread. `stop` may be called from any thread, and more than once."""

    def __init__(self, events: Iterator[Happened]) -> None:
        self._events = events
        self._queue: queue.SimpleQueue[Happened | _Ended] = queue.SimpleQueue()
        self._bell = Bell()
        self._stopped = threading.Event()
        threading.Thread(target=carried(self._run), name="braid-turn", daemon=True).start()

    @property
    def stopped(self) -> bool:
        """Whether the turn was stopped before its end."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End the turn: at once for the request that waits, and for the model as soon as its next piece comes."""
        self._stopped.set()
        self._put(_Ended())

    def events(self, patience_s: float) -> Iterator[Happened | Pause]:
        """Yield the events as they happen, and a pause of ``patience_s`` seconds whenever there is no new one.

        Raises what the turn raises.
        """
        while True:
            rung = self._bell.rung
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                yield Pause(patience_s, self._bell, rung)
                continue
            if isinstance(item, _Ended):
                if item.error:
                    raise item.error
                return
            yield item

    def _put(self, item: Happened | _Ended) -> None:
        self._queue.put(item)
        self._bell.ring()

    def _run(self) -> None:
        ended = _Ended()
        try:
            with closing(cast("Generator[Happened]", self._events)):
                for event in self._events:
                    if self._stopped.is_set():
                        break
                    self._put(event)
        except Exception as error:  # handed to the thread that waits
            ended = _Ended(error)
        self._put(ended)


class LiveTurns:
    """The turns that run for as long as somebody waits for them."""

    def __init__(self, *, most: int = MOST_TURNS, most_of_a_user: int = MOST_OF_A_USER) -> None:
        self._most = most
        self._most_of_a_user = most_of_a_user
        self._turns: dict[LiveTurn[Any], int] = {}
        self._lock = threading.Lock()

    def begin(self, user_id: int, events: Iterator[Happened]) -> LiveTurn[Happened]:
        """Run the events as a turn of this user, until `end`. Raises TooManyError."""
        with self._lock:
            of_user = sum(owner == user_id for owner in self._turns.values())
            if of_user >= self._most_of_a_user:
                raise TooManyError(f"{of_user} of your questions are being answered; wait for one, or stop one")
            if len(self._turns) >= self._most:
                raise TooManyError("too many questions of all users are being answered; try again in a moment")
            turn = LiveTurn(events)
            self._turns[turn] = user_id
        return turn

    def end(self, turn: LiveTurn[Any]) -> None:
        """Stop a turn that nobody waits for any more, and forget it."""
        with self._lock:
            self._turns.pop(turn, None)
        turn.stop()

    def stop_all(self) -> None:
        """Stop every turn, before the server ends."""
        with self._lock:
            turns = list(self._turns)
        for turn in turns:
            turn.stop()
