"""LanceDB: one table for all collections, its own full-text index, its hybrid query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS, BTree, HnswSq
from lancedb.rerankers import RRFReranker

from benchmarks.peers.interface import DEPTH, FloatVector, Passage, everything

LEAST_INDEXED = 20_000
"""Vectors below which the table is scanned: quicker than the graph here, and exact."""


class Engine:
    """One table; above a size an HNSW index of 8-bit vectors."""

    about = f"one table, full-text index, HNSW of 8-bit vectors from {LEAST_INDEXED:,} passages on, hybrid query"
    packages = ("lancedb",)

    def __init__(self, folder: Path) -> None:
        self._connection = lancedb.connect(folder / "lance")

    def build(self, collections: Mapping[str, Sequence[Passage]]) -> None:
        passages = everything(collections)
        self._table = self._connection.create_table("passages", _rows(passages))
        self._table.create_index("text", config=FTS())
        self._table.create_index("part", config=BTree())
        if len(passages) >= LEAST_INDEXED:
            self._table.create_index("vector", config=HnswSq(distance_type="cosine"))

    def attach(self, collections: Sequence[str]) -> None:
        """Open the table of another process."""
        self._table = self._connection.open_table("passages")

    def search(self, text: str, vector: FloatVector, k: int, below: int | None) -> list[str]:
        query = self._table.search(query_type="hybrid").vector(vector).text(text).distance_type("cosine")
        if below is not None:
            query = query.where(f"part < {below}", prefilter=True)
        query = query.rerank(RRFReranker()).select(["id", "text"]).limit(DEPTH)
        return query.to_arrow()["id"].to_pylist()[:k]

    def put(self, passage: Passage) -> None:
        self._table.add(_rows([passage]))

    def close(self) -> None:
        pass


def _rows(passages: Sequence[Passage]) -> pa.Table:
    size = len(passages[0].vector)
    flat = np.concatenate([passage.vector for passage in passages])
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat, pa.float32()), size)
    return pa.table(
        {
            "id": [passage.id for passage in passages],
            "collection": [passage.collection for passage in passages],
            "part": pa.array([passage.part for passage in passages], pa.int32()),
            "text": [passage.text for passage in passages],
            "vector": vectors,
        }
    )
