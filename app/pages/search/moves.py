"""Differences in rank between two results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from braid.core.types import Hit


@dataclass(frozen=True, slots=True)
class Move:
    """A hit's move between two results.

    ``places`` is 0 except for ``up`` and ``down``. ``kept`` and ``gone`` mark hits of the first result, the others hits
    of the second.
    """

    kind: Literal["up", "down", "same", "new", "gone", "kept"]
    places: int = 0


def moves(first: Sequence[Hit], second: Sequence[Hit]) -> tuple[list[Move], list[Move]]:
    """Return the marks of both results, one per hit.

    Two hits are the same if they share a chunk, also as one of several places of the same text.
    """
    before, after = _ranks(first), _ranks(second)
    left = [Move("kept" if _rank(hit, after) else "gone") for hit in first]
    right = [_move(_rank(hit, before), rank) for rank, hit in enumerate(second, start=1)]
    return left, right


def _ranks(hits: Sequence[Hit]) -> dict[str, int]:
    return {chunk_id: rank for rank, hit in enumerate(hits, start=1) for chunk_id in _chunks(hit)}


def _chunks(hit: Hit) -> tuple[str, ...]:
    return (hit.passage.chunk_id, *(place.chunk_id for place in hit.also_in))


def _rank(hit: Hit, ranks: dict[str, int]) -> int | None:
    return next((ranks[chunk_id] for chunk_id in _chunks(hit) if chunk_id in ranks), None)


def _move(before: int | None, now: int) -> Move:
    if before is None:
        return Move("new")
    if before == now:
        return Move("same")
    return Move("up", before - now) if before > now else Move("down", now - before)
