"""A sample of a collection in Milvus tells what BM25 needs: how many passages have a word, and how long they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from braid.core.indexes.bm25 import K1, B, bm25_idf

UNSEEN = 0.2
"""Passages, of a collection, that are taken to have a word which its sample lacks."""
Words = Counter[str]
"""How often a passage has each of its words."""


def words_of(text: str, times: str) -> Words:
    """Return what a passage has: its text in Milvus, and where that leaves some out, how often it has each word."""
    words = text.split(" ")
    return (
        Counter(dict(zip(dict.fromkeys(words), map(int, times.split(" ")), strict=True))) if times else Counter(words)
    )


@dataclass(frozen=True, slots=True)
class WordSample:
    """What ``size`` passages have of the ``documents`` that there are."""

    size: int
    documents: int
    words: int
    having: Mapping[str, int]
    """How many of the sample have each word."""
    until: float
    """When the sample is to be read again, by the monotonic clock."""

    @classmethod
    def of(cls, passages: Iterable[Words], *, documents: int, until: float) -> WordSample:
        """Count the words of passages."""
        having, size, words = Counter[str](), 0, 0
        for passage in passages:
            having.update(passage.keys())
            size, words = size + 1, words + passage.total()
        return cls(size, max(documents, size), words, having, until)

    @property
    def average_length(self) -> float:
        """Words per passage."""
        return self.words / self.size if self.size else 0.0

    def documents_with(self, word: str) -> float:
        """Return about how many passages have the word: never 0, since one may have come since."""
        seen = self.having.get(word, 0)
        return max(1, round(seen * self.documents / self.size)) if seen else UNSEEN

    def score(self, weights: Mapping[str, float], counts: Words) -> float:
        """Return BM25 of a passage; ``weights`` have the words' idf in them, see `idf_weights`."""
        norm = K1 * (1 - B + B * (counts.total() / self.average_length if self.words else 1.0))
        return sum(
            weight * (K1 + 1) * counts[word] / (counts[word] + norm) for word, weight in weights.items() if counts[word]
        )

    def idf_weights(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Return each word's weight times its idf among the passages."""
        return {word: weight * bm25_idf(self.documents, self.documents_with(word)) for word, weight in weights.items()}
