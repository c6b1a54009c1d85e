"""The legs of a search: dense and BM25, each in one collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from braid.core.errors import BraidError, EmbeddingError, IndexUnavailableError
from braid.core.indexes.answers import BestScores, DenseAnswer
from braid.core.indexes.base import KeywordIndex, VectorIndex
from braid.core.ledger.ledger import Ledger
from braid.core.search.calls import Deadline
from braid.core.search.context import SearchContext
from braid.core.search.filter_plan import FilterPlan, fetch_within
from braid.core.types import LEGS_OF_MODE, CollectionScope, Leg, Mode, Scope, ScoredChunk
from braid.core.vector import Vector

SCORE_DIGITS = 5


@dataclass(frozen=True, slots=True)
class DenseLeg:
    """Search by meaning in one collection."""

    leg: ClassVar[Leg] = "dense"
    scope: CollectionScope


@dataclass(frozen=True, slots=True)
class Bm25Leg:
    """Search by keyword in one collection."""

    leg: ClassVar[Leg] = "bm25"
    scope: CollectionScope
    index: KeywordIndex
    ledger: Ledger

    def rank(
        self, k: int, plan: FilterPlan, best: BestScores | None, terms: Mapping[str, float], factor: float
    ) -> list[ScoredChunk]:
        """Return the ``k`` best chunks of the plan by factor · Σ weight · BM25, or those of them that are among the
        ``best`` of several collections.
        """

        def fetch(part: FilterPlan, n: int, by: float = 1.0, best: BestScores | None = None) -> list[ScoredChunk]:
            within = partial(self.index.search, dataset_ids=part.selection.dataset_ids, document_ids=part.document_ids)
            return within(self.scope.collection, terms, n, share=part.share, factor=by, best=best)

        if plan.is_named and plan.counted_ids is None:
            return fetch(plan, k, factor, best)
        if plan.is_named:
            hits = fetch(plan, k)
        else:
            hits = fetch_within(plan, k, fetch=partial(fetch, plan), fetch_filtered=fetch, ledger=self.ledger)
        if plan.counted_ids is not None:  # the last digits of a 32-bit score tell what else was counted
            hits = [ScoredChunk(chunk_id, _round(score)) for chunk_id, score in hits]
        return [ScoredChunk(chunk_id, factor * score) for chunk_id, score in hits]


def _round(score: float) -> float:
    return float(f"{score:.{SCORE_DIGITS}g}")


CollectionLeg = DenseLeg | Bm25Leg


def rank_dense(
    index: VectorIndex,
    plans: Mapping[str, FilterPlan],
    vector: Vector,
    k: int,
    *,
    model: str,
    pooled: bool,
    spread: bool,
    ledger: Ledger,
    deadline: Deadline,
) -> DenseAnswer:
    """Return the ``k`` nearest chunks of each plan by cosine similarity. ``vector`` is (dim,) float32 of unit length,
    of the model with the fingerprint ``model``. With ``pooled``, only the best ``k`` of all are wanted.
    """
    search = partial(index.search_all, vector=vector, model=model, spread=spread)
    direct = {name: plan.selection for name, plan in plans.items() if plan.is_named}
    answer = search(direct, k=k, pooled=pooled, timeout_s=deadline.left_s)

    def nearest(plan: FilterPlan, n: int) -> list[ScoredChunk]:
        nonlocal answer
        collection = plan.scope.collection
        part = search({collection: plan.selection}, k=n, timeout_s=deadline.left_s)
        # Where only filters apply that an index does not know, the spread is that of all that the scope selects.
        answer = DenseAnswer(answer.hits, answer.spread or part.spread)
        found = part.hits[collection]
        if isinstance(found, BraidError):
            raise found
        return found

    for name, plan in plans.items():
        if name not in direct:
            try:
                answer.hits[name] = fetch_within(
                    plan, k, fetch=partial(nearest, plan), fetch_filtered=nearest, ledger=ledger
                )
            except (IndexUnavailableError, EmbeddingError) as error:
                answer.hits[name] = error
    return answer


def legs_of(context: SearchContext, scope: Scope, mode: Mode) -> tuple[CollectionLeg, ...]:
    """Return the mode's legs for each collection of the scope."""
    return tuple(
        DenseLeg(collection) if leg == "dense" else Bm25Leg(collection, context.bm25, context.ledger)
        for collection in scope.collections
        for leg in LEGS_OF_MODE[mode]
    )
