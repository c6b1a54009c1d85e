"""One search: expand → search → fuse → refine. Data goes down as arguments and comes back as return values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from braid.core.errors import InvalidInputError, ModelError
from braid.core.models.embeddings import EmbeddingModel
from braid.core.models.rerank import reaches_min_score
from braid.core.search import fusion
from braid.core.search.gather import Log, Ranking, SearchContext, collect_vectors, embed, gather
from braid.core.search.legs import LegRetriever
from braid.core.search.selection import select
from braid.core.search.strategies.base import Expansion, Strategy, Variant
from braid.core.search.tools import SearchTools
from braid.core.types import (
    MAX_K,
    Hit,
    LegScore,
    Passage,
    Place,
    Query,
    Scope,
    ScoredChunk,
    SearchResult,
)

READ_AHEAD = 20


@dataclass(frozen=True, slots=True)
class Fused:
    """The fused list before it is cut, with everything that explains it."""

    rankings: tuple[Ranking, ...]
    order: tuple[ScoredChunk, ...]
    legs: Mapping[str, tuple[LegScore, ...]]


def fuse(query: Query, rankings: Sequence[Ranking]) -> Fused:
    """One list from all rankings. A single one keeps its own scores, but in hybrid mode, where the other leg failed."""
    if len(rankings) == 1 and query.mode != "hybrid":
        shares = [{hit.chunk_id: hit.score for hit in rankings[0].hits}]
    elif query.fusion == "weighted":
        shares = [fusion.min_max_shares(ranking.hits, ranking.weight) for ranking in rankings]
    else:
        shares = [fusion.rrf_shares(ranking.hits, ranking.weight) for ranking in rankings]
    fused = fusion.add_shares(shares)
    if query.pooling == "none":
        order = fusion.by_score_then_appearance(fused)
    else:
        ties = fusion.rrf_ties([(ranking.hits, ranking.weight) for ranking in rankings])
        order = fusion.by_score_then_id(fused, ties)
    legs: dict[str, list[LegScore]] = {}
    for ranking, given in zip(rankings, shares, strict=True):
        for rank, hit in enumerate(ranking.hits, start=1):
            share = given[hit.chunk_id]
            legs.setdefault(hit.chunk_id, []).append(
                LegScore(ranking.leg, rank, hit.score, share, ranking.variant.asked(ranking.leg))
            )
    return Fused(tuple(rankings), tuple(order), {key: tuple(scores) for key, scores in legs.items()})


def build_hits(fused: Fused, passages: Mapping[str, Passage]) -> list[Hit]:
    """Hits in fused order. Equal text is shown once, at its best place, with the other places."""
    places: dict[str, list[Passage]] = {}
    scores: dict[str, ScoredChunk] = {}
    for scored in fused.order:
        passage = passages.get(scored.chunk_id)
        if passage is not None:
            text = _same_text(passage)
            places.setdefault(text, []).append(passage)
            scores.setdefault(text, scored)
    return [
        Hit(
            passage=first,
            score=scores[text].score,
            legs=fused.legs[first.chunk_id],
            also_in=tuple(Place(p.chunk_id, p.dataset_id, p.source, p.title) for p in others),
        )
        for text, (first, *others) in places.items()
    ]


def _same_text(passage: Passage) -> str:
    return " ".join(passage.text.split())


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search that waits for its text: who asks, where, and how."""

    context: SearchContext
    scope: Scope
    strategy_name: str
    strategy: Strategy
    options: Mapping[str, object]

    def query(self, text: str) -> Query:
        """Raises InvalidInputError when the text or an option is wrong."""
        known = [given.name for given in fields(Query) if given.name != "text"]
        for name in self.options:
            if name not in known:
                raise InvalidInputError(f"there is no option {name!r}; the options are {', '.join(known)}", field=name)
        return Query(text=text, **self.options)  # type: ignore[arg-type]  # checked by Query itself

    def run(self, text: str, retrievers: Sequence[LegRetriever]) -> SearchResult:
        """Search with these retrievers."""
        query, log = self.query(text), Log()
        with log.stage("total"):
            wide = self.widened(query)
            tools = SearchTools(self, wide, retrievers, log)
            expansion = self.strategy.expand(wide, tools)
            fused = self.fused(wide, expansion.variants, retrievers, log)
            hits = self.best_hits(wide, fused, log)
            refined = list(self.strategy.refine(query, hits, tools))[: query.k]
        return SearchResult(
            query=query,
            strategy=self.strategy_name,
            generator=_generator(self.strategy, expansion, tools),
            queries=tuple(dict.fromkeys(v.asked(leg) for v in expansion.variants for leg in v.legs)),
            hits=tuple(refined),
            collections=tuple(c.collection for c in self.scope.collections),
            degraded=tuple(log.degraded),
            unresolved_dataset_ids=self.scope.unresolved_dataset_ids,
            timings_ms=log.timings_ms,
            model_calls=log.model_calls,
            embeddings=log.embeddings,
            notes=tuple(log.notes),
        )

    def widened(self, query: Query) -> Query:
        """The query with as many hits as the strategy wants to refine."""
        return replace(query, k=min(MAX_K, query.k * self.strategy.spare))

    def embed(self, models: Iterable[EmbeddingModel], variants: Sequence[Variant], log: Log) -> None:
        """Put the variants' vectors into the log, those that are not there yet."""
        with log.stage("embed"):
            collect_vectors(self.context, embed(self.context, variants, models, log), log)

    def fused(self, query: Query, variants: Sequence[Variant], retrievers: Sequence[LegRetriever], log: Log) -> Fused:
        """The fused list, not yet read from the ledger."""
        with log.stage("scope"):
            if log.selections is None:
                log.selections = select(self.context.ledger, self.scope, query.filters)
        rankings = gather(self.context, query, variants, log.selections, retrievers, log)
        with log.stage("fuse"):
            return fuse(query, rankings)

    def best_hits(self, query: Query, fused: Fused, log: Log) -> list[Hit]:
        """The ``k`` best hits that may be shown, in the order of the reranker if there is one."""
        with log.stage("read"):
            candidates = self.candidates(query, fused)
        hits = self.reranked(query, candidates, log)
        return [hit for hit in hits[: query.k] if reaches_min_score(query, hit)]

    def candidates(self, query: Query, fused: Fused) -> list[Hit]:
        """The first fused hits that may be shown, reading no more than is needed for them and their other places."""
        passages: dict[str, Passage] = {}
        hits: list[Hit] = []
        step = 2 * query.candidates + READ_AHEAD
        for start in range(0, len(fused.order), step):
            passages |= self.read(query, [hit.chunk_id for hit in fused.order[start : start + step]])
            hits = build_hits(fused, passages)
            if len(hits) >= query.candidates:
                deeper = [hit.chunk_id for hit in fused.order[start + step :]]
                copies = {hit.passage.text for hit in hits[: query.candidates]}
                hits = build_hits(fused, passages | self.read(query, deeper, texts=copies))
                break
        return hits[: query.candidates]

    def reranked(self, query: Query, candidates: Sequence[Hit], log: Log) -> list[Hit]:
        """The candidates by the reranker's scores; in fused order without one, or when it fails, which is noted."""
        if query.reranker:
            try:
                with log.stage("rerank"):
                    return self.context.rerankers.rerank(query, candidates)
            except ModelError as error:
                unused = "" if query.min_score is None else "; min_score is meant for its scores and was not applied"
                log.missing("rerank", "", f"{error}{unused}")
        return list(candidates)

    def read(
        self, query: Query, chunk_ids: Iterable[str], *, texts: Collection[str] | None = None
    ) -> dict[str, Passage]:
        """What the scope and the filters let out of the ledger, all of it or only these texts."""
        return self.context.ledger.passages(list(chunk_ids), self.scope.dataset_ids, query.filters, texts=texts)


def _generator(strategy: Strategy, expansion: Expansion, tools: SearchTools) -> str:
    """Who wrote the variants, or, for a strategy that only refines, who was to choose."""
    if expansion.generator != "none" or not strategy.costs:
        return expansion.generator
    return tools.generator
