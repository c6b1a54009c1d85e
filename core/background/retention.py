"""Retention: conversations, audit log, counts of use and expired API tokens are deleted at an age, if one is set.

Conversations and datasets that were deleted by their users go for good at an age, too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from sqlalchemy import Select, delete, func, select

from braid.core.accounts.audit import DAY_S
from braid.core.chat.store import ConversationStore
from braid.core.data_directory import DataDirectory
from braid.core.errors import NotFoundError
from braid.core.ledger.deleted import IS_DELETED, DeletedDatasets
from braid.core.ledger.tables import ApiTokenRow, AuditRow, Base, ConversationRow, DatasetRow, UsageRow

Kept = Literal["conversations", "deleted", "audit", "usage", "expired_tokens"]
KEPT: tuple[Kept, ...] = get_args(Kept)
CONVERSATIONS_PER_READ = 100


@dataclass(frozen=True, slots=True)
class RetentionDays:
    """Days that each kind is kept; 0 means for ever."""

    conversations: int = 0
    """Since the last message or file; pinned or not, with the files that were attached."""
    deleted: int = 30
    """Conversations and datasets, since their user deleted them; until then they can be restored."""
    audit: int = 0
    usage: int = 0
    expired_tokens: int = 0
    """Since they expired; until then their owners see that they did."""

    def of(self, kind: Kept) -> int:
        """Return the days of a kind."""
        found: int = getattr(self, kind)
        return found


class Retention:
    """Counts and deletes what is older than its days.

    >>> Retention(braid, RetentionDays(audit=365)).preview()
    {'conversations': 0, 'deleted': 0, 'audit': 0, 'usage': 0, 'expired_tokens': 0}
    """

    def __init__(self, directory: DataDirectory, days: RetentionDays) -> None:
        self.days = days
        self._database = directory.ledger.database
        self._conversations = ConversationStore(directory.ledger, directory.registry)
        self._datasets = DeletedDatasets(directory.ledger)

    def preview(self) -> dict[Kept, int]:
        """Return how much of each kind `apply` would delete now; nothing where no days are set."""
        found: dict[Kept, int] = {}
        for kind in KEPT:
            found[kind] = self._count(kind) if self.days.of(kind) else 0
        return found

    def apply(self, *, now: float | None = None) -> Mapping[Kept, int]:
        """Delete what is too old, at the time ``now`` or by the clock; return how much of each kind it was."""
        now = time.time() if now is None else now
        done: dict[Kept, int] = {}
        for kind in KEPT:
            if not self.days.of(kind):
                done[kind] = 0
            elif kind == "conversations":
                done[kind] = self._delete_conversations(now)
            elif kind == "deleted":
                before = now - self.days.of(kind) * DAY_S
                done[kind] = self._conversations.delete_discarded(before) + self._datasets.erase_old(before)
            else:
                done[kind] = self._database.change(_old(kind, now - self.days.of(kind) * DAY_S, delete))
        return done

    def _count(self, kind: Kept) -> int:
        before = time.time() - self.days.of(kind) * DAY_S
        number = int(self._database.value(_old(kind, before, _counted)))
        if kind == "deleted":
            number += int(self._database.value(_counted(DatasetRow).where(IS_DELETED, DatasetRow.removed_at < before)))
        return number

    def _delete_conversations(self, now: float) -> int:
        before, number = now - self.days.conversations * DAY_S, 0
        columns = select(ConversationRow.id, ConversationRow.user_id).order_by(ConversationRow.id)
        last = 0
        while True:
            old = columns.where(ConversationRow.updated_at < before, ConversationRow.id > last)
            rows = self._database.fetch(old.limit(CONVERSATIONS_PER_READ))
            for row in rows:
                last = row.id
                try:
                    number += self._conversations.delete(row.user_id, row.id, unused_since=before)
                except NotFoundError:  # its user was quicker
                    continue
            if len(rows) < CONVERSATIONS_PER_READ:
                return number


def _counted(table: type[Base]) -> Select[Any]:
    return select(func.count()).select_from(table)


def _old(kind: Kept, before: float, start: Any) -> Any:
    """Return the statement on the rows of a kind from before a time."""
    if kind == "audit":
        return start(AuditRow).where(AuditRow.at < before)
    if kind == "usage":
        return start(UsageRow).where(UsageRow.day < f"{datetime.fromtimestamp(before, UTC):%Y-%m-%d}")
    if kind == "expired_tokens":
        return start(ApiTokenRow).where(ApiTokenRow.expires_at < before)
    if kind == "deleted":
        return start(ConversationRow).where(ConversationRow.deleted_at < before)
    return start(ConversationRow).where(ConversationRow.updated_at < before)
