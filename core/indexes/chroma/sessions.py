"""One open Chroma client at a time, renewed before it has too many indexes in memory.

Chroma forgets what was not yet saved of an index when it evicts it, and never gives its memory back otherwise. So
the client is closed and opened again before that, between the calls under way.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from braid.core.errors import IndexUnavailableError
from braid.core.indexes.chroma.stores import Session, Store


class Sessions:
    """Lends the open session to any number of threads. Nothing is opened before the first loan."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: Session | None = None
        self._gate = threading.Condition(threading.RLock())
        self._on_loan = 0
        self._exclusive = False
        self._closed = False

    @contextmanager
    def lend(self, collection: str = "") -> Iterator[Session]:
        """The open session, good until the block ends; ``collection`` is the one whose index will be used.

        A block must not lend again. Raises IndexUnavailableError when the store cannot be opened, or is gone.
        """
        session = self._borrow(collection)
        try:
            yield session
        finally:
            with self._gate:
                self._on_loan -= 1
                self._gate.notify_all()

    @contextmanager
    def alone(self) -> Iterator[Session]:
        """Like `lend`, while nobody else has the session."""
        with self._gate:
            self._begin_exclusive()
        try:
            yield self._current()
        finally:
            self._end_exclusive()

    def renew(self) -> None:
        """Close the session, once the calls under way are over; the next loan opens another one."""
        with self._gate:
            self._renew()

    def replace(self) -> bool:
        """Abandon the store, once the calls under way are over, for an empty one. False when it cannot be."""
        with self._gate:
            self._begin_exclusive()
        try:
            self._close_session()
            return self._store.abandon()
        finally:
            self._end_exclusive()

    def close(self) -> None:
        """Wait for the calls under way and close the session; further loans are refused."""
        with self._gate:
            self._begin_exclusive()
        try:
            self._closed = True
            self._close_session()
        finally:
            self._end_exclusive()

    def _borrow(self, collection: str) -> Session:
        with self._gate:
            while True:
                while self._exclusive:
                    self._gate.wait()
                session = self._current()
                if not collection or collection in session.loaded:
                    break
                if len(session.loaded) + session.dropped < self._store.most_open():
                    session.loaded.add(collection)
                    break
                self._renew()
            self._on_loan += 1
            return session

    def _current(self) -> Session:
        if self._closed:
            raise IndexUnavailableError("the dense index is closed")
        if self._session is None:
            self._session = self._store.open()
        else:
            self._store.verify()
        return self._session

    def _renew(self) -> None:
        """With the gate held; it is given up while others finish, so the caller has to look again."""
        self._begin_exclusive()
        try:
            self._close_session()
        finally:
            self._end_exclusive()

    def _begin_exclusive(self) -> None:
        """With the gate held: wait until it is our turn and nobody has the session."""
        while self._exclusive:
            self._gate.wait()
        self._exclusive = True
        while self._on_loan:
            self._gate.wait()

    def _end_exclusive(self) -> None:
        with self._gate:
            self._exclusive = False
            self._gate.notify_all()

    def _close_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._store.close(session)
