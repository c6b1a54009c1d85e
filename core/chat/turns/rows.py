"""The rows of stored turns: questions, answers with their citations, and the words by which they are found.

The process that writes an answer is stored with it, by a name: others can tell whether it still lives. In a fleet it is
the name of the member, and the ledger has those that live.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update
from sqlalchemy.orm import aliased

from braid.core.chat.columns import citation_columns, request_settings, result_settings
from braid.core.chat.marks import marked
from braid.core.chat.turns.branches import Branches, Node
from braid.core.chat.turns.find import fold
from braid.core.chat.types import ChatRequest, ChatResult, with_text
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.ledger.database import Database, storable
from braid.core.ledger.tables import CitationRow, ConversationRow, MessageRow, MessageTextRow, ProcessRow
from braid.core.types import MAX_ID

State = Literal["complete", "running", "stopped", "interrupted", "cut", "failed"]
"""Of an answer: being written, whole, stopped by the user, lost in the middle, cut off by the model, or failed."""
MAX_TURN_S = 1_800
"""Seconds that a turn may take; one that is longer is interrupted."""
IS_THERE = ConversationRow.deleted_at.is_(None)
"""The condition that a conversation was not deleted, neither for good nor so that it can be restored."""
OF_THOSE_THERE = MessageRow.conversation_id.in_(select(ConversationRow.id).where(IS_THERE))
"""The condition that a message is in such a conversation."""
OVERDUE_S = 60
"""Seconds after which an answer that should have been ended is no longer waited for."""
MAX_MESSAGES = 2_000
"""Messages of one conversation, variants included: it is read as a whole in places."""
TITLE_CHARS = 80
"""Longest title that a conversation gets from its first question."""
MANY_LINES = 8
"""Of a question with more lines, such as one below a pasted mail, the line that asks is the title."""
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LINE_MARK = re.compile(r"^[ \t]{0,3}(?:#{1,6}|>|[-*+]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)")
_EMPHASIS = re.compile(r"(\*\*|__|`{1,2})(\S[^*_`\n]{0,200}?)\1")


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


def require_conversation(
    connection: Connection, user_id: int, conversation_id: int, *, lock: bool = False, also_deleted: bool = False
) -> Row[Any]:
    """Return the row of a conversation of this user. Raises NotFoundError for any other, and for a discarded one."""
    row = None
    if 0 < conversation_id <= MAX_ID:
        of_user = ConversationRow.id == conversation_id, ConversationRow.user_id == user_id
        statement = select(*ConversationRow.__table__.columns).where(*of_user)
        if not also_deleted:
            statement = statement.where(IS_THERE)
        row = connection.execute(statement.with_for_update() if lock else statement).one_or_none()
    if row is None:
        raise NotFoundError(Reason("there is no conversation %(id)s", id=conversation_id))
    return row


def read_branches(connection: Connection, conversation_id: int) -> Branches:
    """Return the tree of a conversation's messages."""
    columns = (MessageRow.id, MessageRow.parent_id, MessageRow.chosen)
    statement = select(*columns).where(MessageRow.conversation_id == conversation_id)
    return Branches(Node(*row) for row in connection.execute(statement.order_by(MessageRow.position)))


def insert_question(connection: Connection, conversation_id: int, request: ChatRequest, parent_id: int | None) -> int:
    """Insert a question below an answer, choose it among its variants, and return its id.

    A conversation without a title gets the question as one.
    """
    text = storable(request.typed_text)
    values = {"role": "user", "text": text, "settings": request_settings(request), "parent_id": parent_id}
    question_id = _insert(connection, conversation_id, values)
    _make_findable(connection, conversation_id, question_id, text)
    row = update(ConversationRow).where(ConversationRow.id == conversation_id)
    connection.execute(row.where(ConversationRow.title == "").values(title=_first_title(text)))
    return question_id


