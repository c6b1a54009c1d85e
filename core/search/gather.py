"""Asking every retriever for every variant of the query: what is shared, what is embedded once, what is pooled."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass, field

from braid.core.errors import EmbeddingError, IndexUnavailableError
from braid.core.indexes.bm25 import Bm25Index, Bm25Statistics
from braid.core.indexes.dense import DenseIndex
from braid.core.indexes.indexer import Indexer
from braid.core.ledger.ledger import Ledger
from braid.core.models.answer_cache import RecentAnswers
from braid.core.models.chat import ChatModels
from braid.core.models.embeddings import EmbeddingModel, embed_passages, embed_queries
from braid.core.models.prompts import Prompts
from braid.core.models.rerank import Rerankers
from braid.core.priority import SearchPriority
from braid.core.search import fusion
from braid.core.search.legs import Bm25Retriever, DenseRetriever, LegRetriever
from braid.core.search.selection import Selection
from braid.core.search.strategies.base import Variant
from braid.core.text.analyzer import Analyzer
from braid.core.types import (
    LEGS_OF_MODE,
    Degraded,
    Leg,
    Part,
    Query,
    ScoredChunk,
    Vector,
)

MAX_QUERY_TERMS = 256
MAX_EMBEDDED_CHARS = 2_000
"""Of a query; models read about 512 tokens, and more only costs time."""

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
    bm25: Bm25Index
    analyzer: Analyzer
    model_of: Callable[[str], EmbeddingModel]
    executors: Mapping[Leg, Executor]
    """One a leg, so that a store or model that hangs does not take the other leg's threads."""
    leg_timeout_s: float
    rerankers: Rerankers
    models: ChatModels
    prompts: Prompts
    answers: RecentAnswers = field(default_factory=RecentAnswers)
    """Of the search model."""
    priority: SearchPriority = field(default_factory=SearchPriority)


@dataclass(frozen=True, slots=True)
class Ranking:
    """One list that goes into the fusion: a leg's hits for one query variant."""

    leg: Leg
    variant: Variant
    weight: float
    hits: tuple[ScoredChunk, ...]


@dataclass(slots=True)
class Log:
    """What a search notes on its way: what is missing, what it cost, and what it need not do again."""

    degraded: list[Degraded] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)
    model_calls: int = 0
    embeddings: int = 0
    """Texts that were given to an embedding model."""
    selections: Mapping[str, Selection] | None = None
    vectors: dict[VectorKey, Vector | None] = field(default_factory=dict)
    """What was embedded; None where that failed."""
    found: dict[FoundKey, list[ScoredChunk] | None] = field(default_factory=dict)
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


def gather(
    context: SearchContext,
    query: Query,
    variants: Sequence[Variant],
    selections: Mapping[str, Selection],
    retrievers: Sequence[LegRetriever],
    log: Log,
) -> tuple[Ranking, ...]:
    """Ask every retriever for every variant, in parallel, each with the deadline; pool what can be compared."""
    heads = context.indexer.heads(selections.keys())
    usable = [r for r in retrievers if r.scope.collection in selections and _is_usable(context, r, heads, log)]
    dense = [r for r in usable if isinstance(r, DenseRetriever)]
    bm25 = [r for r in usable if isinstance(r, Bm25Retriever)]
    models = {r.scope.collection: context.model_of(r.scope.collection) for r in dense}
    embedding = embed(context, variants, models.values(), log)
    asked: dict[FoundKey, tuple[LegRetriever, Future[list[ScoredChunk]]]] = {}
    with log.stage("search"):
        for variant in variants:
            new = [r for r in bm25 if "bm25" in variant.legs and _found_key(query, r, variant) not in log.found]
            for keyword, terms, factor in _weigh_terms(context, query, variant, new, log):
                selection = selections[keyword.scope.collection]
                job = context.executors["bm25"].submit(keyword.rank, terms, factor, query.fetch_k, selection)
                asked.setdefault(_found_key(query, keyword, variant), (keyword, job))
    with log.stage("embed"):
        collect_vectors(context, embedding, log)
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


