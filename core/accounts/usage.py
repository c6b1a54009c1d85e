"""Usage counts: how often each user searches, chats and uploads per day."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import InstrumentedAttribute

from braid.core.ledger.database import execute
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.outages import log_failure
from braid.core.ledger.prepared import ADD_USAGE
from braid.core.ledger.tables import UsageRow

WRITE_EVERY_S = 5.0

logger = logging.getLogger(__name__)


class Usage:
    """Counts by day, user and kind (``search``, ``chat``, ``upload`` …).

    They are collected in memory and written every ``write_every_s`` seconds by a thread of their own, so that a search
    does not wait for the database's lock. A process that is killed loses the counts of its last seconds.
    """

    def __init__(self, ledger: Ledger, *, write_every_s: float = WRITE_EVERY_S) -> None:
        self._database = ledger.database
        self._write_every_s = write_every_s
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._unwritten: Counter[tuple[str, int, str]] = Counter()
        self._writer: threading.Timer | None = None

    def count(self, user_id: int, kind: str, times: int = 1) -> None:
        """Add to today's count."""
        with self._lock:
            self._unwritten[_day(datetime.now(UTC)), user_id, kind] += times
            if self._writer is None:
                self._writer = threading.Timer(self._write_every_s, self._write_later)
                self._writer.daemon = True
                self._writer.start()

    def write(self) -> None:
        """Write the counts collected so far; those that another thread is writing are written when this returns."""
        with self._writing:
            self._write()

    def _write(self) -> None:
        with self._lock:
            counted, self._unwritten = self._unwritten, Counter()
            if self._writer is not None:
                self._writer.cancel()
                self._writer = None
        if not counted:
            return
        try:
            with self._database.write() as connection:
                # in one order for all processes, of which two would wait for each other otherwise
                for (day, user_id, kind), times in sorted(counted.items()):
                    execute(connection, ADD_USAGE, day=day, user_id=user_id, kind=kind, times=times)
        except SQLAlchemyError:
            with self._lock:
                self._unwritten += counted
            raise

    def _write_later(self) -> None:
        try:
            self.write()
        except SQLAlchemyError as error:  # the next count tries again
            log_failure(logger, "counting what is used", error)

    def daily(self, *, days: int = 30) -> list[tuple[str, str, int]]:
        """Return (day, kind, count) over all users of the last ``days`` days, by day."""
        return [(day, kind, count) for day, kind, count in self._sums(UsageRow.day, days)]

    def by_user(self, *, days: int = 30) -> list[tuple[int, str, int]]:
        """Return (user id, kind, count) of the last ``days`` days."""
        return [(user_id, kind, count) for user_id, kind, count in self._sums(UsageRow.user_id, days)]

    def _sums(self, by: InstrumentedAttribute[Any], days: int) -> list[tuple[Any, str, int]]:
        self.write()
        since = _day(datetime.now(UTC) - timedelta(days=days - 1))
        statement = select(by, UsageRow.kind, func.sum(UsageRow.count)).where(UsageRow.day >= since)
        rows = self._database.fetch(statement.group_by(by, UsageRow.kind).order_by(by, UsageRow.kind))
        return [(key, kind, int(count)) for key, kind, count in rows]


def last_days(days: int) -> Sequence[str]:
    """Return the names of the last ``days`` days, the oldest first: the axis of a chart."""
    today = datetime.now(UTC)
    return [_day(today - timedelta(days=back)) for back in range(days - 1, -1, -1)]


def _day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d")
