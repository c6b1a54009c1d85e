"""One search: expand → search → fuse → refine. Data goes down as arguments and comes back as return values."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace

from core import fusion
from core.analyzer import Analyzer
from core.dense_index import DenseIndex
from core.embeddings import EmbeddingModel, embed_passages, embed_queries
from core.errors import EmbeddingError, IndexUnavailableError, InvalidInputError, ModelError
from core.indexer import Indexer
from core.indexes import Scored, Vector
from core.ledger import Ledger
from core.leg_retrievers import Bm25Retriever, DenseRetriever, LegRetriever
from core.lexical_index import LexicalIndex
from core.llm import ChatModels
from core.prompts import Prompts
from core.rerank import Rerankers, reaches_min_score
from core.search_tools import SearchTools
from core.selection import Selection, select
from core.strategies.base import Expansion, Strategy, Variant
from core.types import (
    LEGS_OF_MODE,
    MAX_K,
    Degraded,
    Hit,
    Leg,
    LegScore,
    Part,
    Passage,
    Place,
    Query,
    Scope,
    SearchResult,
)

MAX_QUERY_TERMS = 256
READ_AHEAD = 20


VectorKey = tuple[str, str, object]
"""Fingerprint of the model, and what was embedded: `Variant.search_key` of the dense leg."""
FoundKey = tuple[int, int, str, object]
"""Id of the retriever, how many hits it was asked for, and `Variant.search_key` of its leg."""


@dataclass(frozen=True, slots=True)
class SearchContext:
    """What every search of an open data directory shares."""

    ledger: Ledger
    indexer: Indexer
    dense: DenseIndex
    lexical: LexicalIndex
    analyzer: Analyzer
    model_of: Callable[[str], EmbeddingModel]
    executors: Mapping[Leg, Executor]
    """One a leg, so that a store or model that hangs does not take the other leg's threads."""
    leg_timeout_s: float
    rerankers: Rerankers
    models: ChatModels
    prompts: Prompts


@dataclass(frozen=True, slots=True)
class Ranking:
    """One list that goes into the fusion: a leg's hits for one query variant."""

    leg: Leg
    variant: Variant
    weight: float
    hits: tuple[Scored, ...]


