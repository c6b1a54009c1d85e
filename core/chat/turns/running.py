"""Turns that run in threads of their own, whoever asked: they can be followed, left and stopped.

A turn of a conversation is stored from its question on; the others, which nobody keeps, run in the same way.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from braid.core.chat.support.findings import Support
from braid.core.chat.turn_recorder import TurnRecorder
from braid.core.chat.turns.bell import Bell, Pause
from braid.core.chat.turns.rows import MAX_TURN_S, State, StoredTurn
from braid.core.chat.turns.turn_store import TurnStore
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.errors import BraidError, ModelError, Reason, TooManyError, traced
from braid.core.forks import tell_of_forks
from braid.core.ledger.outages import is_outage, log_failure, log_outage, outage_of
from braid.core.spans import carried

if TYPE_CHECKING:
    from collections.abc import Generator

LOOK_S = 15.0
"""Longest pause of somebody who follows a turn in which nothing happens."""
MOST_TURNS = 192
MOST_OF_A_USER = 32
"""Turns that run at once; each has a thread, and the passages that it found in memory."""
WATCH_EVERY_S = 0.2
"""Seconds between two looks at the running turns: what a silent model has written is stored, too."""

Happened = TypeVar("Happened")
Begin = Callable[[], StoredTurn]
Done = Callable[[ChatResult], object]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TurnPauses:
    """How long is paused between two writes of a turn, in seconds."""

    save_s: float = 0.8
    """Between two times that an answer is stored while it is written. With `WATCH_EVERY_S` it is what a crash may
    cost: a second.
    """
    outage_s: tuple[float, ...] = (0.5, 2.0, 5.0)
    """Between attempts to store the end of a turn while the database is out."""


@dataclass(frozen=True, slots=True)
class News(Generic[Happened]):
    """What has happened since the change that a listener saw last."""

    number: int
    """How many events there were until now."""
    events: tuple[Happened, ...]


class RunningTurn(Generic[Happened]):
    """A turn that runs in a thread, is stored now and then, and can be followed by any number of threads.

    It keeps its events: who comes later loses nothing. The result is the last one, and comes when it is stored. ``ids``
    are those of a turn that is stored; None of any other.
    """

    def __init__(
        self,
        ids: StoredTurn | None,
        request: ChatRequest,
        events: Iterator[Happened],
        *,
        store: TurnStore,
        done: Done,
        pauses: TurnPauses = TurnPauses(),
    ) -> None:
        self.ids = ids
        self.error: Exception | None = None
        """Why there is no answer, or why its end could not be stored."""
        self._request = request
        self._source = events
        self._store = store
        self._done = done
        self._pauses = pauses
        self._recorder = TurnRecorder(request)
        draft = request.draft
        self._kept = draft.text if draft is not None and not draft.is_complete else ""
        self._started = self._saved = time.monotonic()
        self._changing = threading.Lock()
        self._news, self._over = Bell(), Bell()
        self._writing = threading.Lock()
        self._events: list[Happened] = []
        self._result: Happened | None = None
        self._saved_events = 0
        self._ending = False

    def start(self, forget: Callable[[], None]) -> None:
        """Begin; calls ``forget`` when the turn is over. Raises RuntimeError when there is no further thread."""

        def run() -> None:
            try:
                self._run()
            finally:
                forget()

        threading.Thread(target=carried(run), name="braid-turn", daemon=True).start()

    def end(self, state: State, error: BraidError | None = None) -> None:
        """End the turn now, for everybody who follows it, and store what there is. Does nothing to one that ended.

        The model stops as soon as its next piece comes. ``error`` is what followers are told.
        """
        if (result := self._last()) is None:
            return
        self.error = error
        ids, user_id = self.ids, self._request.user_id or 0

        def write() -> None:
            if ids is None:
                return
            if result.stopped and len(self._recorder.written) < len(self._kept):  # what was there before says more
                self._store.end(user_id, ids.conversation_id, ids.answer_id, state)
            else:
                self._store.save(ids, result, state if result.stopped else "cut" if result.cut else "complete")

        self._finish(write)
        self._done(result)

    def fail(self, error: Exception) -> None:
        """End the turn with this error, for everybody who follows it, and store what there is. Does nothing to one that
        ended.
        """
        if (result := self._last()) is None:
            return
        outage = outage_of(error)
        if outage:
            log_outage(logger, outage, "a turn")
        elif not isinstance(error, BraidError):
            logger.error("event=turn_failed %s", traced(error))
        self.error = error
        reason = outage.text if outage else str(error) if isinstance(error, BraidError) else ""

        def write() -> None:
            if self.ids is None:
                return
            if len(self._recorder.written) > len(self._kept):  # what was written until then stays
                self._store.save(self.ids, result, "failed")
            self._store.fail(self.ids, reason)

        self._finish(write)

    @property
    def found(self) -> frozenset[int]:
        """The datasets whose passages the answer is written from."""
        with self._changing:
            return self._recorder.found

    @property
    def so_far(self) -> tuple[str, tuple[Support, ...]]:
        """The whole answer so far, as a marked text, and its sentences that have been checked."""
        with self._changing:
            return self._recorder.written, self._recorder.support

    def follow(self, after: int = 0, every_s: float = 0.0) -> Iterator[News[Happened] | Pause]:
        """Yield what has happened since the change ``after``, at once or every ``every_s`` seconds, until the turn is
        over.

        Between, and for at most `LOOK_S` seconds while nothing happens, it yields pauses.
        """
        seen = after
        while True:
            rung = self._news.rung
            with self._changing:
                is_over, news = self._over.rung > 0, News(len(self._events), tuple(self._events[seen:]))
            if news.number > seen or is_over:
                is_new, seen = True, news.number
                yield news
            else:
                is_new = False
            if is_over:
                break
            # further words are sent together
            yield Pause(every_s, self._over) if is_new and every_s else Pause(LOOK_S, self._news, rung)

    def wake(self) -> None:
        """Have everybody who follows the turn look at it now."""
        self._news.ring()

    def wait(self) -> None:
        """Hold this thread until the turn is over."""
        self._over.wait(0, MAX_TURN_S)

    def watch(self) -> None:
        """Store what is new of the answer, unless it was stored a moment ago; end a turn that has had all its time, or
        was ended in another process.
        """
        if time.monotonic() - self._started > MAX_TURN_S:
            minutes = MAX_TURN_S // 60
            return self.end("interrupted", ModelError(f"the answer took {minutes} minutes, which is the limit"))
        if self.ids is None or time.monotonic() - self._saved < self._pauses.save_s:
            return
        goes_on = True
        with self._writing:
            with self._changing:
                number, result = len(self._events), self._recorder.result()
                is_due = not self._ending and number > self._saved_events
            if is_due and len(self._recorder.written) >= len(self._kept):
                try:
                    goes_on = self._store.save(self.ids, result, "running")
                except Exception as error:
                    if not is_outage(error):
                        raise
                    log_failure(logger, "saving a turn", error)  # the next one may succeed
                else:
                    self._saved_events = number
        self._saved = time.monotonic()
        if not goes_on:
            self.end("stopped")  # in another process

    # ------------------------------------------------------------ in the turn's own thread

    def _run(self) -> None:
        try:
            with closing(cast("Generator[Happened]", self._source)):
                for event in self._source:
                    if not self._take(event):
                        return
                    self.watch()
            self.end("complete")
        except Exception as error:  # the edge of the thread: whoever follows the turn is told
            self.fail(error)

    def _take(self, event: Happened) -> bool:
        """Record an event; False when the turn has ended meanwhile."""
        with self._changing:
            if self._ending:
                return False
            self._recorder.feed(event)
            if isinstance(event, ChatResult):
                self._result = event
            else:
                self._events.append(event)
        self._news.ring()
        return True

    # ------------------------------------------------------------ the end

    def _last(self) -> ChatResult | None:
        """Let the turn end here, and return its result; None if it ended elsewhere."""
        with self._changing:
            if self._ending:
                return None
            self._ending = True
            return self._recorder.result()

    def _finish(self, write: Callable[[], object]) -> None:
        try:
            self._write_patiently(write)
        except Exception as error:  # the conversation was deleted, or the database is out: whoever follows is told
            self.error = self.error or error
        finally:
            with self._changing:
                if self._result is not None and self.error is None:
                    self._events.append(self._result)
                self._over.ring()
            self._news.ring()

    def _write_patiently(self, write: Callable[[], object]) -> None:
        """Write what the turn ends with; again after an outage of the database, which may be a short one."""
        for pause_s in self._pauses.outage_s:
            try:
                with self._writing:
                    write()
                    return
            except Exception as error:
                if not is_outage(error):
                    raise
                time.sleep(pause_s)
        with self._writing:
            write()


class RunningTurns:
    """The running turns of all users. Nobody can follow or stop another user's turn."""

    def __init__(
        self,
        store: TurnStore,
        *,
        most: int = MOST_TURNS,
        most_of_a_user: int = MOST_OF_A_USER,
        pauses: TurnPauses = TurnPauses(),
    ) -> None:
        self._store = store
        self._pauses = pauses
        self._most = most
        self._most_of_a_user = most_of_a_user
        self._lock = threading.Lock()
        self._starting: list[int] = []
        self._turns: dict[RunningTurn[Any], int] = {}
        self._is_watched = False
        tell_of_forks(self)

    def after_fork(self, *, in_child: bool) -> None:
        """Begin without a turn in the child: those there are the parent's."""
        if in_child:
            self._lock = threading.Lock()
            self._starting, self._turns, self._is_watched = [], {}, False

    def start(
        self,
        request: ChatRequest,
        events: Iterator[Happened],
        *,
        begin: Begin | None = None,
        done: Done = lambda result: None,
    ) -> RunningTurn[Happened]:
        """Run a turn, which ``begin`` stores, if any; ``done`` is given its result. Raises TooManyError.

        Whatever ``events`` yields beside the events of a chat is handed on to those who follow the turn.
        """
        user_id = request.user_id or 0
        self._take_place(user_id)
        try:
            ids = begin() if begin else None
            turn = RunningTurn(ids, request, events, store=self._store, done=done, pauses=self._pauses)
            with self._lock:
                self._turns[turn] = user_id
            try:
                turn.start(lambda: self._forget(turn))
                self._begin_to_watch()
            except RuntimeError:
                self._forget(turn)
                turn.end("interrupted")
                raise
        finally:
            with self._lock:
                self._starting.remove(user_id)
        return turn

    def find(self, user_id: int, answer_id: int) -> RunningTurn[Any] | None:
        """Return the user's turn that writes this answer; None if none does."""
        with self._lock:
            found = (turn for turn, owner in self._turns.items() if owner == user_id and turn.ids)
            return next((turn for turn in found if turn.ids and turn.ids.answer_id == answer_id), None)

    def stop_all(self, user_id: int, conversation_id: int) -> None:
        """End the turns of a conversation that is to be deleted."""
        with self._lock:
            turns = [
                turn
                for turn, owner in self._turns.items()
                if owner == user_id and turn.ids and turn.ids.conversation_id == conversation_id
            ]
        for turn in turns:
            turn.end("stopped")

    def interrupt_all(self) -> None:
        """End every turn and store what there is, before the server ends."""
        with self._lock:
            turns = list(self._turns)
        for turn in turns:
            turn.end("interrupted")

    def _take_place(self, user_id: int) -> None:
        with self._lock:
            of_user = self._starting.count(user_id) + sum(owner == user_id for owner in self._turns.values())
            if of_user >= self._most_of_a_user:
                raise TooManyError(
                    Reason("%(count)s of your questions are being answered; wait for one, or stop one", count=of_user)
                )
            if len(self._starting) + len(self._turns) >= self._most:
                raise TooManyError(Reason("too many questions of all users are being answered; try again in a moment"))
            self._starting.append(user_id)

    def _forget(self, turn: RunningTurn[Any]) -> None:
        with self._lock:
            self._turns.pop(turn, None)

    def _begin_to_watch(self) -> None:
        with self._lock:
            begins, self._is_watched = not self._is_watched, True
        if begins:
            try:
                threading.Thread(target=self._watch, name="braid-turns", daemon=True).start()
            except RuntimeError:
                self._is_watched = False
                raise

    def _watch(self) -> None:
        """Look after the running turns, until there is none."""
        while True:
            with self._lock:
                turns = list(self._turns)
                if not turns:
                    self._is_watched = False
                    return
            for turn in turns:
                try:
                    turn.watch()
                except Exception as error:  # the edge of the thread: the others go on
                    turn.fail(error)
            time.sleep(WATCH_EVERY_S)
