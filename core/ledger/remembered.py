"""What was read from the database and holds until somebody commits, so that a search need not read it again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sized
from typing import TypeVar, cast

MOST_ANSWERS = 1_000
MOST_ROWS = 100_000
"""Rows remembered in all; an answer with more than a tenth of them is not."""

Rows = tuple[tuple[object, ...], ...]
Answer = TypeVar("Answer", bound=Sized)


class Remembered:
    """Remembers the rows of up to 1,000 reads while ``version`` returns the same number; none while it returns None."""

    def __init__(self, version: Callable[[], int | None]) -> None:
        self._version = version
        self._known: int | None = None
        self._answers: dict[Hashable, Sized] = {}
        self._rows = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], Answer], *, per_row: int = 1) -> Answer:
        """Return what ``read`` returned for the key since the last commit, or what it returns now. ``per_row`` elements
        of the answer take the memory of a row.
        """
        version = self._version()  # before the read: a commit in between makes the answer an old one
        if version is None:
            return read()
        with self._lock:
            if version != self._known or len(self._answers) >= MOST_ANSWERS or self._rows >= MOST_ROWS:
                self._known, self._answers, self._rows = version, {}, 0
            answers = self._answers
        if key in answers:
            return cast("Answer", answers[key])
        answer = read()
        rows = len(answer) // per_row
        if rows <= MOST_ROWS // 10:
            with self._lock:
                if answers is self._answers:
                    answers[key] = answer
                    self._rows += rows
        return answer
