"""The keyword leg in Milvus: its BM25 function over the tokens of Braid's analyzer, and a sample of a collection that
tells what BM25 needs: how many passages have a word, and how long they are.
"""

from __future__ import annotations

import re
import time
from base64 import b32encode
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any

from numpy.typing import NDArray

from braid.core.indexes.answers import BestScores, Bm25Counts, Bm25Statistics
from braid.core.indexes.base import KeywordIndex
from braid.core.indexes.bm25 import K1, B, bm25_idf
from braid.core.indexes.milvus.index import MilvusIndex
from braid.core.indexes.milvus.server import TIMEOUT_S, MilvusServer, Shape, Store, within
from braid.core.ledger.change_log import ChangeLog, IndexedChunk, StateName
from braid.core.lru import LeastRecentlyUsed
from braid.core.text.analyzer import Analyzer
from braid.core.types import Leg, ScoredChunk

MAX_TOKENS_BYTES = 65_000
"""Bytes of a passage's words that are indexed; Milvus takes 65,535. A passage of 5,900 bigrams has as many."""
THINNER = 0.9
"""Share of a longer passage's words that are kept, again and again until they fit."""
SAMPLE = 1_000
"""Passages whose words tell how frequent a word is."""
SAMPLES = 64
"""Samples that are kept, of 1 MB at most."""
SAMPLE_S, FEW_S = 600.0, 10.0
"""Time after which a sample is read again, the second for a collection that is no larger."""
LEAST_CANDIDATES, CANDIDATES_PER_HIT = 200, 4
MAX_REPEATS = 100
_MARK = "zz"
_PLAIN = re.compile(f"(?!{_MARK})[a-z0-9]{{1,40}}")


class MilvusKeywordIndex(MilvusIndex, KeywordIndex):
    """Keyword indexes on a server. Milvus finds passages; Braid scores them by what their collection alone has."""

    name: StateName = "milvus_bm25"
    leg: Leg = "bm25"

    def __init__(self, server: MilvusServer, changes: ChangeLog, analyzer: Analyzer) -> None:
        super().__init__(server, changes, "keyword")
        self._analyzer = analyzer
        self.version = f"{analyzer.version}:milvus:3"
        self._shape = Shape("keyword", self.version, _add_fields, _INDEX)
        self._samples = LeastRecentlyUsed[object, WordSample](SAMPLES)

    def _store(self, collection: str) -> Store:
        return self._server.store(collection, self._shape)

    def _row(self, chunk: IndexedChunk) -> Mapping[str, Any]:
        return _row_of(self._analyzer.tokens(chunk.text))

    def search(
        self,
        collection: str,
        terms: Mapping[str, float],
        k: int,
        *,
        dataset_ids: Collection[int] | None = None,
        document_ids: NDArray[Any] | None = None,
        share: float = 1.0,
        factor: float = 1.0,
        best: BestScores | None = None,
    ) -> list[ScoredChunk]:
        """Return the ``k`` best chunks with at least one of the terms, by factor · BM25, within the given ids; also
        those that are not among the ``best``.

        Milvus, which counts the words of all collections of a store, chooses four times as many, at least 200. They are
        scored by what the collection itself has. To Milvus a term of weight 2 counts as if it were there twice; weights
        are rounded so that the lightest counts once.
        """
        question = _joined(_repeated(terms))
        if not question or k < 1:
            return []
        store, found, deadline = self._store(collection), dict[str, Words](), time.monotonic() + TIMEOUT_S
        sample = self._sample(collection, None)
        wanted = max(LEAST_CANDIDATES, CANDIDATES_PER_HIT * k)
        for part in within({collection: (dataset_ids, document_ids)}):
            left_s = deadline - time.monotonic()
            hits = store.search(
                question, part, wanted, field="bm25", parameters=_BY_BM25, timeout_s=left_s, fields=_WORDS
            )
            found.update((hit.chunk_id, words_of(hit.row["tokens"], hit.row["times"])) for hit in hits)
        if not found:
            self._require_some(collection, partial(self._changes.chunk_count, collection))
        weights = sample.idf_weights({_word(term): weight for term, weight in terms.items()})
        ranked = [ScoredChunk(chunk_id, factor * sample.score(weights, words)) for chunk_id, words in found.items()]
        return sorted(ranked, key=lambda hit: (-hit.score, hit.chunk_id))[:k]

    def containing(
        self, collection: str, tokens: Collection[str], n: int, *, dataset_ids: Collection[int]
    ) -> tuple[list[str], int]:
        """Return the ids of up to ``n`` chunks that have all of the tokens, best first, and how many have."""
        store, having = self._store(collection), " and ".join(_has(token) for token in sorted(tokens))
        if not tokens:
            return [], 0
        expression = f"{having} and {within({collection: (dataset_ids, None)})[0]}"
        hits = store.search(_joined(tokens), expression, n, field="bm25", parameters=_BY_BM25, timeout_s=TIMEOUT_S)
        if not hits:
            self._require_some(collection, partial(self._changes.chunk_count, collection))
        return [hit.chunk_id for hit in hits], max(len(hits), store.count(expression) if len(hits) == n else 0)

    def beginning_like(self, collection: str, beginning: str, n: int, *, dataset_ids: Collection[int]) -> list[str]:
        """Return nothing: Milvus has no list of its words that could be searched for near ones."""
        return []

    def statistics(
        self, collection: str, terms: Collection[str], *, dataset_ids: Collection[int] | None = None
    ) -> Bm25Statistics:
        """Return how many chunks have each term, also within some datasets.

        Milvus does not tell: what a sample of 1,000 chunks has is scaled up; a smaller collection is looked at whole.
        """
        sample = self._sample(collection, None)
        counts = {term: sample.documents_with(_word(term)) for term in terms}
        readable: Bm25Counts | None = None
        if dataset_ids is not None:
            part = self._sample(collection, frozenset(dataset_ids))
            readable = Bm25Counts(part.documents, {term: part.documents_with(_word(term)) for term in terms})
        return Bm25Statistics(sample.documents, sample.average_length, counts, readable)

    def _sample(self, collection: str, dataset_ids: frozenset[int] | None) -> WordSample:
        """Return the sample of a collection, or of its datasets."""
        kept = self._samples.get((collection, dataset_ids))
        if kept is not None and time.monotonic() < kept.until:
            return kept
        store, expression = self._store(collection), within({collection: (dataset_ids, None)})[0]
        passages = [words_of(row["tokens"], row["times"]) for row in store.rows(expression, _WORDS, limit=SAMPLE)]
        is_whole = len(passages) < SAMPLE
        sample = WordSample.of(
            passages,
            documents=len(passages) if is_whole else store.count(expression),
            until=time.monotonic() + (SAMPLE_S if not is_whole else FEW_S if passages else 0.0),
        )
        return self._samples.put((collection, dataset_ids), sample)


