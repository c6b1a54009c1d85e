"""Why a chunk is, or is not, in the result of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.change_log import indexed_text
from core.errors import InvalidInputError
from core.gather import Log
from core.leg_retrievers import LegRetriever
from core.rerank import reaches_min_score
from core.search import Fused, SearchRequest, build_hits
from core.search_tools import SearchTools
from core.types import LEGS_OF_MODE, MAX_K, Explanation, Hit, Leg, LegScore, Passage, Query

LEG_NAMES: dict[Leg, str] = {"dense": "by meaning", "bm25": "by keyword"}


def explain(request: SearchRequest, text: str, chunk_id: str, retrievers: Sequence[LegRetriever]) -> Explanation:
    """Follow one chunk through the search. What the caller may not read is `not_in_scope`, existing or not.

    Raises InvalidInputError for the reference engine, which ranks otherwise.
    """
    query = request.query(text)
    if query.engine == "reference":
        raise InvalidInputError("engine 'reference' cannot be explained; use engine 'braid'", field="engine")
    readable = request.context.ledger.passages([chunk_id], request.scope.dataset_ids)
    if chunk_id not in readable:
        return Explanation(chunk_id, False, "not_in_scope", "It is not in the selected datasets.")
    if chunk_id not in request.read(query, [chunk_id]):
        return Explanation(chunk_id, False, "filtered", "The filters leave its document out.")
    log = Log()
    variants = request.strategy.expand(query, SearchTools(request, query, retrievers, log)).variants
    fused = request.fused(query, variants, retrievers, log)
    legs = fused.legs.get(chunk_id, ())
    if legs:
        passages = request.read(query, (hit.chunk_id for hit in fused.order))
        hits = build_hits(fused, passages)
        if query.reranker:
            hits[: query.candidates] = request.reranked(query, hits[: query.candidates], log)
        return _in_the_list(query, chunk_id, legs, hits)
    deep_query = replace(query, k=MAX_K)
    deep = request.fused(deep_query, variants, retrievers, Log())
    reasons = [_why_not(request, query, leg, readable[chunk_id], fused, deep, log) for leg in LEGS_OF_MODE[query.mode]]
    return Explanation(chunk_id, False, "not_reached", " ".join(reasons), legs=deep.legs.get(chunk_id, ()))


def _in_the_list(query: Query, chunk_id: str, legs: tuple[LegScore, ...], hits: Sequence[Hit]) -> Explanation:
    for rank, hit in enumerate(hits, start=1):
        if any(place.chunk_id == chunk_id for place in hit.also_in):
            source = hit.passage.source
            detail = f"Its text equals that of {source!r}, which is shown at rank {rank} with both places."
            return Explanation(chunk_id, False, "deduplicated", detail, rank, legs)
        if hit.passage.chunk_id != chunk_id:
            continue
        if rank > query.candidates and query.reranker:
            detail = f"It is at rank {rank}; only {query.candidates} are reranked. Raise k to have more."
            return Explanation(chunk_id, False, "cut_by_k", detail, rank, legs)
        if query.min_score is not None and not reaches_min_score(query, hit):
            score = hit.score if hit.rerank_score is None else hit.rerank_score
            detail = f"Its score {score:.4g} is below min_score {query.min_score:g}."
            return Explanation(chunk_id, False, "below_min_score", detail, rank, legs)
        if rank > query.k:
            detail = f"It is at rank {rank}; only {query.k} are shown. Raise k to see it."
            return Explanation(chunk_id, False, "cut_by_k", detail, rank, legs)
        return Explanation(chunk_id, True, "found", f"It is at rank {rank}.", rank, legs)
    return Explanation(chunk_id, False, "not_in_scope", "It was deleted while the search was under way.")


def _why_not(
    request: SearchRequest, query: Query, leg: Leg, passage: Passage, fused: Fused, deep: Fused, log: Log
) -> str:
    name = LEG_NAMES[leg]
    broken = [d.reason for d in log.degraded if d.leg == leg and d.collection in ("", passage.collection)]
    scores = [score for score in deep.legs.get(passage.chunk_id, ()) if score.leg == leg]
    lists = [ranking.hits for ranking in fused.rankings if ranking.leg == leg and ranking.hits]
    if scores:
        worst = f", where the last one fetched scores {lists[0][-1].score:.4g}" if lists else ""
        return (
            f"Searched {name} it is at rank {scores[0].rank} with score {scores[0].score:.4g}{worst}; "
            f"{query.fetch_k} are fetched."
        )
    if broken:
        return f"Searched {name}: {broken[0]}."
    if leg == "bm25" and not _shared_terms(request, query, passage):
        return "Searched by keyword it has no word of the query."
    if leg == "dense" and not _is_embedded(request, passage):
        return "Searched by meaning: it is not embedded yet."
    return f"Searched {name} it is below rank {2 * MAX_K}."


def _shared_terms(request: SearchRequest, query: Query, passage: Passage) -> set[str]:
    tokens = request.context.analyzer.tokens
    return set(tokens(query.text)) & set(tokens(indexed_text(passage.title, passage.heading_path, passage.text)))


def _is_embedded(request: SearchRequest, passage: Passage) -> bool:
    model = request.context.model_of(passage.collection).fingerprint
    return bool(request.context.ledger.embeddings(model, [passage.chunk_id]))
