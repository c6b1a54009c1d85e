"""One search: expand → search → fuse → read → rerank → refine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from braid.core.errors import EmbeddingError, ModelError, Reason
from braid.core.metadata.where import FACTS, conditions_of, parse_where
from braid.core.models.rerank import reaches_min_score
from braid.core.search.context import SearchContext, SearchModels
from braid.core.search.diversity import Move, diversified
from braid.core.search.filter_plan import filter_plans
from braid.core.search.gather import Gatherer
from braid.core.search.hits import HitReader
from braid.core.search.legs import legs_of
from braid.core.search.ranking import FusedRanking, fuse
from braid.core.search.spelling import Spelling
from braid.core.search.state import SearchTrace
from braid.core.search.strategies import strategy_named
from braid.core.search.strategies.base import QueryVariant
from braid.core.search.tools import SearchTools
from braid.core.spans import root
from braid.core.text.identifiers import LiteralSearch, identifier_of
from braid.core.types import LEGS_OF_MODE, MAX_K, NOTED, Hit, Leg, Query, ReadFilter, Scope, SearchOptions, SearchResult

LegNames = frozenset[tuple[Leg, str]]
"""Legs with their collections."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A checked search without its text: where to search, how, and with which models."""

    scope: Scope
    strategy: str
    options: SearchOptions
    models: SearchModels
    only: LegNames | None = None
    """The legs to ask; None for all."""
    read: tuple[ReadFilter, ...] = ()
    """The filters that were read from the text; the scope and the options have those that are applied."""


