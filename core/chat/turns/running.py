"""Turns that run in threads of their own until their end, whoever listens: they can be followed, left and stopped."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from braid.core.chat.marks import marked
from braid.core.chat.support.findings import Support
from braid.core.chat.turn_recorder import TurnRecorder
from braid.core.chat.turns.bell import Bell, Pause
from braid.core.chat.turns.rows import MAX_TURN_S, State, StoredTurn
from braid.core.chat.turns.turn_store import TurnStore
from braid.core.chat.types import AnswerText, AnswerWithdrawn, ChatRequest, ChatResult, Event, SentenceChecked
from braid.core.errors import BraidError, TooManyError
from braid.core.forks import tell_of_forks
from braid.core.ledger.outages import is_outage, log_failure, log_outage, outage_of
from braid.core.spans import carried

if TYPE_CHECKING:
    from collections.abc import Generator

LOOK_S = 15.0
"""Longest pause of somebody who follows a turn in which nothing happens."""
MOST_TURNS = 96
MOST_OF_A_USER = 16
"""Turns that run at once; each has a thread, and the passages that it found in memory."""

Done = Callable[[ChatResult], object]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long is paused between two writes of a turn, in seconds."""

    save_s: float = 2.0
    """Between two times that an answer is stored while it is written: what a crash may cost."""
    outage_s: tuple[float, ...] = (0.5, 2.0, 5.0)
    """Between attempts to store the end of a turn while the database is out."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What has happened since the change ``number`` that a listener saw last."""

    number: int
    steps: tuple[Event, ...]
    text: str | None
    """The whole answer so far, as a marked text; None if neither it nor ``support`` has changed."""
    support: tuple[Support, ...] = ()
    """Its sentences that have been checked."""


