"""How far each hit of one result stands from its place in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from braid.core.types import Hit


@dataclass(frozen=True, slots=True)
class Move:
    """``places`` is 0 but for ``up`` and ``down``. ``gone`` is of the first result, the others are of the second."""

    kind: Literal["up", "down", "same", "new", "gone", "kept"]
    places: int = 0


def moves(first: Sequence[Hit], second: Sequence[Hit]) -> tuple[list[Move], list[Move]]:
    """The marks of both results: in the first what is gone from the second, in the second what moved or is new.

    A hit is the same when it is shown for the same chunk, also as one of several places of an equal text.
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
