"""Asking a Chroma collection questions whose answers are known."""

from __future__ import annotations

from collections.abc import Iterator

import chromadb
import numpy as np

IDS_PER_PAGE = 10_000
_PROBES = 24
_LATEST_PROBES = 8
_NEIGHBOURS = 3
_SAME_DISTANCE = 1e-5


def id_page(collection: chromadb.Collection, offset: int) -> list[str]:
    """Up to 10,000 ids in the order of insertion; Chroma cannot give more than 32,766 at a time."""
    return collection.get(limit=IDS_PER_PAGE, offset=offset, include=[])["ids"]


def fault_in_answers(collection: chromadb.Collection) -> str:
    """What is wrong, in a few words; empty when all ids are there and a sample of chunks, the latest among them, can
    be found by their own vectors.
    """
    count = collection.count()
    ids = [chunk_id for page in _pages(collection, count) for chunk_id in page]
    if len(ids) != count or len(set(ids)) != count:
        return f"it counts {count} chunks, but names {len(set(ids))}"
    if not ids:
        return ""
    sample = list(dict.fromkeys([*ids[:: max(1, count // _PROBES)][:_PROBES], *ids[-_LATEST_PROBES:]]))
    stored = collection.get(ids=sample, include=["embeddings"])
    vectors = stored["embeddings"]
    if vectors is None or len(stored["ids"]) != len(sample):
        return "chunks that it names have no vector"
    if not np.isfinite(np.asarray(vectors)).all():
        return "it has vectors that are not numbers"
    found = collection.query(query_embeddings=vectors, n_results=_NEIGHBOURS, include=["distances"])
    lost = [
        chunk_id
        for chunk_id, neighbours, distances in zip(stored["ids"], found["ids"], found["distances"] or [], strict=True)
        if chunk_id not in neighbours and not (distances and max(distances) <= _SAME_DISTANCE)
    ]
    return f"{len(lost)} of {len(sample)} chunks cannot be found by their vector, such as {lost[0]}" if lost else ""


def _pages(collection: chromadb.Collection, count: int) -> Iterator[list[str]]:
    for offset in range(0, count, IDS_PER_PAGE):
        yield id_page(collection, offset)
