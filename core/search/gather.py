"""Gathering: every leg is asked for every variant of the query, in parallel, with a deadline per stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from braid.core.errors import BraidError, EmbeddingError, IndexUnavailableError, StoreUnreachableError
from braid.core.indexes.answers import BestScores
from braid.core.models.embeddings import EmbeddingModel
from braid.core.search.calls import Deadline
from braid.core.search.context import SearchContext
from braid.core.search.filter_plan import FilterPlan
from braid.core.search.keyword_search import KeywordSearch, TermWeigher, Wanted
from braid.core.search.legs import Bm25Leg, CollectionLeg, DenseLeg, rank_dense
from braid.core.search.ranking import LegHits, Ranking, pooled_rankings, separate_rankings
from braid.core.search.state import Asked, SearchMemory, SearchTrace
from braid.core.search.strategies.base import QueryVariant
from braid.core.search.vectors import VectorMaker
from braid.core.types import Leg, Query, ScoredChunk


@dataclass(frozen=True, slots=True)
class Gatherer:
    """Asks the legs. A leg that fails or is late is reported in the trace; hits are remembered."""

    context: SearchContext
    legs: Sequence[CollectionLeg]
    plans: Mapping[str, FilterPlan]
    trace: SearchTrace
    memory: SearchMemory
    user_id: int | None = None
    """Whose turn it is that the search waits for."""

    def rankings(self, query: Query, variants: Sequence[QueryVariant]) -> list[Ranking]:
        """Return the rankings to fuse: one per leg and variant, pooled over the collections, or one per collection,
        too.
        """
        usable, incomplete = self._usable_legs()
        dense = [leg for leg in usable if isinstance(leg, DenseLeg)]
        bm25 = [leg for leg in usable if isinstance(leg, Bm25Leg)]
        models = self._models(dense)
        vectors = VectorMaker(self.context, self.trace, self.memory, self.user_id)
        batches = vectors.start(variants, models.values())  # runs while the keyword leg is asked
        with self.trace.stage("search"):
            asked = self._ask_bm25(query, variants, bm25)
        with self.trace.stage("embed"):
            vectors.collect(batches)
        with self.trace.stage("search"):
            if dense:
                with self.context.places.hold(self.user_id, self.context.leg_timeout_s):
                    self._search_dense(query, variants, models, vectors)
            self._collect(asked)
        pool = separate_rankings if query.pooling == "none" else pooled_rankings
        found = self._remembered_hits(query, variants, models)
        lacking = {name: models[name].fingerprint for name in incomplete & models.keys()}
        unembedded = self._unembedded(found, lacking) if lacking and bm25 else {}
        return [
            replace(
                each,
                spread=self.memory.spreads.get((each.model, each.variant.target_for("dense")), 0.0),
                unembedded=unembedded if each.leg == "bm25" else {},
            )
            for each in pool(query, variants, found)
        ]

    def _unembedded(self, found: Sequence[LegHits], lacking: Mapping[str, str]) -> dict[str, str]:
        """Return those keyword hits that have no vector yet, with the fingerprint of their model.

        ``lacking`` are the collections that lack vectors, with their models.
        """
        model_of = {
            hit.chunk_id: lacking[each.collection]
            for each in found
            if each.leg == "bm25" and each.collection in lacking
            for hit in each.hits or ()
        }
        embedded = self.context.ledger.models_of_vectors(model_of)
        return {chunk_id: model for chunk_id, model in model_of.items() if model not in embedded.get(chunk_id, ())}

    def _usable_legs(self) -> tuple[list[CollectionLeg], set[str]]:
        """Return the legs that can search and have something selected, and the collections that lack vectors.

        Legs that cannot search or are incomplete are reported.
        """
        usable: list[CollectionLeg] = []
        incomplete: set[str] = set()
        legs = [leg for leg in self.legs if leg.scope.collection in self.plans]
        datasets = {leg.scope.collection: leg.scope.dataset_ids for leg in legs}
        states = self.context.indexer.lacks([(leg.leg, leg.scope.collection) for leg in legs], datasets)
        for leg, progress in zip(legs, states, strict=True):
            if progress.is_whole:
                usable.append(leg)
                continue
            collection = leg.scope.collection
            if reason := progress.obstacle or progress.shortfall:
                self.trace.report_missing(leg.leg, collection, reason)
            if not progress.obstacle:
                usable.append(leg)
            if leg.leg == "dense" and (progress.pending or progress.left_out):
                incomplete.add(collection)
        return usable, incomplete

    def _models(self, legs: Sequence[DenseLeg]) -> dict[str, EmbeddingModel]:
        """Return the models of these legs' collections; one without a model is reported."""
        models = {}
        for leg in legs:
            try:
                models[leg.scope.collection] = self.context.model_of(leg.scope.collection)
            except EmbeddingError as error:
                self.trace.report_missing("dense", leg.scope.collection, str(error))
        return models

    def _ask_bm25(self, query: Query, variants: Sequence[QueryVariant], legs: Sequence[Bm25Leg]) -> KeywordSearch:
        """Start the keyword searches that are not remembered."""
        weigher = TermWeigher(self.context, self.trace, self.plans, query.pooling)
        wanted: list[Wanted] = []
        depth, new = query.fetch_k, dict[Asked, QueryVariant]()
        for variant in variants:
            if "bm25" in variant.legs:
                new.setdefault(Asked("bm25", depth, variant.target_for("bm25")), variant)
        for asked, variant in new.items():
            known = self.memory.hits.setdefault(asked, {})
            best = None if query.pooling == "none" else BestScores(depth)
            searches = {
                leg.scope.collection: partial(leg.rank, depth, self.plans[leg.scope.collection], best)
                for leg in legs
                if leg.scope.collection not in known
            }
            if searches:
                wanted.append(Wanted(asked, weigher.terms_of(variant), searches))
        return KeywordSearch(weigher, wanted, self.user_id)

    def _search_dense(
        self,
        query: Query,
        variants: Sequence[QueryVariant],
        models: Mapping[str, EmbeddingModel],
        vectors: VectorMaker,
    ) -> None:
        """Search by meaning what is not remembered and has a vector: all collections of one model at once."""
        by_model: dict[str, list[str]] = {}
        for collection, model in models.items():
            by_model.setdefault(model.fingerprint, []).append(collection)
        context, deadline = self.context, Deadline(self.context.leg_timeout_s)
        for variant in (each for each in variants if "dense" in each.legs):
            asked = Asked("dense", query.fetch_k, variant.target_for("dense"))
            known = self.memory.hits.setdefault(asked, {})
            for fingerprint, of_model in by_model.items():
                vector = vectors.vector(variant, fingerprint)
                plans = {name: self.plans[name] for name in of_model if name not in known}
                if vector is not None and plans:
                    found = rank_dense(
                        context.dense,
                        plans,
                        vector,
                        query.fetch_k,
                        model=fingerprint,
                        pooled=query.pooling != "none",
                        spread=query.fusion == "auto",
                        ledger=context.ledger,
                        deadline=deadline,
                    )
                    self.memory.spreads[fingerprint, asked.target] = found.spread
                    known.update({name: self._sound(name, hits) for name, hits in found.hits.items()})

    def _sound(self, collection: str, hits: list[ScoredChunk] | BraidError) -> list[ScoredChunk] | None:
        """Return the hits of a dense leg, or report the error that there is instead, and have its index checked."""
        if not isinstance(hits, BraidError):
            return hits
        self.trace.report_missing("dense", collection, str(hits))
        if isinstance(hits, IndexUnavailableError) and not isinstance(hits, StoreUnreachableError):
            self.context.indexer.suspect("dense", collection)
        return None

    def _collect(self, asked: KeywordSearch) -> None:
        """Wait for the searches and remember their hits, None for one that failed. Report those indexes whose rebuild
        may have begun since their progress was read: their answers lack hits.
        """
        answered: dict[tuple[Leg, str], None] = {}
        for (wanted, collection), hits in asked.answers().items():
            self.memory.hits[wanted][collection] = hits
            if hits is not None:
                answered["bm25", collection] = None
        for progress in self.context.indexer.states(list(answered)):
            if progress.obstacle:
                self.trace.report_missing(progress.leg, progress.collection, progress.obstacle)

    def _remembered_hits(
        self, query: Query, variants: Sequence[QueryVariant], models: Mapping[str, EmbeddingModel]
    ) -> list[LegHits]:
        known: dict[Leg, list[tuple[int, Mapping[str, Sequence[ScoredChunk] | None]]]] = {"dense": [], "bm25": []}
        for number, variant in enumerate(variants):
            for name in variant.legs:
                asked = Asked(name, query.fetch_k, variant.target_for(name))
                known[name].append((number, self.memory.hits.get(asked, {})))
        found = []
        for leg in self.legs:
            kind, collection = leg.leg, leg.scope.collection
            model = models[collection].fingerprint if kind == "dense" and collection in models else ""
            for number, hits_of in known[kind]:
                hits = hits_of.get(collection)
                if hits is not None:
                    self.trace.answered[kind] = None
                found.append(LegHits(kind, model, number, hits, collection))
        return found
