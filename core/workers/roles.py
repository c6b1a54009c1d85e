"""The role of a process with a data directory: the owner of its indexes, or a guest, which reads them."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from braid.core.errors import InvalidInputError, NotOwnerError
from braid.core.indexes.opened import Indexes
from braid.core.ledger.database import News
from braid.core.ledger.outages import log_failure
from braid.core.ledger.owners.owner import OwnerLock, OwnerNote, read_note

LOOK_S = 0.5
"""Time between two looks of a guest whether there is an owner. Asking costs 20 µs."""

_of_the_parent: list[object] = []
"""What a child has inherited. It is never used, and never taken apart: it is the parent's."""

logger = logging.getLogger(__name__)


class RoleHost(Protocol):
    """What has a role."""

    opened_with: Mapping[str, str]
    """The options that all processes should have the same, in words."""

    def open_indexes(self, closing: ExitStack, *, crashed: bool) -> Indexes:
        """Open the indexes to follow the ledger, until ``closing``; ``crashed`` says that the last owner was killed."""

    def read_indexes(self, on_use: Callable[[], object]) -> Indexes:
        """Open the indexes, which another process keeps equal to the ledger; searches call ``on_use``."""

    def use_indexes(self, indexes: Indexes) -> None:
        """Search in these indexes from now on."""


