"""The dense leg in Milvus: one search for all collections of a model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from braid.core.errors import BraidError, EmbeddingError, IndexUnavailableError, InvalidInputError
from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.answers import DenseAnswer, Where
from braid.core.indexes.base import TIMEOUT_S, VectorIndex
from braid.core.indexes.milvus.index import MilvusIndex
from braid.core.indexes.milvus.server import MilvusServer, Shape, Store, within
from braid.core.indexes.vector_block import Selection
from braid.core.ledger.change_log import ChangeLog, IndexedChunk, StateName
from braid.core.lru import LeastRecentlyUsed
from braid.core.models.embeddings import EmbeddingModel
from braid.core.types import Leg, ScoredChunk
from braid.core.vector import Vector

SAMPLE = 100
"""Chunks that tell how much a difference between two cosines means."""
SAMPLES = 256
DECIMALS = 6
"""Milvus computes with 32 bits: equal vectors differ after that."""
SAMPLE_S = 600.0
"""Time after which a sample is read again."""
FEW_S = 10.0
"""The same for a sample of fewer chunks."""


LINKS = 64
"""Links of a vector in the graph. With 16, some of the default model's vectors are reached from no other: one question
in 50 of a small collection missed its answer. With 64 each finds what an exact search finds.
"""
_INDEX = {
    "field_name": "vector",
    "index_type": "HNSW",
    "metric_type": "COSINE",
    "params": {"M": LINKS, "efConstruction": 400},
}
LEAST_EF, EF_PER_HIT = 512, 4
"""Candidates that a search keeps while it walks the graph: at least, and for each hit. With Milvus's own 64, 3 to 13 of
the 100 nearest vectors of a small collection are missed, since those of others are in the way; with these, one in
1,000.
"""


class MilvusVectorIndex(MilvusIndex, VectorIndex):
    """Vectors on a server: a store for each model. The ledger has them as well, so that none is ever computed again."""

    name: StateName = "milvus_dense"
    leg: Leg = "dense"

    def __init__(self, server: MilvusServer, changes: ChangeLog, models: AnsweringModels) -> None:
        super().__init__(server, changes, "dense")
        self._models = models
        self._samples = LeastRecentlyUsed[object, tuple[float, Vector]](SAMPLES)

    # ------------------------------------------------------------ searching

    def search_all(
        self,
        where: Where,
        vector: Vector,
        k: int,
        *,
        model: str = "",
        pooled: bool = False,
        spread: bool = True,
        timeout_s: float = TIMEOUT_S,
    ) -> DenseAnswer:
        """Search several collections of one model; see `braid.core.indexes.dense.DenseIndex.search_all`. Milvus's index
        is approximate where its collection is large.
        """
        if k < 1:
            raise InvalidInputError(f"k is {k}; it must be at least 1", field="k")
        deadline = time.monotonic() + timeout_s
        answers: dict[str, list[ScoredChunk] | BraidError] = {}
        together: dict[str, tuple[Store, dict[str, Selection]]] = {}
        for collection, selection in where.items():
            try:
                version = self._models.require(collection, model)
                store = self._store_of(collection, version)
                together.setdefault(store.name, (store, {}))[1][collection] = selection
            except (IndexUnavailableError, EmbeddingError) as error:
                answers[collection] = error
        samples = []
        for store, part in together.values():
            groups = [part] if pooled else [{name: selection} for name, selection in part.items()]
            for group in groups:
                try:
                    answers.update(self._nearest(store, group, vector, k, deadline))
                except IndexUnavailableError as error:
                    answers.update(dict.fromkeys(group, error))
            if spread and not all(isinstance(answers[name], BraidError) for name in part):
                left_s = max(0.1, deadline - time.monotonic())
                samples.append(self._sample(store, part, vector.size, left_s) @ vector)
        sample = np.concatenate(samples) if samples else np.empty(0)
        return DenseAnswer(answers, float(np.std(sample)) if len(sample) > 1 else 0.0)

    def _nearest(
        self, store: Store, where: Where, vector: Vector, k: int, deadline: float
    ) -> dict[str, list[ScoredChunk] | BraidError]:
        found: dict[str, list[ScoredChunk]] = {collection: [] for collection in where}
        for expression in within(where):
            left_s = deadline - time.monotonic()
            query = vector.tolist()
            options = {"metric_type": "COSINE", "params": {"ef": max(LEAST_EF, EF_PER_HIT * k)}}
            for hit in store.search(query, expression, k, field="vector", parameters=options, timeout_s=left_s):
                found[hit.row["collection"]].append(ScoredChunk(hit.chunk_id, round(hit.distance, DECIMALS)))
        answers: dict[str, list[ScoredChunk] | BraidError] = {}
        for name, hits in found.items():
            answers[name] = sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:k]
            if not hits:
                try:
                    self._require_some(name, partial(self._changes.embedded_count, name, store.shape.version))
                except IndexUnavailableError as error:
                    answers[name] = error
        return answers

    def _sample(self, store: Store, where: Where, dimension: int, timeout_s: float) -> Vector:
        """Return the vectors (n, dim) of the 100 selected chunks with the lowest ids, which are hashes. They are
        remembered for 10 minutes; none when Milvus does not answer, or nothing is selected.
        """
        selected = next(iter(within(where)), "")
        if not selected:
            return np.empty((0, dimension), dtype=np.float32)
        kept = self._samples.get((store.name, selected))
        if kept is None or time.monotonic() > kept[0]:
            try:
                rows = [row["vector"] for row in store.rows(selected, ["vector"], limit=SAMPLE, timeout_s=timeout_s)]
            except IndexUnavailableError:  # the search itself has said so
                return np.empty((0, dimension), dtype=np.float32)
            vectors = np.array(rows, dtype=np.float32).reshape(len(rows), dimension)
            until = time.monotonic() + (SAMPLE_S if len(rows) == SAMPLE else FEW_S)
            kept = self._samples.put((store.name, selected), (until, vectors))
        return kept[1]

    # ------------------------------------------------------------ following the ledger

    def _store(self, collection: str) -> Store:
        return self._store_of(collection, self._models.wanted_version(collection))

    def _store_of(self, collection: str, version: str) -> Store:
        def add_fields(schema: Any) -> None:
            from pymilvus import DataType

            dimension = self._changes.dimension(collection, version)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)

        return self._server.store(collection, Shape("dense", version, add_fields, _INDEX))

    def _row(self, chunk: IndexedChunk) -> Mapping[str, Any] | None:
        return None if chunk.vector is None else {"vector": chunk.vector.tolist()}

    # ------------------------------------------------------------ inspecting

    def dimension(self, collection: str) -> int | None:
        """Return the dimension of the collection's vectors; None when it has none."""
        return self._changes.dimension(collection, self._models.answering_version(collection))

    def answering_model(self, collection: str) -> EmbeddingModel:
        """Return the model of the store that searches ask. Raises EmbeddingError."""
        return self._models.answering(collection)
