"""Keyword terms: the terms that the keyword leg searches for, weighed so that scores compare over collections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import NamedTuple

from braid.core.errors import IndexUnavailableError
from braid.core.indexes.answers import Bm25Statistics
from braid.core.search import fusion
from braid.core.search.calls import Deadline
from braid.core.search.context import SearchContext
from braid.core.search.filter_plan import FilterPlan
from braid.core.search.state import SearchTrace
from braid.core.search.strategies.base import QueryVariant
from braid.core.types import Pooling

MAX_QUERY_TERMS = 256


class WeighedTerms(NamedTuple):
    """Terms with their weights, and the factor for all scores of a collection."""

    weights: Mapping[str, float]
    factor: float


@dataclass(frozen=True, slots=True)
class TermWeigher:
    """Weighs terms per collection; one whose index does not answer is reported in the trace."""

    context: SearchContext
    trace: SearchTrace
    plans: Mapping[str, FilterPlan]
    pooling: Pooling

    def terms_of(self, variant: QueryVariant) -> Mapping[str, float]:
        """Return the variant's terms: how often the text has each, or the weights that it came with."""
        if variant.terms is not None:
            return variant.terms
        return {term: float(count) for term, count in Counter(self.context.analyzer.tokens(variant.text)).items()}

    def count(self, collection: str, terms: Collection[str]) -> Bm25Statistics:
        """Return the counts of the collection. Raises IndexUnavailableError for an index that lost what was in it."""
        counted = self.plans[collection].counted_ids
        found = self.context.bm25.statistics(collection, terms, dataset_ids=counted)
        if not found.documents and not self.context.indexer.leg_progress("bm25", collection).pending:
            raise IndexUnavailableError(f"the keyword index of {collection} is empty; it is being looked at")
        return found

    def counted(self, collection: str, counting: Future[Bm25Statistics], deadline: Deadline) -> Bm25Statistics | None:
        """Return what `count` returns, or None where the collection does not answer within the deadline."""
        try:
            return deadline.result(counting)
        except IndexUnavailableError as error:
            self.context.indexer.suspect("bm25", collection)
            self.trace.report_missing("bm25", collection, str(error))
        except FutureTimeoutError:
            self.trace.report_missing("bm25", collection, f"no answer within {self.context.leg_timeout_s:g} s")
        return None

    def weigh(self, terms: Mapping[str, float], found: Mapping[str, Bm25Statistics]) -> dict[str, WeighedTerms]:
        """Return the terms for each collection that was counted, by the counts of all."""
        counted = [local.counts.document_frequency for local in found.values()]
        self.trace.unknown_tokens.update(term for term in terms if not any(each.get(term) for each in counted))
        pools = [{name: local} for name, local in found.items()] if self.pooling == "none" else [found]
        boosts = {name: boost for pool in pools for name, boost in fusion.pooled_bm25_boosts(pool, terms).items()}
        return {name: WeighedTerms(_heaviest(weights), factor) for name, (weights, factor) in boosts.items()}


def _heaviest(weights: Mapping[str, float]) -> Mapping[str, float]:
    if len(weights) <= MAX_QUERY_TERMS:
        return weights
    return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MAX_QUERY_TERMS])
