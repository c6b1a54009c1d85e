"""Feedback, each user's own: thumbs and clicks on citations, stored with the question, the scope and the ranking; and
thumbs on whole answers, one per answer, which are counted for administrators.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import ColumnElement, Row, Select, delete, func, insert, or_, select, update

from braid.core.batches import batches
from braid.core.chat.turns.rows import IS_THERE, OF_THOSE_THERE
from braid.core.datasets.scope import MAX_DATASET_IDS
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.ledger.database import storable
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.quota import require_room
from braid.core.ledger.tables import ConversationRow, FeedbackRow, MessageRow
from braid.core.types import MAX_ID, MAX_K, MAX_QUERY_CHARS, require_choice

Kind = Literal["up", "down", "none", "click"]
MAX_FEEDBACK = 20_000
"""Times that a user may give feedback; a row has 20 kB at most."""
MAX_RANKING = 100
"""Ids of passages that are kept with it."""
CHUNK_ID = re.compile(r"[!-~]{1,100}")
"""An id that a passage can have: Braid's own are 32 hexadecimal digits."""
ROWS_PER_READ = 200
IDS_PER_READ = 500
ROWS_AT_ONCE = 10
"""Rows in memory as they are stored: those of earlier versions have up to 300 kB each."""
MOST_THUMBS = 2_000
GRADES: Mapping[Kind, int] = {"up": 2, "click": 1, "down": 0}


@dataclass(frozen=True, slots=True)
class Feedback:
    """A user's feedback on one passage of one search. Raises InvalidInputError with the field's name."""

    kind: Kind
    """A thumb ``up`` or ``down``, ``none`` to take it back, or a ``click`` on the citation."""
    chunk_id: str
    query: str
    scope: tuple[int, ...]
    """Ids of the datasets that were searched."""
    ranking: tuple[str, ...]
    """Chunk ids in the order shown; the passage is among them."""
    created_at: float = 0.0
    """Seconds since the epoch; set when it is stored."""

    def __post_init__(self) -> None:
        require_choice("kind", self.kind, get_args(Kind))
        if not self.query.strip() or len(self.query) > MAX_QUERY_CHARS:
            raise InvalidInputError(f"the query must have 1 to {MAX_QUERY_CHARS} characters", field="query")
        if not 1 <= len(self.scope) <= MAX_DATASET_IDS or not all(_is_dataset_id(given) for given in self.scope):
            raise InvalidInputError(
                f"the scope must be 1 to {MAX_DATASET_IDS} dataset ids, none of them 0", field="scope"
            )
        if self.chunk_id not in self.ranking or len(self.ranking) > MAX_K:
            raise InvalidInputError(
                f"the ranking must have up to {MAX_K} chunk ids, and {self.chunk_id[:40]!r} among them", field="ranking"
            )


