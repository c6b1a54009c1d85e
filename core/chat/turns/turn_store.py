"""Stores turns while they run: first the question, then the answer as it grows, and in the end how it ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select, update

from braid.core.chat.turns.branches import Branches
from braid.core.chat.turns.rows import (
    KEY,
    State,
    StoredTurn,
    abandoned_answers,
    choose,
    end_answers,
    insert_answer,
    insert_question,
    read_branches,
    require_conversation,
    touch,
    write_answer,
    writer_in,
)
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import MessageRow


class TurnStore:
    """Stores turns. Raises NotFoundError for a conversation or a message that is not there, or is another user's."""

    def __init__(self, ledger: Ledger) -> None:
        self._database = ledger.database

    def begin(self, conversation_id: int, request: ChatRequest, *, instead_of: int | None = None) -> StoredTurn:
        """Store a question whose answer is about to be written.

        It follows the last answer, or becomes a variant of the question ``instead_of``.
        """
        user_id, writer = require_user(request), writer_in(self._database)
        with self._database.write() as connection:
            require_conversation(connection, user_id, conversation_id, lock=True)
            branches = read_branches(connection, conversation_id)
            if instead_of is None:
                parent_id = next(iter(branches.path()[-1:]), None)
            else:
                parent_id = _require(branches, instead_of)
                if not branches.is_question(instead_of):
                    raise NotFoundError(f"there is no question {instead_of} in this conversation")
            question_id = insert_question(connection, conversation_id, request, parent_id)
            answer_id = insert_answer(connection, conversation_id, question_id, writer=writer)
            touch(connection, conversation_id)
        return StoredTurn(conversation_id, question_id, answer_id)

    def begin_variant(self, user_id: int, conversation_id: int, answer_id: int) -> StoredTurn:
        """Store that another answer to the same question is about to be written."""
        writer = writer_in(self._database)
        with self._database.write() as connection:
            require_conversation(connection, user_id, conversation_id, lock=True)
            question_id = _question_of(read_branches(connection, conversation_id), answer_id)
            added_id = insert_answer(connection, conversation_id, question_id, writer=writer)
            touch(connection, conversation_id)
        return StoredTurn(conversation_id, question_id, added_id)

    def resume(self, user_id: int, conversation_id: int, answer_id: int) -> StoredTurn:
        """Store that an answer that is not complete is being continued. Raises InvalidInputError for one that is."""
        writer = writer_in(self._database)
        with self._database.write() as connection:
            require_conversation(connection, user_id, conversation_id, lock=True)
            question_id = _question_of(read_branches(connection, conversation_id), answer_id)
            answer = MessageRow.id == answer_id
            settings = connection.execute(select(MessageRow.settings).where(answer)).scalar_one()
            row = update(MessageRow).where(answer, MessageRow.state.not_in(("complete", "running")))
            values = {"state": "running", "created_at": time.time(), "settings": {**settings, KEY: writer}}
            if not connection.execute(row.values(**values)).rowcount:
                raise InvalidInputError(f"the answer {answer_id} is complete, or is being written", field="message_id")
            touch(connection, conversation_id)
        return StoredTurn(conversation_id, question_id, answer_id)

    def is_written_here(self, settings: Mapping[str, Any]) -> bool:
        """Return whether this process writes the running answer that has these settings."""
        return bool(settings.get(KEY) == writer_in(self._database))

    def save(self, turn: StoredTurn, result: ChatResult, state: State) -> bool:
        """Store the answer as far as it came. False for a ``running`` one that another process has ended."""
        writer = writer_in(self._database)
        with self._database.write() as connection:
            return write_answer(connection, turn, result, state, writer=writer)

    def fail(self, turn: StoredTurn, reason: str) -> None:
        """Store that there is no answer, and why, in words that the user may read."""
        with self._database.write() as connection:
            answer = MessageRow.id == turn.answer_id
            settings = connection.execute(select(MessageRow.settings).where(answer)).scalar_one_or_none() or {}
            values = {"state": "failed", "settings": {**settings, "error": reason}}
            connection.execute(update(MessageRow).where(answer).values(**values))

    def end(self, user_id: int, conversation_id: int, answer_id: int, state: State) -> bool:
        """Mark a running answer as ended; a process that still writes the answer stops within seconds. Return False,
        and change nothing, for an answer that was not running.
        """
        with self._database.write() as connection:
            require_conversation(connection, user_id, conversation_id)
            which = MessageRow.conversation_id == conversation_id, MessageRow.id == answer_id
            return bool(end_answers(connection, *which, state=state))

    def interrupt_abandoned(self) -> int:
        """End the answers whose process has died, in the middle of writing; returns how many there were."""
        in_fleet = bool(self._database.process_name())
        with self._database.read() as connection:
            if not abandoned_answers(connection, in_fleet=in_fleet):
                return 0
        with self._database.write() as connection:
            abandoned = abandoned_answers(connection, in_fleet=in_fleet)
            return end_answers(connection, MessageRow.id.in_(abandoned), state="interrupted")

    def choose(self, user_id: int, conversation_id: int, message_id: int) -> None:
        """Choose a message among its variants: it is shown, and the next question follows what is below it."""
        with self._database.write() as connection:
            require_conversation(connection, user_id, conversation_id, lock=True)
            parent_id = _require(read_branches(connection, conversation_id), message_id)
            choose(connection, conversation_id, message_id, parent_id)


def require_user(request: ChatRequest) -> int:
    """Return the request's user. Raises InvalidInputError if it has none."""
    if request.user_id is None:
        raise InvalidInputError("conversations are stored for a user; give a user_id", field="user_id")
    return request.user_id


def _require(branches: Branches, message_id: int) -> int | None:
    if message_id not in branches:
        raise NotFoundError(f"there is no message {message_id} in this conversation")
    return branches.parent(message_id)


def _question_of(branches: Branches, answer_id: int) -> int:
    question_id = _require(branches, answer_id)
    if question_id is None or branches.is_question(answer_id):
        raise NotFoundError(Reason("there is no answer %(id)s in this conversation", id=answer_id))
    return question_id
