"""Stored conversations: each user's own, with the settings used and the passages as they were cited."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Select, delete, func, insert, select, update

from braid.core.chat.columns import citation_columns, request_settings, result_settings
from braid.core.chat.types import ChatRequest, ChatResult, Turn
from braid.core.datasets.registry import Registry
from braid.core.datasets.scope import resolve_scope
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.database import storable
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import CitationRow, ConversationRow, MessageRow
from braid.core.types import MAX_ID

MAX_TITLE_CHARS = 200
TITLE_CHARS = 80
"""Longest title that a conversation gets from its first question."""
MESSAGE = (
    MessageRow.id,
    MessageRow.role,
    MessageRow.text,
    MessageRow.settings,
    MessageRow.created_at,
    MessageRow.thumb,
)


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation in a list. Times are seconds since the epoch."""

    id: int
    user_id: int
    title: str
    created_at: float
    updated_at: float


@dataclass(frozen=True, slots=True)
class StoredCitation:
    """A cited passage with its text as it was cited."""

    number: int
    chunk_id: str
    dataset_id: int
    document_id: int
    source: str
    title: str
    heading_path: str
    page: int | None
    line: int | None
    text: str
    deleted: bool
    """The passage was deleted or changed, or the user may no longer read it."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A question with its settings, or an answer with how it was made."""

    id: int
    role: Literal["user", "assistant"]
    text: str
    settings: Mapping[str, Any]
    created_at: float
    thumb: str = ""
    """The user's thumb on the answer: ``up``, ``down`` or empty."""
    citations: tuple[StoredCitation, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """The ids of a stored turn: those of its conversation and of its two messages."""

    conversation_id: int
    question_id: int
    answer_id: int

    @property
    def message_ids(self) -> tuple[int, int]:
        """Both ids, for `ConversationStore.messages`."""
        return self.question_id, self.answer_id


class ConversationStore:
    """Stores each user's conversations. Raises NotFoundError for one that does not exist or is another user's.

    >>> from braid.core.chat.conversation import Conversation
    >>> store = ConversationStore(braid.ledger, braid.registry)
    >>> request = ChatRequest(1, "How long is the warranty of the pump?", dataset_ids=[1])
    >>> stored = store.add(store.create(user_id=1).id, request, Conversation(braid).ask(request))
    >>> [message.role for message in store.messages(1, stored.conversation_id)]
    ['user', 'assistant']
    """

    def __init__(self, ledger: Ledger, registry: Registry) -> None:
        self._ledger = ledger
        self._registry = registry

    def create(self, user_id: int, title: str = "") -> StoredConversation:
        """Create an empty conversation. Without a title it gets one from its first question."""
        if self._ledger.user(user_id) is None:
            raise NotFoundError(f"there is no user {user_id}; add one first")
        now = time.time()
        values: dict[str, Any] = {"user_id": user_id, "title": _title(title), "created_at": now, "updated_at": now}
        with self._ledger.database.write() as connection:
            statement = insert(ConversationRow).values(**values).returning(ConversationRow.id)
            conversation_id = connection.execute(statement).scalar_one()
        return StoredConversation(id=conversation_id, **values)

    def conversations(self, user_id: int, *, limit: int | None = None, offset: int = 0) -> list[StoredConversation]:
        """Return the user's conversations, the one used last first."""
        statement = _select_conversations().where(ConversationRow.user_id == user_id)
        statement = statement.order_by(ConversationRow.updated_at.desc(), ConversationRow.id.desc())
        with self._ledger.database.read() as connection:
            rows = connection.execute(statement.limit(limit).offset(offset))
            return [StoredConversation(**row._mapping) for row in rows]

    def conversation(self, user_id: int, conversation_id: int) -> StoredConversation:
        """Return one of the user's conversations."""
        with self._ledger.database.read() as connection:
            return _require(connection, user_id, conversation_id)

    def rename(self, user_id: int, conversation_id: int, title: str) -> StoredConversation:
        """Change the title. Raises InvalidInputError for an empty one."""
        title = _title(title)
        if not title:
            raise InvalidInputError("the title is empty; type at least one character", field="title")
        with self._ledger.database.write() as connection:
            _require(connection, user_id, conversation_id)
            connection.execute(update(ConversationRow).where(ConversationRow.id == conversation_id).values(title=title))
            return _require(connection, user_id, conversation_id)

    def delete(self, user_id: int, conversation_id: int) -> None:
        """Delete it with its messages and citations."""
        with self._ledger.database.write() as connection:
            _require(connection, user_id, conversation_id)
            connection.execute(delete(ConversationRow).where(ConversationRow.id == conversation_id))

    def add(self, conversation_id: int, request: ChatRequest, result: ChatResult) -> StoredTurn:
        """Store a turn: the question with its settings, the answer with its citations, in one transaction.

        The result of a turn that was stopped comes from a `braid.core.chat.turn_recorder.TurnRecorder`.
        """
        if request.user_id is None:
            raise InvalidInputError("conversations are stored for a user; give a user_id", field="user_id")
        now = time.time()
        with self._ledger.database.write() as connection:
            _require(connection, request.user_id, conversation_id, lock=True)
            last = select(func.coalesce(func.max(MessageRow.position), 0))
            position = connection.execute(last.where(MessageRow.conversation_id == conversation_id)).scalar_one()
            common = {"conversation_id": conversation_id, "created_at": now}
            question = {"position": position + 1, "role": "user", "text": storable(request.typed_text)}
            answer = {"position": position + 2, "role": "assistant", "text": storable(result.text)}
            question_id = _insert(connection, **common, **question, settings=request_settings(request))
            answer_id = _insert(connection, **common, **answer, settings=result_settings(result))
            if result.citations:
                rows = [citation_columns(answer_id, citation) for citation in result.citations]
                connection.execute(insert(CitationRow), rows)
            row = update(ConversationRow).where(ConversationRow.id == conversation_id)
            connection.execute(row.values(updated_at=now))
            title = _first_title(request.typed_text)
            connection.execute(row.where(ConversationRow.title == "").values(title=title))
        return StoredTurn(conversation_id, question_id, answer_id)

    def messages(
        self, user_id: int, conversation_id: int, *, ids: Collection[int] | None = None
    ) -> list[StoredMessage]:
        """Return the messages in order: all, or those with the given ids."""
        wanted = MessageRow.conversation_id == conversation_id
        if ids is not None:
            wanted &= MessageRow.id.in_(ids)
        with self._ledger.database.read() as connection:
            _require(connection, user_id, conversation_id)
            rows = connection.execute(select(*MESSAGE).where(wanted).order_by(MessageRow.position)).all()
            cited = connection.execute(
                select(*CitationRow.__table__.columns)
                .join(MessageRow, MessageRow.id == CitationRow.message_id)
                .where(wanted)
                .order_by(CitationRow.message_id, CitationRow.number)
            ).all()
        there = self._still_there(user_id, cited)
        citations: dict[int, list[StoredCitation]] = {}
        for row in cited:
            values = {name: value for name, value in row._mapping.items() if name != "message_id"}
            deleted = row.chunk_id not in there
            citations.setdefault(row.message_id, []).append(StoredCitation(**values, deleted=deleted))
        return [StoredMessage(**row._mapping, citations=tuple(citations.get(row.id, ()))) for row in rows]

    def history(self, user_id: int, conversation_id: int) -> tuple[Turn, ...]:
        """Return the turns so far, for the next ChatRequest."""
        statement = select(MessageRow.role, MessageRow.text).order_by(MessageRow.position)
        with self._ledger.database.read() as connection:
            _require(connection, user_id, conversation_id)
            rows = connection.execute(statement.where(MessageRow.conversation_id == conversation_id)).all()
        return tuple(Turn(row.role, row.text) for row in rows if row.text)

    def last_settings(self, user_id: int, conversation_id: int) -> Mapping[str, Any]:
        """Return the settings of the last question, as in `StoredMessage.settings`; empty before the first."""
        with self._ledger.database.read() as connection:
            _require(connection, user_id, conversation_id)
            settings = connection.execute(
                select(MessageRow.settings)
                .where(MessageRow.conversation_id == conversation_id, MessageRow.role == "user")
                .order_by(MessageRow.position.desc())
                .limit(1)
            ).scalar_one_or_none()
        return settings or {}

    def _still_there(self, user_id: int, cited: Sequence[Any]) -> set[str]:
        """Return the ids of the cited chunks that the user may read now."""
        readable: set[str] = set()
        dataset_ids = sorted({row.dataset_id for row in cited})
        for start in range(0, len(dataset_ids), 500):
            part = dataset_ids[start : start + 500]
            scope = resolve_scope(self._ledger, self._registry, user_id=user_id, dataset_ids=part)
            readable |= self._ledger.visible(sorted({row.chunk_id for row in cited}), scope.dataset_ids)
        return readable


def _select_conversations() -> Select[Any]:
    return select(*ConversationRow.__table__.columns)


def _require(connection: Connection, user_id: int, conversation_id: int, *, lock: bool = False) -> StoredConversation:
    row = None
    if 0 < conversation_id <= MAX_ID:
        statement = _select_conversations().where(
            ConversationRow.id == conversation_id, ConversationRow.user_id == user_id
        )
        row = connection.execute(statement.with_for_update() if lock else statement).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no conversation {conversation_id}")
    return StoredConversation(**row._mapping)


def _insert(connection: Connection, **values: Any) -> int:
    return connection.execute(insert(MessageRow).values(**values).returning(MessageRow.id)).scalar_one()


def _title(title: str) -> str:
    title = " ".join(storable(title).split())
    if len(title) > MAX_TITLE_CHARS:
        raise InvalidInputError(
            f"the title has {len(title)} characters; at most {MAX_TITLE_CHARS} are allowed", field="title"
        )
    return title


def _first_title(text: str) -> str:
    line = " ".join(storable(text).split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"
