"""Sessions: one open Chroma client at a time, renewed before it has too many indexes in memory.

When Chroma evicts an index, it loses what was not saved, and it never frees memory otherwise. So the client is
closed and opened again before that, between calls.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from braid.core.errors import IndexUnavailableError
from braid.core.indexes.chroma.stores import Session, Store


class Sessions:
    """Lends the open session to any number of threads. Nothing is opened before the first call."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: Session | None = None
        self._gate = threading.Condition(threading.RLock())
        self._on_loan = 0
        self._exclusive = False
        self._closed = False

    @contextmanager
    def lend(self, collection: str = "") -> Iterator[Session]:
        """Give the open session until the block ends; ``collection`` is the one whose index will be used.

        A block must not lend again. Raises IndexUnavailableError when the store cannot be opened or is gone.
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
        """Give the open session like `lend`, while no other thread has it."""
        with self._gate:
            self._begin_exclusive()
        try:
            yield self._current()
        finally:
            self._end_exclusive()

    def renew(self) -> None:
        """Close the session, once running calls have ended; the next loan opens another one."""
        with self._gate:
            self._renew()

    def replace(self) -> bool:
        """Wait for the running calls, then replace the store by an empty one. False when that cannot be done."""
        with self._gate:
            self._begin_exclusive()
        try:
            self._close_session()
            return self._store.abandon()
        finally:
            self._end_exclusive()

    def close(self) -> None:
        """Wait for the running calls and close the session; further calls are refused."""
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
        """Close the session, with the gate held; it is released while others finish, so the caller must check again."""
        self._begin_exclusive()
        try:
            self._close_session()
        finally:
            self._end_exclusive()

    def _begin_exclusive(self) -> None:
        """Wait, with the gate held, until no other thread has the session or wants it alone."""
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
