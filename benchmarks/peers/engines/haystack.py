"""Haystack: a pipeline of the in-memory store's two retrievers and a DocumentJoiner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from benchmarks.peers.interface import DEPTH, FloatVector, Passage, everything


class Engine:
    """One store for all collections."""

    about = "pipeline of InMemoryBM25Retriever, InMemoryEmbeddingRetriever and DocumentJoiner (reciprocal_rank_fusion)"
    packages = ("haystack-ai",)

    def __init__(self, folder: Path) -> None:
        self._store = InMemoryDocumentStore(embedding_similarity_function="cosine", return_embedding=False)
        pipeline = Pipeline()
        pipeline.add_component("bm25", InMemoryBM25Retriever(self._store, top_k=DEPTH))
        pipeline.add_component("dense", InMemoryEmbeddingRetriever(self._store, top_k=DEPTH))
        pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
        pipeline.connect("bm25", "joiner")
        pipeline.connect("dense", "joiner")
        self._pipeline = pipeline

    def build(self, collections: Mapping[str, Sequence[Passage]]) -> None:
        self._store.write_documents([_document(passage) for passage in everything(collections)])

    def search(self, text: str, vector: FloatVector, k: int, below: int | None) -> list[str]:
        filters: dict[str, Any] | None = None
        if below is not None:
            filters = {"field": "meta.part", "operator": "<", "value": below}
        answer = self._pipeline.run(
            {
                "bm25": {"query": text, "filters": filters},
                "dense": {"query_embedding": vector.tolist(), "filters": filters},
                "joiner": {"top_k": k},
            }
        )
        return [document.id for document in answer["joiner"]["documents"]]

    def put(self, passage: Passage) -> None:
        self._store.write_documents([_document(passage)])

    def close(self) -> None:
        self._store.shutdown()


def _document(passage: Passage) -> Document:
    return Document(id=passage.id, content=passage.text, embedding=passage.vector.tolist(), meta={"part": passage.part})
