"""Rankings of the legs, pooled over collections, and the one list that they are fused into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from operator import itemgetter
from typing import NamedTuple

from braid.core.search import fusion
from braid.core.search.strategies.base import QueryVariant
from braid.core.types import LEGS_OF_MODE, Leg, LegScore, Query, ScoredChunk


class LegHits(NamedTuple):
    """The hits of one leg in one collection for one query variant."""

    leg: Leg
    model: str
    """Fingerprint of the embedding model; empty for the keyword leg. Scores of different models do not compare."""
    variant: int
    """Index of the query variant."""
    hits: Sequence[ScoredChunk] | None
    """None where the leg failed."""
    collection: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """One list that goes into the fusion: a leg's hits for one query variant."""

    leg: Leg
    variant: QueryVariant
    weight: float
    hits: tuple[ScoredChunk, ...]
    model: str = ""
    """Fingerprint of the embedding model; empty for the keyword leg."""
    spread: float = 0.0
    """Standard deviation of the query's cosine with any passage of the collections; 0 where `auto` does not need it."""
    unembedded: Mapping[str, str] = field(default_factory=dict)
    """Of a keyword ranking: chunk id → fingerprint of the model under which the chunk has no vector yet."""


class LegScores(Mapping[str, tuple[LegScore, ...]]):
    """Each leg's rank, score and contribution, by chunk id: made when asked for, since few of the chunks are shown."""

    def __init__(self, rankings: Sequence[Ranking], contributions: Sequence[Mapping[str, float]]) -> None:
        ranks = [dict(zip(map(itemgetter(0), ranking.hits), count(1))) for ranking in rankings]
        self._of = list(zip(rankings, ranks, contributions, strict=True))

    def __getitem__(self, chunk_id: str) -> tuple[LegScore, ...]:
        scores = []
        for ranking, ranks, given in self._of:
            if rank := ranks.get(chunk_id):
                asked = ranking.variant.text_for(ranking.leg)
                score = ranking.hits[rank - 1].score
                scores.append(LegScore(ranking.leg, rank, score, given[chunk_id], asked))
        if not scores:
            raise KeyError(chunk_id)
        return tuple(scores)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(chunk_id for _, ranks, _ in self._of for chunk_id in ranks))

    def __len__(self) -> int:
        return len(set().union(*(ranks for _, ranks, _ in self._of)))


@dataclass(frozen=True, slots=True)
class FusedRanking:
    """The fused list before it is cut, with everything that explains it."""

    rankings: tuple[Ranking, ...]
    order: tuple[ScoredChunk, ...]
    legs: Mapping[str, tuple[LegScore, ...]]
    """Each leg's rank, score and contribution, by chunk id."""
    literal: frozenset[str] = frozenset()
    """Chunks that come first, whatever their score, since they have the identifier that the query is."""

    def with_first(self, literal: Collection[str]) -> FusedRanking:
        """Return the ranking with these chunks before all others; both groups keep their order."""
        first = frozenset(literal)
        order = sorted(self.order, key=lambda hit: hit.chunk_id not in first)
        return replace(self, order=tuple(order), literal=first)


def pooled_rankings(query: Query, variants: Sequence[QueryVariant], found: Sequence[LegHits]) -> list[Ranking]:
    """Return one ranking per leg and variant over all collections whose scores compare."""
    rankings = []
    for leg in LEGS_OF_MODE[query.mode]:
        comparable: dict[tuple[int, str], list[Sequence[ScoredChunk]]] = {}
        for each in found:
            if each.leg == leg and each.hits is not None:
                comparable.setdefault((each.variant, each.model), []).append(each.hits)
        for (number, model), lists in comparable.items():
            weight = variants[number].weight * query.weight_of(leg)
            hits = tuple(fusion.pool(lists, query.fetch_k))
            rankings.append(Ranking(leg, variants[number], weight, hits, model))
    return rankings


