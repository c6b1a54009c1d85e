"""Questions with passages that are known to answer them, and some that do not, by which models are tested."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from braid.core.vector import Vector

Embed = Callable[[Sequence[str]], Vector]
"""Texts → (n, dim) float32 of unit length."""


class Known(NamedTuple):
    """A question, the passage that answers it, and passages that do not, all in one language."""

    language: str
    question: str
    right: str
    wrong: tuple[str, ...]


KNOWN = (
    Known(
        "en",
        "How do I make bread rise?",
        "Yeast makes the dough of bread rise within an hour.",
        ("Train tickets are sold at the station, by machines, too.", "The library opens at nine on weekdays."),
    ),
    Known(
        "ja",
        "電車の切符はどこで買えますか",
        "電車の切符は駅の窓口と券売機で買える。",
        ("図書館は平日の朝九時に開く。", "酵母を入れたパンの生地は一時間で膨らむ。"),
    ),
    Known(
        "ko",
        "도서관은 언제 문을 여나요?",
        "도서관은 평일 아침 아홉 시에 문을 연다.",
        ("기차표는 역 창구와 자동 발매기에서 판다.", "효모를 넣은 빵 반죽은 한 시간이면 부푼다."),
    ),
)


class Told(NamedTuple):
    """How a model scores the right passage of a question, and the best of the wrong ones."""

    language: str
    right: float
    wrong: float
    ms: float
    """Milliseconds of the call; of embeddings, those of a question and its passages."""

    @property
    def is_right(self) -> bool:
        """Whether the right passage is first."""
        return self.right > self.wrong

    @property
    def is_tie(self) -> bool:
        """Whether the right passage and the best of the wrong ones have the same score: neither is first."""
        return self.right == self.wrong


def told_by_scores(scores: Callable[[str, Sequence[str]], Sequence[float]]) -> list[Told]:
    """Return how a reranker tells the known passages apart, a call for each language. Raises what ``scores`` raises.

    >>> [told.is_right for told in told_by_scores(lambda query, texts: [float("bread" in text) for text in texts])]
    [True, False, False]
    """
    told: list[Told] = []
    for known in KNOWN:
        started = time.perf_counter()
        right, *wrong = scores(known.question, (known.right, *known.wrong))
        told.append(Told(known.language, right, max(wrong), (time.perf_counter() - started) * 1000))
    return told


def told_by_vectors(queries: Embed, passages: Embed) -> tuple[list[Told], int]:
    """Return how an embedding model tells the known passages apart, by cosine, and its dimensions. ``queries`` and
    ``passages`` make its vectors; raises what they raise.
    """
    dimensions = 0

    def cosines(question: str, texts: Sequence[str]) -> list[float]:
        nonlocal dimensions
        (vector,) = queries([question])
        dimensions = vector.size
        cosines: list[float] = (passages(texts) @ vector).tolist()
        return cosines

    return told_by_scores(cosines), dimensions


def mistaken(told: Iterable[Told]) -> list[str]:
    """Return the languages in which a wrong passage is first."""
    return [each.language for each in told if not (each.is_right or each.is_tie)]


def tied(told: Iterable[Told]) -> list[str]:
    """Return the languages in which no passage is first: a right and a wrong one have the same score."""
    return [each.language for each in told if each.is_tie]
