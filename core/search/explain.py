"""Explanations: why a chunk is, or is not, in the result of a search."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.json_form import to_json
from braid.core.ledger.ledger import Ledger
from braid.core.metadata.where import FACTS
from braid.core.models.rerank import reaches_min_score
from braid.core.search.pipeline import Search
from braid.core.search.question.filters import remarks
from braid.core.search.ranking import FusedRanking
from braid.core.search.state import SearchTrace
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
    Scope,
    SearchResult,
    indexed_text,
)

LEG_NAMES: dict[Leg, str] = {"dense": "by meaning", "bm25": "by keyword"}
FORGOTTEN = (
    "What the model wrote for this search is not remembered, and it is not asked again: feedback was followed. "
    "Search first, then explain."
)


def explain(search: Search, chunk_id: str, whole: Scope) -> Explanation:
    """Follow one chunk through the search. A chunk that the caller may not read is `not_in_scope`, existing or not.
    ``whole`` is the scope before the question made it narrower.

    The search replays: no model is asked; its remembered reply to the same search is used, or pseudo-relevance feedback
    when there is none, which the explanation says. Raises InvalidInputError for engine ``langchain``, whose ranking is
    not explained.
    """
    query = search.query
    if query.engine == "langchain":
        raise InvalidInputError("engine 'langchain' cannot be explained; use engine 'braid'", field="engine")
    readable = search.context.ledger.passages([chunk_id], whole.dataset_ids)
    if chunk_id not in readable:
        return Explanation(chunk_id, False, "not_in_scope", "It is not in the selected datasets.")
    read = remarks(search.read)
    if readable[chunk_id].dataset_id not in search.scope.dataset_ids:
        return Explanation(chunk_id, False, "filtered", " ".join(["It is in another dataset.", *read]))
    if chunk_id not in search.context.ledger.visible([chunk_id], search.scope.dataset_ids, query.filters):
        return Explanation(chunk_id, False, "filtered", " ".join([_filtered(search, readable[chunk_id]), *read]))
    variants = search.strategy.expand(search.overfetched_query, search).variants
    fused = search.find(variants)
    document_id = readable[chunk_id].document_id
    explanation = _Followed(search, chunk_id, document_id, fused.legs.get(chunk_id, ())).in_the_result(fused)
    if explanation is None:
        deep = search.search_and_fuse(replace(query, k=MAX_K, leg_depth=0), variants, trace=SearchTrace())
        unreached = _Unreached(search, readable[chunk_id], fused, deep.legs.get(chunk_id, ()))
        reasons = " ".join(unreached.reason(leg) for leg in LEGS_OF_MODE[query.mode])
        explanation = Explanation(chunk_id, False, "not_reached", reasons, legs=unreached.deep_scores)
    said = [*search.remarks(chunk_id, fused), *read, *([FORGOTTEN] if search.forgotten else [])]
    said += [f"It was not reranked: {part.reason}." for part in search.trace.degraded if part.leg == "rerank"]
    if readable[chunk_id].chunk_kind == "contents" and query.pooling != "none":
        said = ["It is a table of contents, and so comes behind all other passages.", *said]
    return replace(explanation, detail=" ".join([explanation.detail, *said]), reranker=search.reranked_by)


def best_passage(
    search: Callable[..., SearchResult], ledger: Ledger, document: Document, text: str, *, user_id: int, **options: Any
) -> Passage:
    """Return the passage of a document that a plain search in its source alone puts first, or else its first one.

    ``search`` is `braid.core.retriever_manager.RetrieverManager.search`, and ``options`` are its. The user must be
    allowed to read the document. Raises NotFoundError when it has no passages.
    """
    filters = Filters(source_prefix=document.source)
    plain = {**options, "strategy": "basic", "reranker": "", "filters": filters, "question_filters": "off"}
    hits = search(text, user_id=user_id, dataset_ids=[document.dataset_id], **plain).hits
    best = next((hit.passage for hit in hits if hit.passage.document_id == document.id), None)
    passages = [best] if best else ledger.document_passages(document.id, [document.dataset_id], limit=1)
    if not passages:
        raise NotFoundError(f"the document {document.source!r} has no passages: {document.error or 'it is empty'}")
    return passages[0]


def _filtered(search: Search, passage: Passage) -> str:
    """Say which filters leave the passage's document out, and what it has instead."""
    ledger, chunk_ids, dataset_ids = search.context.ledger, [passage.chunk_id], search.scope.dataset_ids
    parts = search.query.filters.parts()
    owners = {part.collection: part.user_id for part in search.scope.collections}
    facts = {**asdict(passage), "id": passage.chunk_id, "user_id": owners.get(passage.collection)}
    own = {key: facts[key] for key in FACTS if facts[key] not in (None, "")} | dict(passage.metadata)
    said = (_left_out(part, passage, own) for part in parts if not ledger.visible(chunk_ids, dataset_ids, part))
    return " ".join(said) or "The filters leave its document out."


