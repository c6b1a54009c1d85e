"""Stored conversations: each user's own, with the settings used and the passages as they were cited."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from sqlalchemy import Connection, Select, delete, exists, func, insert, or_, select, update

from braid.core.batches import batches
from braid.core.chat.columns import asked_datasets, copied_settings
from braid.core.chat.files import ConversationFiles, delete_files
from braid.core.chat.marks import literal, marked
from braid.core.chat.texts import Language
from braid.core.chat.turns.branches import Branches
from braid.core.chat.turns.cited_passages import (
    Fate,
    Fates,
    fates,
    lost_answers,
    lost_of,
    readable_of,
    require_readable,
    searched_in,
    withheld_settings,
    withheld_text,
)
from braid.core.chat.turns.find import excerpt, find_messages, fold, spoken, words_of
from braid.core.chat.turns.rows import (
    IS_THERE,
    MAX_TURN_S,
    State,
    StoredTurn,
    end_answers,
    insert_answer,
    insert_copies,
    insert_question,
    read_branches,
    require_conversation,
    require_message_room,
    touch,
    write_answer,
)
from braid.core.chat.turns.shared import ConversationLinks, SharedConversation
from braid.core.chat.turns.turn_store import require_user
from braid.core.chat.types import ChatRequest, ChatResult, Turn
from braid.core.datasets.registry import Registry
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.database import storable
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.quota import require_room
from braid.core.ledger.tables import CitationRow, ConversationRow, DatasetRow, MessageRow

MAX_TITLE_CHARS = 200
MAX_LABEL_CHARS = 60
MOST_DISCARDED = 1_000
"""Deleted conversations of one user that can be restored; of more the oldest are deleted for good."""
OVERDUE_S = MAX_TURN_S + 60
"""Seconds after which nothing writes an answer any more, whatever is stored of it."""
MOST_IDS = 1_000
"""Ids of messages in one statement."""
MESSAGES_PER_READ = 20
"""Messages in memory at a time where all are gone through; each may have a thousand hits and a hundred citations."""
MAX_HISTORY = 200
"""Messages that a question takes along at most."""
MESSAGE = (
    MessageRow.id,
    MessageRow.role,
    MessageRow.text,
    MessageRow.settings,
    MessageRow.created_at,
    MessageRow.thumb,
    MessageRow.fault,
    MessageRow.comment,
    MessageRow.parent_id,
    MessageRow.state,
)


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation in a list. Times are seconds since the epoch."""

    id: int
    user_id: int
    title: str
    created_at: float
    updated_at: float
    pinned: bool = False
    archived: bool = False
    label: str = ""
    deleted_at: float | None = None
    """When it was deleted; None while it is there."""


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """A conversation that was searched for, with the part of its newest message in which the words are."""

    conversation: StoredConversation
    excerpt: str
    """Empty if the words are in the title."""


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
    deleted: bool = False
    """There is no such passage any more, or the user may not read it."""
    fate: Fate = "current"
    """What became of it. One that is ``withheld`` has no text, title or place."""
    now: str = ""
    """Of one that was changed: a passage of the document as it is now."""


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
    fault: str = ""
    comment: str = ""
    """What is wrong with an answer that the user rated down, as `braid.core.chat.feedback.Fault` and in own words."""
    parent_id: int | None = None
    """The question of an answer, or the answer that a question follows."""
    state: State = "complete"
    variants: tuple[int, ...] = ()
    """Ids of the message and its variants: edited questions, or further answers to one question."""
    citations: tuple[StoredCitation, ...] = ()

    @property
    def marked_text(self) -> str:
        """The text as `braid.core.chat.marks` has it, to be shown with links to what it cites."""
        return marked(self.text, self.settings.get("marks")) if self.role == "assistant" else literal(self.text)


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
        self.files = ConversationFiles(ledger)
        self.links = ConversationLinks(ledger)

    def create(self, user_id: int, title: str = "", *, most: int | None = None) -> StoredConversation:
        """Create an empty conversation. Without a title it gets one from its first question.

        Raises InvalidInputError when the user has ``most`` already; None sets no limit.
        """
        if self._ledger.user(user_id) is None:
            raise NotFoundError(f"there is no user {user_id}; add one first")
        title = _one_line("title", title, MAX_TITLE_CHARS)
        with self._ledger.database.write() as connection:
            return _create(connection, user_id, title, most)

    def conversations(
        self,
        user_id: int,
        *,
        archived: bool | None = None,
        begun: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[StoredConversation]:
        """Return the user's conversations: pinned ones first, then the one used last.

        ``archived`` selects those that are archived, or those that are not; None selects all. ``begun`` leaves out
        those that have neither a title nor a message nor a file.
        """
        order = (ConversationRow.pinned.desc(), ConversationRow.updated_at.desc(), ConversationRow.id.desc())
        statement = select(*ConversationRow.__table__.columns).where(ConversationRow.user_id == user_id, IS_THERE)
        if archived is not None:
            statement = statement.where(ConversationRow.archived.is_(archived))
        if begun:
            asked, added = (
                exists().where(row.conversation_id == ConversationRow.id) for row in (MessageRow, DatasetRow)
            )
            statement = statement.where(or_(ConversationRow.title != "", asked, added))
        return self._listed(statement.order_by(*order).limit(limit).offset(offset))

    def deleted(self, user_id: int, *, limit: int | None = None, offset: int = 0) -> list[StoredConversation]:
        """Return the user's deleted conversations that can be restored, the one deleted last first."""
        order = (ConversationRow.deleted_at.desc(), ConversationRow.id.desc())
        statement = select(*ConversationRow.__table__.columns).where(ConversationRow.user_id == user_id, ~IS_THERE)
        return self._listed(statement.order_by(*order).limit(limit).offset(offset))

    def _listed(self, statement: Select[Any]) -> list[StoredConversation]:
        return [StoredConversation(**row._mapping) for row in self._ledger.database.fetch(statement)]

    def all(self, user_id: int) -> Iterator[StoredConversation]:
        """Yield all of the user's conversations by id, a part of them in memory at a time."""
        statement = select(*ConversationRow.__table__.columns).where(ConversationRow.user_id == user_id, IS_THERE)
        last, rows = 0, None
        while rows is None or rows:
            page = statement.where(ConversationRow.id > last).order_by(ConversationRow.id).limit(MOST_IDS)
            rows = self._ledger.database.fetch(page)
            yield from (StoredConversation(**row._mapping) for row in rows)
            last = rows[-1].id if rows else last

    def find(self, user_id: int, text: str, *, limit: int) -> list[FoundConversation]:
        """Return the conversations with a title, a question or an answer that has all words of the text."""
        words = words_of(text)
        if not words:
            return []
        with self._ledger.database.read() as connection:
            messages = find_messages(connection, user_id, words)
        found: list[FoundConversation] = []
        offset = 0
        while len(found) < limit and (some := self.conversations(user_id, limit=MOST_IDS, offset=offset)):
            offset += len(some)
            for one in some:
                if len(found) == limit:
                    break
                if all(word in fold(one.title) for word in words):
                    found.append(FoundConversation(one, ""))
                elif one.id in messages and (part := self._excerpt(user_id, one.id, messages[one.id], words)):
                    found.append(FoundConversation(one, part))
        return found

    def _excerpt(self, user_id: int, conversation_id: int, message_id: int, words: Sequence[str]) -> str:
        """Return the part of a message around the first word; empty where the user may no longer read all of them."""
        for found in self.messages(user_id, conversation_id, ids=[message_id]):
            folded = fold(found.text)
            if all(word in folded for word in words):
                said = spoken(found.marked_text) if found.role == "assistant" else found.text
                # what is searched for may be a sign, or in the address of a link, and is then shown as it was written
                return excerpt(said if words[0] in fold(said) else found.text, words[0])
        return ""

    def conversation(self, user_id: int, conversation_id: int, *, also_deleted: bool = False) -> StoredConversation:
        """Return one of the user's conversations, with ``also_deleted`` a deleted one that can be restored, too."""
        with self._ledger.database.read() as connection:
            return _require(connection, user_id, conversation_id, also_deleted=also_deleted)

    def rename(self, user_id: int, conversation_id: int, title: str) -> StoredConversation:
        """Change the title. Raises InvalidInputError for an empty one."""
        title = _one_line("title", title, MAX_TITLE_CHARS)
        if not title:
            raise InvalidInputError("the title is empty; type at least one character", field="title")
        with self._ledger.database.write() as connection:
            _require(connection, user_id, conversation_id)
            connection.execute(update(ConversationRow).where(ConversationRow.id == conversation_id).values(title=title))
            return _require(connection, user_id, conversation_id)

    def pin(self, user_id: int, conversation_id: int, pinned: bool) -> StoredConversation:
        """Keep a conversation at the top of the list, or no longer."""
        with self._ledger.database.write() as connection:
            _require(connection, user_id, conversation_id)
            row = update(ConversationRow).where(ConversationRow.id == conversation_id)
            connection.execute(row.values(pinned=pinned))
            return _require(connection, user_id, conversation_id)

    def arrange(
        self, user_id: int, ids: Collection[int], *, archived: bool | None = None, label: str | None = None
    ) -> list[int]:
        """Archive conversations or bring them back, give them a label, or both; return the ids of those changed.

        What is None stays as it is, an empty label takes the label away. Ids that are not the user's are left out.
        Raises InvalidInputError for a label that is too long.
        """
        values: dict[str, Any] = {}
        if archived is not None:
            values["archived"] = archived
        if label is not None:
            values["label"] = _one_line("label", label, MAX_LABEL_CHARS)
        changed: list[int] = []
        if values:
            with self._ledger.database.write() as connection:
                for some in batches(sorted(ids), MOST_IDS):
                    own = ConversationRow.user_id == user_id, ConversationRow.id.in_(some), IS_THERE
                    statement = update(ConversationRow).where(*own).values(**values).returning(ConversationRow.id)
                    changed += connection.execute(statement).scalars()
        return sorted(changed)

    def labels(self, user_id: int) -> list[str]:
        """Return the labels that the user's conversations have, sorted."""
        own = ConversationRow.user_id == user_id, ConversationRow.label != "", IS_THERE
        statement = select(ConversationRow.label).where(*own)
        return sorted(self._ledger.database.values(statement.distinct()))

    def delete(self, user_id: int, conversation_id: int, *, unused_since: float | None = None) -> bool:
        """Delete it for good with its messages, citations and files, in one transaction; the indexes follow.

        One that was discarded, too. With ``unused_since``, in seconds since the epoch, one that was used then or later
        stays; False then.
        """
        with self._ledger.database.write() as connection:
            found = _require(connection, user_id, conversation_id, lock=True, also_deleted=True)
            if unused_since is not None and found.updated_at >= unused_since:
                return False
            _delete(connection, conversation_id)
        return True

    def discard(self, user_id: int, conversation_id: int) -> None:
        """Delete a conversation so that it can be restored: with its files it is in no list, search or export.

        An answer that is being written ends, wherever it is written; its link leads nowhere until then. Of more than
        `MOST_DISCARDED` the oldest are deleted for good.
        """
        newest_first = (ConversationRow.deleted_at.desc(), ConversationRow.id.desc())
        discarded = select(ConversationRow.id).where(ConversationRow.user_id == user_id, ~IS_THERE)
        with self._ledger.database.write() as connection:
            _require(connection, user_id, conversation_id, lock=True)
            row = update(ConversationRow).where(ConversationRow.id == conversation_id)
            connection.execute(row.values(deleted_at=time.time()))
            end_answers(connection, MessageRow.conversation_id == conversation_id, state="stopped")
            beyond = discarded.order_by(*newest_first).offset(MOST_DISCARDED).limit(MOST_IDS)
            for id_ in connection.execute(beyond).scalars().all():
                _delete(connection, id_)

    def restore(self, user_id: int, ids: Collection[int], *, most: int | None = None) -> list[int]:
        """Bring discarded conversations back with all they had, their links too; return the ids of those that came.

        Ids that are not among the user's discarded ones are left out. Raises InvalidInputError when the user would
        have more than ``most``.
        """
        restored: list[int] = []
        with self._ledger.database.write() as connection:
            for some in batches(sorted(ids), MOST_IDS):
                own = ConversationRow.user_id == user_id, ConversationRow.id.in_(some), ~IS_THERE
                statement = update(ConversationRow).where(*own).values(deleted_at=None)
                restored += connection.execute(statement.returning(ConversationRow.id)).scalars()
            if restored:
                _require_room(connection, user_id, None if most is None else most + 1)
        return sorted(restored)

    def erase(self, user_id: int, ids: Collection[int]) -> list[int]:
        """Delete for good those of these conversations that are discarded, and return their ids."""
        own = ConversationRow.user_id == user_id, ConversationRow.id.in_(ids), ~IS_THERE
        with self._ledger.database.write() as connection:
            found = connection.execute(select(ConversationRow.id).where(*own).with_for_update()).scalars().all()
            for id_ in found:
                _delete(connection, id_)
        return sorted(found)

    def delete_discarded(self, before: float) -> int:
        """Delete for good what was discarded before this time, in seconds since the epoch; return how many."""
        old = ConversationRow.deleted_at < before
        number = 0
        for row in self._ledger.database.fetch(select(ConversationRow.id).where(old)):
            with self._ledger.database.write() as connection:
                still = select(ConversationRow.id).where(ConversationRow.id == row.id, old)  # its user may restore it
                if connection.execute(still.with_for_update()).first() is not None:
                    _delete(connection, row.id)
                    number += 1
        return number

    def add(self, conversation_id: int, request: ChatRequest, result: ChatResult) -> StoredTurn:
        """Store a turn after the last one: the question with its settings, the answer with its citations.

        Everything is one transaction. The result of a turn that was stopped comes from a
        `braid.core.chat.turn_recorder.TurnRecorder`. A turn that is stored while it runs: `TurnStore`.
        """
        user_id = require_user(request)
        with self._ledger.database.write() as connection:
            _require(connection, user_id, conversation_id, lock=True)
            parent_id = next(iter(read_branches(connection, conversation_id).path()[-1:]), None)
            question_id = insert_question(connection, conversation_id, request, parent_id)
            turn = StoredTurn(conversation_id, question_id, insert_answer(connection, conversation_id, question_id))
            state: State = "interrupted" if result.stopped else "cut" if result.cut else "complete"
            write_answer(connection, turn, result, state)
            touch(connection, conversation_id)
        return turn

    def path(self, user_id: int, conversation_id: int) -> list[int]:
        """Return the ids of the chosen messages, in order."""
        return self.ids(user_id, conversation_id)[0]

    def ids(self, user_id: int, conversation_id: int) -> tuple[list[int], list[int]]:
        """Return the ids of the chosen messages, and those of the other variants; both ascend."""
        with self._ledger.database.read() as connection:
            _require(connection, user_id, conversation_id)
            branches = read_branches(connection, conversation_id)
        path = branches.path()
        return path, sorted(branches.ids - set(path))

    def messages(
        self,
        user_id: int,
        conversation_id: int,
        *,
        ids: Collection[int] | None = None,
        reader_id: int | None = None,
        language: Language | None = None,
    ) -> list[StoredMessage]:
        """Return the messages in order: the chosen ones of all variants, or those with the given ids.

        ``reader_id`` is another user who reads them: answers then have what that user may read, and nothing else, their
        settings are those of a copy, and no thumb is shown. That something is left out is said in that user's
        ``language``.
        """
        with self._ledger.database.read() as connection:
            _require(connection, user_id, conversation_id)
            branches = read_branches(connection, conversation_id)
            wanted = branches.path() if ids is None else [id_ for id_ in sorted(ids) if id_ in branches]
            rows, cited = _read_messages(connection, conversation_id, wanted)
        reader = user_id if reader_id is None else reader_id
        lost = lost_answers(
            self._ledger.database, branches, rows, partial(lost_of, self._ledger, self._registry, reader)
        )
        stored = self._stored(reader, branches, rows, cited, lost, language)
        return stored if reader_id is None else self._for_reader(reader_id, stored)

    def _for_reader(self, reader_id: int, messages: Sequence[StoredMessage]) -> list[StoredMessage]:
        asked = {id_ for each in messages if each.role == "user" for id_ in asked_datasets(each.settings).ids}
        readable = readable_of(self._ledger, self._registry, reader_id, asked)
        return [
            replace(each, settings=copied_settings(each.role, each.settings, readable), thumb="", fault="", comment="")
            for each in messages
        ]

    def copy(
        self, reader_id: int, shared: SharedConversation, *, language: Language = "en", most: int | None = None
    ) -> StoredConversation:
        """Copy a conversation that another user shares to a new one of the reader's: what the reader may read of it.

        Its settings name only datasets that the reader may read. Raises InvalidInputError when the reader has ``most``
        conversations already.
        """
        title = self.conversation(shared.user_id, shared.conversation_id).title
        read = partial(self.messages, shared.user_id, shared.conversation_id, reader_id=reader_id, language=language)
        messages = [each for part in batches(shared.message_ids, MESSAGES_PER_READ) for each in read(ids=part)]
        with self._ledger.database.write() as connection:
            copied = _create(connection, reader_id, title, most)
            insert_copies(connection, copied.id, messages)
        return copied

    def other_variants(self, user_id: int, conversation_id: int) -> list[StoredMessage]:
        """Return the messages that are not among the chosen ones, in the order in which they were stored."""
        return self.messages(user_id, conversation_id, ids=self.ids(user_id, conversation_id)[1])

    def each(self, user_id: int, conversation_id: int, ids: Sequence[int]) -> Iterator[StoredMessage]:
        """Yield the messages with these ids, which ascend, as `messages` returns them; a few in memory at a time."""
        for part in batches(ids, MESSAGES_PER_READ):
            yield from self.messages(user_id, conversation_id, ids=part)

    def history(self, user_id: int, conversation_id: int, *, before: int | None = None) -> tuple[Turn, ...]:
        """Return the last chosen turns, for the next ChatRequest; or the last that lead to the message ``before``.

        They are up to `MAX_HISTORY` messages. Raises InvalidInputError when there is no room for a next one.
        """
        columns = select(MessageRow.id, MessageRow.role, MessageRow.text, MessageRow.settings["marks"].label("marks"))
        cited_in = select(CitationRow.dataset_id).distinct()
        asked = select(MessageRow.settings).where(
            MessageRow.conversation_id == conversation_id, MessageRow.role == "user"
        )
        with self._ledger.database.read() as connection:
            _require(connection, user_id, conversation_id)
            branches = read_branches(connection, conversation_id)
            if before is not None and before not in branches:
                raise NotFoundError(f"there is no message {before} in this conversation")
            if before is None:
                require_message_room(len(branches.ids) + 2)
            last = (branches.path() if before is None else branches.above(before))[-MAX_HISTORY:]
            rows = connection.execute(columns.where(MessageRow.id.in_(last))).all()
            used = set(connection.execute(cited_in.where(CitationRow.message_id.in_(last))).scalars())
            searched = searched_in(connection.execute(asked).scalars())
        texts = {row.id: (row.role, row.text, row.marks) for row in rows if row.text}
        wanted = [id_ for id_ in last if id_ in texts]
        used.update(searched or ())
        if searched is None or used - readable_of(self._ledger, self._registry, user_id, used):
            kept = self.each(user_id, conversation_id, wanted)
            texts |= {each.id: (each.role, each.text, each.settings.get("marks")) for each in kept}
        turns = (texts[id_] for id_ in wanted)
        return tuple(Turn(role, text, None if marks is None else tuple(marks)) for role, text, marks in turns)

    def require_readable(self, user_id: int, dataset_ids: Collection[int]) -> None:
        """Raise NotFoundError if the user has lost one of these datasets, from which an answer is being written."""
        require_readable(self._ledger, self._registry, user_id, dataset_ids)

    def last_settings(self, user_id: int, conversation_id: int) -> Mapping[str, Any]:
        """Return the settings of the last question, as in `StoredMessage.settings`; empty before the first."""
        with self._ledger.database.read() as connection:
            _require(connection, user_id, conversation_id)
            questions = read_branches(connection, conversation_id).path()[::2]
            if not questions:
                return {}
            wanted = select(MessageRow.settings).where(MessageRow.id == questions[-1])
            settings: Mapping[str, Any] = connection.execute(wanted).scalar_one()
        return settings

    def _stored(
        self,
        reader: int,
        branches: Branches,
        rows: Sequence[Any],
        cited: Sequence[Any],
        lost: Collection[int],
        language: Language | None,
    ) -> list[StoredMessage]:
        known = fates(self._ledger, self._registry, reader, cited)
        citations: dict[int, list[StoredCitation]] = {}
        for row in cited:
            citations.setdefault(row.message_id, []).append(self._citation(row, known))
        return [
            _readable(
                StoredMessage(
                    **{**row._mapping, "state": _state(row)},
                    variants=branches.variants(row.id),
                    citations=tuple(citations.get(row.id, ())),
                ),
                is_lost=row.id in lost,
                language=language,
            )
            for row in rows
        ]

    def _citation(self, row: Any, known: Fates) -> StoredCitation:
        values = {name: value for name, value in row._mapping.items() if name != "message_id"}
        fate, now = known.of(row), ""
        if fate == "withheld":
            values |= dict.fromkeys(("source", "title", "heading_path", "text"), "") | {"page": None, "line": None}
        if fate == "changed":
            document_id = known.documents[row.dataset_id, row.source]
            first = self._ledger.document_passages(document_id, [row.dataset_id], limit=1)
            now = first[0].chunk_id if first else ""
        return StoredCitation(**values, deleted=fate != "current", fate=fate, now=now)


def _readable(message: StoredMessage, *, is_lost: bool, language: Language | None) -> StoredMessage:
    """Return the message without what its user may no longer read; ``is_lost`` where it may repeat that. ``language``
    is that of another reader.
    """
    withheld = {citation.number for citation in message.citations if citation.fate == "withheld"}
    if not withheld and not is_lost:
        return message
    text, marks = message.text, tuple(message.settings.get("marks") or ())
    is_own = not (message.settings.get("found", True) or message.settings.get("stopped") or message.citations or marks)
    if not is_own:  # else it is a sentence of Braid's, which quotes nothing
        question = message.settings.get("question")
        text, marks = withheld_text(text, message.settings.get("marks"), withheld, question, reader=language)
    return replace(message, text=text, settings=withheld_settings(message.settings, marks))


def _require(
    connection: Connection, user_id: int, conversation_id: int, *, lock: bool = False, also_deleted: bool = False
) -> StoredConversation:
    row = require_conversation(connection, user_id, conversation_id, lock=lock, also_deleted=also_deleted)
    return StoredConversation(**row._mapping)


def _create(connection: Connection, user_id: int, title: str, most: int | None) -> StoredConversation:
    now = time.time()
    values: dict[str, Any] = {"user_id": user_id, "title": title, "created_at": now, "updated_at": now}
    _require_room(connection, user_id, most)
    statement = insert(ConversationRow).values(**values).returning(ConversationRow.id)
    return StoredConversation(id=connection.execute(statement).scalar_one(), **values)


def _require_room(connection: Connection, user_id: int, most: int | None) -> None:
    """Raise InvalidInputError when the user has ``most`` conversations or more; None is no limit."""
    if most is not None:
        own = select(func.count()).select_from(ConversationRow).where(ConversationRow.user_id == user_id, IS_THERE)
        told = f"you have {most:,} conversations, which is the limit; delete some first"
        require_room(connection, user_id, own, most, told, field="title")


def _delete(connection: Connection, conversation_id: int) -> None:
    delete_files(connection, conversation_id)
    connection.execute(delete(ConversationRow).where(ConversationRow.id == conversation_id))


def _read_messages(
    connection: Connection, conversation_id: int, ids: Sequence[int]
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the rows of these messages, in this order, and those of their citations."""
    wanted = MessageRow.conversation_id == conversation_id
    if len(ids) <= MOST_IDS:  # else those that are not wanted are few
        wanted &= MessageRow.id.in_(ids)
    by_id = {row.id: row for row in connection.execute(select(*MESSAGE).where(wanted))}
    cited = connection.execute(
        select(*CitationRow.__table__.columns)
        .join(MessageRow, MessageRow.id == CitationRow.message_id)
        .where(wanted)
        .order_by(CitationRow.message_id, CitationRow.number)
    ).all()
    return [by_id[id_] for id_ in ids], cited


def _state(row: Any) -> State:
    """Return the state of a message; nothing writes an answer any more that has taken longer than it may."""
    is_lost = row.state == "running" and row.created_at < time.time() - OVERDUE_S
    state: State = "interrupted" if is_lost else row.state
    return state


def _one_line(name: str, text: str, most: int) -> str:
    """Return a label or title as it is stored. Raises InvalidInputError, with the field ``name``, for a long one."""
    text = " ".join(storable(text).split())
    if len(text) > most:
        raise InvalidInputError(f"the {name} has {len(text)} characters; at most {most} are allowed", field=name)
    return text
