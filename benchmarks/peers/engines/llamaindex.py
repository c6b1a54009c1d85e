"""LlamaIndex: QueryFusionRetriever over its in-memory vector store and its BM25 retriever (bm25s)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from llama_index.core import MockEmbedding, Settings, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters
from llama_index.retrievers.bm25 import BM25Retriever

from benchmarks.peers.interface import DEPTH, FloatVector, Passage, everything


class Engine:
    """One index for all collections. Nothing is asked of the two mock models: the vectors are given."""

    about = "QueryFusionRetriever (reciprocal_rerank, one query) over the in-memory vector store and BM25Retriever"
    packages = ("llama-index-core", "llama-index-retrievers-bm25", "bm25s")

    def __init__(self, folder: Path) -> None:
        Settings.llm = MockLLM()

    def build(self, collections: Mapping[str, Sequence[Passage]]) -> None:
        passages = everything(collections)
        self._nodes = [_node(passage) for passage in passages]
        self._index = VectorStoreIndex(self._nodes, embed_model=MockEmbedding(len(passages[0].vector)))
        self._keep()

    def search(self, text: str, vector: FloatVector, k: int, below: int | None) -> list[str]:
        fusion = QueryFusionRetriever(
            self._retrievers(below),
            mode=FUSION_MODES.RECIPROCAL_RANK,
            num_queries=1,
            similarity_top_k=k,
            use_async=False,
        )
        return [found.node.node_id for found in fusion.retrieve(QueryBundle(text, embedding=vector.tolist()))]

    def put(self, passage: Passage) -> None:
        node = _node(passage)
        self._index.insert_nodes([node])
        self._nodes.append(node)
        self._keep()

    def close(self) -> None:
        pass

    def _keep(self) -> None:
        """Build the keyword retriever, which cannot be added to."""
        self._bm25 = BM25Retriever.from_defaults(nodes=self._nodes, similarity_top_k=DEPTH)
        self._bm25.bm25.corpus = self._bm25.corpus  # where a retriever over the same index looks for them

    def _retrievers(self, below: int | None) -> list[BaseRetriever]:
        if below is None:
            return [self._index.as_retriever(similarity_top_k=DEPTH), self._bm25]
        filters = MetadataFilters(filters=[MetadataFilter(key="part", value=below, operator=FilterOperator.LT)])
        return [
            self._index.as_retriever(similarity_top_k=DEPTH, filters=filters),
            BM25Retriever(existing_bm25=self._bm25.bm25, similarity_top_k=DEPTH, filters=filters),
        ]


def _node(passage: Passage) -> TextNode:
    return TextNode(
        id_=passage.id,
        text=passage.text,
        embedding=passage.vector.tolist(),
        metadata={"part": passage.part},
        excluded_embed_metadata_keys=["part"],
        excluded_llm_metadata_keys=["part"],
    )
