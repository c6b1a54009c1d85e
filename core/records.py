"""What is kept for administrators: the audit log and how often each thing is used."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, insert, select, update
from sqlalchemy.exc import IntegrityError

from core.database import storable
from core.ledger import Ledger
from core.tables import AuditRow, UsageRow


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An administrative act. ``at`` is seconds since the epoch; ``action`` is a word such as ``user.disabled``."""

    id: int
    at: float
    actor: str
    action: str
    target: str
    detail: str


class AuditLog:
    """Administrative acts, only ever added to."""

    def __init__(self, ledger: Ledger) -> None:
        self._database = ledger.database

    def add(self, actor: str, action: str, target: str, detail: str = "") -> None:
        """Record an act. Put no secret and no document text into ``detail``."""
        values = {"actor": actor, "action": action, "target": target, "detail": detail}
        with self._database.write() as connection:
            row = {name: storable(value) for name, value in values.items()}
            connection.execute(insert(AuditRow).values(at=time.time(), **row))

    def entries(self, *, limit: int = 100, offset: int = 0) -> list[AuditEntry]:
        """The acts, the newest first."""
        statement = select(*AuditRow.__table__.columns).order_by(AuditRow.id.desc()).limit(limit).offset(offset)
        with self._database.read() as connection:
            return [AuditEntry(**row._mapping) for row in connection.execute(statement)]


class Usage:
    """How often something was done, by day, user and kind (``search``, ``chat``, ``upload`` …)."""

    def __init__(self, ledger: Ledger) -> None:
        self._database = ledger.database

    def count(self, user_id: int, kind: str, times: int = 1) -> None:
        """Add to today's count."""
        key = {"day": _day(datetime.now(UTC)), "user_id": user_id, "kind": kind}
        if self._raise(key, times):
            return
        try:
            with self._database.write() as connection:
                connection.execute(insert(UsageRow).values(**key, count=times))
        except IntegrityError:  # counted in the same moment elsewhere
            self._raise(key, times)

    def daily(self, *, days: int = 30) -> list[tuple[str, str, int]]:
        """(day, kind, count) over all users of the last ``days`` days, by day."""
        since = _day(datetime.now(UTC) - timedelta(days=days - 1))
        statement = (
            select(UsageRow.day, UsageRow.kind, func.sum(UsageRow.count))
            .where(UsageRow.day >= since)
            .group_by(UsageRow.day, UsageRow.kind)
            .order_by(UsageRow.day, UsageRow.kind)
        )
        with self._database.read() as connection:
            return [(day, kind, int(count)) for day, kind, count in connection.execute(statement)]

    def by_user(self, *, days: int = 30) -> list[tuple[int, str, int]]:
        """(user id, kind, count) of the last ``days`` days."""
        since = _day(datetime.now(UTC) - timedelta(days=days - 1))
        statement = (
            select(UsageRow.user_id, UsageRow.kind, func.sum(UsageRow.count))
            .where(UsageRow.day >= since)
            .group_by(UsageRow.user_id, UsageRow.kind)
            .order_by(UsageRow.user_id, UsageRow.kind)
        )
        with self._database.read() as connection:
            return [(user_id, kind, int(count)) for user_id, kind, count in connection.execute(statement)]

    def _raise(self, key: dict[str, object], times: int) -> bool:
        conditions = [getattr(UsageRow, name) == value for name, value in key.items()]
        with self._database.write() as connection:
            statement = update(UsageRow).where(*conditions).values(count=UsageRow.count + times)
            return bool(connection.execute(statement).rowcount)


def last_days(days: int) -> Sequence[str]:
    """The names of the last ``days`` days, the oldest first: the axis of a chart."""
    today = datetime.now(UTC)
    return [_day(today - timedelta(days=back)) for back in range(days - 1, -1, -1)]


def _day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d")
