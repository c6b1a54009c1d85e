"""One search: expand → search → fuse → refine. Data goes down as arguments and comes back as return values."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass, field, fields

from core import fusion
from core.analyzer import Analyzer
from core.dense_index import DenseIndex
from core.embeddings import EmbeddingModel, embed_query
from core.errors import EmbeddingError, IndexUnavailableError, InvalidInputError
from core.indexer import Indexer
from core.indexes import Scored, Vector
from core.ledger import Ledger
from core.leg_retrievers import Bm25Retriever, DenseRetriever, LegRetriever
from core.lexical_index import LexicalIndex
from core.selection import Selection, select
from core.strategies import Strategy, Variant
from core.types import LEGS_OF_MODE, Degraded, Hit, Leg, LegScore, Passage, Place, Query, Scope, SearchResult

MAX_QUERY_TERMS = 256
READ_AHEAD = 20
MAX_EMBEDDED_CHARS = 2_000
"""Of a query; models read about 512 tokens, and more only costs time."""


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


@dataclass(frozen=True, slots=True)
class Ranking:
    """One list that goes into the fusion: a leg's hits for one query variant."""

    leg: Leg
    variant: Variant
    weight: float
    hits: tuple[Scored, ...]


@dataclass(slots=True)
class Log:
    """What a search notes on its way: what is missing, and how long each stage took."""

    degraded: list[Degraded] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the block's duration to the stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[name] = self.timings_ms.get(name, 0.0) + 1000 * (time.perf_counter() - started)

    def missing(self, leg: Leg, collection: str, reason: str) -> None:
        """Name a part that is not in the answer."""
        self.degraded.append(Degraded(leg, collection, reason))


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
    vectors = _embed(context, variants, models.values())
    asked: list[tuple[LegRetriever, Variant, Future[list[Scored]]]] = []
    with log.stage("search"):
        for variant in variants:
            for keyword, terms, factor in _weigh_terms(context, query, variant, bm25, log):
                selection = selections[keyword.scope.collection]
                asked.append(
                    (
                        keyword,
                        variant,
                        context.executors["bm25"].submit(keyword.rank, terms, factor, query.fetch_k, selection),
                    )
                )
    with log.stage("embed"):
        found_vectors = _collect_vectors(context, vectors, log)
    with log.stage("search"):
        for retriever in dense:
            fingerprint = models[retriever.scope.collection].fingerprint
            for variant in variants:
                vector = found_vectors.get((fingerprint, variant.text))
                if vector is not None:
                    selection = selections[retriever.scope.collection]
                    asked.append(
                        (
                            retriever,
                            variant,
                            context.executors["dense"].submit(retriever.rank, vector, query.fetch_k, selection),
                        )
                    )
        found = _collect(context, asked, log)
    return _rankings(query, variants, retrievers, models, found)


def _is_usable(context: SearchContext, retriever: LegRetriever, log: Log) -> bool:
    progress = context.indexer.leg_progress(retriever.leg, retriever.scope.collection)
    reason = progress.obstacle or progress.shortfall
    if reason:
        log.missing(retriever.leg, retriever.scope.collection, reason)
    return not progress.obstacle


def _embed(
    context: SearchContext, variants: Sequence[Variant], models: Iterable[EmbeddingModel]
) -> dict[tuple[str, str], Future[Vector]]:
    """One embedding a model and variant, whatever the number of collections; under way in the background."""
    return {
        (fingerprint, text): context.executors["dense"].submit(embed_query, model, text[:MAX_EMBEDDED_CHARS])
        for fingerprint, model in {model.fingerprint: model for model in models}.items()
        for text in dict.fromkeys(variant.text for variant in variants)
    }


def _collect_vectors(
    context: SearchContext, futures: Mapping[tuple[str, str], Future[Vector]], log: Log
) -> dict[tuple[str, str], Vector]:
    deadline = time.monotonic() + context.leg_timeout_s
    vectors: dict[tuple[str, str], Vector] = {}
    for key, future in futures.items():
        try:
            vectors[key] = future.result(max(0.0, deadline - time.monotonic()))
        except EmbeddingError as error:
            log.missing("dense", "", str(error))
        except FutureTimeoutError:
            future.cancel()
            log.missing("dense", "", f"the embedding model {key[0]} took longer than {context.leg_timeout_s:g} s")
    return vectors


