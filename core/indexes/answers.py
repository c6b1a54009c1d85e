"""What indexes answer: hits of the dense leg, and the counts that BM25 needs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from braid.core.errors import BraidError
from braid.core.indexes.vector_block import Selection
from braid.core.types import ScoredChunk

_score = itemgetter(1)
_make: Callable[[tuple[str, float]], ScoredChunk] = partial(tuple.__new__, ScoredChunk)

Where = Mapping[str, Selection]
"""The collections to search, each with the part of it."""


class DenseAnswer(NamedTuple):
    """The answer of several collections of one model."""

    hits: dict[str, list[ScoredChunk] | BraidError]
    """Best first, by collection; an error where a collection could not be searched."""
    spread: float
    """Standard deviation of the cosine between the query and a chunk, of a sample of 100; 0.0 where it is not known.

    It tells how much a difference between two cosines means.
    """


def scored(ids: Iterable[str], scores: Iterable[float]) -> Iterable[ScoredChunk]:
    """Return hits of these ids with these scores, without a call of Python for each."""
    return map(_make, zip(ids, scores, strict=True))


def best_first(hits: Iterable[ScoredChunk]) -> list[ScoredChunk]:
    """Sort hits by score, those with equal scores by id: the same hits are always in the same order."""
    ranked = sorted(hits, key=_score, reverse=True)
    if len(set(map(_score, ranked))) < len(ranked):
        ranked.sort(key=itemgetter(0))
        ranked.sort(key=_score, reverse=True)
    return ranked


class BestScores:
    """The ``k`` best scores of several searches whose hits go into one ranking, so that a later one need not name hits
    that ``k`` others are better than. Safe to use from several threads.
    """

    def __init__(self, k: int) -> None:
        self._k = k
        self._best: list[float] = []
        self._lock = threading.Lock()

    @property
    def least(self) -> float:
        """The score that a hit must have to be among the best; minus infinity while there are fewer than ``k``."""
        return self._best[0] if len(self._best) == self._k else float("-inf")

    def add(self, scores: Sequence[float]) -> None:
        """Add the scores of hits that have been named."""
        with self._lock:
            self._best = sorted([*self._best, *scores])[-self._k :]


@dataclass(frozen=True, slots=True)
class Bm25Counts:
    """How many documents there are, and how many have each term."""

    documents: int
    document_frequency: Mapping[str, float]
    """A whole number where words are counted, and not estimated."""


@dataclass(frozen=True, slots=True)
class Bm25Statistics:
    """BM25's statistics of a collection, as tantivy counts them (deleted documents count until a merge)."""

    documents: int
    average_length: float
    """Tokens per document."""
    document_frequency: Mapping[str, float]
    readable: Bm25Counts | None = None
    """Counts of some datasets only, without deleted documents; None where all of the collection counts."""

    @property
    def counts(self) -> Bm25Counts:
        """What scores may depend on."""
        return self.readable or Bm25Counts(self.documents, self.document_frequency)
