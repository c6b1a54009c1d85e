"""Thumbs and clicks on citations: stored with the question, the scope and the ranking, each user's own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import delete, insert, select

from braid.core.datasets.scope import MAX_DATASET_IDS
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.database import storable
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import FeedbackRow
from braid.core.types import MAX_K, MAX_QUERY_CHARS

Kind = Literal["up", "down", "none", "click"]
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
        if self.kind not in get_args(Kind):
            raise InvalidInputError(f"kind is {self.kind!r}; choose one of {', '.join(get_args(Kind))}", field="kind")
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

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add(self, user_id: int, feedback: Feedback) -> int:
        """Store feedback and return its id. Raises NotFoundError if there is no such user."""
        if self._ledger.user(user_id) is None:
            raise NotFoundError(f"there is no user {user_id}; add one first")
        with self._ledger.database.write() as connection:
            return connection.execute(
                insert(FeedbackRow)
                .values(
                    user_id=user_id,
                    kind=feedback.kind,
                    chunk_id=storable(feedback.chunk_id),
                    query=storable(feedback.query),
                    scope=list(feedback.scope),
                    ranking=[storable(chunk_id) for chunk_id in feedback.ranking],
                    created_at=time.time(),
                )
                .returning(FeedbackRow.id)
            ).scalar_one()

    def of_user(self, user_id: int) -> list[Feedback]:
        """Return all feedback of this user, the oldest first."""
        columns = (
            FeedbackRow.kind,
            FeedbackRow.chunk_id,
            FeedbackRow.query,
            FeedbackRow.scope,
            FeedbackRow.ranking,
            FeedbackRow.created_at,
        )
        statement = select(*columns).where(FeedbackRow.user_id == user_id).order_by(FeedbackRow.id)
        with self._ledger.database.read() as connection:
            rows = connection.execute(statement).all()
        return [
            Feedback(row.kind, row.chunk_id, row.query, tuple(row.scope), tuple(row.ranking), row.created_at)
            for row in rows
        ]

    def thumbs(self, user_id: int, query: str, chunk_ids: Sequence[str]) -> dict[str, Kind]:
        """Return chunk id → ``up`` or ``down``, this user's current thumbs for the question."""
        said = [f for f in self.of_user(user_id) if f.query == storable(query) and f.chunk_id in chunk_ids]
        thumbs = {feedback.chunk_id: feedback.kind for feedback in said if feedback.kind != "click"}
        return {chunk_id: kind for chunk_id, kind in thumbs.items() if kind != "none"}

    def current_thumbs(self, user_id: int, chunk_ids: Sequence[str]) -> dict[tuple[str, str], Kind]:
        """Return (query, chunk id) → ``up`` or ``down``, this user's current thumbs for these passages."""
        columns = (FeedbackRow.query, FeedbackRow.chunk_id, FeedbackRow.kind)
        thumbs: dict[tuple[str, str], Kind] = {}
        with self._ledger.database.read() as connection:
            for start in range(0, len(chunk_ids), 500):
                about = FeedbackRow.chunk_id.in_(chunk_ids[start : start + 500])
                statement = select(*columns).where(FeedbackRow.user_id == user_id, FeedbackRow.kind != "click", about)
                for row in connection.execute(statement.order_by(FeedbackRow.id)):
                    thumbs[row.query, row.chunk_id] = row.kind
        return {about: kind for about, kind in thumbs.items() if kind != "none"}

    def forget(self, user_id: int) -> int:
        """Delete all feedback of this user; return how many rows it was."""
        with self._ledger.database.write() as connection:
            return connection.execute(delete(FeedbackRow).where(FeedbackRow.user_id == user_id)).rowcount


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
