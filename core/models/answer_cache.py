"""A cache of the search model's latest answers, so that a search is explained without asking the model again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from braid.core.lru import LeastRecentlyUsed

MAX_ANSWERS = 1_000


class RecentAnswers:
    """Keeps up to ``size`` answers in memory, by asker, model and messages. Safe to use from several threads.

    By asker, so that an explanation does not say whether somebody else asked the same question.
    """

    def __init__(self, size: int = MAX_ANSWERS) -> None:
        self._answers: LeastRecentlyUsed[str, str] = LeastRecentlyUsed(size)

    def put(self, user_id: int | None, model: str, messages: Sequence[tuple[str, str]], text: str) -> None:
        """Remember an answer; an empty one means that the model gave none."""
        self._answers.put(_key(user_id, model, messages), text)

    def get(self, user_id: int | None, model: str, messages: Sequence[tuple[str, str]]) -> str | None:
        """Return the answer; None when it is not remembered."""
        return self._answers.get(_key(user_id, model, messages))


def _key(user_id: int | None, model: str, messages: Sequence[tuple[str, str]]) -> str:
    return hashlib.sha256(repr((user_id, model, list(messages))).encode("utf-8", "surrogatepass")).hexdigest()
