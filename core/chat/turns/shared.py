"""Conversations that their owners share by a link, to be read by people who have an account."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from braid.core.chat.turns.rows import IS_THERE, read_branches, require_conversation
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.ledger.database import storable
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import ConversationLinkRow, ConversationRow, MessageRow, UserRow

TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class SharedConversation:
    """What a link leads to: the messages, by their ids, that the conversation had when it was shared."""

    user_id: int
    owner: str
    conversation_id: int
    message_ids: tuple[int, ...]
    created_at: float


class ConversationLinks:
    """The links of conversations, one each. Who has it reads the turns that there were, as far as they may read what
    the answers are from: see ``reader_id`` of `braid.core.chat.store.ConversationStore.messages`.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._database = ledger.database

    def share(self, user_id: int, conversation_id: int) -> str:
        """Share the chosen turns as they are now, and return the link's token; an earlier link leads here no more.

        Raises InvalidInputError while there is no answer.
        """
        with self._database.write() as connection:
            require_conversation(connection, user_id, conversation_id, lock=True)
            path = read_branches(connection, conversation_id).path()
            ended = select(MessageRow.id).where(
                MessageRow.id.in_(path), MessageRow.role == "assistant", MessageRow.state != "running"
            )
            answers = connection.execute(ended).scalars().all()
            if not answers:
                raise InvalidInputError(Reason("there is no answer to share yet; ask a question first"), field="id")
            token = secrets.token_urlsafe(TOKEN_BYTES)
            end_link(connection, conversation_id)
            values = {"token": token, "message_id": max(answers), "created_at": time.time()}
            connection.execute(insert(ConversationLinkRow).values(conversation_id=conversation_id, **values))
        return token

    def token(self, user_id: int, conversation_id: int) -> str:
        """Return the token of a conversation's link; empty without one."""
        with self._database.read() as connection:
            require_conversation(connection, user_id, conversation_id)
            found = select(ConversationLinkRow.token).where(ConversationLinkRow.conversation_id == conversation_id)
            return connection.execute(found).scalar() or ""

    def end(self, user_id: int, conversation_id: int) -> bool:
        """Take the link back; False without one."""
        with self._database.write() as connection:
            require_conversation(connection, user_id, conversation_id)
            return end_link(connection, conversation_id)

    def find(self, token: str) -> SharedConversation:
        """Return what a link leads to. Raises NotFoundError when it was taken back, its conversation was deleted, or
        its owner cannot sign in.
        """
        link = ConversationLinkRow
        statement = (
            select(UserRow.id, UserRow.name, link.conversation_id, link.message_id, link.created_at)
            .join(ConversationRow, ConversationRow.id == link.conversation_id)
            .join(UserRow, UserRow.id == ConversationRow.user_id)
            .where(link.token == storable(token), UserRow.disabled.is_(False), IS_THERE)
        )
        with self._database.read() as connection:
            row = connection.execute(statement).one_or_none()
            if row is None:
                raise NotFoundError(
                    Reason(
                        "this link leads nowhere: it was taken back, its conversation was deleted, or it is "
                        "incomplete; ask for a new one"
                    )
                )
            user_id, owner, conversation_id, message_id, created_at = row
            branches = read_branches(connection, conversation_id)
        shown = (*branches.above(message_id), message_id) if message_id in branches else ()
        return SharedConversation(user_id, owner, conversation_id, shown, created_at)


def end_link(connection: Connection, conversation_id: int) -> bool:
    """End a conversation's link in this transaction; False without one."""
    link = delete(ConversationLinkRow).where(ConversationLinkRow.conversation_id == conversation_id)
    return bool(connection.execute(link).rowcount)
