"""Who takes over from a process that was killed, and when, as the ledger says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg

from braid.core.indexes.fleet.claimed import INDEX
from braid.core.ledger.member import BEATS, LEASE_S
from tests.chaos.fleet.outages import Outages

LOOK_S = 0.25
NOTICED_S = LEASE_S + LEASE_S / BEATS + 3.0
"""From a kill until nothing says any more that the process lives: its lease, the others' next heartbeat, and three
seconds for a machine that is busy."""
TAKEN_S = NOTICED_S + 5.0
"""From a kill until another process has what it held: they look for work, and may have to finish a batch first."""
READY_S = 8.0
"""The same from when a working process is ready, where none was."""

HELD = "SELECT what FROM claims WHERE process = %s"
JOBS = "SELECT id FROM jobs WHERE state = 'running' AND process = %s"
ANSWERS = "SELECT id FROM messages WHERE state = 'running' AND settings->>'writer' = %s"
WORK = """
    SELECT DISTINCT n.collection FROM (SELECT collection, MAX(seq) AS head FROM changes GROUP BY collection) n
    CROSS JOIN (VALUES ('milvus_bm25'), ('milvus_dense')) l (leg)
    LEFT JOIN index_state s ON s.collection = n.collection AND s.leg = l.leg
    WHERE s.leg IS NULL OR s.applied_seq < n.head OR s.state <> 'ready'"""

Row = tuple[Any, ...]
Read = Callable[..., list[Row]]


@dataclass
class Death:
    """A process that was killed, and what it held then. Moments are seconds from the kill; -1 until it is so."""

    process: str
    name: str
    """In the ledger."""
    at: float
    noticed: float = -1.0
    open: set[tuple[str, str]] = field(default_factory=set)
    """What nobody has taken over yet: a kind and its name."""
    taken: dict[tuple[str, str], float] = field(default_factory=dict)
    idle: int = 0
    """Claims that were free in time, and that nobody needed."""
    unworked_until: float = 0.0
    """When there was no process that works last."""


class Leases:
    """Watches the ledger from `start` to `stop`. ``works`` says whether a process that works is ready."""

    def __init__(self, database_url: str, outages: Outages, works: Callable[[], bool]) -> None:
        self._url, self._outages, self._works = database_url, outages, works
        self.deaths: list[Death] = []
        self.strangers: list[str] = []
        """Claims, jobs and answers of processes that are not in the ledger."""
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Row] | None = None
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stopping.set()
        self._thread.join()
        if self._connection is not None:
            self._connection.close()

    def killed(self, process: str, number: int) -> None:
        """Note that a process was killed just now, and read what it held."""
        at = time.monotonic()
        try:
            with self._lock:
                self._note(process, number, at)
        except psycopg.Error:  # the database is out: nobody can tell what it held
            self._drop()

    def _note(self, process: str, number: int, at: float) -> None:
        for (name,) in self._read("SELECT name FROM processes WHERE name LIKE %s", f"{number}@%"):
            held = {("claim", str(what)) for (what,) in self._read(HELD, name)}
            held |= {("job", str(job)) for (job,) in self._read(JOBS, name)}
            held |= {("answer", str(answer)) for (answer,) in self._read(ANSWERS, name)}
            self.deaths.append(Death(process, str(name), at, open=held))

    # ------------------------------------------------------------ watching

    def _watch(self) -> None:
        while not self._stopping.wait(LOOK_S):
            try:
                with self._lock:
                    self._look()
            except psycopg.Error:
                self._drop()

    def _look(self) -> None:
        waiting = [death for death in self.deaths if death.noticed < 0 or death.open]
        if not waiting:
            return
        living = {name for (name,) in self._read("SELECT name FROM processes")}
        claims = dict(self._read("SELECT what, process FROM claims"))
        work = {INDEX + collection for (collection,) in self._read(WORK)}
        works, now = self._works(), time.monotonic()
        for death in waiting:
            if not works:
                death.unworked_until = now - death.at
            if death.noticed < 0 and death.name not in living:
                death.noticed = now - death.at
            for kind, what in list(death.open):
                if kind == "claim":
                    self._see_claim(death, what, claims.get(what), has_work=what in work)
                elif not self._read(
                    JOBS + " AND id = %s" if kind == "job" else ANSWERS + " AND id = %s", death.name, what
                ):
                    self._close(death, kind, what)

    def _see_claim(self, death: Death, what: str, holder: str | None, *, has_work: bool) -> None:
        if holder == death.name:
            return
        if holder is not None:
            self._close(death, "claim", what)
        elif not has_work:
            death.idle += 1
            death.open.discard(("claim", what))

    def _close(self, death: Death, kind: str, what: str) -> None:
        death.open.discard((kind, what))
        death.taken[kind, what] = time.monotonic() - death.at

    # ------------------------------------------------------------ what came of it

    def late(self) -> list[str]:
        """What was noticed or taken over too late, or never."""
        found, now = [], time.monotonic()
        for death in self.deaths:
            more = self._outage_s(death)
            age = now - death.at
            noticed = death.noticed if death.noticed >= 0 else age
            if noticed > NOTICED_S + more:
                found.append(f"{death.process}: its death was noticed after {noticed:.1f} s")
            limit = max(TAKEN_S, death.unworked_until + READY_S) + more
            taken = {**death.taken, **dict.fromkeys(death.open, age)}
            found += [
                f"{death.process}: {kind} {what} was {'' if (kind, what) in death.taken else 'not '}taken over "
                f"after {seconds:.1f} s, limit {limit:.0f}"
                for (kind, what), seconds in taken.items()
                if seconds > limit
            ]
        return found

    def _outage_s(self, death: Death) -> float:
        """Seconds by which an outage of the database may put off what follows a death: nobody is buried meanwhile."""
        return sum(
            each.up - each.began + LEASE_S
            for each in self._outages.all
            if each.kind == "postgres" and death.at - LEASE_S <= each.up <= death.at + TAKEN_S + LEASE_S
        )

    def left_over(self) -> list[str]:
        """What is held or being done by processes that are not there, at a moment when all should be quiet."""
        with self._lock:
            rows = self._read("SELECT 'claim', what, process FROM claims")
            rows += self._read("SELECT 'job', id::text, process FROM jobs WHERE state IN ('queued', 'running')")
            rows += self._read("SELECT 'answer', id::text, settings->>'writer' FROM messages WHERE state = 'running'")
            living = {name for (name,) in self._read("SELECT name FROM processes")}
        return [f"{kind} {what} of {process or 'nobody'}" for kind, what, process in rows if process not in living]

    def members(self) -> int:
        """How many processes the ledger says are alive."""
        with self._lock:
            return len(self._read("SELECT name FROM processes"))

    def failed_jobs(self) -> list[str]:
        """Jobs that ended without success."""
        with self._lock:
            return [
                f"{kind} {error}" for kind, error in self._read("SELECT kind, error FROM jobs WHERE state = 'failed'")
            ]

    # ------------------------------------------------------------ the ledger

    def _read(self, statement: str, *values: object) -> list[Row]:
        if self._connection is None:
            url = self._url.replace("postgresql+psycopg://", "postgresql://")
            self._connection = psycopg.connect(url, autocommit=True, connect_timeout=2)
        return self._connection.execute(statement, values or None).fetchall()  # type: ignore[call-overload, no-any-return]

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
        self._connection = None