class FeedbackStore:
    """The feedback in the ledger. Every method reads or changes one user's rows only."""

    def __init__(self, ledger: Ledger, *, most: int = MAX_FEEDBACK) -> None:
        self._ledger = ledger
        self._most = most

    def add(self, user_id: int, feedback: Feedback) -> int:
        """Store feedback and return its id. Of the ranking the first `MAX_RANKING` ids are kept, the passage's among
        them: a passage that was shown further down is the last.

        Raises NotFoundError if there is no such user, and InvalidInputError for an id that no passage has, or when the
        user has given feedback as often as they may.
        """
        if self._ledger.user(user_id) is None:
            raise NotFoundError(f"there is no user {user_id}; add one first")
        ranking = _kept(feedback.chunk_id, feedback.ranking)
        wrong = next((chunk_id for chunk_id in ranking if not CHUNK_ID.fullmatch(chunk_id)), None)
        if wrong is not None:
            raise InvalidInputError(f"{wrong[:40]!r} is no id of a passage; send those of a search", field="ranking")
        own = select(func.count()).select_from(FeedbackRow).where(FeedbackRow.user_id == user_id)
        told = f"you have given feedback {self._most:,} times, which is the limit; delete it first"
        with self._ledger.database.write() as connection:
            require_room(connection, user_id, own, self._most, told, field="kind")
            return connection.execute(
                insert(FeedbackRow)
                .values(
                    user_id=user_id,
                    kind=feedback.kind,
                    chunk_id=feedback.chunk_id,
                    query=storable(feedback.query),
                    scope=list(feedback.scope),
                    ranking=list(ranking),
                    created_at=time.time(),
                )
                .returning(FeedbackRow.id)
            ).scalar_one()

    def of_user(self, user_id: int, *, limit: int, offset: int = 0) -> list[Feedback]:
        """Return a page of this user's feedback, the oldest first."""
        own = _select().where(FeedbackRow.user_id == user_id).order_by(FeedbackRow.id)
        with self._ledger.database.read() as connection:
            rows = connection.execute(own.limit(limit).offset(offset), execution_options={"yield_per": ROWS_AT_ONCE})
            return [_feedback(row) for row in rows]

    def all(self, user_id: int) -> Iterator[Feedback]:
        """Yield all feedback of this user, the oldest first, a page in memory at a time."""
        own = _select().where(FeedbackRow.user_id == user_id).order_by(FeedbackRow.id).limit(ROWS_PER_READ)
        last = 0
        while True:
            with self._ledger.database.read() as connection:
                rows = connection.execute(
                    own.where(FeedbackRow.id > last), execution_options={"yield_per": ROWS_AT_ONCE}
                )
                found = {row.id: _feedback(row) for row in rows}
            yield from found.values()
            if len(found) < ROWS_PER_READ:
                return
            last = max(found)

    def current_thumbs(self, user_id: int, chunk_ids: Sequence[str]) -> dict[tuple[str, str], Kind]:
        """Return (query, chunk id) → ``up`` or ``down``, this user's current thumbs for these passages.

        Of a few hundred passages the newest `MOST_THUMBS` are looked through.
        """
        columns = (FeedbackRow.query, FeedbackRow.chunk_id, FeedbackRow.kind)
        thumbs: dict[tuple[str, str], Kind] = {}
        own = select(*columns).where(FeedbackRow.user_id == user_id, FeedbackRow.kind != "click")
        newest_first = own.order_by(FeedbackRow.id.desc()).limit(MOST_THUMBS)
        for part in batches(chunk_ids, IDS_PER_READ):
            for row in self._ledger.database.fetch(newest_first.where(FeedbackRow.chunk_id.in_(part))):
                thumbs.setdefault((row.query, row.chunk_id), row.kind)
        return {about: kind for about, kind in thumbs.items() if kind != "none"}

    def forget(self, user_id: int) -> int:
        """Delete all feedback of this user; return how many rows it was."""
        return self._ledger.database.change(delete(FeedbackRow).where(FeedbackRow.user_id == user_id))


def _select() -> Select[*tuple[Any, ...]]:
    return select(*FeedbackRow.__table__.columns)


def _feedback(row: Row[Any]) -> Feedback:
    ranking = _kept(row.chunk_id, row.ranking)
    return Feedback(row.kind, row.chunk_id, row.query, tuple(row.scope), ranking, row.created_at)


def _kept(chunk_id: str, ranking: Sequence[str]) -> tuple[str, ...]:
    """Return what is kept of a ranking: its beginning, and the passage, which is the last if it was further down."""
    kept = tuple(ranking[:MAX_RANKING])
    return kept if chunk_id in kept else (*kept[:-1], chunk_id)


def judgements_of(said: Iterable[Feedback]) -> dict[str, dict[str, int]]:
    """Return question → chunk id → grade. The newest thumb counts, before clicks; one taken back does not count."""
    thumbs: dict[tuple[str, str], Kind] = {}
    clicks: dict[tuple[str, str], None] = {}
    for feedback in said:
        about = (" ".join(feedback.query.split()), feedback.chunk_id)
        if feedback.kind == "click":
            clicks[about] = None
        else:
            thumbs[about] = feedback.kind
    judgements: dict[str, dict[str, int]] = {}
    for query, chunk_id in dict.fromkeys((*clicks, *thumbs)):
        kind = thumbs.get((query, chunk_id), "none")
        if kind == "none" and (query, chunk_id) in clicks:
            kind = "click"
        if kind != "none":
            judgements.setdefault(query, {})[chunk_id] = GRADES[kind]
    return judgements


