"""Work that one process at a time does for all of a site: which one does it, and how far it is, by the ledger."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, select, update
from sqlalchemy.exc import SQLAlchemyError

from braid.core.errors import BraidError, Reason
from braid.core.ledger.database import clock, execute
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.outages import log_failure, outage_of
from braid.core.ledger.prepared import ADD_SHARED_WORK
from braid.core.ledger.tables import SharedWorkRow

BEAT_S = 5.0
"""Seconds between two signs of life of a worker."""
DEAD_S = 15.0
"""Seconds without a sign of life after which a worker counts as dead."""
INTERRUPTED = Reason("it was interrupted, because its process ended; start it again")

logger = logging.getLogger(__name__)


class SharedWork:
    """One kind of work. Its state is a JSON object, kept when the work has ended.

    `begin` in one process, or thread, refuses until `end`, or until the process has died.
    """

    def __init__(self, ledger: Ledger, name: str, *, beat_s: float = BEAT_S, dead_s: float = DEAD_S) -> None:
        self._database = ledger.database
        self._name = name
        self._row = SharedWorkRow.name == name
        self._beat_s, self._dead_s = beat_s, dead_s
        self._worker = ""
        self._ended = threading.Event()

    def read(self) -> tuple[dict[str, Any], bool]:
        """Return the state, and whether the work was begun and is neither ended nor given up by its death."""
        with self._database.read() as connection:
            worker, state, seen_at, now = self._read(connection)
        if worker and now - seen_at > self._dead_s:
            return {**state, "error": INTERRUPTED}, False
        return state, bool(worker)

    def begin(self, **changed: Any) -> bool:
        """Take the work and change the state so; False while it is done, here or elsewhere."""
        with self._database.write() as connection:
            execute(connection, ADD_SHARED_WORK, name=self._name)
            worker, state, seen_at, now = self._read(connection, lock=True)
            if worker and now - seen_at <= self._dead_s:
                return False
            self._worker = secrets.token_hex(8)
            values = {"worker": self._worker, "state": {**state, **changed}, "seen_at": now}
            connection.execute(update(SharedWorkRow).where(self._row).values(**values))
        self._ended = threading.Event()
        threading.Thread(target=self._live, args=(self._ended,), name=f"braid-{self._name}", daemon=True).start()
        return True

    def start(self, work: Callable[[], Mapping[str, Any]], **changed: Any) -> bool:
        """Begin, and do the work in a thread of its own; False while it is done, here or elsewhere.

        What it returns is the last change of the state; where it fails, that is why, as ``error``.
        """
        if not self.begin(**changed, error=""):
            return False
        threading.Thread(target=self._do, args=(work,), name=f"braid-{self._name}-work", daemon=True).start()
        return True

    def _do(self, work: Callable[[], Mapping[str, Any]]) -> None:
        changed: Mapping[str, Any]
        try:
            changed = work()
        except BraidError as error:
            self._database.note(error)
            changed = {"error": str(error)}
            logger.error("event=%s_failed reason=%r", self._name, changed["error"])
        except Exception as error:  # the edge of a thread: the page must not wait for ever
            log_failure(logger, f"the {self._name}", error)
            outage, kind = outage_of(error), type(error).__name__
            changed = {"error": outage.text if outage else f"internal error ({kind}); the log says more"}
        try:
            self.end(**changed)
        except SQLAlchemyError as error:  # it counts as interrupted
            log_failure(logger, f"the {self._name}", error)

    def show(self, **changed: Any) -> None:
        """Change the state of the work that was begun here; nothing if another process has begun it since."""
        self._write(changed, {})

    def end(self, **changed: Any) -> None:
        """Change the state for the last time, and let others begin."""
        self._ended.set()
        self._write(changed, {"worker": ""})

    def _live(self, ended: threading.Event) -> None:
        while not ended.wait(self._beat_s):
            try:
                self.show()
            except Exception as error:  # the edge of a thread: the next beat may come through
                log_failure(logger, f"the {self._name}", error)

    def _write(self, changed: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        with self._database.write() as connection:
            worker, state, _, now = self._read(connection, lock=True)
            if worker == self._worker:
                values = {"state": {**state, **changed}, "seen_at": now, **values}
                connection.execute(update(SharedWorkRow).where(self._row).values(**values))

    def _read(self, connection: Connection, *, lock: bool = False) -> tuple[str, dict[str, Any], float, float]:
        """Return the worker, the state, when it was last seen, and the time by the database's clock."""
        columns = (SharedWorkRow.worker, SharedWorkRow.state, SharedWorkRow.seen_at, clock(connection))
        statement = select(*columns).where(self._row)
        found = connection.execute(statement.with_for_update() if lock else statement).first()
        if found is None:
            return "", {}, 0.0, 0.0
        worker, state, seen_at, now = found
        return worker, state, seen_at, now