def separate_rankings(query: Query, variants: Sequence[QueryVariant], found: Sequence[LegHits]) -> list[Ranking]:
    """Return one ranking per leg, variant and collection, as LangChain's EnsembleRetriever fuses them."""
    collections = Counter((each.leg, each.variant) for each in found)
    return [
        Ranking(
            each.leg,
            variants[each.variant],
            variants[each.variant].weight * query.weight_of(each.leg) / collections[each.leg, each.variant],
            tuple(each.hits or ()),
            each.model,
        )
        for each in sorted(found, key=lambda each: each.variant)
    ]


def fuse(query: Query, rankings: Sequence[Ranking]) -> FusedRanking:
    """Fuse all rankings into one list. A single one keeps its own scores, but not in hybrid mode, where the other leg
    failed. What only rankings of weight 0 have is not found. A passage without a vector stands where it would if its
    dense rank were its keyword rank; the keyword leg's contribution counts for both.
    """
    if len(rankings) == 1 and query.mode != "hybrid":
        contributions = [{hit.chunk_id: hit.score for hit in rankings[0].hits}]
    elif query.fusion == "auto":
        contributions = [_standout(ranking, query.fetch_k) for ranking in rankings]
    elif query.fusion == "weighted":
        contributions = [fusion.min_max_contributions(ranking.hits, ranking.weight) for ranking in rankings]
    else:
        contributions = [fusion.rrf_contributions(ranking.hits, ranking.weight) for ranking in rankings]
    if any(ranking.unembedded for ranking in rankings):
        contributions = _stand_in(query, rankings, contributions)
    fused = fusion.add_contributions(contributions)
    if any(ranking.weight == 0 for ranking in rankings):
        counting = {hit.chunk_id for ranking in rankings if ranking.weight > 0 for hit in ranking.hits}
        fused = {chunk_id: score for chunk_id, score in fused.items() if chunk_id in counting}
    if query.pooling == "none":
        order = fusion.by_score_then_appearance(fused)
    else:
        weighted = [(ranking.hits, ranking.weight) for ranking in rankings]
        order = fusion.by_score_then_id(fused, fusion.rrf_ties(weighted) if fusion.has_ties(fused) else None)
    return FusedRanking(tuple(rankings), tuple(order), LegScores(rankings, contributions))


def _stand_in(
    query: Query, rankings: Sequence[Ranking], contributions: Sequence[Mapping[str, float]]
) -> list[dict[str, float]]:
    """Add to the keyword contributions of passages without a vector what the dense leg gives the same rank."""
    raised = [dict(given) for given in contributions]
    dense = [(ranking, list(raised[n].values())) for n, ranking in enumerate(rankings) if ranking.leg == "dense"]
    for variant in dict.fromkeys(ranking.variant for ranking, _ in dense):
        for chunk_id, (rank, number) in _unembedded_ranks(rankings, variant).items():
            model = rankings[number].unembedded[chunk_id]
            raised[number][chunk_id] += max(
                (
                    _share_at(rank, ranking, given, query)
                    for ranking, given in dense
                    if ranking.variant is variant and ranking.model == model
                ),
                default=0.0,
            )
    return raised


def _unembedded_ranks(rankings: Sequence[Ranking], variant: QueryVariant) -> dict[str, tuple[int, int]]:
    """Return the best keyword rank of each passage without a vector, and the number of the ranking that has it.

    Only the variant's own keyword ranking counts, unless the variant is searched by meaning alone.
    """
    best: dict[str, tuple[int, int]] = {}
    for number, ranking in enumerate(rankings):
        if ranking.unembedded and (ranking.variant is variant or "bm25" not in variant.legs):
            for rank, hit in enumerate(ranking.hits, start=1):
                if hit.chunk_id in ranking.unembedded:
                    best[hit.chunk_id] = min(best.get(hit.chunk_id, (rank, number)), (rank, number))
    return best


def _share_at(rank: int, dense: Ranking, given: Sequence[float], query: Query) -> float:
    if query.fusion == "rrf":
        return dense.weight / (fusion.RRF_C + rank)
    return given[rank - 1] if rank <= len(given) else 0.0


def _standout(ranking: Ranking, depth: int) -> dict[str, float]:
    if ranking.leg == "dense":
        return fusion.dense_standout(ranking.hits, ranking.weight, ranking.spread)
    return fusion.bm25_standout(ranking.hits, ranking.weight, depth)