class Roles:
    """Makes the process the owner where there is none, else a guest that takes over when the owner is gone.

    The host is held weakly, so that one that nobody uses can be collected.
    """

    def __init__(self, data_dir: Path, host: RoleHost) -> None:
        self._data_dir = data_dir
        self._host = weakref.ref(host)
        self._changing = threading.RLock()
        self._to_start: list[Callable[[], object]] = []
        self._start_over()

    def _start_over(self) -> None:
        self._lock = OwnerLock(self._data_dir)
        self._opened = ExitStack()  # closed last: files and the lock
        self._running = ExitStack()  # closed first: threads
        self._look = threading.Event()
        self._watching: threading.Thread | None = None
        self._closed = False
        self.is_owner = False

    def begin(self, *, must_own: bool) -> None:
        """Take a role. Raises NotOwnerError if another is the owner, and this process must be."""
        try:
            crashed = self._lock.acquire()
        except NotOwnerError:
            if must_own:
                raise
            self._be_guest()
            self._watch()
        else:
            self._be_owner(crashed=crashed)

    def when_owner(self, start: Callable[[], object]) -> None:
        """Call this as soon as the process is the owner, now if it is. What waits for that already waits once."""
        with self._changing:
            if not self.is_owner:
                if start not in self._to_start:
                    self._to_start.append(start)
                return
        start()

    def each_beat(self, act: Callable[[], object]) -> None:
        """Do nothing: nobody else does what this process does, and so nobody has to hear that it lives."""

    def when_woken(self, news: News, act: Callable[[], object]) -> None:
        """Do nothing: nobody says what is new, and everybody looks."""

    def is_woken(self) -> bool:
        """Whether this process hears at once of new work."""
        return False

    def holds(self, what: str) -> bool:
        """Whether this process alone does this now: as the owner it does everything."""
        return self.is_owner

    def living(self) -> None:
        """Return nothing: there is no fleet."""

    def announce(self, url: str) -> None:
        """Publish the address of this process's pages, if it is the owner."""
        if self.is_owner:
            self._lock.announce(url)

    def stop(self) -> None:
        """Take over no more, and end the threads."""
        with self._changing:
            self._closed = True
        self._look.set()
        if self._watching is not None and self._watching is not threading.current_thread():
            self._watching.join()
        self._running.close()

    def close(self) -> None:
        """Close the indexes and give up the ownership."""
        self._opened.close()

    def begin_as_child(self) -> None:
        """Start over in the child of a fork: the indexes, and the lock, are the parent's."""
        self._lock.forget()
        _of_the_parent.append((self._opened, self._running, self._lock))
        was_closed = self._closed
        self._changing = threading.RLock()
        self._start_over()
        self._closed = was_closed
        if not was_closed:
            self._be_guest()  # looks for the owner's end from its first search on, should it ever search

    # ------------------------------------------------------------ owner

    def _be_owner(self, *, crashed: bool) -> None:
        opened, running = ExitStack(), ExitStack()
        opened.callback(self._lock.release)
        try:
            host = self._require_host()
            indexes = host.open_indexes(opened, crashed=crashed)
            running.callback(indexes.indexer.stop)
            indexes.indexer.start()
            running.callback(self._note_recovery, indexes)
            self._lock.publish(OwnerNote(os.getpid(), opened_with=dict(host.opened_with)))
            host.use_indexes(indexes)  # nothing can fail any more
        except BaseException:
            running.close()
            opened.close()
            raise
        self._opened, self._running = opened, running
        with self._changing:
            self.is_owner = True

    def _note_recovery(self, indexes: Indexes) -> None:
        # A crash stays noted for the next owner until every index that was there at the start has been checked.
        if indexes.indexer.has_looked:
            self._lock.note_recovery()

    def _require_host(self) -> RoleHost:
        host = self._host()
        if host is None:
            raise NotOwnerError("nobody uses the data directory in this process any more")
        return host

    # ------------------------------------------------------------ guest

    def _be_guest(self) -> None:
        host = self._require_host()
        roles = weakref.WeakMethod(self._watch_from_now_on)
        host.use_indexes(host.read_indexes(lambda: (watch := roles()) and watch()))

    def _watch_from_now_on(self) -> None:
        if self._watching is None:
            with self._changing:
                if self._watching is None and not self._closed:
                    self._watch()

    def _watch(self) -> None:
        self._watching = threading.Thread(
            target=_take_over_once_it_is_free, args=(weakref.ref(self), self._look), name="braid-guest", daemon=True
        )
        self._watching.start()

    def take_over(self) -> bool:
        """Become the owner if there is none; True when there is nothing more to look for."""
        if self._closed or self._host() is None:
            return True
        if not self.is_owner:
            try:
                crashed = self._lock.acquire()
            except NotOwnerError:
                return False
            self._be_owner(crashed=crashed)
            logger.info("event=ownership_taken_over crashed=%s", crashed)
        return self._start_what_waits()

    def _start_what_waits(self) -> bool:
        """Start what waits for the ownership; False if some of it failed, and is to be started at the next look."""
        with self._changing:
            waiting, self._to_start = self._to_start, []
        for start in waiting:
            try:
                start()
            except Exception as error:  # the edge of a thread: the others are started, and the indexes stay open
                log_failure(logger, "starting what waited for the indexes", error)
                self._to_start.append(start)
        return not self._to_start

    def compare_with_owner(self) -> bool:
        """Warn if the owner was opened with other options: they decide what is indexed. False while none is known."""
        host, note = self._host(), read_note(self._data_dir)
        if host is None or note is None or not note.opened_with:
            return False
        for name, mine in host.opened_with.items():
            if (theirs := note.opened_with.get(name)) != mine:
                logger.warning(
                    "process %d has %s open with %s %s, this process with %s: what is indexed goes by the former",
                    note.pid,
                    str(self._data_dir),
                    name,
                    theirs,
                    mine,
                )
        return True


def _take_over_once_it_is_free(roles: weakref.ref[Roles], look: threading.Event) -> None:
    is_compared, refused = False, ""
    while True:
        look.wait(LOOK_S)
        look.clear()
        this = roles()
        if this is None:
            return
        try:
            if this.take_over():
                return
            is_compared = is_compared or this.compare_with_owner()
        except InvalidInputError as error:  # of the options of this process, which stay as they are: said once
            if str(error) != refused:
                refused = str(error)
                logger.warning("this process cannot take over the indexes: %s", refused)
        except Exception as error:  # the edge of a thread: what keeps the indexes from being opened may pass
            log_failure(logger, "taking over the indexes", error)
            look.wait(LOOK_S)
        del this
