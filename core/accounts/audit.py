"""The audit log: what administrators and commands did, who signed in or failed to, tokens, passwords, exports."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, or_, select

from braid.core.ledger import prepared
from braid.core.ledger.database import execute, storable
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import AuditRow

DAY_S = 86_400
ENTRIES_PER_READ = 500
_TEXTS = (AuditRow.actor, AuditRow.action, AuditRow.target, AuditRow.detail)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An act. ``at`` is seconds since the epoch; ``action`` is a word such as ``user.disabled``."""

    id: int
    at: float
    actor: str
    action: str
    target: str
    detail: str


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are wanted; empty fields select all. Times are seconds since the epoch."""

    text: str = ""
    """Occurs in the actor, the action, the target or the detail."""
    action: str = ""
    """An action, or the beginning of several before a dot: ``user`` selects ``user.added`` and ``user.removed``."""
    since: float | None = None
    until: float | None = None
    """Only entries before this moment."""
    person: str = ""
    """Whoever did it, or whom it was done to."""
    begins: tuple[str, ...] = ()
    """The action begins with one of these; none selects all."""


class AuditLog:
    """The ledger's list of acts. Entries are added, never changed, and go with their age alone."""

    def __init__(self, ledger: Ledger, *, entries_per_read: int = ENTRIES_PER_READ) -> None:
        self._database = ledger.database
        self._entries_per_read = entries_per_read

    def add(self, actor: str, action: str, target: str, detail: str = "") -> None:
        """Record an act. ``detail`` must hold no secret and no document text."""
        with self._database.write() as connection:
            add_entry(connection, actor, action, target, detail)

    def entries(self, wanted: AuditFilter = AuditFilter(), *, limit: int = 100, offset: int = 0) -> list[AuditEntry]:
        """Return the acts, the newest first."""
        statement = select(*AuditRow.__table__.columns).where(*_conditions(wanted)).order_by(AuditRow.id.desc())
        return [AuditEntry(**row._mapping) for row in self._database.fetch(statement.limit(limit).offset(offset))]

    def all(self, wanted: AuditFilter = AuditFilter()) -> Iterator[AuditEntry]:
        """Yield the acts, the oldest first, a few in memory at a time; those that are added meanwhile too."""
        last = 0
        statement = select(*AuditRow.__table__.columns).where(*_conditions(wanted)).order_by(AuditRow.id)
        while True:
            rows = self._database.fetch(statement.where(AuditRow.id > last).limit(self._entries_per_read))
            yield from (AuditEntry(**row._mapping) for row in rows)
            if len(rows) < self._entries_per_read:
                return
            last = rows[-1].id

    def actions(self) -> list[str]:
        """Return the actions that occur, sorted."""
        return list(self._database.values(select(AuditRow.action).distinct().order_by(AuditRow.action)))


def add_entry(connection: Connection, actor: str, action: str, target: str, detail: str = "") -> None:
    """Record an act in a transaction; the ledger may be of any earlier version, too."""
    values = {"actor": actor, "action": action, "target": target, "detail": detail}
    row = {name: storable(value) for name, value in values.items()}
    execute(connection, prepared.ADD_ACT, at=time.time(), **row)


def _conditions(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if text := storable(wanted.text).strip():
        found.append(or_(*(column.icontains(text, autoescape=True) for column in _TEXTS)))
    if action := storable(wanted.action).strip():
        found.append(or_(AuditRow.action == action, AuditRow.action.startswith(f"{action}.", autoescape=True)))
    if person := storable(wanted.person).strip():
        found.append(or_(AuditRow.actor == person, AuditRow.target == person))
    if wanted.begins:
        found.append(or_(*(AuditRow.action.startswith(each, autoescape=True) for each in wanted.begins)))
    if wanted.since is not None:
        found.append(AuditRow.at >= wanted.since)
    if wanted.until is not None:
        found.append(AuditRow.at < wanted.until)
    return found
