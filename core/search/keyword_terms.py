"""Keyword terms: the terms that the keyword leg searches for, weighed so that scores compare over collections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from braid.core.errors import IndexUnavailableError
from braid.core.indexes.bm25 import Bm25Statistics
from braid.core.search import fusion
from braid.core.search.context import SearchContext
from braid.core.search.filter_plan import FilterPlan
from braid.core.search.strategies.base import QueryVariant
from braid.core.search.trace import SearchTrace
from braid.core.search.waiting import Calls, Deadline
from braid.core.types import Pooling

MAX_QUERY_TERMS = 256


class WeighedTerms(NamedTuple):
    """Terms with their weights, and the factor for all scores of a collection."""

    weights: Mapping[str, float]
    factor: float


@dataclass(frozen=True, slots=True)
class TermWeigher:
    """Weighs a variant's terms per collection; a collection whose index does not answer is reported in the trace."""

    context: SearchContext
    trace: SearchTrace
    plans: Mapping[str, FilterPlan]
    pooling: Pooling

    def weigh(self, variant: QueryVariant, collections: Sequence[str]) -> dict[str, WeighedTerms]:
        """Return the terms by collection, without collections whose index does not answer."""
        terms = variant.terms
        if terms is None:
            terms = {term: float(count) for term, count in Counter(self.context.analyzer.tokens(variant.text)).items()}
        found = self._statistics(collections, terms)
        pools = [{name: local} for name, local in found.items()] if self.pooling == "none" else [found]
        boosts = {name: boost for pool in pools for name, boost in fusion.pooled_bm25_boosts(pool, terms).items()}
        return {
            name: WeighedTerms(_heaviest(weights), factor)
            for name, (weights, factor) in ((name, boosts[name]) for name in collections if name in boosts)
        }

    def _statistics(self, collections: Sequence[str], terms: Mapping[str, float]) -> dict[str, Bm25Statistics]:
        """Return the statistics by collection, without collections that do not answer within the deadline."""
        context, deadline = self.context, Deadline(self.context.leg_timeout_s)
        count = context.bm25.statistics
        calls = {name: partial(count, name, terms, dataset_ids=self.plans[name].counted_ids) for name in collections}
        jobs = Calls(context.executors["bm25"], calls).hasten().futures
        answered: dict[str, Bm25Statistics] = {}
        for name, job in jobs.items():
            try:
                statistics = deadline.result(job)
                if not statistics.documents and not context.indexer.leg_progress("bm25", name).pending:
                    raise IndexUnavailableError(f"the keyword index of {name} is empty; it is being looked at")
                answered[name] = statistics
            except IndexUnavailableError as error:
                context.indexer.suspect("bm25", name)
                self.trace.report_missing("bm25", name, str(error))
            except FutureTimeoutError:
                self.trace.report_missing("bm25", name, f"no answer within {context.leg_timeout_s:g} s")
        return answered


def _heaviest(weights: Mapping[str, float]) -> Mapping[str, float]:
    if len(weights) <= MAX_QUERY_TERMS:
        return weights
    return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MAX_QUERY_TERMS])