def insert_answer(connection: Connection, conversation_id: int, question_id: int, *, writer: str = "") -> int:
    """Insert an answer that is about to be written, choose it among its variants, and return its id."""
    settings = {KEY: writer}
    values = {"role": "assistant", "text": "", "settings": settings, "parent_id": question_id, "state": "running"}
    return _insert(connection, conversation_id, values)


def insert_copies(connection: Connection, conversation_id: int, messages: Sequence[Any]) -> None:
    """Insert messages of another conversation to a new one, each below the one before it, without citations that were
    withheld. All are few statements, whatever their number.
    """
    require_message_room(len(messages))
    now = time.time()
    rows = [
        {
            "conversation_id": conversation_id,
            "position": position,
            "created_at": now,
            "role": each.role,
            "text": each.text,
            "settings": each.settings,
            "state": "interrupted" if each.state == "running" else each.state,
        }
        for position, each in enumerate(messages, start=1)
    ]
    if not rows:
        return
    connection.execute(insert(MessageRow), rows)
    own = MessageRow.conversation_id == conversation_id
    before = aliased(MessageRow)
    above = select(before.id).where(
        before.conversation_id == conversation_id, before.position == MessageRow.position - 1
    )
    connection.execute(update(MessageRow).where(own).values(parent_id=above.scalar_subquery()))
    ids = connection.execute(select(MessageRow.id).where(own).order_by(MessageRow.position)).scalars().all()
    copies = list(zip(ids, messages, strict=True))
    texts = [{"message_id": id_, "conversation_id": conversation_id, "folded": fold(each.text)} for id_, each in copies]
    connection.execute(insert(MessageTextRow), texts)
    columns = [column.name for column in CitationRow.__table__.columns if column.name != "message_id"]
    kept = [
        {"message_id": id_, **{name: getattr(cited, name) for name in columns}}
        for id_, each in copies
        for cited in each.citations
        if cited.fate != "withheld"
    ]
    if kept:
        connection.execute(insert(CitationRow), kept)


def write_answer(
    connection: Connection, turn: StoredTurn, result: ChatResult, state: State, *, writer: str = ""
) -> bool:
    """Write the answer as far as it came; ``writer`` goes on with it. Raises NotFoundError if it was deleted.

    False, with nothing written, for an answer that is ``running`` here, and was ended by another process.
    """
    written = marked(result.text, result.marks)
    if (kept := storable(written)) != written:
        result = replace(result, support=())  # its places are those of another text
    result = with_text(result, kept)
    row, settings = update(MessageRow).where(MessageRow.id == turn.answer_id), result_settings(result)
    if state == "running":
        row, settings = row.where(MessageRow.state == "running"), {**settings, KEY: writer}
    if not connection.execute(row.values(text=result.text, settings=settings, state=state)).rowcount:
        if connection.execute(select(MessageRow.id).where(MessageRow.id == turn.answer_id)).first():
            return False
        raise NotFoundError(Reason("there is no conversation %(id)s", id=turn.conversation_id))
    connection.execute(delete(CitationRow).where(CitationRow.message_id == turn.answer_id))
    if result.citations:
        rows = [citation_columns(turn.answer_id, citation) for citation in result.citations]
        connection.execute(insert(CitationRow), rows)
    if state != "running":
        _make_findable(connection, turn.conversation_id, turn.answer_id, result.text)
    return True


def abandoned_answers(connection: Connection, *, in_fleet: bool) -> list[int]:
    """Return the ids of answers whose row says that they are being written, though no process writes them any more.

    In a fleet a process lives while the ledger has it, and one of the same number on this machine means nothing.
    """
    columns = (MessageRow.id, MessageRow.settings, MessageRow.created_at)
    overdue = time.time() - MAX_TURN_S - OVERDUE_S
    running = connection.execute(select(*columns).where(MessageRow.state == "running")).all()
    members = set(connection.execute(select(ProcessRow.name)).scalars()) if running and in_fleet else set()
    writes = members.__contains__ if in_fleet else lives
    return [
        message_id
        for message_id, settings, created_at in running
        if created_at < overdue or not writes(str(settings.get(KEY, "")))
    ]


