"""Datasets that stand aside: their passages come into an answer only where they are much better than the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from braid.core.types import Hit, Leg, SearchResult

MUCH_NEARER = 0.02
"""Least difference of the best cosines. With the guide beside the offices of benchmarks/office.py, 61 of their 67
questions have passages of the guide among the best five; none keeps them, and all of 27 questions about Braid do."""
MUCH_MORE_WORDS = 1.5
"""Least ratio of the best BM25 scores where no hit has a cosine."""


def without_aside(search: SearchResult, aside: Collection[int]) -> SearchResult:
    """Return the result without the hits of the datasets ``aside``, if there are others that are about as good."""
    own = [hit for hit in search.hits if hit.passage.dataset_id not in aside]
    others = [hit for hit in search.hits if hit.passage.dataset_id in aside]
    if not own or not others or _much_better(others, own):
        return search
    return replace(search, hits=tuple(own))


def _much_better(others: Sequence[Hit], own: Sequence[Hit]) -> bool:
    theirs, ours = _best(others, "dense"), _best(own, "dense")
    if theirs or ours:
        return theirs >= ours + MUCH_NEARER
    return _best(others, "bm25") >= MUCH_MORE_WORDS * _best(own, "bm25")


def _best(hits: Sequence[Hit], leg: Leg) -> float:
    return max((part.score for hit in hits for part in hit.legs if part.leg == leg), default=0.0)
