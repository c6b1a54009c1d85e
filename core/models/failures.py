"""The outcomes of the calls of this process's models: for its metrics, its log, `/readyz` and the overview.

Calls with a user's own key count nowhere: they say nothing of the site's models.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, TypeVar, get_args

from braid.core.errors import Reason

Key = TypeVar("Key")
Kind = Literal["chat", "embedding", "reranker"]
LOG_EVERY_S = 60.0
"""Time between two lines of one cause and model."""
RECENT_S = 3600.0
"""How long a failure counts that no call has followed."""
MAX_KEPT = 200
"""Models, and causes, that are remembered."""
CAUSE_CHARS = 80
"""Beginning of a reason that tells causes apart, without digits: numbers of requests are in what follows."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FailingModel:
    """A model whose last call failed, and why; safe to show to administrators."""

    kind: Kind
    name: str
    reason: str


class ModelCalls:
    """Remembers what came of calls. Without a lock, which a fork could leave locked: a figure may be one too low."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._answers: Counter[Kind] = Counter()
        self._failures: Counter[Kind] = Counter()
        self._failing: dict[tuple[Kind, str], tuple[str, float]] = {}
        self._causes: dict[tuple[Kind, str, str], _Cause] = {}

    def answered(self, kind: Kind, name: str) -> None:
        """Count a call that was answered: this model is well."""
        self._answers[kind] += 1
        self._failing.pop((kind, name), None)

    def failed(self, kind: Kind, name: str, reason: str) -> None:
        """Count a call that failed or took too long, and log it; not one that was refused because of an earlier one."""
        self._failures[kind] += 1
        now = self._clock()
        _room(self._failing)
        self._failing[kind, name] = reason, now
        beginning = "".join(letter for letter in reason if not letter.isdigit())[:CAUSE_CHARS]
        _room(self._causes)
        if times := self._causes.setdefault((kind, name, beginning), _Cause()).times_to_log(now):
            said = reason.replace('"', "'")
            logger.warning('event=model_failed kind=%s model=%s reason="%s" times=%d', kind, name, said, times)

    def failures(self) -> Mapping[Kind, int]:
        """Return the failures of each kind since the process started."""
        return {kind: self._failures[kind] for kind in get_args(Kind)}

    def calls(self) -> Mapping[Kind, int]:
        """Return the calls of each kind since the process started, those that failed among them."""
        return {kind: self._answers[kind] + self._failures[kind] for kind in get_args(Kind)}

    def failing(self) -> list[FailingModel]:
        """Return the models whose last call failed, within the last hour. Calls none."""
        since = self._clock() - RECENT_S
        found = list(self._failing.items())
        return [FailingModel(kind, name, reason) for (kind, name), (reason, at) in found if at >= since]

    def forget(self) -> None:
        """Take all models for well: they were set up in another way just now."""
        self._failing.clear()


class _Cause:
    """One cause of one model: when the next line is due, and how many failures it will tell of."""

    def __init__(self) -> None:
        self._unsaid = 0
        self._next: float | None = None

    def times_to_log(self, now: float) -> int:
        """Count a failure; return how many to log now, 0 for none."""
        self._unsaid += 1
        if self._next is not None and now < self._next:
            return 0
        times, self._unsaid, self._next = self._unsaid, 0, now + LOG_EVERY_S
        return times


def _room(kept: dict[Key, Any]) -> None:
    """Let the oldest go when there are `MAX_KEPT`."""
    if len(kept) >= MAX_KEPT:
        oldest, *_ = list(kept)  # a copy: another thread may change it meanwhile
        kept.pop(oldest, None)


MODEL_CALLS = ModelCalls()
"""The outcomes of the calls of this process."""


class CircuitBreaker:
    """Remembers an outage for ``pause_s`` seconds; 0 turns it off. Safe to use from several threads."""

    def __init__(self, pause_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause_s = pause_s
        self._clock = clock
        self._reason = ""
        self._until = 0.0
        self._is_well = False
        """Whether the last call that ended was answered."""
        self._lock = threading.Lock()

    def admit(self) -> str:
        """Return the empty text when a call may be made, else the reason why not.

        After the pause one call is let through as a trial; the others are refused for at most another pause.
        """
        with self._lock:
            left = self._until - self._clock()
            if self._reason and left > 0:
                return Reason(
                    "%(reason)s; it is asked again in %(seconds)s s", reason=self._reason, seconds=max(1, round(left))
                )
            if self._reason:
                self._until = self._clock() + self._pause_s
            return ""

    def record_outage(self, reason: str) -> None:
        """Refuse calls from now on: this one had no answer."""
        if self._pause_s > 0:
            with self._lock:
                self._reason, self._until, self._is_well = reason, self._clock() + self._pause_s, False

    def record_slow(self, reason: str) -> None:
        """Take a call that had no answer in time for an outage, unless the one before it was answered: then it may be
        the fault of its own, long prompt, and others need not suffer for it.
        """
        with self._lock:
            was_well, self._is_well = self._is_well, False
        if not was_well:
            self.record_outage(reason)

    def record_answer(self) -> None:
        """Let calls through: this one was answered, if only by an error."""
        with self._lock:
            self._reason, self._is_well = "", True
