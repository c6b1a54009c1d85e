"""What the search model wrote last: a search is explained without asking it again."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

MAX_ANSWERS = 1_000


class RecentAnswers:
    """Answers by model and messages, in memory, the latest only. Safe to use from several threads."""

    def __init__(self, size: int = MAX_ANSWERS) -> None:
        self._size = size
        self._answers: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, model: str, messages: Sequence[tuple[str, str]], text: str) -> None:
        """Remember an answer; an empty one stands for none."""
        with self._lock:
            key = _key(model, messages)
            self._answers[key] = text
            self._answers.move_to_end(key)
            while len(self._answers) > self._size:
                self._answers.popitem(last=False)

    def get(self, model: str, messages: Sequence[tuple[str, str]]) -> str | None:
        """The answer; None when it is not remembered."""
        with self._lock:
            return self._answers.get(_key(model, messages))


def _key(model: str, messages: Sequence[tuple[str, str]]) -> str:
    return hashlib.sha256(repr((model, list(messages))).encode("utf-8", "surrogatepass")).hexdigest()
