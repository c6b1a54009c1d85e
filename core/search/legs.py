"""The legs of a search: dense and BM25, each in one collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from braid.core.indexes.bm25 import Bm25Index
from braid.core.indexes.dense import DenseIndex
from braid.core.ledger.ledger import Ledger
from braid.core.search.context import SearchContext
from braid.core.search.filter_plan import FilterPlan, fetch_within
from braid.core.types import LEGS_OF_MODE, CollectionScope, Leg, Mode, Scope, ScoredChunk
from braid.core.vector import Vector

SCORE_DIGITS = 5


@dataclass(frozen=True, slots=True)
class DenseLeg:
    """Search by meaning in one collection, in Chroma."""

    leg: ClassVar[Leg] = "dense"
    scope: CollectionScope
    index: DenseIndex
    ledger: Ledger

    def rank(self, vector: Vector, k: int, plan: FilterPlan) -> list[ScoredChunk]:
        """Return the ``k`` nearest chunks of the plan by cosine similarity. ``vector`` is (dim,) float32 of unit
        length.
        """
        collection = self.scope.collection
        return fetch_within(
            plan,
            k,
            fetch=lambda n: self.index.search(collection, vector, n),
            fetch_filtered=lambda part, n: self.index.search(collection, vector, n, where=part.where()),
            ledger=self.ledger,
        )


@dataclass(frozen=True, slots=True)
class Bm25Leg:
    """Search by keyword in one collection, in tantivy."""

    leg: ClassVar[Leg] = "bm25"
    scope: CollectionScope
    index: Bm25Index
    ledger: Ledger

    def rank(self, terms: Mapping[str, float], factor: float, k: int, plan: FilterPlan) -> list[ScoredChunk]:
        """Return the ``k`` best chunks of the plan by factor · Σ weight · BM25."""
        datasets = None if plan.whole else plan.scope.dataset_ids

        def fetch(part: FilterPlan, n: int) -> list[ScoredChunk]:
            return self.index.search(
                self.scope.collection, terms, n, dataset_ids=datasets, document_ids=part.document_ids
            )

        if plan.filters and plan.document_ids is None:
            hits = fetch_within(plan, k, fetch=lambda n: fetch(plan, n), fetch_filtered=fetch, ledger=self.ledger)
        else:
            hits = fetch(plan, k)
        if plan.counted_ids is not None:  # the last digits of a 32-bit score tell what else was counted
            hits = [ScoredChunk(chunk_id, _round(score)) for chunk_id, score in hits]
        return [ScoredChunk(chunk_id, factor * score) for chunk_id, score in hits]


def _round(score: float) -> float:
    return float(f"{score:.{SCORE_DIGITS}g}")


CollectionLeg = DenseLeg | Bm25Leg


def legs_of(context: SearchContext, scope: Scope, mode: Mode) -> tuple[CollectionLeg, ...]:
    """Return the mode's legs for each collection of the scope."""
    return tuple(
        DenseLeg(collection, context.dense, context.ledger)
        if leg == "dense"
        else Bm25Leg(collection, context.bm25, context.ledger)
        for collection in scope.collections
        for leg in LEGS_OF_MODE[mode]
    )