def _left_out(part: Filters, passage: Passage, own: Mapping[str, Any]) -> str:
    """Say which filter leaves the passage out, whose ``own`` values are those that filters on metadata compare."""
    if part.file_types:
        types = ", ".join(sorted(part.file_types))
        return f"The filter of file types, {types}, leaves it out: it is {passage.file_type}."
    if part.source_prefix:
        return f"The filter of sources, {part.source_prefix!r}, leaves it out: its source is {passage.source!r}."
    if part.chunk_kinds:
        kinds = ", ".join(sorted(part.chunk_kinds))
        return f"The filter of kinds, {kinds}, leaves it out: it is {passage.chunk_kind or 'no source code'}."
    if not part.metadata:
        return "The filter of dates leaves it out."
    [key] = part.metadata
    where = f"The filter {json.dumps(part.metadata, ensure_ascii=False)} leaves it out"
    if key.startswith("$"):
        return f"{where}."
    has = f"its {key} is {json.dumps(to_json(own[key]), ensure_ascii=False)}" if key in own else f"it has no {key}"
    return f"{where}: {has}."


@dataclass(frozen=True, slots=True)
class _Followed:
    """Follows a chunk from the fused list to the result."""

    search: Search
    chunk_id: str
    document_id: int
    legs: tuple[LegScore, ...]
    """Each leg's rank and score for the chunk; empty for a chunk that no leg found, which may be part of a section."""

    def in_the_result(self, fused: FusedRanking) -> Explanation | None:
        """Return the explanation; None for a chunk that no leg has found and no section covers."""
        search, drops = self.search, self.search.strategy.overfetch > 1
        if not self.legs and not drops:
            return None
        with search.place():
            hits = search.reader.read(search.query, fused, limit=len(fused.order))
        candidates = search.overfetched_query.candidates
        hits = [*search.ordered(hits[:candidates]), *hits[candidates:]]
        if not drops:
            return self._in_the_list(hits)
        best = [hit for hit in hits[: search.overfetched_query.k] if reaches_min_score(search.query, hit)]
        shown = list(search.strategy.refine(search.query, best, search))[: search.query.k]
        explanation = self._in_a_section(shown, hits)
        if explanation is not None or not self.legs:
            return explanation
        explanation = self._in_the_list(hits)
        if explanation.found:
            detail = f"It is at rank {explanation.rank}, but the strategy {search.strategy_name} did not choose it."
            return replace(explanation, found=False, reason="cut_by_k", detail=detail)
        return explanation

    def _in_a_section(self, shown: Sequence[Hit], hits: Sequence[Hit]) -> Explanation | None:
        """Explain a chunk that is shown: itself, within a section, or by a copy of its text. None for another chunk."""
        chunk_id, legs = self.chunk_id, self.legs
        twin = next((hit.passage for hit in hits if _is_copy(hit, chunk_id)), None)
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

    def _in_the_list(self, hits: Sequence[Hit]) -> Explanation:
        chunk_id, legs = self.chunk_id, self.legs
        for rank, hit in enumerate(hits, start=1):
            if _is_copy(hit, chunk_id):
                shown = "is shown" if rank <= self.search.query.k else "would be shown"
                equal = f"Its text equals that of {hit.passage.source!r}"
                detail = f"{equal}, which {shown} at rank {rank} with both places."
                return Explanation(chunk_id, False, "deduplicated", detail, rank, legs)
            if hit.passage.chunk_id == chunk_id:
                return self._at(rank, hit)
            if self.search.query.group_by == "document" and hit.passage.document_id == self.document_id:
                best = f"The passage {hit.passage.chunk_id} of its document fits better"
                detail = f"{best} and is shown for the document, at rank {rank}."
                return Explanation(chunk_id, False, "grouped", detail, rank, legs)
        return Explanation(chunk_id, False, "not_in_scope", "It was deleted while the search was running.")

    def _at(self, rank: int, hit: Hit) -> Explanation:
        """Explain whether a hit at this rank is shown."""
        query, candidates = self.search.query, self.search.overfetched_query.candidates
        if rank > candidates and query.reranker:
            detail = f"It is at rank {rank}; only {candidates} are reranked. Raise reranker_depth to have more."
            return Explanation(self.chunk_id, False, "cut_by_k", detail, rank, self.legs)
        if query.min_score is not None and not reaches_min_score(query, hit):
            score = hit.score if hit.rerank_score is None else hit.rerank_score
            detail = f"Its score {score:.4g} is below min_score {query.min_score:g}."
            return Explanation(self.chunk_id, False, "below_min_score", detail, rank, self.legs)
        if rank > query.k:
            detail = f"It is at rank {rank}; only {query.k} are shown. Raise k to see it."
            return Explanation(self.chunk_id, False, "cut_by_k", detail, rank, self.legs)
        return Explanation(self.chunk_id, True, "found", f"It is at rank {rank}.", rank, self.legs)


