"""A process of a fleet in the ledger: its heartbeat, and what it alone does.

A process whose heartbeat stops is dead when another one deletes its row, and with it what it had claimed. One that was
only suspended finds that out at its next heartbeat, and joins again under another name.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from braid.core.ledger import prepared
from braid.core.ledger.database import Database, execute, tell

LEASE_S = 15.0
"""Time without a heartbeat after which a process is dead."""
BEATS = 3
"""Heartbeats per lease."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Living:
    """Numbers of living processes of a fleet."""

    members: int
    working: int
    """Number of the members that index and run jobs."""
    found_dead: int = field(default=0, compare=False)
    """Processes that this one has found dead since it started; each is found by one."""


def seconds_since_boot() -> float:
    """Return seconds that no setting of a clock changes; on Linux they go on while the machine is suspended."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


class Member:
    """This process as one of a fleet. It joins with the first question for its name. Safe to use from any thread.

    ``on_join`` is called when it has joined, and should start the heartbeat.
    """

    def __init__(
        self,
        database: Database,
        *,
        works: bool = True,
        lease_s: float = LEASE_S,
        on_join: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = seconds_since_boot,
    ) -> None:
        self.works = works
        self.lease_s = lease_s
        self.lost = 0
        """How often it was declared dead while it lived."""
        self.lapsed = False
        """Whether it could not be sure of what it had claimed when its last heartbeat was answered."""
        self.found_dead = 0
        self._database = database
        self._on_join = on_join
        self._clock = clock
        self._changing = threading.RLock()
        self._name = ""
        self._held: dict[str, str] = {}
        self._confirmed = float("-inf")

    @property
    def name(self) -> str:
        """The name of this process, under which nobody has been before it."""
        with self._changing:
            if not self._name:
                self._join()
                self._on_join()
            return self._name

    @property
    def is_sure(self) -> bool:
        """Whether nobody can have declared it dead: its last heartbeat was confirmed within the lease."""
        return self._clock() - self._confirmed < self.lease_s

    def beat(self) -> bool:
        """Renew this process's row, and remove the rows of dead members. False when this process had been declared
        dead: it has joined again, and its claims are lost.

        After an outage no row is removed for the time of one lease: the other members could not renew theirs either.
        """
        name, was_sure, began = self.name, self.is_sure, self._clock()
        with self._database.write() as connection:
            is_there = bool(execute(connection, prepared.BEAT, name=name).rowcount)
        if is_there:
            before, self._confirmed = self._confirmed, began
            self.lapsed = self._clock() - before >= self.lease_s
            if was_sure:
                self._remove_dead()
            return True
        logger.warning("event=declared_dead process=%s", name)
        with self._changing:
            self.lost += 1
            self.lapsed = True
            self._join()
        return False

    def _remove_dead(self) -> None:
        """Delete the processes that are dead. One that was suspended within a transaction may hold what it has claimed:
        its turn comes when the server has ended the transaction.
        """
        with self._database.write() as connection:
            execute(connection, prepared.WAIT_BRIEFLY)
            buried = execute(connection, prepared.BURY, lease_s=self.lease_s).rowcount
            if buried:  # what they had claimed is free
                tell(connection, "changes")
        if buried:
            self.found_dead += buried
            logger.warning("event=buried processes=%d", buried)

    def leave(self) -> None:
        """End: others may have at once what this process held."""
        with self._changing:
            name, self._held, self._confirmed = self._name, {}, float("-inf")
        if name:
            with self._database.write() as connection:
                execute(connection, prepared.LEAVE, name=name)
                tell(connection, "changes")

    def _join(self) -> None:
        host, began = socket.gethostname(), self._clock()
        name = f"{os.getpid()}@{host}/{secrets.token_hex(8)}"
        with self._database.write() as connection:
            execute(connection, prepared.JOIN, name=name, host=host, works=self.works)
        self._name, self._held, self._confirmed = name, {}, began

    # ------------------------------------------------------------ what it alone does

    def claim(self, whats: Collection[str]) -> None:
        """Take what nobody has of these; `holder` tells what that is."""
        name = self.name
        try:
            with self._database.write() as connection:
                taken = execute(connection, prepared.CLAIM, process=name, whats=sorted(whats)).scalars().all()
        except IntegrityError:  # it was declared dead just now, as its next heartbeat will tell
            return
        with self._changing:
            if name == self._name:
                self._held.update(dict.fromkeys(taken, name))

    def release(self, whats: Collection[str]) -> None:
        """Give back what it has of these."""
        with self._changing:
            mine = [what for what in whats if self._held.pop(what, None)]
            name = self._name
        if mine:
            with self._database.write() as connection:
                execute(connection, prepared.RELEASE, process=name, whats=mine)
                tell(connection, "changes")

    def holder(self, what: str) -> str:
        """Return the name under which this process has claimed it; empty when it has not, or cannot be sure."""
        return self._held.get(what, "") if self.is_sure else ""

    def held(self, prefix: str) -> dict[str, str]:
        """Return what this process has claimed that begins so, without the beginning, and under which name."""
        with self._changing:
            held = dict(self._held) if self.is_sure else {}
        return {what.removeprefix(prefix): name for what, name in held.items() if what.startswith(prefix)}

    def is_held(self, what: str, name: str) -> bool:
        """Ask the ledger whether the process of this name still has it."""
        return bool(self._database.rows(prepared.IS_HELD, what=what, process=name))

    def claims(self) -> dict[str, str]:
        """Return what is claimed, and by which process."""
        return dict(self._database.rows(prepared.CLAIMS))

    def living(self) -> Living:
        """Count the living processes."""
        [(members, working)] = self._database.rows(prepared.LIVING, lease_s=self.lease_s)
        return Living(int(members), int(working), self.found_dead)


def living_names(connection: Connection) -> list[str]:
    """Return the names of the living processes of a fleet that have this ledger open, whoever asks."""
    if connection.dialect.name != "postgresql":
        return []
    return list(execute(connection, prepared.LIVING_NAMES, lease_s=LEASE_S).scalars())
