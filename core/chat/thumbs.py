"""Thumbs on whole answers: each user's own, one per answer, and counted for administrators."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import select, update

from braid.core.chat.turns.rows import IS_THERE, OF_THOSE_THERE
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import ConversationRow, MessageRow
from braid.core.types import MAX_ID

Thumb = Literal["up", "down", "none"]
"""``none`` takes a thumb back."""
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class ThumbCount:
    """The thumbs of one generator: a chat model by its name, or ``extractive``."""

    generator: str
    up: int = 0
    down: int = 0


class AnswerThumbs:
    """The thumbs in the ledger. A thumb is stored with its answer, and deleted with it."""

    def __init__(self, ledger: Ledger) -> None:
        self._database = ledger.database

    def put(self, user_id: int, conversation_id: int, message_id: int, thumb: Thumb) -> None:
        """Set or take back a thumb. Raises NotFoundError if this is no answer in a conversation of this user."""
        if thumb not in get_args(Thumb):
            raise InvalidInputError(f"kind is {thumb!r}; choose one of {', '.join(get_args(Thumb))}", field="kind")
        owned = select(ConversationRow.id).where(
            ConversationRow.id == conversation_id, ConversationRow.user_id == user_id, IS_THERE
        )
        answer = (
            MessageRow.id == message_id,
            MessageRow.role == "assistant",
            MessageRow.conversation_id.in_(owned),
        )
        found = 0
        if max(conversation_id, message_id) <= MAX_ID:
            with self._database.write() as connection:
                statement = update(MessageRow).where(*answer).values(thumb="" if thumb == "none" else thumb)
                found = connection.execute(statement).rowcount
        if not found:
            raise NotFoundError(Reason("there is no answer %(id)s in this conversation", id=message_id))

    def counts(self, *, days: int = 30) -> list[ThumbCount]:
        """Count the thumbs on all users' answers of the last ``days`` days, per generator, the most judged first."""
        generator = MessageRow.settings["generator"].as_string()
        since = time.time() - days * DAY_S
        given = MessageRow.thumb != "", MessageRow.created_at >= since, OF_THOSE_THERE
        statement = select(generator, MessageRow.thumb).where(*given)
        counted: dict[str, dict[str, int]] = {}
        for name, thumb in self._database.fetch(statement):
            of_one = counted.setdefault(name or "", {"up": 0, "down": 0})
            of_one[thumb] += 1
        found = [ThumbCount(name, **thumbs) for name, thumbs in counted.items()]
        return sorted(found, key=lambda each: (-(each.up + each.down), each.generator))