class Search(SearchTools):
    """One search. Its strategy is given the search itself, as `braid.core.search.strategies.base.Tools`.

    The query, the models, the ``trace`` of what to report, the ``memory`` of what may be reused, and the ``generator``
    of the queries come from `SearchTools`.

    Raises InvalidInputError for an empty or too long text.
    """

    def __init__(self, context: SearchContext, request: SearchRequest, text: str, *, replay: bool = False) -> None:
        super().__init__(context, request.scope, request.options.for_text(text), models=request.models, replay=replay)
        self.strategy_name = request.strategy
        self.read = request.read
        self.strategy = strategy_named(request.strategy)
        overfetch = int(self.query.parameters.get("overfetch", self.strategy.overfetch))
        deeper = overfetch != 1
        self.overfetched_query = replace(self.query, k=min(MAX_K, self.query.k * overfetch)) if deeper else self.query
        """The query with as many hits as the strategy wants to refine."""
        self.reader = HitReader(context.ledger, self.scope)
        legs = legs_of(context, self.scope, self.query.mode)
        self.legs = [leg for leg in legs if request.only is None or (leg.leg, leg.scope.collection) in request.only]
        self._moves: Mapping[str, Move] = {}
        self.reranked_by = ""
        """The name of the reranker that put the hits in order; empty without one, and where it failed."""
        self._first: FusedRanking | None = None
        self._first_hits: dict[int, Sequence[Hit]] = {}

    def run(self) -> SearchResult:
        """Search, and return the hits with the report."""
        asked = {"mode": self.query.mode, "strategy": self.strategy_name, "collections": len(self.scope.collections)}
        with root("search", **asked) as span:
            result = self._run()
            span.set_attribute("legs", result.answered)
            span.set_attribute("degraded", len(result.degraded))
            span.set_attribute("hits", len(result.hits))
        return result

    def _run(self) -> SearchResult:
        with self.trace.stage("total"):
            expansion = self.strategy.expand(self.overfetched_query, self)
            hits = self.best_hits(self.find(expansion.variants))
            refined = list(self.strategy.refine(self.query, hits, self))[: self.query.k]
            meant = self._did_you_mean(refined)
        generator = expansion.generator
        if generator == "none" and self.strategy.costs:  # it only refines: name what chose
            generator = self.generator
        queries = dict.fromkeys(variant.text_for(leg) for variant in expansion.variants for leg in variant.legs)
        return self.result(refined, generator=generator, queries=tuple(queries), did_you_mean=meant)

    def _did_you_mean(self, hits: Sequence[Hit]) -> str:
        """Return the query in words that passages have; empty where it has no unknown ones, or nothing is near."""
        if not self.trace.unknown_tokens or any(part.leg == "bm25" for part in self.trace.degraded):
            return ""  # an index that did not answer may have them
        with self.trace.stage("read"):
            spelling = Spelling(self.context, self.scope)
            return spelling.suggest(self.query.text, self.trace.unknown_tokens, (hit.passage.text for hit in hits))

    def place(self) -> AbstractContextManager[bool]:
        """Hold a place to compute, in the caller's turn; see `braid.core.admission.Places.hold`."""
        return self.context.places.hold(self.scope.user_id, self.context.leg_timeout_s)

    # ------------------------------------------------------------ search, fuse

    def search_and_fuse(
        self, query: Query, variants: Sequence[QueryVariant], *, trace: SearchTrace | None = None
    ) -> FusedRanking:
        """Ask the legs for the variants and fuse their hits into one list, which is not yet read from the ledger. Of a
        query that is an identifier it is read: passages that have it come first.
        """
        trace = trace or self.trace
        with trace.stage("scope"):
            if self.memory.plans is None:
                self.memory.plans = filter_plans(self.context.ledger, self.scope, query.filters)
        gatherer = Gatherer(self.context, self.legs, self.memory.plans, trace, self.memory, self.scope.user_id)
        rankings = gatherer.rankings(query, variants)
        with trace.stage("fuse"), self.place():
            fused = fuse(query, rankings)
            identifier = identifier_of(query.text) if "bm25" in LEGS_OF_MODE[query.mode] else ""
            if identifier and query.pooling == "pooled":
                fused = fused.with_first(self.reader.having(LiteralSearch(identifier), query, fused))
            return fused

    def find(self, variants: Sequence[QueryVariant]) -> FusedRanking:
        """Search and fuse; in a search for documents, again and as deep as may be where too few were found."""
        query = self.overfetched_query
        fused = self.search_and_fuse(query, variants)
        if query.group_by == "document" and self._lacks_documents(fused, query):
            query = replace(query, k=MAX_K, leg_depth=0)
            fused = self.search_and_fuse(query, variants)
            if self._lacks_documents(fused, query):
                self.trace.note(
                    f"the {query.fetch_k} best passages of each leg are of fewer than {self.query.k} documents; "
                    "narrow the search by filters to see more"
                )
        return fused

    def _lacks_documents(self, fused: FusedRanking, query: Query) -> bool:
        """Return whether too few documents were found although there are more, and a leg may have more passages."""
        if all(len(ranking.hits) < query.fetch_k for ranking in fused.rankings):
            return False
        wanted = min(self.query.k, sum(plan.documents for plan in (self.memory.plans or {}).values()))
        with self.trace.stage("read"), self.place():
            return len(self.reader.read(query, fused, limit=wanted)) < wanted

    def first_pass(self, k: int) -> Sequence[Hit]:
        """Return the ``k`` best hits of the query as it is; searched once, however often it is asked for."""
        if self._first is None:
            self._first = self.search_and_fuse(self.overfetched_query, (self.original,))
        if k not in self._first_hits:
            plain = replace(self.query, k=k, reranker="", diversity=0.0, min_score=None, group_by="passage")
            with self.trace.stage("read"), self.place():
                self._first_hits[k] = self.reader.read(plain, self._first)
        return self._first_hits[k]

    # ------------------------------------------------------------ read, rerank

    def best_hits(self, fused: FusedRanking) -> list[Hit]:
        """Return the hits for the strategy to refine, in the order of the reranker if there is one."""
        with self.trace.stage("read"), self.place():
            candidates = self.reader.read(self.overfetched_query, fused)
        return [
            hit for hit in self.ordered(candidates)[: self.overfetched_query.k] if reaches_min_score(self.query, hit)
        ]

    def ordered(self, candidates: Sequence[Hit]) -> list[Hit]:
        """Sort the candidates by the reranker's scores, and by how much they differ if the query asks for that; tables
        of contents stay behind all others.
        """
        hits = self._reranked(candidates)
        if not self.query.diversity:
            return hits
        contents = [hit for hit in hits if hit.passage.chunk_kind == "contents"]
        hits = [hit for hit in hits if hit.passage.chunk_kind != "contents"]
        passages = [hit.passage for hit in hits]
        try:
            vectors, models = self.passage_vectors(passages), [self.fingerprint(passage) for passage in passages]
        except EmbeddingError as error:
            self.trace.report_missing("dense", "", Reason("%(reason)s; diversity was not applied", reason=error))
            return [*hits, *contents]
        hits, self._moves = diversified(hits, vectors, models, self.query.diversity)
        return [*hits, *contents]

    def _reranked(self, candidates: Sequence[Hit]) -> list[Hit]:
        """Sort the candidates by the reranker's scores, tables of contents last. They keep their order without a
        reranker, or when it fails, which is reported.
        """
        if self.query.reranker:
            try:
                with self.trace.stage("rerank"):
                    reranked = self.models.rerankers.rerank(self.query, candidates)
                    self.reranked_by = self.query.reranker
                    return sorted(reranked, key=lambda hit: hit.passage.chunk_kind == "contents")
            except ModelError as error:
                reason = str(error)
                if self.query.min_score is not None:
                    reason = Reason("%(reason)s; min_score is meant for its scores and was not applied", reason=error)
                self.trace.report_missing("rerank", "", reason)
        return list(candidates)

    def remarks(self, chunk_id: str, fused: FusedRanking) -> Iterator[str]:
        """Yield in sentences what else has moved a passage, beside its scores."""
        for form in self.added_forms:
            yield f"For {form.said!r}, {form.added!r} was searched by keyword, too."
        if fused.literal and chunk_id in fused.legs and not self.query.reranker:
            identifier = identifier_of(self.query.text)
            if chunk_id in fused.literal:
                yield f"It has {identifier!r} as it is written, and so comes before passages without it."
            else:
                yield f"Passages that have {identifier!r} as it is written come before it."
        if chunk_id in self._moves:
            yield str(self._moves[chunk_id])

    def result(
        self, hits: Sequence[Hit], *, generator: str, queries: tuple[str, ...], did_you_mean: str = ""
    ) -> SearchResult:
        """Return the hits with what the trace reports, and with the options that did nothing; where there are no hits,
        with the keys that filters name and no document has.
        """
        where = None if hits or not self.scope.collections else parse_where(self.query.filters.metadata)
        named = {each.key for each in conditions_of(where)} - FACTS.keys()
        if named and (absent := self.context.ledger.absent_keys(self.scope.dataset_ids, named)):
            names = ", ".join(absent)
            self.trace.note(
                Reason("the filters name %(names)s, and no document that was searched has such metadata", names=names)
            )
        unused = (f"{name} did nothing: {reason}" for name, reason in self.query.unused().items() if name in NOTED)
        return SearchResult(
            query=self.query,
            strategy=self.strategy_name,
            generator=generator,
            queries=queries,
            hits=tuple(hits),
            collections=tuple(c.collection for c in self.scope.collections),
            degraded=tuple(self.trace.degraded),
            unresolved_dataset_ids=self.scope.unresolved_dataset_ids,
            timings_ms=self.trace.timings_ms,
            model_calls=self.trace.model_calls,
            embeddings=self.trace.embeddings,
            notes=(*self.trace.notes, *unused),
            answered=tuple(self.trace.answered),
            did_you_mean=did_you_mean,
            read_filters=self.read,
            added_forms=self.added_forms if self.query.engine == "braid" else (),
        )
