"""The retrievers of one leg in one collection, and the Documents that LangChain sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import run_in_executor
from pydantic import ConfigDict, Field

from core.dense_index import DenseIndex
from core.indexes import Scored, Vector
from core.ledger import Ledger
from core.lexical_index import LexicalIndex
from core.selection import Selection, fetch_within
from core.types import CollectionScope, Leg, SearchResult

Search = Callable[[str], SearchResult]


class LegRetriever(BaseRetriever):
    """One leg in one collection. Used alone it is a retriever like any other; an ensemble asks its `rank`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    leg: ClassVar[Leg]
    scope: CollectionScope
    ledger: Ledger = Field(exclude=True, repr=False)
    search: Search | None = Field(default=None, exclude=True, repr=False)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [] if self.search is None else documents(self.search(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [] if self.search is None else documents(await run_in_executor(None, self.search, query))


class DenseRetriever(LegRetriever):
    """By meaning, in Chroma."""

    leg: ClassVar[Leg] = "dense"
    index: DenseIndex = Field(exclude=True, repr=False)

    def rank(self, vector: Vector, k: int, selection: Selection) -> list[Scored]:
        """The ``k`` nearest selected chunks by cosine similarity. ``vector`` is (dim,) float32 of unit length."""
        collection = self.scope.collection
        return fetch_within(
            selection,
            k,
            fetch=lambda n: self.index.search(collection, vector, n),
            fetch_filtered=lambda part, n: self.index.search(collection, vector, n, where=part.where()),
            ledger=self.ledger,
        )


class Bm25Retriever(LegRetriever):
    """By keyword, in tantivy."""

    leg: ClassVar[Leg] = "bm25"
    index: LexicalIndex = Field(exclude=True, repr=False)

    def rank(self, terms: Mapping[str, float], factor: float, k: int, selection: Selection) -> list[Scored]:
        """The ``k`` best selected chunks by factor · Σ weight · BM25."""
        datasets = None if selection.whole else selection.scope.dataset_ids

        def fetch(part: Selection, n: int) -> list[Scored]:
            return self.index.search(
                self.scope.collection, terms, n, dataset_ids=datasets, document_ids=part.document_ids
            )

        if selection.filters and selection.document_ids is None:
            hits = fetch_within(
                selection, k, fetch=lambda n: fetch(selection, n), fetch_filtered=fetch, ledger=self.ledger
            )
        else:
            hits = fetch(selection, k)
        return [Scored(chunk_id, factor * score) for chunk_id, score in hits]


class NothingRetriever(BaseRetriever):
    """Finds nothing: the scope is empty."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return []


def documents(result: SearchResult) -> list[Document]:
    """The hits as LangChain documents, best first."""
    return [
        Document(
            id=hit.passage.chunk_id,
            page_content=hit.passage.text,
            metadata={
                **hit.passage.metadata,
                "id": hit.passage.chunk_id,
                "source": hit.passage.source,
                "title": hit.passage.title,
                "heading_path": hit.passage.heading_path,
                "page": hit.passage.page,
                "dataset_id": hit.passage.dataset_id,
                "collection": hit.passage.collection,
                "score": hit.score,
                **({} if hit.rerank_score is None else {"rerank_score": hit.rerank_score}),
                "legs": {leg.leg: {"rank": leg.rank, "score": leg.score, "share": leg.share} for leg in hit.legs},
            },
        )
        for hit in result.hits
    ]