def _is_dataset_id(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given != 0


# ---------------------------------------------------------------- thumbs on whole answers

Thumb = Literal["up", "down", "none"]
"""``none`` takes a thumb back."""
Fault = Literal["", "wrong", "off_topic", "unsupported", "incomplete"]
"""What is wrong with an answer: nothing was said of it, it is wrong, it is not what was asked, its sources do not say
so, something is missing.
"""
MAX_COMMENT_CHARS = 500
FAULTS_PER_READ = 500
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class ThumbCount:
    """The thumbs of one generator: a chat model by its name, or ``extractive``."""

    generator: str
    up: int = 0
    down: int = 0


@dataclass(frozen=True, slots=True)
class RatedDown:
    """What somebody said of an answer that they rated down, and what wrote it."""

    fault: Fault
    comment: str
    generator: str


class AnswerThumbs:
    """The thumbs in the ledger. A thumb is stored with its answer, and deleted with it."""

    def __init__(self, ledger: Ledger) -> None:
        self._database = ledger.database

    def put(
        self,
        user_id: int,
        conversation_id: int,
        message_id: int,
        thumb: Thumb,
        *,
        fault: Fault = "",
        comment: str = "",
    ) -> None:
        """Set or take back a thumb; with one ``down`` what is wrong, which takes the place of what was said before.

        Raises NotFoundError if this is no answer in a conversation of this user, and InvalidInputError with the field's
        name for other values.
        """
        require_choice("kind", thumb, get_args(Thumb))
        if fault not in get_args(Fault):
            told = f"fault is {fault[:40]!r}; choose one of {', '.join(get_args(Fault)[1:])}, or leave it out"
            raise InvalidInputError(told, field="fault")
        comment = storable(comment).strip()
        if len(comment) > MAX_COMMENT_CHARS:
            told = f"the comment has {len(comment)} characters; at most {MAX_COMMENT_CHARS} are allowed"
            raise InvalidInputError(told, field="comment")
        said = {"fault": fault, "comment": comment} if thumb == "down" else {"fault": "", "comment": ""}
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
                statement = update(MessageRow).where(*answer).values(thumb="" if thumb == "none" else thumb, **said)
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

    def fault_counts(self, *, days: int = 30) -> dict[Fault, tuple[int, int]]:
        """Count the answers of the last ``days`` days of which users said what is wrong, by what they chose: all, and
        those with a comment.
        """
        with_comment = func.count().filter(MessageRow.comment != "")
        statement = select(MessageRow.fault, func.count(), with_comment).where(*_said(days)).group_by(MessageRow.fault)
        counted = {fault: (answers, comments) for fault, answers, comments in self._database.fetch(statement)}
        return {fault: counted[fault] for fault in get_args(Fault) if fault in counted}

    def faults(self, *, days: int = 30, commented: bool = False) -> Iterator[RatedDown]:
        """Yield what users said of answers that they rated down, never who, nor what was asked: of the newest answers
        first, a few in memory at a time; ``commented`` leaves out those without a comment.
        """
        generator = MessageRow.settings["generator"].as_string()
        statement = select(MessageRow.id, MessageRow.fault, MessageRow.comment, generator).where(*_said(days))
        if commented:
            statement = statement.where(MessageRow.comment != "")
        last = MAX_ID
        while True:
            further = statement.where(MessageRow.id <= last).order_by(MessageRow.id.desc())
            rows = self._database.fetch(further.limit(FAULTS_PER_READ))
            yield from (RatedDown(fault, comment, name or "") for _id, fault, comment, name in rows)
            if len(rows) < FAULTS_PER_READ:
                return
            last = rows[-1].id - 1


def _said(days: int) -> tuple[ColumnElement[bool], ...]:
    said, since = or_(MessageRow.fault != "", MessageRow.comment != ""), time.time() - days * DAY_S
    return MessageRow.thumb == "down", said, MessageRow.created_at >= since, OF_THOSE_THERE