def _is_usable(context: SearchContext, retriever: LegRetriever, heads: Mapping[str, int], log: Log) -> bool:
    collection = retriever.scope.collection
    progress = context.indexer.leg_progress(retriever.leg, collection, heads.get(collection))
    reason = progress.obstacle or progress.shortfall
    if reason:
        log.missing(retriever.leg, retriever.scope.collection, reason)
    return not progress.obstacle


Embedding = tuple[EmbeddingModel, list[VectorKey], Future[Vector]]


def embed(
    context: SearchContext, variants: Sequence[Variant], models: Iterable[EmbeddingModel], log: Log
) -> list[Embedding]:
    """One batch a model for all variants, whatever the number of collections; under way in the background."""
    wanted = {v.search_key("dense"): v for v in variants if "dense" in v.legs and v.vectors is None}
    jobs: list[Embedding] = []
    for model in {model.fingerprint: model for model in models}.values():
        for embed, chosen in (
            (embed_queries, {key: v.text[:MAX_EMBEDDED_CHARS] for key, v in wanted.items() if not v.passage}),
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


def collect_vectors(context: SearchContext, jobs: Sequence[Embedding], log: Log) -> None:
    """Wait for the embeddings and put them into the log; one that fails or is slow is noted."""
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
    boosts = fusion.pooled_bm25_boosts(_statistics(context, retrievers, terms, log), terms)
    weighed = []
    for retriever in retrievers:
        if retriever.scope.collection in boosts:
            weights, factor = boosts[retriever.scope.collection]
            if query.pooling == "none":
                weights, factor = {term: terms[term] for term in weights}, 1.0
            weighed.append((retriever, _heaviest(weights), factor))
    return weighed


def _statistics(
    context: SearchContext, retrievers: Sequence[Bm25Retriever], terms: Mapping[str, float], log: Log
) -> dict[str, Bm25Statistics]:
    """By collection, of those that answer within the deadline."""
    deadline = time.monotonic() + context.leg_timeout_s
    collections = [retriever.scope.collection for retriever in retrievers]
    jobs = {name: context.executors["bm25"].submit(context.bm25.statistics, name, terms) for name in collections}
    found: dict[str, Bm25Statistics] = {}
    for name, job in jobs.items():
        try:
            statistics = job.result(max(0.0, deadline - time.monotonic()))
            if not statistics.documents and not context.indexer.leg_progress("bm25", name).pending:
                raise IndexUnavailableError(f"the keyword index of {name} is empty; it is being looked at")
            found[name] = statistics
        except IndexUnavailableError as error:
            context.indexer.suspect("bm25", name)
            log.missing("bm25", name, str(error))
        except FutureTimeoutError:
            job.cancel()
            log.missing("bm25", name, f"no answer within {context.leg_timeout_s:g} s")
    return found


def _heaviest(weights: Mapping[str, float]) -> Mapping[str, float]:
    if len(weights) <= MAX_QUERY_TERMS:
        return weights
    return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MAX_QUERY_TERMS])


def _collect(
    context: SearchContext, asked: Mapping[FoundKey, tuple[LegRetriever, Future[list[ScoredChunk]]]], log: Log
) -> None:
    deadline = time.monotonic() + context.leg_timeout_s
    for key, (retriever, future) in asked.items():
        collection = retriever.scope.collection
        log.found[key] = None
        try:
            log.found[key] = future.result(max(0.0, deadline - time.monotonic()))
            if obstacle := context.indexer.leg_progress(retriever.leg, collection).obstacle:
                log.missing(retriever.leg, collection, obstacle)  # it began to be rebuilt since it was looked at
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
    found: Mapping[FoundKey, list[ScoredChunk] | None],
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
        comparable: dict[tuple[Variant, str], list[list[ScoredChunk]]] = {}
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
