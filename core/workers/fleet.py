"""The role of a process in a fleet: a member, which searches by itself, and works unless it is told not to."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

from braid.core.ledger.database import Database, News
from braid.core.ledger.listener import Listener
from braid.core.ledger.member import BEATS, LEASE_S, Living, Member
from braid.core.ledger.outages import log_failure
from braid.core.workers.roles import RoleHost

if TYPE_CHECKING:
    from braid.core.indexes.fleet.indexer import FleetIndexer

BEAT_AGAIN_S = 1.0
"""Time after which a heartbeat that failed is tried again, at most a third of the lease."""

_of_the_parent: list[object] = []
"""What a child has inherited. It is never used, and never taken apart: it is the parent's."""

logger = logging.getLogger(__name__)


class Fleet:
    """Makes the process a member, and keeps its heartbeat. The host is held weakly, see `braid.core.workers.roles`."""

    def __init__(self, database: Database, host: RoleHost, *, works: bool) -> None:
        self._database = database
        self._host = weakref.ref(host)
        self._start_over(works=works)

    def _start_over(self, *, works: bool) -> None:
        self._opened = ExitStack()  # closed last: connections, and the membership
        self._running = ExitStack()  # closed first: threads
        self._stopping = threading.Event()
        self._beating: threading.Thread | None = None
        self._each_beat: list[Callable[[], object]] = []
        self._to_wake: list[tuple[News, Callable[[], object]]] = []
        self._listener = Listener(self._database.engine, _weakly(self.hear))
        self._closed = False
        member = self.member = Member(self._database, works=works, lease_s=LEASE_S, on_join=self._keep_beating)
        self._database.process_name = lambda: member.name

    @property
    def is_owner(self) -> bool:
        """Whether this process works."""
        return self.member.works

    def begin(self, *, must_own: bool) -> None:
        """Join, and open the indexes. A member never has to be the only one: ``must_own`` says nothing here."""
        opened, running = ExitStack(), ExitStack()
        opened.callback(self.member.leave)
        try:
            self._join_now(running)
            self._open_indexes(opened, running)
        except BaseException:
            running.close()
            opened.close()
            raise
        self._opened, self._running = opened, running

    def _join_now(self, running: ExitStack) -> None:
        running.callback(self._stop_beating)
        logger.info("event=joined process=%s works=%s", self.member.name, self.member.works)

    def _open_indexes(self, opened: ExitStack, running: ExitStack) -> None:
        host = self._host()
        assert host is not None, "it makes its role"
        indexes = host.open_indexes(opened, crashed=False)
        running.callback(indexes.indexer.stop)
        indexes.indexer.start()
        host.use_indexes(indexes)
        if self.member.works:
            self.when_woken("changes", cast("FleetIndexer", indexes.indexer).wake_here)
            running.callback(self._listener.stop)
            self._listener.start()

    def when_owner(self, start: Callable[[], object]) -> None:
        """Call this now in a member that works, and never in another."""
        if self.member.works:
            start()

    def each_beat(self, act: Callable[[], object]) -> None:
        """Call this in a member that works at each of its heartbeats, in the heart's thread: it must be quick."""
        if self.member.works:
            self._each_beat.append(act)

    def holds(self, what: str) -> bool:
        """Whether this member alone does this now; it does from now on if nobody else does. Never for one that does not
        work.
        """
        if self.member.works and not self.member.holder(what):
            self.member.claim([what])
        return bool(self.member.works and self.member.holder(what))

    def when_woken(self, news: News, act: Callable[[], object]) -> None:
        """Call this in a member that works when others say what is new, in the listener's thread: it must be quick."""
        if self.member.works:
            self._to_wake.append((news, act))

    def is_woken(self) -> bool:
        """Whether this process hears at once of new work."""
        return self._listener.is_connected

    def hear(self, said: str) -> None:
        """Wake whom it concerns; with "" something may have been missed, which may concern everybody."""
        for news, act in self._to_wake:
            if said in ("", news):
                act()

    def living(self) -> Living:
        """Count the living members."""
        return self.member.living()

    def announce(self, url: str) -> None:
        """Do nothing: nobody looks for the address of a member."""

    def stop(self) -> None:
        """End the threads."""
        self._closed = True
        self._running.close()

    def close(self) -> None:
        """Close the indexes and leave: what this process held is free."""
        self._stop_beating()
        try:
            self._opened.close()
        except Exception as error:  # the database is out; without a heartbeat it is free soon
            log_failure(logger, "leaving the fleet", error)

    def begin_as_child(self) -> None:
        """Start over in the child of a fork: it serves only, and joins when it has to have a name."""
        _of_the_parent.append((self._opened, self._running, self.member, self._beating, self._listener))
        self._listener.forget_in_child()
        was_closed = self._closed
        self._start_over(works=False)
        self._closed = was_closed
        if not was_closed:
            self._opened.callback(self.member.leave)
            self._open_indexes(self._opened, self._running)

    # ------------------------------------------------------------ heartbeat

    def _keep_beating(self) -> None:
        if self._beating is None and not self._closed:
            self._beating = threading.Thread(
                target=_beat, args=(weakref.ref(self), self._stopping), name="braid-heartbeat", daemon=True
            )
            self._beating.start()

    def _stop_beating(self) -> None:
        self._stopping.set()
        if self._beating is not None and self._beating is not threading.current_thread():
            self._beating.join()

    def beat(self) -> float:
        """Say that this process lives, and do what is to be done each time; return the seconds until the next time."""
        pause_s = self.member.lease_s / BEATS
        for act in (self._renew, *self._each_beat):
            try:
                act()
            except Exception as error:  # the edge of a thread: it must outlive an outage of the database
                log_failure(logger, "the heartbeat of this process", error)
                pause_s = min(pause_s, BEAT_AGAIN_S)
        return pause_s

    def _renew(self) -> None:
        """Say that this process lives. While it was not sure of that it left alone what it was woken for."""
        try:
            self.member.beat()
        finally:  # also where it lives and only the dead could not be removed
            if self.member.lapsed:
                self.hear("")


def _weakly(hear: Callable[[str], object]) -> Callable[[str], object]:
    method = weakref.WeakMethod(hear)

    def hear_while_it_is_there(said: str) -> None:
        if this := method():
            this(said)

    return hear_while_it_is_there


def _beat(fleet: weakref.ref[Fleet], stopping: threading.Event) -> None:
    this = fleet()
    pause_s = this.member.lease_s / BEATS if this else 0.0
    while this is not None:
        this = None
        if stopping.wait(pause_s):
            return
        this = fleet()
        if this is not None:
            pause_s = this.beat()
