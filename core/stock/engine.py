"""The engine ``langchain``: per collection a Chroma store and a BM25Retriever, and one EnsembleRetriever over all.

What another program would write with LangChain alone, over the same passages and with the same filters; its hits are
read from the ledger like any other, so that what is deleted, or not the caller's, is not found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from langchain_community.retrievers import BM25Retriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from braid.core.errors import EmbeddingError, IndexUnavailableError, ModelError
from braid.core.ledger.change_log import ChangeLog
from braid.core.lru import LeastRecentlyUsed
from braid.core.models.embeddings import EmbeddingModel, embed_passages, embed_query
from braid.core.search.context import SearchContext
from braid.core.search.pipeline import Search
from braid.core.search.ranking import FusedRanking, Ranking, fuse
from braid.core.search.stock_ensemble import EnsembleRetriever
from braid.core.search.strategies.base import QueryVariant
from braid.core.stock.store import ChromaStores, Selected, metadata_of, where
from braid.core.stock.strategies import AskedPrompts, by_strategy, embeddings_for
from braid.core.types import CollectionScope, Leg, Query, ScoredChunk, SearchResult

CACHED_RETRIEVERS = 16
RRF_C = 60
MOST_COUNTED = 10_000
"""Passages without a vector that are counted to name them."""


@dataclass(frozen=True, slots=True)
class _Built:
    head: int
    """The collection's last change when this was built; with another one, this is out of date."""
    retriever: BM25Retriever | None


class StockEngine:
    """Runs searches with LangChain's stock classes, which are made again for a collection that has changed.

    Its Chroma stores are below ``data_dir``, or without one among temporary files.
    """

    def __init__(self, context: SearchContext, *, data_dir: Path | None = None) -> None:
        self._context = context
        self._changes = ChangeLog(context.ledger.database)
        self._stores = ChromaStores(self._changes, data_dir)
        self._cache = LeastRecentlyUsed[tuple[CollectionScope, Selected | None], _Built](CACHED_RETRIEVERS)

    def close(self) -> None:
        """Delete what is kept in Chroma."""
        self._stores.close()

    def run(self, search: Search) -> SearchResult:
        """Search by the strategy; for the query alone where its model fails, which is reported."""
        with search.trace.stage("total"):
            asked = AskedPrompts(search)
            try:
                legs = self._legs(search, asked)
                found = _ask(search, asked, legs)
            except ModelError as error:
                search.trace.report_missing("model", "", f"{error}; the query alone was searched for")
                asked = AskedPrompts(search, fails=True)
                legs = self._legs(search, asked)
                found = _ask(search, asked, legs)
            hits = search.best_hits(_fused(search, asked, legs, found))
        if asked.strategy == "compression":
            texts = {document.metadata["id"]: document.page_content for document in found}
            hits = [replace(hit, passage=replace(hit.passage, text=texts[hit.passage.chunk_id])) for hit in hits]
        queries = tuple(dict.fromkeys(query for leg in legs for query, _ in leg.found)) or (search.query.text,)
        return search.result(hits, generator=asked.generator, queries=queries)

    def _legs(self, search: Search, asked: AskedPrompts) -> list[StockLeg]:
        with search.trace.stage("scope"):
            selected = self._select(search)
        memory: dict[str, Embeddings] = {}
        legs = []
        for leg, scope in [(ours.leg, ours.scope) for ours in search.legs if _weight(search.query, ours.leg)]:
            stock: BaseRetriever | None = None
            try:
                if leg == "bm25":
                    stock = self._bm25(scope, selected, asked.fetch_k)
                elif selected is None or selected.ids:
                    model = self._context.model_of(scope.collection)
                    if model.fingerprint not in memory:
                        memory[model.fingerprint] = embeddings_for(asked, ModelEmbeddings(model))
                    self._name_missing_vectors(search, scope, selected, model.fingerprint)
                    store = self._stores.stored(scope.collection, model.fingerprint, memory[model.fingerprint])
                    stock = store.as_retriever(search_kwargs={"k": asked.fetch_k, "filter": where(scope, selected)})
            except (EmbeddingError, IndexUnavailableError) as error:
                search.trace.report_missing(leg, scope.collection, str(error))
                continue
            legs.append(StockLeg(leg=leg, collection=scope.collection, stock=stock, of=search))
        return legs

    def _select(self, search: Search) -> Selected | None:
        filters, ledger, dataset_ids = search.query.filters, self._context.ledger, search.scope.dataset_ids
        if not filters:
            return None
        ledger.require_filterable(dataset_ids, filters)
        if filters.of_passages:
            return Selected("id", ledger.matching_passages(dataset_ids, filters))
        ids, _ = ledger.matching_documents(dataset_ids, filters)
        return Selected("document_id", frozenset(map(int, ids)))

    def _name_missing_vectors(
        self, search: Search, scope: CollectionScope, selected: Selected | None, model: str
    ) -> None:
        collection = scope.collection
        if self._changes.embedded_count(collection, model) >= self._changes.chunk_count(collection):
            return
        document_ids = selected.ids if selected and selected.key == "document_id" else None
        count = self._changes.unembedded_count(
            collection, model, dataset_ids=scope.dataset_ids, document_ids=document_ids, limit=MOST_COUNTED
        )
        if count:
            many = f"{count} or more" if count == MOST_COUNTED else str(count)
            search.trace.report_missing("dense", collection, f"{many} passages of {collection} have no vector yet")

    def _bm25(self, scope: CollectionScope, selected: Selected | None, k: int) -> BM25Retriever | None:
        """Return the retriever of a collection's passages; None where they have no words, by whose number the stock
        class divides.
        """
        key, head = (scope, selected), self._changes.heads().get(scope.collection, 0)
        built = self._cache.get(key)
        if built is not None and built.head == head:
            return None if built.retriever is None else built.retriever.model_copy(update={"k": k})
        tokens = self._context.analyzer.tokens
        documents = [
            Document(id=chunk.id, page_content=chunk.text, metadata=metadata)
            for batch in self._changes.all_chunks(scope.collection, 2000)
            for chunk in batch
            if chunk.dataset_id in scope.dataset_ids
            for metadata in [metadata_of(chunk)]
            if selected is None or metadata[selected.key] in selected.ids
        ]
        retriever = None
        if any(tokens(document.page_content) for document in documents):
            retriever = BM25Retriever.from_documents(documents, preprocess_func=tokens)
        self._cache.put(key, _Built(head, retriever))
        return None if retriever is None else retriever.model_copy(update={"k": k})


