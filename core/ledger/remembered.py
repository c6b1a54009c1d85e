"""What was read from the database and holds until somebody commits, so that a search need not read it again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

MOST_ANSWERS = 1_000
MOST_ROWS = 100_000
"""Rows remembered in all; an answer with more than a tenth of them is not."""

Rows = tuple[tuple[object, ...], ...]


class Remembered:
    """Remembers the rows of up to 1,000 reads while ``version`` returns the same number; none while it returns None."""

    def __init__(self, version: Callable[[], int | None]) -> None:
        self._version = version
        self._known: int | None = None
        self._answers: dict[Hashable, Rows] = {}
        self._rows = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], Rows]) -> Rows:
        """Return what ``read`` returned for the key since the last commit, or what it returns now."""
        version = self._version()  # before the read: a commit in between makes the answer an old one
        if version is None:
            return read()
        with self._lock:
            if version != self._known or len(self._answers) >= MOST_ANSWERS or self._rows >= MOST_ROWS:
                self._known, self._answers, self._rows = version, {}, 0
            answers = self._answers
        if key in answers:
            return answers[key]
        rows = read()
        if len(rows) <= MOST_ROWS // 10:
            with self._lock:
                if answers is self._answers:
                    answers[key] = rows
                    self._rows += len(rows)
        return rows
