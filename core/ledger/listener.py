"""Hears what other processes say by `Database.notify`: there is new work, which is committed already."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from braid.core.ledger.database import CHANNEL
from braid.core.ledger.outages import log_failure

if TYPE_CHECKING:
    from psycopg import Connection

DRIVER = "psycopg"
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
"""Shortest and longest time between two attempts to connect."""
STOP_S = 2.0
"""Time that `stop` waits at most: an attempt to connect may take longer, and closes what it opened."""
ALIVE = {
    "connect_timeout": 10,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
}
"""Has the system notice within 15 seconds that the server is cut off, which otherwise only who sends something does."""

logger = logging.getLogger(__name__)


class Listener:
    """A thread with a connection of its own, outside of the pool, which it opens again whenever it is lost.

    ``heard`` is called in the thread with what was said, and with "" after each connection: something may have been
    said before. It must be quick.
    """

    def __init__(self, engine: Engine, heard: Callable[[str], object], *, first_pause_s: float = FIRST_PAUSE_S) -> None:
        self._engine = engine
        self._heard = heard
        self._first_pause_s = first_pause_s
        self._connection: Connection[Any] | None = None
        self._end: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self.is_connected = False

    def start(self) -> None:
        """Begin to listen; with another driver than psycopg, nothing is ever heard."""
        if self._engine.dialect.driver == DRIVER:
            ending, self._end = socket.socketpair()
            self._thread = threading.Thread(target=self._run, args=(ending,), name="braid-listener", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Close the connection, and end the thread."""
        if self._end is not None:
            self._end.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_S)

    def forget_in_child(self) -> None:
        """Let go, in the child of a fork, of the connection that is the parent's: without a word to the server."""
        if self._connection is not None:
            with suppress(OSError):
                os.close(self._connection.fileno())

    def _run(self, ending: socket.socket) -> None:
        pause_s = self._first_pause_s
        with ending:
            while True:
                try:
                    with closing(self._connect()) as self._connection:
                        pause_s, self.is_connected = self._first_pause_s, True
                        self._listen(self._connection, ending)
                except Exception as error:  # the edge of a thread, which must outlive an outage of the database
                    log_failure(logger, "listening for new work", error)
                finally:
                    self.is_connected, self._connection = False, None
                if wait([ending], pause_s):
                    return
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _connect(self) -> Connection[Any]:
        arguments, options = self._engine.dialect.create_connect_args(self._engine.url)
        connect: Callable[..., Connection[Any]] = self._engine.dialect.loaded_dbapi.connect
        with self._outages_named():
            connection = connect(*arguments, **{**ALIVE, **options, "autocommit": True})  # what the URL says goes first
            try:
                connection.execute(f"LISTEN {CHANNEL}")
            except BaseException:
                connection.close()
                raise
            return connection

    def _listen(self, connection: Connection[Any], ending: socket.socket) -> None:
        self._heard("")
        while ending not in wait([ending, connection.fileno()]):
            with self._outages_named():
                connection.pgconn.consume_input()
            said = set()
            while (notification := connection.pgconn.notifies()) is not None:
                said.add(notification.extra.decode())
            for each in sorted(said):
                self._heard(each)

    @contextmanager
    def _outages_named(self) -> Iterator[None]:
        """Raise what the driver raises as SQLAlchemy does, so that an outage is known as one."""
        error_of = self._engine.dialect.loaded_dbapi.Error
        try:
            yield
        except error_of as error:
            raise DBAPIError.instance(None, None, error, error_of, hide_parameters=True) from error
