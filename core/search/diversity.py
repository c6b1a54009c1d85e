"""Diversity: of passages that say the same, one stays in front, and what is different moves up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from braid.core.types import Hit
from braid.core.vector import Vector


class Move(NamedTuple):
    """A hit's ranks, from 1, and the rank of the hit before it that it is most like; 0 where it is like none."""

    before: int
    after: int
    like: int

    def __str__(self) -> str:
        like = f", as it is like the one at rank {self.like}" if self.after > self.before and self.like else ""
        return f"Diversity moved it from rank {self.before} to rank {self.after}{like}."


def diversified(
    hits: Sequence[Hit], vectors: Mapping[str, Vector], models: Sequence[str], diversity: float
) -> tuple[list[Hit], dict[str, Move]]:
    """Return the hits, best first, by maximal marginal relevance (Carbonell and Goldstein, 1998), and what has moved.

    The first hit stays. After it comes, again and again, the hit with the largest (1 − diversity) · relevance −
    diversity · likeness to a hit before it. Relevance is the score stretched to 0–1. Likeness is the cosine of two
    passages of one model, stretched so that 0 is the mean of all pairs and 1 is equality; without vectors it is 0.
    ``models`` has the fingerprint of the model of each hit, ``vectors`` those of unit length by chunk id.
    """
    if len(hits) < 2:
        return list(hits), {}
    likeness, relevance = _likeness(hits, vectors, models), _relevance(hits)
    order, left = [0], list(range(1, len(hits)))
    nearest = np.zeros(len(hits), np.int64)  # by hit: the one before it that it is most like
    moves: dict[str, Move] = {}
    while left:
        rows = np.array(left)
        gains = (1.0 - diversity) * relevance[rows] - diversity * likeness[rows, nearest[rows]]
        chosen = left.pop(int(np.argmax(gains)))
        order.append(chosen)
        if chosen + 1 != len(order):
            is_like = likeness[chosen, nearest[chosen]] > 0.0
            rank_of_nearest = order.index(int(nearest[chosen])) + 1 if is_like else 0
            moves[hits[chosen].passage.chunk_id] = Move(chosen + 1, len(order), rank_of_nearest)
        closer = likeness[:, chosen] > likeness[np.arange(len(hits)), nearest]
        nearest[closer] = chosen
    return [hits[place] for place in order], moves


def _relevance(hits: Sequence[Hit]) -> NDArray[np.float64]:
    """Return the scores stretched to 0–1; no hit has less than one behind it, which may be there for another reason."""
    scores = np.array([hit.score if hit.rerank_score is None else hit.rerank_score for hit in hits], np.float64)
    scores = np.maximum.accumulate(scores[::-1])[::-1]
    width = scores[0] - scores[-1]
    return (scores - scores[-1]) / width if width > 0 else np.ones(len(hits))


def _likeness(hits: Sequence[Hit], vectors: Mapping[str, Vector], models: Sequence[str]) -> NDArray[np.float64]:
    """Return how much hits are like each other (n, n), 0–1; 0 for a hit and itself."""
    likeness = np.zeros((len(hits), len(hits)))
    for model in dict.fromkeys(models):
        places = [n for n, hit in enumerate(hits) if models[n] == model and hit.passage.chunk_id in vectors]
        if len(places) < 2:
            continue
        matrix = np.stack([vectors[hits[place].passage.chunk_id] for place in places]).astype(np.float64)
        cosines = matrix @ matrix.T
        pairs = ~np.eye(len(places), dtype=np.bool_)
        mean = float(cosines[pairs].mean())
        stretched = (cosines - mean) / max(1.0 - mean, 1e-9)
        likeness[np.ix_(places, places)] = np.where(pairs, np.clip(stretched, 0.0, 1.0), 0.0)
    return likeness