class ModelEmbeddings(Embeddings):
    """An embedding model as LangChain's classes ask it; the query of a search is embedded once for all collections.

    Raises EmbeddingError.
    """

    def __init__(self, model: EmbeddingModel) -> None:
        self._model = model
        self._queries: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text."""
        vectors: list[list[float]] = embed_passages(self._model, texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        if text not in self._queries:
            self._queries[text] = embed_query(self._model, text).tolist()
        return self._queries[text]


class StockLeg(BaseRetriever):
    """One of LangChain's retrievers: what it finds is kept for the report, and its failure is named, not raised."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    leg: Leg
    collection: str
    stock: BaseRetriever | None
    of: Search
    found: list[tuple[str, list[Document]]] = Field(default_factory=list)
    """Each query with the documents found."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        documents: list[Document] = []
        try:
            if self.stock is not None:
                documents = self.stock.invoke(query, {"callbacks": run_manager.get_child()})
            self.of.trace.answered[self.leg] = None
        except (EmbeddingError, IndexUnavailableError) as error:
            self.of.trace.report_missing(self.leg, self.collection, str(error))
        self.found.append((query, documents))
        return documents


def _ask(search: Search, asked: AskedPrompts, legs: Sequence[StockLeg]) -> list[Document]:
    """Ask one leg alone, or the stock ensemble of them all, by the search's strategy."""
    if not legs:
        return []
    retriever: BaseRetriever = legs[0]
    if len(legs) > 1:
        weights = _weights(search.query, legs)
        retriever = EnsembleRetriever(retrievers=list(legs), weights=weights, c=RRF_C, id_key="id")
    with search.trace.stage("search"):
        return by_strategy(search, asked, retriever).invoke(search.query.text)


def _weight(query: Query, leg: Leg) -> float:
    return replace(query, fusion="rrf").weight_of(leg)


def _weights(query: Query, legs: Sequence[StockLeg]) -> list[float]:
    """Return the legs' weights, equal ones by default; their sum is 1."""
    weights = [_weight(query, each.leg) for each in legs]
    return [weight / sum(weights) for weight in weights]


def _fused(search: Search, asked: AskedPrompts, legs: Sequence[StockLeg], found: Sequence[Document]) -> FusedRanking:
    """Return what was found, in LangChain's order; ranks and contributions are added for the explanation.

    MultiQueryRetriever unites what its queries find, without scores: there the score is that of the place.
    """
    rankings = [
        Ranking(
            each.leg,
            QueryVariant(query),
            weight,
            tuple(ScoredChunk(document.metadata["id"], 1 / rank) for rank, document in enumerate(documents, 1)),
        )
        for each, weight in zip(legs, _weights(search.query, legs), strict=True)
        for query, documents in each.found
    ]
    fused = fuse(replace(search.query, fusion="rrf", pooling="none"), rankings)
    scores = dict(fused.order)
    ids = dict.fromkeys(document.metadata["id"] for document in found)
    if asked.strategy == "multi_query":
        scores = {chunk_id: 1 / (RRF_C + rank) for rank, chunk_id in enumerate(ids, 1)}
    return replace(fused, order=tuple(ScoredChunk(chunk_id, scores[chunk_id]) for chunk_id in ids))
