"""The retrievers of one leg in one collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from braid.core.indexes.bm25 import Bm25Index
from braid.core.indexes.dense import DenseIndex
from braid.core.ledger.ledger import Ledger
from braid.core.search.selection import Selection, fetch_within
from braid.core.search_retriever import SearchRetriever
from braid.core.types import CollectionScope, Leg, ScoredChunk, Vector


class LegRetriever(SearchRetriever):
    """One leg in one collection. Used alone it is a retriever like any other; an ensemble asks its `rank`."""

    leg: ClassVar[Leg]
    scope: CollectionScope
    ledger: Ledger = Field(exclude=True, repr=False)


class DenseRetriever(LegRetriever):
    """By meaning, in Chroma."""

    leg: ClassVar[Leg] = "dense"
    index: DenseIndex = Field(exclude=True, repr=False)

    def rank(self, vector: Vector, k: int, selection: Selection) -> list[ScoredChunk]:
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
    index: Bm25Index = Field(exclude=True, repr=False)

    def rank(self, terms: Mapping[str, float], factor: float, k: int, selection: Selection) -> list[ScoredChunk]:
        """The ``k`` best selected chunks by factor · Σ weight · BM25."""
        datasets = None if selection.whole else selection.scope.dataset_ids

        def fetch(part: Selection, n: int) -> list[ScoredChunk]:
            return self.index.search(
                self.scope.collection, terms, n, dataset_ids=datasets, document_ids=part.document_ids
            )

        if selection.filters and selection.document_ids is None:
            hits = fetch_within(
                selection, k, fetch=lambda n: fetch(selection, n), fetch_filtered=fetch, ledger=self.ledger
            )
        else:
            hits = fetch(selection, k)
        return [ScoredChunk(chunk_id, factor * score) for chunk_id, score in hits]
