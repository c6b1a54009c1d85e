"""The audit log: acts of administrators."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import insert, select

from braid.core.ledger.database import storable
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import AuditRow


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
    """The ledger's list of administrative acts, which can only be added to."""

    def __init__(self, ledger: Ledger) -> None:
        self._database = ledger.database

    def add(self, actor: str, action: str, target: str, detail: str = "") -> None:
        """Record an act. ``detail`` must hold no secret and no document text."""
        values = {"actor": actor, "action": action, "target": target, "detail": detail}
        with self._database.write() as connection:
            row = {name: storable(value) for name, value in values.items()}
            connection.execute(insert(AuditRow).values(at=time.time(), **row))

    def entries(self, *, limit: int = 100, offset: int = 0) -> list[AuditEntry]:
        """Return the acts, the newest first."""
        statement = select(*AuditRow.__table__.columns).order_by(AuditRow.id.desc()).limit(limit).offset(offset)
        with self._database.read() as connection:
            return [AuditEntry(**row._mapping) for row in connection.execute(statement)]
