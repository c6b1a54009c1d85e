"""BM25 over texts in memory: fitted once, asked as often as wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from langchain_core.documents import Document

from braid.core.errors import ValidationError
from braid.core.indexes.bm25 import K1, B, bm25_idf
from braid.core.text.analyzer import Analyzer

Chunk = str | Document | Mapping[str, object] | Any
"""A text, a LangChain document, a mapping with ``text`` or ``content``, or an object that has one of these."""
_TEXT_NAMES = ("text", "content", "page_content")
IndexedScore = tuple[int, float]
"""The index of a chunk in the given list, from 0, and its score, higher is better."""


class Scorer(Protocol):
    """Ranks the chunks that it was fitted to."""

    def rank(self, query: str) -> Iterable[IndexedScore]:
        """Return the chunks that fit the query, best first, by their index."""


class Bm25Scorer:
    """BM25 fitted to a list of chunks; scores are those of the keyword index. Many threads may share one.

    >>> scorer = Bm25Scorer(["The pump runs at 12 bar.", "The valve XK-4711 is closed by hand."])
    >>> [index for index, score in scorer.rank("Who closes XK-4711?")]
    [1]
    """

    def __init__(self, chunks: Sequence[Chunk], *, languages: Sequence[str] = ("en",)) -> None:
        self._analyzer = Analyzer(tuple(languages))
        self._frequencies: dict[str, dict[int, int]] = {}
        self._lengths: list[int] = []
        for index, chunk in enumerate(chunks):
            counts = Counter(self._analyzer.tokens(text_of(chunk)))
            self._lengths.append(sum(counts.values()))
            for term, count in counts.items():
                self._frequencies.setdefault(term, {})[index] = count
        self._average = (sum(self._lengths) / len(self._lengths) if self._lengths else 0.0) or 1.0

    def rank(self, query: str) -> list[IndexedScore]:
        """Return the chunks that have a word of the query, best first."""
        scores: dict[int, float] = {}
        for term, weight in Counter(self._analyzer.tokens(query)).items():
            containing = self._frequencies.get(term, {})
            idf = weight * bm25_idf(len(self._lengths), len(containing))
            for index, frequency in containing.items():
                saturated = frequency + K1 * (1 - B + B * self._lengths[index] / self._average)
                scores[index] = scores.get(index, 0.0) + idf * frequency * (K1 + 1) / saturated
        return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))


def text_of(chunk: Chunk) -> str:
    """Return the chunk's text. Raises ValidationError for what is no chunk."""
    if isinstance(chunk, str):
        return chunk
    get = chunk.get if isinstance(chunk, Mapping) else partial(getattr, chunk)
    text = next((found for name in _TEXT_NAMES if isinstance(found := get(name, None), str)), None)
    if text is None:
        raise ValidationError(
            f"a chunk is {chunk!r}; give a text, a Document, or a mapping or an object with text or content",
            field="chunks",
        )
    return text
