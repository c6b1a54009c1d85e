"""The keyword searches of a query: collections count its terms, all counts weigh them, and then they are searched."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from braid.core.admission import let_go
from braid.core.errors import EmbeddingError, IndexUnavailableError, Reason, internal
from braid.core.indexes.answers import Bm25Statistics
from braid.core.search import fusion
from braid.core.search.calls import Calls, Deadline
from braid.core.search.context import SearchContext
from braid.core.search.filter_plan import FilterPlan
from braid.core.search.state import Asked, SearchTrace
from braid.core.search.strategies.base import QueryVariant
from braid.core.types import Pooling, ScoredChunk

MAX_QUERY_TERMS = 256
_EXPONENT = re.compile(r"(?<![\w.])(\d{1,3}) ?(?:\^|\*\*) ?(\d{1,3})(?![\w.])")
"""An exponent as people type it; where a text has 10⁶, its one token is 106, which weighs as much as the two."""

Key = TypeVar("Key")
T = TypeVar("T")

Rank = Callable[[Mapping[str, float], float], list[ScoredChunk]]
"""Searches one collection for weighed terms, with a factor for all scores."""


class Wanted(NamedTuple):
    """What is asked for, its terms, and by collection how to search for them."""

    asked: Asked
    terms: Mapping[str, float]
    searches: Mapping[str, Rank]


Searches = Calls[tuple[Asked, str], list[ScoredChunk]]
"""Searches that run or have run, by what is asked for and the collection."""


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
        text = _EXPONENT.sub(r"\g<0> \1\2 \1\2", variant.text)
        return {term: float(count) for term, count in Counter(self.context.analyzer.tokens(text)).items()}

    def count(self, collection: str, terms: Collection[str]) -> Bm25Statistics:
        """Return the counts of the collection. Raises IndexUnavailableError for an index that lost what was in it."""
        counted = self.plans[collection].counted_ids
        count = partial(self.context.bm25.statistics, collection, terms, dataset_ids=counted)
        found = count()
        if not found.documents and not self.context.indexer.leg_progress("bm25", collection).pending:
            found = count()  # what was pending at first may have been indexed by the time that this was asked
            if not found.documents:
                raise IndexUnavailableError(
                    internal(
                        "the keyword index of %(collection)s is empty; it is being looked at", collection=collection
                    )
                )
        return found

    def answers(self, calls: Calls[tuple[Key, str], T], deadline: Deadline) -> dict[tuple[Key, str], T]:
        """Return what the calls return, without the collections that fail, or do not answer within the deadline."""
        found = {}
        for key in calls.hasten(deadline).keys:
            try:
                found[key] = calls.result(key, deadline)
            except (IndexUnavailableError, EmbeddingError) as error:
                self.context.indexer.suspect("bm25", key[1])
                self.trace.report_missing("bm25", key[1], str(error))
            except TimeoutError:
                reason = Reason("no answer within %(seconds)s s", seconds=format(self.context.leg_timeout_s, "g"))
                self.trace.report_missing("bm25", key[1], reason)
        return found

    def weigh(self, terms: Mapping[str, float], found: Mapping[str, Bm25Statistics]) -> dict[str, WeighedTerms]:
        """Return the terms for each collection that was counted, by the counts of all."""
        counted = [local.counts.document_frequency for local in found.values()]
        self.trace.unknown_tokens |= set(terms).difference(*(filter(each.get, terms) for each in counted))
        pools = [{name: local} for name, local in found.items()] if self.pooling == "none" else [found]
        boosts = {name: boost for pool in pools for name, boost in fusion.pooled_bm25_boosts(pool, terms).items()}
        return {name: WeighedTerms(_heaviest(weights), factor) for name, (weights, factor) in boosts.items()}


def _heaviest(weights: Mapping[str, float]) -> Mapping[str, float]:
    if len(weights) <= MAX_QUERY_TERMS:
        return weights
    return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MAX_QUERY_TERMS])


class KeywordSearch:
    """Counts and searches in one thread, from end to end, while the caller does something else.

    Terms weigh by the counts of all collections, so that none is searched before all are counted. Where one fails or
    is late, the caller goes on without it.
    """

    def __init__(self, weigher: TermWeigher, wanted: Sequence[Wanted], user_id: int | None) -> None:
        self._weigher = weigher
        self._context = weigher.context
        self._executor = self._context.executors["bm25"]
        self._wanted = wanted
        self._user_id = user_id
        self._searching: Searches | None = None
        self._beginning = threading.Lock()
        counts = {
            (number, name): partial(weigher.count, name, each.terms)
            for number, each in enumerate(wanted)
            for name in each.searches
        }
        self._counting: Calls[tuple[int, str], Bm25Statistics] = Calls(self._executor, counts, self._go_on)
        if counts:
            self._executor.submit(self._work)

    def answers(self) -> dict[tuple[Asked, str], list[ScoredChunk] | None]:
        """Return the hits of the collections whose terms were counted in time, None for a search that failed. Most have
        ended by now.
        """
        if not (self._counting.are_done and (self._searching is None or self._searching.are_done)):
            let_go()  # the thread that searches needs the place
        found = self._weigher.answers(self._counting, Deadline(self._context.leg_timeout_s))
        searching, begun_here = self._begin(found)
        if begun_here:
            searching.start()
        answers = self._weigher.answers(searching, Deadline(self._context.leg_timeout_s))
        return {key: answers.get(key) for key in searching.keys}

    def _work(self) -> None:
        with self._context.places.hold(self._user_id, self._context.leg_timeout_s):
            self._counting.work()

    def _go_on(self) -> None:
        """Search at once where all collections were counted."""
        if not self._counting.errors:
            searching, begun_here = self._begin(self._counting.results)
            if begun_here:
                searching.work()

    def _begin(self, found: Mapping[tuple[int, str], Bm25Statistics]) -> tuple[Searches, bool]:
        """Return the searches, and whether it is the caller who has to start them."""
        with self._beginning:
            if self._searching is not None:
                return self._searching, False
            calls: dict[tuple[Asked, str], Callable[[], list[ScoredChunk]]] = {}
            for number, (asked, terms, searches) in enumerate(self._wanted):
                counts = {name: found[number, name] for name in searches if (number, name) in found}
                for name, (weights, factor) in self._weigher.weigh(terms, counts).items():
                    calls[asked, name] = partial(searches[name], weights, factor)
            self._searching = Calls(self._executor, calls)
            return self._searching, True
