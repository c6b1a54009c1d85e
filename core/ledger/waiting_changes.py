"""How long the oldest change has waited that an index has not applied."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable

from braid.core.ledger import prepared
from braid.core.ledger.change_log import StateNames
from braid.core.ledger.database import Database
from braid.core.types import Leg

MOST_LOOKS = 4096
"""Looks that are remembered; of more, every second one is forgotten."""


class WaitingChanges:
    """Tells the age of the oldest change that a leg's indexes lack; indexes that are built again are left out.

    The log has no times. A change is as old as the first look that found it: ages begin with this object, and are too
    low by up to the time between two looks.
    """

    def __init__(
        self,
        database: Database,
        index_names: StateNames,
        *,
        clock: Callable[[], float] = time.monotonic,
        most_looks: int = MOST_LOOKS,
    ) -> None:
        self._database = database
        self._names = index_names
        self._clock = clock
        self._most_looks = most_looks
        self._looks: list[tuple[int, float]] = []
        """The newest change at a look, and when that was; both grow."""
        self._looking = threading.Lock()

    def ages(self) -> dict[Leg, float]:
        """Look, and return leg → seconds; 0 where nothing waits. Costs 3 µs per collection and leg."""
        with self._looking:
            oldest = {leg: self._first(name) for leg, name in self._names.items()}
            [(newest,)] = self._database.rows(prepared.NEWEST_CHANGE)
            now = self._clock()
            if not self._looks or newest > self._looks[-1][0]:
                self._looks.append((newest, now))
            places = {leg: bisect_left(self._looks, (seq, 0.0)) for leg, seq in oldest.items() if seq is not None}
            ages = {leg: now - self._looks[places[leg]][1] if leg in places else 0.0 for leg in self._names}
            self._forget(min(places.values(), default=len(self._looks) - 1))
            return ages

    def _first(self, name: str) -> int | None:
        [(seq,)] = self._database.rows(prepared.OLDEST_WAITING, leg=name)
        return seq  # type: ignore[no-any-return]

    def _forget(self, before: int) -> None:
        del self._looks[:before]
        if len(self._looks) > self._most_looks:
            del self._looks[1:-1:2]