def end_answers(connection: Connection, *which: ColumnElement[bool], state: State) -> int:
    """End answers whose row says that they are being written, let their words be found, and return how many."""
    columns = (MessageRow.id, MessageRow.conversation_id, MessageRow.text)
    ended = update(MessageRow).where(MessageRow.state == "running", *which).values(state=state).returning(*columns)
    rows = connection.execute(ended).all()
    for message_id, conversation_id, text in rows:
        _make_findable(connection, conversation_id, message_id, text)
    return len(rows)


def require_message_room(messages: int) -> None:
    """Raise InvalidInputError when a conversation would have more messages than it may."""
    if messages > MAX_MESSAGES:
        told = f"the conversation has {MAX_MESSAGES:,} messages, which is the limit; start a new one"
        raise InvalidInputError(told, field="message")


def choose(connection: Connection, conversation_id: int, message_id: int, parent_id: int | None) -> None:
    """Choose a message among its variants."""
    variants = update(MessageRow).where(
        MessageRow.conversation_id == conversation_id, MessageRow.parent_id.is_not_distinct_from(parent_id)
    )
    connection.execute(variants.values(chosen=MessageRow.id == message_id))


def touch(connection: Connection, conversation_id: int) -> None:
    """Make the conversation the one used last; one that was archived is back in the list."""
    row = update(ConversationRow).where(ConversationRow.id == conversation_id)
    connection.execute(row.values(updated_at=time.time(), archived=False))


def _insert(connection: Connection, conversation_id: int, values: dict[str, Any]) -> int:
    last = select(func.coalesce(func.max(MessageRow.position), 0)).where(MessageRow.conversation_id == conversation_id)
    position = connection.execute(last).scalar_one() + 1
    require_message_room(position)
    common = {"conversation_id": conversation_id, "position": position, "created_at": time.time()}
    statement = insert(MessageRow).values(**common, **values).returning(MessageRow.id)
    message_id: int = connection.execute(statement).scalar_one()
    choose(connection, conversation_id, message_id, values["parent_id"])
    return message_id


def _make_findable(connection: Connection, conversation_id: int, message_id: int, text: str) -> None:
    connection.execute(delete(MessageTextRow).where(MessageTextRow.message_id == message_id))
    values = {"message_id": message_id, "conversation_id": conversation_id, "folded": fold(text)}
    connection.execute(insert(MessageTextRow).values(**values))


def _first_title(text: str) -> str:
    """Return the beginning of a question without what is Markdown; of a long one the last line that asks."""
    said = _CODE.sub(" ", text).strip() or text.replace("```", " ")
    lines = [line for line in map(str.strip, said.splitlines()) if line]
    asking = [line for line in lines if line.endswith(("?", "？"))]
    if len(lines) > MANY_LINES and asking:
        said = asking[-1]
    plain = _LINK.sub(r"\1", _LINE_MARK.sub("", said))
    line = " ".join(_EMPHASIS.sub(r"\2", plain).split()) or " ".join(text.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


# ---------------------------------------------------------------- the process that writes an answer

KEY = "writer"
"""Where the name is in the settings of an answer that is being written."""

_named: dict[int, str] = {}


def this_writer() -> str:
    """Return the name of this process, which no other process has, not even a later one with the same number."""
    pid = os.getpid()  # another one in the child of a fork
    return _named.get(pid) or _named.setdefault(pid, f"{pid}-{secrets.token_hex(4)}")


def writer_in(database: Database) -> str:
    """Return the name under which this process writes answers to the database."""
    return database.process_name() or this_writer()


def lives(writer: str) -> bool:
    """Return whether the process with this name may still write. On Windows only this one does: no other is asked."""
    number = writer.partition("-")[0]
    if writer == this_writer() or not number.isdigit():
        return writer == this_writer()
    if int(number) == os.getpid() or os.name == "nt":
        return False
    with suppress(PermissionError):  # it is another user's, and so not one of ours; but it is there
        try:
            os.kill(int(number), 0)
        except (ProcessLookupError, OverflowError):
            return False
    return True