@dataclass(slots=True)
class Log:
    """What a search notes on its way: what is missing, what it cost, and what it need not do again."""

    degraded: list[Degraded] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)
    model_calls: int = 0
    embeddings: int = 0
    """Texts that were given to an embedding model."""
    vectors: dict[VectorKey, Vector | None] = field(default_factory=dict)
    """What was embedded; None where that failed."""
    found: dict[FoundKey, list[Scored] | None] = field(default_factory=dict)
    """What each retriever found; None where it failed."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the block's duration to the stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[name] = self.timings_ms.get(name, 0.0) + 1000 * (time.perf_counter() - started)

    def missing(self, leg: Part, collection: str, reason: str) -> None:
        """Name a part that is not in the answer."""
        part = Degraded(leg, collection, reason)
        if part not in self.degraded:
            self.degraded.append(part)


@dataclass(frozen=True, slots=True)
class Fused:
    """The fused list before it is cut, with everything that explains it."""

    rankings: tuple[Ranking, ...]
    order: tuple[Scored, ...]
    legs: Mapping[str, tuple[LegScore, ...]]


def gather(
    context: SearchContext,
    query: Query,
    variants: Sequence[Variant],
    selections: Mapping[str, Selection],
    retrievers: Sequence[LegRetriever],
    log: Log,
) -> tuple[Ranking, ...]:
    """Ask every retriever for every variant, in parallel, each with the deadline; pool what can be compared."""
    usable = [r for r in retrievers if r.scope.collection in selections and _is_usable(context, r, log)]
    dense = [r for r in usable if isinstance(r, DenseRetriever)]
    bm25 = [r for r in usable if isinstance(r, Bm25Retriever)]
    models = {r.scope.collection: context.model_of(r.scope.collection) for r in dense}
    embedding = _embed(context, variants, models.values(), log)
    asked: dict[FoundKey, tuple[LegRetriever, Future[list[Scored]]]] = {}
    with log.stage("search"):
        for variant in variants:
            new = [r for r in bm25 if "bm25" in variant.legs and _found_key(query, r, variant) not in log.found]
            for keyword, terms, factor in _weigh_terms(context, query, variant, new, log):
                selection = selections[keyword.scope.collection]
                job = context.executors["bm25"].submit(keyword.rank, terms, factor, query.fetch_k, selection)
                asked.setdefault(_found_key(query, keyword, variant), (keyword, job))
    with log.stage("embed"):
        _collect_vectors(context, embedding, log)
    with log.stage("search"):
        for retriever in dense:
            fingerprint = models[retriever.scope.collection].fingerprint
            for variant in variants:
                key = _found_key(query, retriever, variant)
                vector = _vector(variant, fingerprint, log)
                if "dense" in variant.legs and vector is not None and key not in log.found and key not in asked:
                    selection = selections[retriever.scope.collection]
                    job = context.executors["dense"].submit(retriever.rank, vector, query.fetch_k, selection)
                    asked[key] = (retriever, job)
        _collect(context, asked, log)
    return _rankings(query, variants, retrievers, models, log.found)


def _found_key(query: Query, retriever: LegRetriever, variant: Variant) -> FoundKey:
    return (id(retriever), query.fetch_k, *variant.search_key(retriever.leg))


def _vector(variant: Variant, fingerprint: str, log: Log) -> Vector | None:
    if variant.vectors is not None:
        return variant.vectors.get(fingerprint)
    return log.vectors.get((fingerprint, *variant.search_key("dense")))


def _is_usable(context: SearchContext, retriever: LegRetriever, log: Log) -> bool:
    progress = context.indexer.leg_progress(retriever.leg, retriever.scope.collection)
    reason = progress.obstacle or progress.shortfall
    if reason:
        log.missing(retriever.leg, retriever.scope.collection, reason)
    return not progress.obstacle


Embedding = tuple[EmbeddingModel, list[VectorKey], Future[Vector]]


def _embed(
    context: SearchContext, variants: Sequence[Variant], models: Iterable[EmbeddingModel], log: Log
) -> list[Embedding]:
    """One batch a model for all variants, whatever the number of collections; under way in the background."""
    wanted = {v.search_key("dense"): v for v in variants if "dense" in v.legs and v.vectors is None}
    jobs: list[Embedding] = []
    for model in {model.fingerprint: model for model in models}.values():
        for embed, chosen in (
            (embed_queries, {key: v.text for key, v in wanted.items() if not v.passage}),
            (embed_passages, {key: v.passage for key, v in wanted.items() if v.passage}),
        ):
            texts = {
                (model.fingerprint, *key): text
                for key, text in chosen.items()
                if (model.fingerprint, *key) not in log.vectors
            }
            if texts:
                log.embeddings += len(texts)
                job = context.executors["dense"].submit(embed, model, list(texts.values()))
                jobs.append((model, list(texts), job))
    return jobs


def _collect_vectors(context: SearchContext, jobs: Sequence[Embedding], log: Log) -> None:
    deadline = time.monotonic() + context.leg_timeout_s
    for model, keys, job in jobs:
        log.vectors.update(dict.fromkeys(keys))
        try:
            log.vectors.update(zip(keys, job.result(max(0.0, deadline - time.monotonic())), strict=True))
        except EmbeddingError as error:
            log.missing("dense", "", str(error))
        except FutureTimeoutError:
            job.cancel()
            log.missing(
                "dense", "", f"the embedding model {model.fingerprint} took longer than {context.leg_timeout_s:g} s"
            )


def _weigh_terms(
    context: SearchContext, query: Query, variant: Variant, retrievers: Sequence[Bm25Retriever], log: Log
) -> list[tuple[Bm25Retriever, Mapping[str, float], float]]:
    """Per retriever the terms with their weights, and the factor for its scores."""
    if not retrievers:
        return []
    terms = variant.terms
    if terms is None:
        terms = {term: float(count) for term, count in Counter(context.analyzer.tokens(variant.text)).items()}
    statistics = {}
    for retriever in retrievers:
        collection = retriever.scope.collection
        try:
            statistics[collection] = context.lexical.statistics(collection, terms)
        except IndexUnavailableError as error:
            context.indexer.suspect("bm25", collection)
            log.missing("bm25", collection, str(error))
    boosts = fusion.pooled_bm25_boosts(statistics, terms)
    weighed = []
    for retriever in retrievers:
        if retriever.scope.collection in boosts:
            weights, factor = boosts[retriever.scope.collection]
            if query.pooling == "none":
                weights, factor = {term: terms[term] for term in weights}, 1.0
            weighed.append((retriever, _heaviest(weights), factor))
    return weighed


def _heaviest(weights: Mapping[str, float]) -> Mapping[str, float]:
    if len(weights) <= MAX_QUERY_TERMS:
        return weights
    return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MAX_QUERY_TERMS])


def _collect(
    context: SearchContext, asked: Mapping[FoundKey, tuple[LegRetriever, Future[list[Scored]]]], log: Log
) -> None:
    deadline = time.monotonic() + context.leg_timeout_s
    for key, (retriever, future) in asked.items():
        collection = retriever.scope.collection
        log.found[key] = None
        try:
            log.found[key] = future.result(max(0.0, deadline - time.monotonic()))
        except (IndexUnavailableError, EmbeddingError) as error:
            context.indexer.suspect(retriever.leg, collection)
            log.missing(retriever.leg, collection, str(error))
        except FutureTimeoutError:
            future.cancel()
            log.missing(retriever.leg, collection, f"no answer within {context.leg_timeout_s:g} s")


def _rankings(
    query: Query,
    variants: Sequence[Variant],
    retrievers: Sequence[LegRetriever],
    models: Mapping[str, EmbeddingModel],
    found: Mapping[FoundKey, list[Scored] | None],
) -> tuple[Ranking, ...]:
    if query.pooling == "none":
        collections = Counter(r.leg for r in retrievers)
        return tuple(
            Ranking(
                r.leg,
                variant,
                variant.weight * _leg_weight(query, r.leg) / collections[r.leg],
                tuple(found.get(_found_key(query, r, variant)) or ()),
            )
            for variant in variants
            for r in retrievers
            if r.leg in variant.legs
        )
    rankings = []
    for leg in LEGS_OF_MODE[query.mode]:
        comparable: dict[tuple[Variant, str], list[list[Scored]]] = {}
        for retriever in retrievers:
            for variant in variants:
                hits = found.get(_found_key(query, retriever, variant))
                if retriever.leg == leg and leg in variant.legs and hits is not None:
                    model = models[retriever.scope.collection].fingerprint if leg == "dense" else ""
                    comparable.setdefault((variant, model), []).append(hits)
        for (variant, _), lists in comparable.items():
            weight = variant.weight * _leg_weight(query, leg)
            rankings.append(Ranking(leg, variant, weight, tuple(fusion.pool(lists, query.fetch_k))))
    return tuple(rankings)


def _leg_weight(query: Query, leg: Leg) -> float:
    if query.mode != "hybrid":
        return 1.0
    if query.fusion == "weighted":
        return query.dense_share if leg == "dense" else 1.0 - query.dense_share
    return query.dense_weight if leg == "dense" else 1.0 - query.dense_weight


def fuse(query: Query, rankings: Sequence[Ranking]) -> Fused:
    """One list from all rankings. A single ranking keeps its own scores."""
    if len(rankings) == 1:
        shares = [{hit.chunk_id: hit.score for hit in rankings[0].hits}]
    elif query.fusion == "weighted":
        shares = [fusion.min_max_shares(ranking.hits, ranking.weight) for ranking in rankings]
    else:
        shares = [fusion.rrf_shares(ranking.hits, ranking.weight) for ranking in rankings]
    fused = fusion.add_shares(shares)
    order = fusion.by_score_then_appearance(fused) if query.pooling == "none" else fusion.by_score_then_id(fused)
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
    scores: dict[str, Scored] = {}
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
        )

    def widened(self, query: Query) -> Query:
        """The query with as many hits as the strategy wants to refine."""
        return replace(query, k=min(MAX_K, query.k * self.strategy.spare))

    def embed(self, models: Iterable[EmbeddingModel], variants: Sequence[Variant], log: Log) -> None:
        """Put the variants' vectors into the log, those that are not there yet."""
        with log.stage("embed"):
            _collect_vectors(self.context, _embed(self.context, variants, models, log), log)

    def fused(self, query: Query, variants: Sequence[Variant], retrievers: Sequence[LegRetriever], log: Log) -> Fused:
        """The fused list, not yet read from the ledger."""
        with log.stage("scope"):
            selections = select(self.context.ledger, self.scope, query.filters)
        rankings = gather(self.context, query, variants, selections, retrievers, log)
        with log.stage("fuse"):
            return fuse(query, rankings)

    def best_hits(self, query: Query, fused: Fused, log: Log) -> list[Hit]:
        """The ``k`` best hits that may be shown, in the order of the reranker if there is one."""
        with log.stage("read"):
            candidates = self.candidates(query, fused)
        hits = self.reranked(query, candidates, log)
        return [hit for hit in hits[: query.k] if reaches_min_score(query, hit)]

    def candidates(self, query: Query, fused: Fused) -> list[Hit]:
        """The first fused hits that may be shown, reading no more than is needed for them."""
        passages: dict[str, Passage] = {}
        hits: list[Hit] = []
        step = 2 * query.candidates + READ_AHEAD
        for start in range(0, len(fused.order), step):
            passages |= self.read(query, [hit.chunk_id for hit in fused.order[start : start + step]])
            hits = build_hits(fused, passages)
            if len(hits) >= query.candidates:
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

    def read(self, query: Query, chunk_ids: Iterable[str]) -> dict[str, Passage]:
        """What the scope and the filters let out of the ledger."""
        return self.context.ledger.passages(list(chunk_ids), self.scope.dataset_ids, query.filters)


def _generator(strategy: Strategy, expansion: Expansion, tools: SearchTools) -> str:
    """Who wrote the variants, or, for a strategy that only refines, who was to choose."""
    if expansion.generator != "none" or not strategy.costs:
        return expansion.generator
    return tools.generator
