"""Progress of one leg's indexes, for searches, status pages and the command line."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from braid.core.errors import internal
from braid.core.json_form import stored_json
from braid.core.types import Leg

PROGRESS_S = 0.25
"""Minimum seconds between two progress callbacks."""
PENDING_S = 1.0
"""Seconds between two reports of how many passages are to go, and before the first."""
RESTS = 10
"""Rest after each count, in durations of the count: counting 10,000 collections takes a second."""

ProgressState = Literal["checking", "ready", "rebuilding", "failed"]


@dataclass(frozen=True, slots=True)
class LegProgress:
    """Progress of one leg's index of one collection."""

    leg: Leg
    collection: str
    state: ProgressState
    pending: int = 0
    """Chunks still to be applied."""
    seconds_left: float | None = None
    error: str = ""
    left_out: int = 0
    """Chunks that could not be indexed and are not tried again automatically."""

    @property
    def is_whole(self) -> bool:
        """Whether the index may be searched and has all passages."""
        return self.state == "ready" and not self.pending and not self.left_out

    @property
    def obstacle(self) -> str:
        """Why the index must not be searched now, in one sentence; empty when it may be."""
        if self.state == "ready":
            return ""
        if self.state == "failed":
            return self.error
        if self.state == "checking":
            return internal(f"the {self.leg} index of %(collection)s is being checked", collection=self.collection)
        return internal(
            f"the {self.leg} index of %(collection)s is being rebuilt, %(count)s passages to go",
            collection=self.collection,
            count=self.pending,
        )

    @property
    def shortfall(self) -> str:
        """Passages that a search misses though the index may be searched, in one sentence; empty when none."""
        if self.state == "ready" and self.left_out and not self.pending:
            return internal(
                "%(count)s passages of %(collection)s were refused by the embedding model; `braid doctor --repair` has "
                "it embed them again",
                count=self.left_out,
                collection=self.collection,
            )
        if self.state != "ready" or not self.pending:
            return ""
        missing = f"%(count)s passages of %(collection)s are not in the {self.leg} index yet"
        parts: dict[str, object] = {"count": self.pending, "collection": self.collection}
        if self.error:
            return internal(f"{missing}: %(reason)s", reason=self.error, **parts)
        return internal(missing, **parts)


class ProgressBoard:
    """The latest progress of each collection of one leg. Safe to use from several threads.

    ``left_out`` counts a collection's chunks that could not be indexed.
    """

    def __init__(self, leg: Leg, left_out: Callable[[str], int]) -> None:
        self._leg = leg
        self._left_out = left_out
        self._latest: dict[str, LegProgress] = {}
        self._rate = 0.0
        self._lock = threading.Lock()

    def get(self, collection: str) -> LegProgress | None:
        """Return the latest report; None before the first."""
        return self._latest.get(collection)

    def state(self, collection: str) -> ProgressState:
        """Return the reported state; ``ready`` before the first report."""
        latest = self.get(collection)
        return latest.state if latest else "ready"

    def collections(self) -> list[str]:
        """Return the names of the reported collections, sorted."""
        with self._lock:
            return sorted(self._latest)

    def assume_ready(self, collection: str) -> None:
        """Report a collection as ready before what was left out is counted, which takes seconds for a million."""
        with self._lock:
            self._latest[collection] = LegProgress(self._leg, collection, "ready")

    def report(self, collection: str, state: ProgressState, *, pending: int = 0, error: str = "") -> None:
        """Replace the collection's report; the seconds left follow from the rate measured so far."""
        seconds_left = pending / self._rate if pending and self._rate else None
        before = self.get(collection)
        left_out = before.left_out if before and state == "ready" else 0
        if state == "ready" and not pending:
            left_out = self._left_out(collection)
        with self._lock:
            self._latest[collection] = LegProgress(self._leg, collection, state, pending, seconds_left, error, left_out)

    def know(self, told: Mapping[str, str]) -> None:
        """Take up what was told of the collections before."""

    def restore(self, reports: Iterable[LegProgress]) -> None:
        """Put earlier reports back."""
        with self._lock:
            self._latest.update((report.collection, report) for report in reports)

    def measure(self, chunks: int, seconds: float) -> None:
        """Take the time of one batch into the rate, a moving average of chunks per second."""
        rate = chunks / max(seconds, 1e-6)
        self._rate = rate if self._rate == 0.0 else 0.8 * self._rate + 0.2 * rate


class ToldBoard(ProgressBoard):
    """A board that tells other processes what the state of an index does not say: failures, passages that were left
    out, and once a second how many are to go where that takes longer. ``tell`` is given a collection and a report.
    """

    def __init__(self, leg: Leg, left_out: Callable[[str], int], tell: Callable[[str, str], None]) -> None:
        super().__init__(leg, left_out)
        self._tell = tell
        self._told: dict[str, str] = {}
        self._busy_since: dict[str, float] = {}

    def know(self, told: Mapping[str, str]) -> None:
        """Take up what was told of the collections before, by another process perhaps."""
        self._told = {collection: report for collection, report in told.items() if report}

    def report(self, collection: str, state: ProgressState, *, pending: int = 0, error: str = "") -> None:
        """Replace the collection's report, and tell it where others must know."""
        super().report(collection, state, pending=pending, error=error)
        now = self.get(collection)
        assert now is not None, "it was reported"
        told = ""
        if state == "failed" or error or (now.left_out and not pending):
            told = report_of(now)
        elif pending:
            at = time.monotonic()
            if at - self._busy_since.setdefault(collection, at) < PENDING_S:
                return
            self._busy_since[collection], told = at, report_of(now)
        else:
            self._busy_since.pop(collection, None)
        if told != self._told.get(collection, ""):
            self._tell(collection, told)
            self._told[collection] = told


def report_of(progress: LegProgress) -> str:
    """Return progress as it is told, for a collection and an index that are known."""
    told = {name: value for name, value in asdict(progress).items() if name not in ("leg", "collection") and value}
    return stored_json(told)


class Counting:
    """Calls a function with the numbers of changes applied, and of all that were to be, at most four times a second.

    Counting takes little of the time however many collections there are.
    """

    def __init__(self, on_progress: Callable[[int, int], None]) -> None:
        self._on_progress = on_progress
        self._total = self._done = 0
        self._next = 0.0

    def look(self, pending: Callable[[], int]) -> None:
        """Count again, unless it was done just now; ``pending`` returns the number of changes still to be applied."""
        if (started := time.monotonic()) >= self._next:
            left = pending()
            counted = time.monotonic()
            self._next = max(started + PROGRESS_S, counted + RESTS * (counted - started))
            self._total = max(self._total, self._done + left)
            self._done = max(self._done, self._total - left)
            self._on_progress(self._done, self._total)

    def end(self) -> None:
        """Report that all is done."""
        self._on_progress(self._total, self._total)
