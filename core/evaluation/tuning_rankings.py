"""Rankings of both legs for judged queries, collected once so that fusions can be tried in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from braid.core.evaluation.judged_store import EvaluationProgress, OnProgress, StoredSets
from braid.core.indexes.vector_block import Selection
from braid.core.models.embeddings import embed_query
from braid.core.search import fusion
from braid.core.types import Hit, Leg, Mode, Occurrence, Passage, ScoredChunk, SearchOptions

DEPTH = SearchOptions(k=10).fetch_k
"""Hits of each leg, as many as a search for ten hits fetches."""
MODE_OF: Mapping[Leg, Mode] = {"dense": "semantic", "bm25": "keyword"}


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged query with the legs' rankings."""

    set_name: str
    query_id: str
    rankings: Mapping[Leg, tuple[ScoredChunk, ...]]
    documents: Mapping[str, str]
    """Chunk id → ``set/document``."""
    shown_as: Mapping[str, str]
    """Chunk id → id shared by all chunks of the same text; they are shown together, at their best rank."""
    grades: Mapping[str, int]
    """``set/document`` → grade."""
    spread: float = 0.0
    """Standard deviation of the query's cosine with any passage, see `braid.core.indexes.dense`."""


def collect(stored: StoredSets, *, each: bool, on_progress: OnProgress) -> tuple[list[Judged], tuple[str, ...]]:
    """Search for every judged query; return both legs' rankings, and the reasons why searches were incomplete."""
    set_of = {dataset_id: name for name, ids in stored.datasets.items() for dataset_id in ids}
    collected, reasons = list[Judged](), dict[str, None]()
    for judged in stored.sets:
        dataset_ids = list(stored.datasets[judged.name]) if each else stored.dataset_ids()
        for number, (query_id, text) in enumerate(judged.queries.items(), start=1):
            found = {}
            for leg, mode in MODE_OF.items():
                result = stored.braid.manager.search(text, user_id=None, dataset_ids=dataset_ids, mode=mode, k=DEPTH)
                reasons |= dict.fromkeys(f"{part.leg} {part.collection}: {part.reason}" for part in result.degraded)
                found[leg] = result.hits
            grades = {f"{judged.name}/{document}": grade for document, grade in judged.judgements[query_id].items()}
            one = _to_judged(judged.name, query_id, found["dense"], found["bm25"], grades, set_of)
            collected.append(replace(one, spread=_spread(stored, text, dataset_ids)))
            on_progress(EvaluationProgress("search", judged.name, number, len(judged.queries)))
    return collected, tuple(reasons)


def _spread(stored: StoredSets, text: str, dataset_ids: Sequence[int]) -> float:
    collections = {stored.braid.ledger.dataset(dataset_id).collection for dataset_id in dataset_ids}
    vector = embed_query(stored.braid.model_of(min(collections)), text)
    return stored.braid.dense.search_all(dict.fromkeys(collections, Selection(dataset_ids)), vector, 1).spread


def _to_judged(
    set_name: str,
    query_id: str,
    dense: Sequence[Hit],
    bm25: Sequence[Hit],
    grades: Mapping[str, int],
    set_of: Mapping[int, str],
) -> Judged:
    documents: dict[str, str] = {}
    shown_as: dict[str, str] = {}
    first_of_text: dict[str, str] = {}

    def ranking(hits: Sequence[Hit]) -> tuple[ScoredChunk, ...]:
        scored = []
        for hit in hits:
            first = first_of_text.setdefault(" ".join(hit.passage.text.split()), hit.passage.chunk_id)
            occurrences: list[Passage | Occurrence] = [hit.passage, *hit.also_in]
            for occurrence in occurrences:
                documents[occurrence.chunk_id] = f"{set_of[occurrence.dataset_id]}/{occurrence.source}"
                shown_as[occurrence.chunk_id] = first
                scored.append(ScoredChunk(occurrence.chunk_id, hit.score))
        return tuple(fusion.pool([scored], DEPTH))

    rankings: dict[Leg, tuple[ScoredChunk, ...]] = {"dense": ranking(dense), "bm25": ranking(bm25)}
    return Judged(set_name, query_id, rankings, documents, shown_as, grades)
