"""Why a chunk is, or is not, in the result of a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.models.rerank import reaches_min_score
from braid.core.search.gather import Log
from braid.core.search.legs import LegRetriever
from braid.core.search.pipeline import Fused, SearchRequest, build_hits
from braid.core.search.tools import SearchTools
from braid.core.types import (
    LEGS_OF_MODE,
    MAX_K,
    Document,
    Explanation,
    Filters,
    Hit,
    Leg,
    LegScore,
    Passage,
    Query,
    SearchResult,
    indexed_text,
)

LEG_NAMES: dict[Leg, str] = {"dense": "by meaning", "bm25": "by keyword"}
FORGOTTEN = (
    "What the model wrote for this search is not remembered, and it is not asked again: feedback was followed. "
    "Search first, then explain."
)


def explain(request: SearchRequest, text: str, chunk_id: str, retrievers: Sequence[LegRetriever]) -> Explanation:
    """Follow one chunk through the search. What the caller may not read is `not_in_scope`, existing or not.

    No model is asked: what it wrote for the same search is taken again, and where that is not remembered feedback is
    followed, which the explanation says. Raises InvalidInputError for the reference engine, which ranks otherwise.
    """
    query = request.query(text)
    if query.engine == "reference":
        raise InvalidInputError("engine 'reference' cannot be explained; use engine 'braid'", field="engine")
    readable = request.context.ledger.passages([chunk_id], request.scope.dataset_ids)
    if chunk_id not in readable:
        return Explanation(chunk_id, False, "not_in_scope", "It is not in the selected datasets.")
    if chunk_id not in request.read(query, [chunk_id]):
        return Explanation(chunk_id, False, "filtered", "The filters leave its document out.")
    log, wide = Log(), request.widened(query)
    tools = SearchTools(request, wide, retrievers, log, replay=True)
    variants = request.strategy.expand(wide, tools).variants
    fused = request.fused(wide, variants, retrievers, log)
    explanation = _in_the_result(request, query, chunk_id, fused, tools, log)
    if explanation is None:
        deep = request.fused(replace(query, k=MAX_K), variants, retrievers, Log())
        passage, legs = readable[chunk_id], LEGS_OF_MODE[query.mode]
        reasons = " ".join(_why_not(request, wide, leg, passage, fused, deep, log) for leg in legs)
        explanation = Explanation(chunk_id, False, "not_reached", reasons, legs=deep.legs.get(chunk_id, ()))
    return replace(explanation, detail=f"{explanation.detail} {FORGOTTEN}") if tools.forgotten else explanation


def best_passage(
    search: Callable[..., SearchResult], ledger: Ledger, document: Document, text: str, *, user_id: int, **options: Any
) -> Passage:
    """The passage of a document that a plain search in its source alone puts first, or else its first one.

    ``search`` is `braid.core.retriever_manager.RetrieverManager.search`, and ``options`` are its. The user must be
    allowed to
    read the document. Raises NotFoundError when it has no passages.
    """
    plain = {**options, "strategy": "basic", "reranker": "", "filters": Filters(source_prefix=document.source)}
    hits = search(text, user_id=user_id, dataset_ids=[document.dataset_id], **plain).hits
    best = next((hit.passage for hit in hits if hit.passage.document_id == document.id), None)
    passages = [best] if best else ledger.document_passages(document.id, [document.dataset_id], limit=1)
    if not passages:
        raise NotFoundError(f"the document {document.source!r} has no passages: {document.error or 'it is empty'}")
    return passages[0]


def _in_the_result(
    request: SearchRequest, query: Query, chunk_id: str, fused: Fused, tools: SearchTools, log: Log
) -> Explanation | None:
    """None for what no leg has found, and no section covers."""
    drops, wide, legs = request.strategy.spare > 1, request.widened(query), fused.legs.get(chunk_id, ())
    if not legs and not drops:
        return None
    hits = build_hits(fused, request.read(query, (hit.chunk_id for hit in fused.order)))
    if query.reranker:
        hits[: wide.candidates] = request.reranked(wide, hits[: wide.candidates], log)
    if drops:
        best = [hit for hit in hits[: wide.k] if reaches_min_score(query, hit)]
        shown = list(request.strategy.refine(query, best, tools))[: query.k]
        explanation = _in_a_section(chunk_id, legs, shown, hits)
        if explanation is not None or not legs:
            return explanation
    explanation = _in_the_list(query, wide, chunk_id, legs, hits)
    if explanation.found and drops:
        detail = f"It is at rank {explanation.rank}, but the strategy {request.strategy_name} did not choose it."
        return replace(explanation, found=False, reason="cut_by_k", detail=detail)
    return explanation


def _in_a_section(
    chunk_id: str, legs: tuple[LegScore, ...], shown: Sequence[Hit], hits: Sequence[Hit]
) -> Explanation | None:
    """For what is shown, itself or as a part of another hit, or as its equal is; else None."""
    twin = next((hit.passage for hit in hits if any(place.chunk_id == chunk_id for place in hit.also_in)), None)
    for rank, hit in enumerate(shown, start=1):
        part_of = f"part of the section around {hit.passage.chunk_id} in {hit.passage.source!r}, at rank {rank}"
        if hit.passage.chunk_id == chunk_id:
            return Explanation(chunk_id, True, "found", f"It is at rank {rank}.", rank, legs)
        if chunk_id in hit.covers:
            return Explanation(chunk_id, False, "merged", f"It is shown as {part_of}.", rank, legs)
        if twin and twin.chunk_id == hit.passage.chunk_id:
            detail = f"Its text equals that of {twin.source!r}, which is shown at rank {rank} with both places."
            return Explanation(chunk_id, False, "deduplicated", detail, rank, legs)
        if twin and twin.chunk_id in hit.covers:
            detail = f"Its text equals that of {twin.source!r}, which is shown as {part_of}."
            return Explanation(chunk_id, False, "merged", detail, rank, legs)
    return None


def _in_the_list(
    query: Query, wide: Query, chunk_id: str, legs: tuple[LegScore, ...], hits: Sequence[Hit]
) -> Explanation:
    for rank, hit in enumerate(hits, start=1):
        if any(place.chunk_id == chunk_id for place in hit.also_in):
            shown = "is shown" if rank <= query.k else "would be shown"
            detail = f"Its text equals that of {hit.passage.source!r}, which {shown} at rank {rank} with both places."
            return Explanation(chunk_id, False, "deduplicated", detail, rank, legs)
        if hit.passage.chunk_id != chunk_id:
            continue
        if rank > wide.candidates and query.reranker:
            detail = f"It is at rank {rank}; only {wide.candidates} are reranked. Raise k to have more."
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
