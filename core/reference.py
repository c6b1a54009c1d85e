"""The reference engine: plain LangChain over the same scope, in memory, to compare with.

rank-bm25 through langchain-community's BM25Retriever with our analyzer, langchain-core's in-memory vector store over
the ledger's vectors, and the stock EnsembleRetriever. Hits are read from the ledger like any other.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from braid.core.errors import EmbeddingError
from braid.core.ledger.change_log import ChangeLog, IndexedChunk
from braid.core.models.embeddings import embed_query
from braid.core.search.context import SearchContext
from braid.core.search.pipeline import Search
from braid.core.search.ranking import FusedRanking, Ranking, fuse
from braid.core.search.stock_ensemble import EnsembleRetriever
from braid.core.search.strategies.base import QueryVariant
from braid.core.types import CollectionScope, Filters, Leg, Query, ScoredChunk, SearchResult

CACHED_RETRIEVERS = 16

Stock = BM25Retriever | InMemoryVectorStore
Selected = frozenset[int] | None
"""Ids of the documents that the filters select; None without filters."""


@dataclass(frozen=True, slots=True)
class _Built:
    stamp: tuple[object, ...]
    """State of the collection when this was built; a different stamp means that this is out of date."""
    stock: Stock | None
    unembedded: int = 0
    """Number of chunks that are missing because they have no vector."""


class ReferenceEngine:
    """Builds stock retrievers once per leg, collection and selection of documents, until the collection changes."""

    def __init__(self, context: SearchContext) -> None:
        self._context = context
        self._changes = ChangeLog(context.ledger.database)
        self._cache: OrderedDict[tuple[Leg, CollectionScope, Selected], _Built] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, search: Search) -> SearchResult:
        """Search with stock LangChain classes."""
        with search.trace.stage("total"):
            with search.trace.stage("search"):
                fused = self._search(search)
            hits = search.best_hits(fused)
        return search.result(hits, generator="none", queries=(search.query.text,))

    def _search(self, search: Search) -> FusedRanking:
        query, trace = search.query, search.trace
        vectors: dict[str, list[float]] = {}
        lists: list[tuple[Leg, list[Document]]] = []
        for ours in search.legs:
            collection = ours.scope.collection
            try:
                built = self._get_built(ours.leg, ours.scope, query.filters)
                if built.unembedded:
                    reason = f"{built.unembedded} passages of {collection} have no vector yet"
                    trace.report_missing("dense", collection, reason)
                if isinstance(built.stock, BM25Retriever):
                    lists.append(("bm25", built.stock.model_copy(update={"k": query.fetch_k}).invoke(query.text)))
                elif built.stock is not None:
                    vector = self._vector(ours.scope, query.text, vectors)
                    lists.append(("dense", built.stock.similarity_search_by_vector(vector, k=query.fetch_k)))
                trace.answered[ours.leg] = None
            except EmbeddingError as error:
                trace.report_missing(ours.leg, collection, str(error))
        return _stock_fusion(query, lists)

    def _vector(self, scope: CollectionScope, text: str, vectors: dict[str, list[float]]) -> list[float]:
        model = self._context.model_of(scope.collection)
        if model.fingerprint not in vectors:
            vectors[model.fingerprint] = embed_query(model, text).tolist()
        return vectors[model.fingerprint]

    def _get_built(self, leg: Leg, scope: CollectionScope, filters: Filters) -> _Built:
        selected = self._select_documents(scope, filters)
        key, stamp = (leg, scope, selected), self._stamp(leg, scope.collection)
        with self._lock:
            built = self._cache.get(key)
            if built is not None and built.stamp == stamp:
                self._cache.move_to_end(key)
                return built
        built = (self._bm25 if leg == "bm25" else self._dense)(scope, selected, stamp)
        with self._lock:
            self._cache[key] = built
            while len(self._cache) > CACHED_RETRIEVERS:
                self._cache.popitem(last=False)
        return built

    def _select_documents(self, scope: CollectionScope, filters: Filters) -> Selected:
        if not filters:
            return None
        ids, _ = self._context.ledger.matching_documents(scope.dataset_ids, filters)
        return frozenset(ids)

    def _stamp(self, leg: Leg, collection: str) -> tuple[object, ...]:
        head = self._changes.heads().get(collection, 0)
        if leg == "bm25":
            return (head,)
        model = self._context.model_of(collection).fingerprint
        return (head, model, self._changes.embedded_count(collection, model))

    def _bm25(self, scope: CollectionScope, selected: Selected, stamp: tuple[object, ...]) -> _Built:
        chunks, tokens = self._chunks(scope, selected, ""), self._context.analyzer.tokens
        if not any(tokens(chunk.text) for chunk in chunks):  # the stock class divides by the number of words
            return _Built(stamp, None)
        documents = [_document(chunk) for chunk in chunks]
        return _Built(stamp, BM25Retriever.from_documents(documents, preprocess_func=tokens))

    def _dense(self, scope: CollectionScope, selected: Selected, stamp: tuple[object, ...]) -> _Built:
        store = InMemoryVectorStore(DeterministicFakeEmbedding(size=1))  # not used: vectors come from the ledger
        chunks = self._chunks(scope, selected, self._context.model_of(scope.collection).fingerprint)
        for chunk in chunks:
            if chunk.vector is not None:
                document = _document(chunk)
                store.store[chunk.id] = {
                    "id": chunk.id,
                    "vector": chunk.vector,
                    "text": document.page_content,
                    "metadata": document.metadata,
                }
        return _Built(stamp, store, len(chunks) - len(store.store))

    def _chunks(self, scope: CollectionScope, selected: Selected, model: str) -> list[IndexedChunk]:
        batches = self._changes.all_chunks(scope.collection, 2000, model)
        return [
            chunk
            for batch in batches
            for chunk in batch
            if chunk.dataset_id in scope.dataset_ids and (selected is None or chunk.document_id in selected)
        ]


def _document(chunk: IndexedChunk) -> Document:
    return Document(id=chunk.id, page_content=chunk.text, metadata={"id": chunk.id})


def _stock_fusion(query: Query, lists: Sequence[tuple[Leg, list[Document]]]) -> FusedRanking:
    """Fuse in the stock class's own order; ranks and contributions are added for the explanation."""
    variant = QueryVariant(query.text)
    rankings = [
        Ranking(
            leg,
            variant,
            1 / len(lists),
            tuple(ScoredChunk(d.metadata["id"], 1 / rank) for rank, d in enumerate(docs, 1)),
        )
        for leg, docs in lists
    ]
    fused = fuse(replace(query, fusion="rrf", pooling="none"), rankings)
    if len(lists) < 2:
        return fused
    nobody: RunnableLambda[str, list[Document]] = RunnableLambda(lambda _: [])  # not asked: only the fusion is used
    ensemble = EnsembleRetriever(retrievers=[nobody] * len(lists), weights=[], id_key="id")
    scores = dict(fused.order)
    order = [d.metadata["id"] for d in ensemble.weighted_reciprocal_rank([docs for _, docs in lists])]
    return replace(fused, order=tuple(ScoredChunk(chunk_id, scores[chunk_id]) for chunk_id in order))