_WORDS = ("tokens", "times")
_BY_BM25 = {"metric_type": "BM25"}
_INDEX = {
    "field_name": "bm25",
    "index_type": "SPARSE_INVERTED_INDEX",
    "metric_type": "BM25",
    "params": {"bm25_k1": K1, "bm25_b": B},
}


def _add_fields(schema: Any) -> None:
    from pymilvus import DataType, Function, FunctionType

    words = {"enable_analyzer": True, "enable_match": True, "analyzer_params": {"tokenizer": "standard"}}
    schema.add_field("tokens", DataType.VARCHAR, max_length=65_535, **words)
    schema.add_field("times", DataType.VARCHAR, max_length=65_535)
    schema.add_field("bm25", DataType.SPARSE_FLOAT_VECTOR)
    kind = {"function_type": FunctionType.BM25, "input_field_names": ["tokens"], "output_field_names": ["bm25"]}
    schema.add_function(Function(name="bm25", **kind))


def _has(term: str) -> str:
    return f'TEXT_MATCH(tokens, "{_word(term)}")'


def _row_of(tokens: Sequence[str]) -> dict[str, str]:
    """Return the words of a passage, of a long one fewer times, and then how often it has each of them."""
    if sum(len(_word(token)) + 1 for token in tokens) <= MAX_TOKENS_BYTES:
        return {"tokens": _joined(tokens), "times": ""}
    counts, share = Counter(map(_word, tokens)), 1.0
    while share * max(counts.values()) >= 1 and _bytes_of(counts, share) > MAX_TOKENS_BYTES:
        share *= THINNER
    text = _cut(" ".join(word for word, n in counts.items() for _ in range(_times(n, share))))
    return {"tokens": text, "times": " ".join(str(counts[word]) for word in dict.fromkeys(text.split(" ")))}


def _bytes_of(counts: Mapping[str, int], share: float) -> int:
    return sum(_times(n, share) * (len(word) + 1) for word, n in counts.items())


def _times(count: int, share: float) -> int:
    return max(1, round(count * share))


def _joined(tokens: Iterable[str]) -> str:
    return _cut(" ".join(map(_word, tokens)))


def _cut(text: str) -> str:
    """Return the words that fit into Milvus's limit."""
    return text if len(text) <= MAX_TOKENS_BYTES else text[: text.rindex(" ", 0, MAX_TOKENS_BYTES)]


@lru_cache(maxsize=65_536)
def _word(token: str) -> str:
    """Return a token as a word of [a-z0-9], which every analyzer of Milvus leaves as it is; others are hashed."""
    if _PLAIN.fullmatch(token):
        return token
    return _MARK + b32encode(blake2b(token.encode(), digest_size=5).digest()).decode().lower()


def _repeated(terms: Mapping[str, float]) -> Iterable[str]:
    weights = [weight for weight in terms.values() if weight > 0]
    lightest = max(min(weights, default=1.0), max(weights, default=1.0) / MAX_REPEATS)
    for term, weight in terms.items():
        if weight > 0:
            yield from [term] * max(1, round(weight / lightest))


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
