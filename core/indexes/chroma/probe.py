"""Probes of a Chroma collection: questions whose answers are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from braid.core.batches import batches

if TYPE_CHECKING:
    import chromadb

IDS_PER_PAGE = 10_000
_PROBES = 500
_LATEST_PROBES = 2_000
"""Twice the sync threshold: a kill damages only what was written since the index was last saved."""
_QUERIES_PER_CALL = 250
_NEIGHBOURS = 3
_SAME_DISTANCE = 1e-5


def id_page(collection: chromadb.Collection, offset: int) -> list[str]:
    """Return up to 10,000 ids in the order of insertion; Chroma cannot return more than 32,766 at a time."""
    return collection.get(limit=IDS_PER_PAGE, offset=offset, include=[])["ids"]


def fault_in_answers(collection: chromadb.Collection) -> str:
    """Return what is wrong, in a few words; empty when all ids are there and chunks are found by their own vectors.

    The latest 2,000 chunks and a sample of the others are searched for, at about a millisecond per chunk.
    """
    count = collection.count()
    ids = [chunk_id for page in _pages(collection, count) for chunk_id in page]
    if len(ids) != count or len(set(ids)) != count:
        return f"it counts {count} chunks, but names {len(set(ids))}"
    if not ids:
        return ""
    sample = list(dict.fromkeys([*ids[:: max(1, count // _PROBES)][:_PROBES], *ids[-_LATEST_PROBES:]]))
    lost: list[str] = []
    for asked in batches(sample, _QUERIES_PER_CALL):
        stored = collection.get(ids=list(asked), include=["embeddings"])
        vectors = stored["embeddings"]
        if vectors is None or len(stored["ids"]) != len(asked):
            return "chunks that it names have no vector"
        if not np.isfinite(np.asarray(vectors)).all():
            return "it has vectors that are not numbers"
        lost += _missing(collection, stored["ids"], vectors)
    return f"{len(lost)} of {len(sample)} chunks cannot be found by their vector, such as {lost[0]}" if lost else ""


def _missing(collection: chromadb.Collection, ids: list[str], vectors: Any) -> list[str]:
    found = collection.query(query_embeddings=vectors, n_results=_NEIGHBOURS, include=["distances"])
    return [
        chunk_id
        for chunk_id, neighbours, distances in zip(ids, found["ids"], found["distances"] or [], strict=True)
        if chunk_id not in neighbours and not (distances and max(distances) <= _SAME_DISTANCE)
    ]


def _pages(collection: chromadb.Collection, count: int) -> Iterator[list[str]]:
    for offset in range(0, count, IDS_PER_PAGE):
        yield id_page(collection, offset)
