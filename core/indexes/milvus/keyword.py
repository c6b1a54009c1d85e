"""The keyword leg in Milvus: its BM25 function over the tokens of Braid's analyzer."""

from __future__ import annotations

import re
import time
from base64 import b32encode
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any, NamedTuple

from numpy.typing import NDArray

from braid.core.indexes.answers import Bm25Counts, Bm25Statistics
from braid.core.indexes.bm25 import K1, B
from braid.core.indexes.milvus.index import MilvusIndex
from braid.core.indexes.milvus.server import TIMEOUT_S, MilvusServer, Row, Shape, Store, within
from braid.core.ledger.change_log import ChangeLog, IndexedChunk, StateName
from braid.core.lru import LeastRecentlyUsed
from braid.core.text.analyzer import Analyzer
from braid.core.types import Leg, ScoredChunk

MAX_TOKENS_BYTES = 65_000
"""Bytes of a passage's words that are indexed; Milvus takes 65,535. A passage of 5,900 bigrams has as many."""
SAMPLE = 1_000
"""Passages whose words tell how frequent a word is."""
SAMPLES = 16
MAX_COUNTED = 24
"""Words that are not in the sample and are counted one by one."""
MAX_REPEATS = 100
_MARK = "zz"
_PLAIN = re.compile(f"(?!{_MARK})[a-z0-9]{{1,40}}")


class MilvusKeywordIndex(MilvusIndex):
    """Keyword indexes on a server. All collections share BM25's statistics, so that their scores compare."""

    name: StateName = "milvus_bm25"
    leg: Leg = "bm25"

    def __init__(self, server: MilvusServer, changes: ChangeLog, analyzer: Analyzer) -> None:
        super().__init__(server, changes, "keyword")
        self._analyzer = analyzer
        self.version = f"{analyzer.version}:milvus:2"
        self._shape = Shape("keyword", self.version, _add_fields, _INDEX)
        self._samples = LeastRecentlyUsed[object, _Sample](SAMPLES)

    def _store(self, collection: str) -> Store:
        return self._server.store(collection, self._shape)

    def _row(self, chunk: IndexedChunk) -> Mapping[str, Any]:
        return {"tokens": _joined(self._analyzer.tokens(chunk.text))}

    def search(
        self,
        collection: str,
        terms: Mapping[str, float],
        k: int,
        *,
        dataset_ids: Collection[int] | None = None,
        document_ids: NDArray[Any] | None = None,
        share: float = 1.0,
    ) -> list[ScoredChunk]:
        """Return the ``k`` best chunks with at least one of the terms, by BM25, within the given ids.

        A term of weight 2 counts as if it were there twice; weights are rounded so that the lightest counts once.
        """
        question = _joined(_repeated(terms))
        if not question or k < 1:
            return []
        store, found, deadline = self._store(collection), dict[str, float](), time.monotonic() + TIMEOUT_S
        for part in within({collection: (dataset_ids, document_ids)}):
            left_s = deadline - time.monotonic()
            hits = store.search(question, part, k, field="bm25", parameters={"metric_type": "BM25"}, timeout_s=left_s)
            found.update((hit.chunk_id, abs(hit.distance)) for hit in hits)  # Milvus Lite has them negative
        if not found:
            self._require_some(collection, partial(self._changes.chunk_count, collection))
        ranked = [ScoredChunk(chunk_id, score) for chunk_id, score in found.items()]
        return sorted(ranked, key=lambda hit: (-hit.score, hit.chunk_id))[:k]

    def containing(
        self, collection: str, tokens: Collection[str], n: int, *, dataset_ids: Collection[int]
    ) -> tuple[list[str], int]:
        """Return the ids of up to ``n`` chunks that have all of the tokens, best first, and how many have."""
        store, having = self._store(collection), " and ".join(_has(token) for token in sorted(tokens))
        if not tokens:
            return [], 0
        expression = f"{having} and {within({collection: (dataset_ids, None)})[0]}"
        hits = store.search(
            _joined(tokens), expression, n, field="bm25", parameters={"metric_type": "BM25"}, timeout_s=TIMEOUT_S
        )
        if not hits:
            self._require_some(collection, partial(self._changes.chunk_count, collection))
        return [hit.chunk_id for hit in hits], max(len(hits), store.count(expression) if len(hits) == n else 0)

    def statistics(
        self, collection: str, terms: Collection[str], *, dataset_ids: Collection[int] | None = None
    ) -> Bm25Statistics:
        """Return how many chunks have each term, also within some datasets.

        Milvus does not tell: words of a sample of 1,000 chunks are scaled up, and up to 24 others are counted.
        """
        expression = within({collection: (dataset_ids, None)})[0]
        store = self._store(collection)
        documents = store.count(expression)
        key = (collection, frozenset(dataset_ids or ()), dataset_ids is None, documents)
        sample = self._samples.get(key) or self._samples.put(
            key, _sample(store.rows(expression, ["tokens"], limit=SAMPLE))
        )
        having, to_count = dict[str, int](), list[str]()
        for term in terms:
            if seen := sample.having[_word(term)]:
                having[term] = max(1, round(seen * documents / sample.size))
            elif sample.size < documents:
                to_count.append(term)
        for term in to_count[:MAX_COUNTED]:
            having[term] = store.count(f"{_has(term)} and {expression}")
        having.update(dict.fromkeys(to_count[MAX_COUNTED:], 1))
        counts = Bm25Counts(documents, {term: having.get(term, 0) for term in terms})
        return Bm25Statistics(documents, 0.0, counts.document_frequency)


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
    schema.add_field("bm25", DataType.SPARSE_FLOAT_VECTOR)
    kind = {"function_type": FunctionType.BM25, "input_field_names": ["tokens"], "output_field_names": ["bm25"]}
    schema.add_function(Function(name="bm25", **kind))


class _Sample(NamedTuple):
    size: int
    having: Counter[str]


def _sample(rows: Iterable[Row]) -> _Sample:
    having, size = Counter[str](), 0
    for row in rows:
        having.update(set(str(row["tokens"]).split(" ")))
        size += 1
    return _Sample(size, having)


def _has(term: str) -> str:
    return f'TEXT_MATCH(tokens, "{_word(term)}")'


def _joined(tokens: Iterable[str]) -> str:
    """Return the tokens as words, cut before Milvus's limit."""
    text = " ".join(map(_word, tokens))
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