class RunningTurn:
    """A turn that runs in a thread, is stored now and then, and can be followed by any number of threads.

    It keeps its steps, of which there are few, and its text so far: who comes later loses nothing.
    """

    def __init__(
        self,
        ids: StoredTurn,
        request: ChatRequest,
        events: Iterator[Event],
        *,
        store: TurnStore,
        done: Done,
        pauses: Pauses = Pauses(),
    ) -> None:
        self.ids = ids
        self.error: Exception | None = None
        """Why there is no answer, or why its end could not be stored."""
        self._request = request
        self._events = events
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
        self._number = self._text_number = 0
        self._steps: list[tuple[int, Event]] = []
        self._text = ""
        self._support: tuple[Support, ...] = ()
        self._ending = False

    def start(self, forget: Callable[[], None]) -> None:
        """Begin; calls ``forget`` when the turn is over."""

        def run() -> None:
            try:
                self._run()
            finally:
                forget()

        try:
            threading.Thread(target=carried(run), name="braid-turn", daemon=True).start()
        except RuntimeError:
            forget()
            self.end("interrupted")
            raise

    @property
    def overdue(self) -> bool:
        """Whether the turn has had all the time that it may take."""
        return time.monotonic() - self._started > MAX_TURN_S

    def end(self, state: State) -> None:
        """End the turn now, for everybody who follows it, and store what there is. Does nothing to one that ended.

        The model stops as soon as its next piece comes.
        """
        with self._changing:
            if self._ending:
                return
            self._ending = True
            result = self._recorder.result()
        self._close(result, state if result.stopped else "cut" if result.cut else "complete")

    def fail(self, error: Exception) -> None:
        """End the turn with this error, for everybody who follows it, and store what there is. Does nothing to one that
        ended.
        """
        with self._changing:
            if self._ending:
                return
            self._ending = True
            result = self._recorder.result()
        outage = outage_of(error)
        if outage:
            log_outage(logger, outage, "a turn")
        elif not isinstance(error, BraidError):
            frames = traceback.extract_tb(error.__traceback__)[-4:]
            at = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))
            logger.error("event=turn_failed type=%s at=%s", type(error).__name__, at)  # its text may quote a document
        self.error = error
        reason = outage.text if outage else str(error) if isinstance(error, BraidError) else ""

        def write() -> None:
            if len(self._text) > len(self._kept):  # what was written until then stays
                self._store.save(self.ids, result, "failed")
            self._store.fail(self.ids, reason)

        self._finish(write)

    @property
    def found(self) -> frozenset[int]:
        """The datasets whose passages the answer is written from."""
        with self._changing:
            return self._recorder.found

    def follow(self, after: int, every_s: float) -> Iterator[Progress | Pause]:
        """Yield what has happened since the change ``after``, every ``every_s`` seconds until the turn is over.

        Between, and for at most `LOOK_S` seconds while nothing happens, it yields pauses.
        """
        seen = after
        while True:
            rung = self._news.rung
            with self._changing:
                is_over, progress = self._over.rung > 0, self._since(seen)
            is_new = progress.number > seen
            if is_new or is_over:
                seen = progress.number
                yield progress
            if is_over:
                break
            # further words are sent together
            yield Pause(every_s, self._over) if is_new else Pause(LOOK_S, self._news, rung)

    def wait(self) -> None:
        """Hold this thread until the turn is over."""
        self._over.wait(0, MAX_TURN_S)

    def _since(self, seen: int) -> Progress:
        steps = tuple(step for number, step in self._steps if number > seen)
        return Progress(self._number, steps, self._text if self._text_number > seen else None, self._support)

    # ------------------------------------------------------------ in the turn's own thread

    def _run(self) -> None:
        try:
            with closing(cast("Generator[Event]", self._events)):
                for event in self._events:
                    if not self._take(event):
                        return
                    self._save_now_and_then()
            self.end("complete")
        except Exception as error:  # the edge of the thread: whoever follows the turn is told
            self.fail(error)

    def _take(self, event: Event) -> bool:
        """Record an event; False when the turn has ended meanwhile, or ends now because of a limit."""
        with self._changing:
            if self._ending:
                return False
            self._recorder.feed(event)
            self._number += 1
            if isinstance(event, (AnswerText, SentenceChecked, AnswerWithdrawn)):
                self._write(event)
                self._text_number = self._number
            elif not isinstance(event, ChatResult):
                self._steps.append((self._number, event))
        self._news.ring()
        if self.overdue:
            self.end("interrupted")
        return not self._ending

    def _write(self, event: AnswerText | SentenceChecked | AnswerWithdrawn) -> None:
        if isinstance(event, AnswerText):
            self._text += marked(event.text, event.marks)
        elif isinstance(event, SentenceChecked):
            self._support += (event.support,)
        else:
            self._text, self._support = "", ()

    def _save_now_and_then(self) -> None:
        if time.monotonic() - self._saved < self._pauses.save_s:
            return
        goes_on = True
        with self._writing:
            if not self._ending and len(self._text) >= len(self._kept):
                try:
                    goes_on = self._store.save(self.ids, self._recorder.result(), "running")
                except Exception as error:
                    if not is_outage(error):
                        raise
                    log_failure(logger, "saving a turn", error)  # the next one may succeed
        self._saved = time.monotonic()
        if not goes_on:
            self.end("stopped")  # in another process

    def _close(self, result: ChatResult, state: State) -> None:
        ids, user_id = self.ids, self._request.user_id or 0
        if result.stopped and len(self._text) < len(self._kept):  # what was there before says more
            self._finish(lambda: self._store.end(user_id, ids.conversation_id, ids.answer_id, state))
        else:
            self._finish(lambda: self._store.save(ids, result, state))
        self._done(result)

    def _finish(self, write: Callable[[], object]) -> None:
        try:
            self._write_patiently(write)
        except Exception as error:  # the conversation was deleted, or the database is out: whoever follows is told
            self.error = self.error or error
        finally:
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
        pauses: Pauses = Pauses(),
    ) -> None:
        self._store = store
        self._pauses = pauses
        self._most = most
        self._most_of_a_user = most_of_a_user
        self._lock = threading.Lock()
        self._starting: list[int] = []
        self._turns: dict[tuple[int, int], RunningTurn] = {}
        tell_of_forks(self)

    def before_fork(self) -> None:
        """Do nothing: turns go on in the parent."""

    def after_fork(self, *, in_child: bool) -> None:
        """Begin without a turn in the child: those there are the parent's."""
        if in_child:
            self._lock = threading.Lock()
            self._starting, self._turns = [], {}

    def start(
        self, request: ChatRequest, events: Iterator[Event], *, begin: Callable[[], StoredTurn], done: Done
    ) -> RunningTurn:
        """Run a turn, which ``begin`` stores; ``done`` is given its result. Raises TooManyError if too many run."""
        user_id = request.user_id or 0
        self._take_place(user_id)
        try:
            ids = begin()
            turn = RunningTurn(ids, request, events, store=self._store, done=done, pauses=self._pauses)
            key = user_id, ids.answer_id
            with self._lock:
                self._turns[key] = turn
            turn.start(lambda: self._forget(key))
        finally:
            with self._lock:
                self._starting.remove(user_id)
        return turn

    def find(self, user_id: int, answer_id: int) -> RunningTurn | None:
        """Return the user's turn that writes this answer; None if none does."""
        with self._lock:
            return self._turns.get((user_id, answer_id))

    def stop_all(self, user_id: int, conversation_id: int) -> None:
        """End the turns of a conversation that is to be deleted."""
        with self._lock:
            turns = [
                turn
                for (owner, _), turn in self._turns.items()
                if owner == user_id and turn.ids.conversation_id == conversation_id
            ]
        for turn in turns:
            turn.end("stopped")

    def interrupt_all(self) -> None:
        """End every turn and store what there is, before the server ends."""
        with self._lock:
            turns = list(self._turns.values())
        for turn in turns:
            turn.end("interrupted")

    def _take_place(self, user_id: int) -> None:
        with self._lock:
            overdue = [turn for turn in self._turns.values() if turn.overdue]
        for turn in overdue:
            turn.end("interrupted")
        with self._lock:
            of_user = self._starting.count(user_id) + sum(key[0] == user_id for key in self._turns)
            if of_user >= self._most_of_a_user:
                raise TooManyError(f"{of_user} of your questions are being answered; wait for one, or stop one")
            if len(self._starting) + len(self._turns) >= self._most:
                raise TooManyError("too many questions of all users are being answered; try again in a moment")
            self._starting.append(user_id)

    def _forget(self, key: tuple[int, int]) -> None:
        with self._lock:
            self._turns.pop(key, None)
