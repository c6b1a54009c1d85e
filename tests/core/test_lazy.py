"""An attribute that is computed when it is first read."""

from __future__ import annotations

import threading

from braid.core.lru import lazy
from tests.worlds import WAIT_S


class Question:
    """Knows its answer when another thread has asked another question."""

    def __init__(self, other: Question | None = None) -> None:
        self.other, self.asked = other, 0

    @lazy
    def answer(self) -> int:
        """What others say, in a thread of their own."""
        self.asked += 1
        if self.other is None:
            return 42
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(self.other.answer if self.other else 0), daemon=True)
        thread.start()
        thread.join(WAIT_S)
        assert found, "the other thread waits for this one"
        return found[0]


def test_no_object_waits_for_another_one() -> None:
    assert Question(Question()).answer == 42


def test_it_is_computed_once() -> None:
    question = Question()
    assert (question.answer, question.answer, question.asked) == (42, 42, 1)
    assert Question.answer.__doc__ == "What others say, in a thread of their own."