def _weigh_terms(
    context: SearchContext, query: Query, variant: Variant, retrievers: Sequence[Bm25Retriever], log: Log
) -> list[tuple[Bm25Retriever, Mapping[str, float], float]]:
    """Per retriever the terms with their weights, and the factor for its scores."""
    if not retrievers:
        return []
    terms = {term: float(count) for term, count in Counter(context.analyzer.tokens(variant.text)).items()}
    statistics = {}
    for retriever in retrievers:
        collection = retriever.scope.collection
        try:
            statistics[collection] = context.lexical.statistics(collection, terms)
            if not statistics[collection].documents and not context.indexer.leg_progress("bm25", collection).pending:
                raise IndexUnavailableError(f"the keyword index of {collection} is empty; it is being looked at")
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
    context: SearchContext, asked: Sequence[tuple[LegRetriever, Variant, Future[list[Scored]]]], log: Log
) -> dict[tuple[int, Variant], list[Scored]]:
    deadline = time.monotonic() + context.leg_timeout_s
    found: dict[tuple[int, Variant], list[Scored]] = {}
    for retriever, variant, future in asked:
        collection = retriever.scope.collection
        try:
            found[id(retriever), variant] = future.result(max(0.0, deadline - time.monotonic()))
        except (IndexUnavailableError, EmbeddingError) as error:
            context.indexer.suspect(retriever.leg, collection)
            log.missing(retriever.leg, collection, str(error))
        except FutureTimeoutError:
            future.cancel()
            log.missing(retriever.leg, collection, f"no answer within {context.leg_timeout_s:g} s")
    return found


def _rankings(
    query: Query,
    variants: Sequence[Variant],
    retrievers: Sequence[LegRetriever],
    models: Mapping[str, EmbeddingModel],
    found: Mapping[tuple[int, Variant], list[Scored]],
) -> tuple[Ranking, ...]:
    if query.pooling == "none":
        collections = Counter(r.leg for r in retrievers)
        return tuple(
            Ranking(
                r.leg,
                variant,
                variant.weight * _leg_weight(query, r.leg) / collections[r.leg],
                tuple(found.get((id(r), variant), ())),
            )
            for variant in variants
            for r in retrievers
        )
    rankings = []
    for leg in LEGS_OF_MODE[query.mode]:
        comparable: dict[tuple[Variant, str], list[list[Scored]]] = {}
        for retriever in retrievers:
            for variant in variants:
                hits = found.get((id(retriever), variant))
                if retriever.leg == leg and hits is not None:
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
    return 0.5


def fuse(query: Query, rankings: Sequence[Ranking]) -> Fused:
    """One list from all rankings. A single one keeps its own scores, but in hybrid mode, where the other leg failed."""
    if len(rankings) == 1 and query.mode != "hybrid":
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
                LegScore(ranking.leg, rank, hit.score, share, ranking.variant.text)
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
            expansion = self.strategy.expand(query)
            fused = self.fused(query, expansion.variants, retrievers, log)
            with log.stage("read"):
                hits = self.best_hits(query, fused)
            refined = self.strategy.refine(query, hits)
        return SearchResult(
            query=query,
            strategy=self.strategy_name,
            generator=expansion.generator,
            queries=tuple(variant.text for variant in expansion.variants),
            hits=tuple(refined),
            collections=tuple(c.collection for c in self.scope.collections),
            degraded=tuple(log.degraded),
            unresolved_dataset_ids=self.scope.unresolved_dataset_ids,
            timings_ms=log.timings_ms,
        )

    def fused(self, query: Query, variants: Sequence[Variant], retrievers: Sequence[LegRetriever], log: Log) -> Fused:
        """The fused list, not yet read from the ledger."""
        with log.stage("scope"):
            selections = select(self.context.ledger, self.scope, query.filters)
        rankings = gather(self.context, query, variants, selections, retrievers, log)
        with log.stage("fuse"):
            return fuse(query, rankings)

    def best_hits(self, query: Query, fused: Fused) -> list[Hit]:
        """The ``k`` best hits that may be shown, reading no more than is needed for them and their other places."""
        passages: dict[str, Passage] = {}
        hits: list[Hit] = []
        step = 2 * query.k + READ_AHEAD
        for start in range(0, len(fused.order), step):
            passages |= self.read(query, [hit.chunk_id for hit in fused.order[start : start + step]])
            hits = build_hits(fused, passages)
            if len(hits) >= query.k:
                deeper = [hit.chunk_id for hit in fused.order[start + step :]]
                copies = {hit.passage.text for hit in hits[: query.k]}
                hits = build_hits(fused, passages | self.read(query, deeper, texts=copies))
                break
        return [hit for hit in hits[: query.k] if query.min_score is None or hit.score >= query.min_score]

    def read(
        self, query: Query, chunk_ids: Iterable[str], *, texts: Collection[str] | None = None
    ) -> dict[str, Passage]:
        """What the scope and the filters let out of the ledger, all of it or only these texts."""
        return self.context.ledger.passages(list(chunk_ids), self.scope.dataset_ids, query.filters, texts=texts)