def _is_copy(hit: Hit, chunk_id: str) -> bool:
    return any(other.chunk_id == chunk_id for other in hit.also_in)


@dataclass(frozen=True, slots=True)
class _Unreached:
    """Explains why a passage is not in the fused list."""

    search: Search
    passage: Passage
    fused: FusedRanking
    deep_scores: tuple[LegScore, ...]
    """Each leg's rank and score for the passage when the legs fetch as many hits as they may."""

    def reason(self, leg: Leg) -> str:
        """Return in one sentence why this leg did not fetch the passage."""
        name = LEG_NAMES[leg]
        if score := next((score for score in self.deep_scores if score.leg == leg), None):
            place = f"Searched {name} it is at rank {score.rank} with score {score.score:.4g}"
            return f"{place}{self._last_fetched(leg)}; {self.search.overfetched_query.fetch_k} are fetched."
        if failure := self._failure(leg):
            return f"Searched {name}: {failure}."
        if leg == "bm25" and not self._shares_a_term():
            return "Searched by keyword it has no word of the query."
        if leg == "dense" and not self._is_embedded():
            return "Searched by meaning: it is not embedded yet."
        return f"Searched {name} it is below rank {2 * MAX_K}."

    def _last_fetched(self, leg: Leg) -> str:
        lists = [ranking.hits for ranking in self.fused.rankings if ranking.leg == leg and ranking.hits]
        return f", where the last one fetched scores {lists[0][-1].score:.4g}" if lists else ""

    def _failure(self, leg: Leg) -> str:
        reasons = (
            part.reason
            for part in self.search.trace.degraded
            if part.leg == leg and part.collection in ("", self.passage.collection)
        )
        return next(reasons, "")

    def _shares_a_term(self) -> bool:
        tokens, passage = self.search.context.analyzer.tokens, self.passage
        text = indexed_text(passage.title, passage.heading_path, passage.text)
        return not set(tokens(self.search.query.text)).isdisjoint(tokens(text))

    def _is_embedded(self) -> bool:
        model = self.search.fingerprint(self.passage)
        return bool(self.search.context.ledger.embeddings(model, [self.passage.chunk_id]))
