"""The role of a process with a data directory: the owner of its indexes, or a guest, which calls the owner."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from braid.core.errors import BraidError, InvalidInputError, NotOwnerError
from braid.core.indexes.opened import Indexes
from braid.core.ledger.database import News
from braid.core.ledger.outages import log_failure
from braid.core.ledger.owners.owner import OwnerLock, read_note
from braid.core.workers.calls import OpenedWith
from braid.core.workers.endpoint import Calls, Endpoint
from braid.core.workers.guest import far_indexes
from braid.core.workers.link import Link

LOOK_S = 0.5
"""Time between two looks of a guest whether there is an owner. Asking costs 20 µs."""

_of_the_parent: list[object] = []
"""What a child has inherited. It is never used, and never taken apart: it is the parent's."""

logger = logging.getLogger(__name__)


class Host(Protocol):
    """What has a role."""

    @property
    def opened_with(self) -> OpenedWith:
        """The options that all processes should have the same."""

    @property
    def keeps_copy(self) -> bool:
        """Whether the owner keeps a copy of the vectors in Chroma."""

    def open_indexes(self, closing: ExitStack, *, crashed: bool) -> Indexes:
        """Open the indexes, and have ``closing`` close them; ``crashed`` says that the last owner was killed."""

    def use_indexes(self, indexes: Indexes) -> None:
        """Search in these indexes from now on."""

    def calls(self, indexes: Indexes) -> Calls:
        """Return what guests may call."""


class Roles:
    """Makes the process the owner where there is none, else a guest that takes over when the owner is gone.

    The host is held weakly, so that one that nobody uses can be collected.
    """

    def __init__(self, data_dir: Path, host: Host) -> None:
        self._data_dir = data_dir
        self._host = weakref.ref(host)
        self._changing = threading.RLock()
        self._to_start: list[Callable[[], object]] = []
        self._start_over()

    def _start_over(self) -> None:
        self._lock = OwnerLock(self._data_dir)
        self._opened = ExitStack()  # closed last: files and the lock
        self._running = ExitStack()  # closed first: threads
        self._endpoint: Endpoint | None = None
        self._link: Link | None = None
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
        """Take over no more, answer no more, and end the threads."""
        with self._changing:
            self._closed = True
        self._look.set()
        if self._link is not None:
            self._link.close()
        if self._watching is not None and self._watching is not threading.current_thread():
            self._watching.join()
        self._running.close()

    def close(self) -> None:
        """Close the indexes and give up the ownership."""
        self._opened.close()

    def begin_as_child(self) -> None:
        """Start over in the child of a fork: the indexes, and the lock, are the parent's."""
        self._lock.forget()
        _of_the_parent.append((self._opened, self._running, self._endpoint, self._lock, self._link))
        if self._endpoint is not None:
            self._endpoint.forget()
        if self._link is not None:
            self._link.forget_in_child()
        was_closed = self._closed
        self._changing = threading.RLock()
        self._start_over()
        self._closed = was_closed
        if not was_closed:
            self._be_guest()  # looks for the owner's end with its first call, should it ever search

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
            endpoint = Endpoint(self._data_dir, host.calls(indexes))
            running.callback(endpoint.close)
            self._lock.publish(endpoint.start())
            host.use_indexes(indexes)  # nothing can fail any more: a guest goes on calling the owner until now
        except BaseException:
            running.close()
            opened.close()
            raise
        self._opened, self._running, self._endpoint = opened, running, endpoint
        with self._changing:
            self.is_owner = True

    def _note_recovery(self, indexes: Indexes) -> None:
        # A crash stays noted for the next owner until every index that was there at the start has been checked.
        if indexes.indexer.has_looked:
            self._lock.note_recovery()

    def _require_host(self) -> Host:
        host = self._host()
        if host is None:
            raise NotOwnerError("nobody uses the data directory in this process any more")
        return host

    # ------------------------------------------------------------ guest

    def _be_guest(self) -> None:
        roles = weakref.WeakMethod(self._look_now)

        def look_now() -> None:
            if look := roles():
                look()

        self._link = Link(self._data_dir, look_now)
        host = self._require_host()
        host.use_indexes(far_indexes(self._link, keeps_copy=host.keeps_copy))

    def _look_now(self) -> None:
        with self._changing:
            if self._watching is None and not self._closed:
                self._watch()
        self._look.set()

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

    def compare_with_owner(self) -> None:
        """Warn if the owner was opened with other options: it is what decides what is found."""
        host, link = self._host(), self._link
        note = read_note(self._data_dir)
        if host is None or link is None or note is None or not note.address:
            return
        theirs = link.call("opened_with", patience_s=0.0)
        for name, mine in host.opened_with.items():
            if theirs.get(name) != mine:
                logger.warning(
                    "process %d has %s open with %s %s, this process with %s: searches go by the former",
                    note.pid,
                    str(self._data_dir),
                    name,
                    theirs.get(name),
                    mine,
                )


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
            if not is_compared:
                this.compare_with_owner()
                is_compared = True
        except InvalidInputError as error:  # of the options of this process, which stay as they are: said once
            if str(error) != refused:
                refused = str(error)
                logger.warning("this process cannot take over the indexes: %s", refused)
        except BraidError as error:
            logger.debug("event=owner_not_asked type=%s", type(error).__name__)
        except Exception as error:  # the edge of a thread: what keeps the indexes from being opened may pass
            log_failure(logger, "taking over the indexes", error)
            look.wait(LOOK_S)
        del this
