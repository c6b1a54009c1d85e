"""Filter plans: how the scope and the filters of a query are applied in an index.

An index selects by dataset and document. Filters are resolved to the documents that they select; with very many, the
leg fetches more hits than are wanted, and the ledger says which of them are allowed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from braid.core.indexes.vector_block import Selection
from braid.core.ledger.ledger import Ledger
from braid.core.types import CollectionScope, Filters, Scope, ScoredChunk

NARROW_SHARE = 0.02
MAX_FILTER_DOCUMENTS = 100_000
MAX_FETCH = 4_000


class FilterPlan(NamedTuple):
    """The part of one collection that a search may find, and how to restrict an index to it."""

    scope: CollectionScope
    filters: Filters
    chunks: int
    share: float
    """Selected chunks as a share of the collection's, 0.0–1.0."""
    whole: bool
    """Everything in the collection is selected, so no filter is needed."""
    document_ids: NDArray[np.int64] | None
    """The documents that the filters select; None without filters, or when there are too many to name."""
    counted_ids: frozenset[int] | None = None
    """The datasets whose words count in BM25; None for the whole collection, see `counted_datasets`."""
    documents: int = 0
    """Number of selected documents; those that could not be read may be among them."""

    @property
    def selection(self) -> Selection:
        """The plan as an index's selection. Without ``document_ids`` it does not say what the filters select; with
        them it need not name the datasets that they are in, which costs tantivy more than all else.
        """
        is_named = self.whole or self.document_ids is not None
        return Selection(None if is_named else self.scope.dataset_ids, self.document_ids)

    @property
    def is_named(self) -> bool:
        """Whether `selection` says all: an index can find what is selected, and nothing else."""
        return self.whole or not self.filters or (self.document_ids is not None and not self.filters.of_passages)

    def named(self, ledger: Ledger) -> FilterPlan:
        """Return the plan with its documents named, however many there are."""
        ids, _ = ledger.matching_documents(self.scope.dataset_ids, self.filters)
        return self if self.is_named else self._replace(document_ids=ids)


def filter_plans(ledger: Ledger, scope: Scope, filters: Filters) -> dict[str, FilterPlan]:
    """Return a plan for each collection of the scope in which anything is selected.

    Raises InvalidInputError for filters that compare with what a fact never is.
    """
    allowed = scope.dataset_ids
    ledger.require_filterable(allowed, filters)
    sizes: dict[str, dict[int, int]] = {}
    documents: Counter[str] = Counter()
    for dataset in ledger.datasets_in([c.collection for c in scope.collections]):
        sizes.setdefault(dataset.collection, {})[dataset.id] = dataset.chunks
        documents[dataset.collection] += dataset.documents if dataset.id in allowed else 0
    plans, are_filtered = {}, bool(filters)
    for collection in scope.collections:
        chunks_of = sizes.get(collection.collection, {})
        total = sum(chunks_of.values())
        selected = sum(count for dataset_id, count in chunks_of.items() if dataset_id in collection.dataset_ids)
        document_ids = None
        if are_filtered and selected:
            ids, selected = ledger.matching_documents(collection.dataset_ids, filters, limit=MAX_FILTER_DOCUMENTS + 1)
            document_ids = ids if len(ids) <= MAX_FILTER_DOCUMENTS else None
            documents[collection.collection] = len(ids)
        if selected:
            plans[collection.collection] = FilterPlan(
                collection,
                filters,
                selected,
                selected / total,
                not are_filtered and selected == total,
                document_ids,
                counted_datasets(collection, chunks_of),
                documents[collection.collection],
            )
    return plans


def counted_datasets(scope: CollectionScope, stored_ids: Iterable[int]) -> frozenset[int] | None:
    """Return the datasets whose words may count in the caller's scores; None where all of the collection's may.

    ``stored_ids`` are all datasets in the collection. A score that moves with a dataset that the caller may not read
    tells which words are in it.
    """
    return None if scope.readable_ids is None or scope.readable_ids.issuperset(stored_ids) else scope.readable_ids


def fetch_within(
    plan: FilterPlan,
    k: int,
    *,
    fetch: Callable[[int], list[ScoredChunk]],
    fetch_filtered: Callable[[FilterPlan, int], list[ScoredChunk]],
    ledger: Ledger,
) -> list[ScoredChunk]:
    """Return the ``k`` best hits of one leg that the plan selects.

    ``fetch`` returns the n best of the whole collection, ``fetch_filtered`` those of a plan that names its documents.
    The index's own filter is not trusted: before a hit is shown, the ledger decides again whether it is allowed.
    What filters say of passages, which no index knows, is looked for among the MAX_FETCH best.
    """
    of_passages = plan.filters.of_passages
    if of_passages:
        fetch = partial(fetch_filtered, plan)
    elif plan.share < NARROW_SHARE:
        return fetch_filtered(plan.named(ledger), k)
    wanted = min(k, plan.chunks)
    n = min(MAX_FETCH, math.ceil(1.5 * k / plan.share) + 10)
    while True:
        hits = fetch(n)
        visible = ledger.visible([hit.chunk_id for hit in hits], plan.scope.dataset_ids, plan.filters)
        kept = [hit for hit in hits if hit.chunk_id in visible][:k]
        if len(kept) >= wanted or len(hits) < n:
            return kept
        if n >= MAX_FETCH:
            return kept if of_passages else fetch_filtered(plan.named(ledger), k)
        n = min(MAX_FETCH, 4 * n)
