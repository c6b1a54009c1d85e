"""Fast or thorough: the chat's one choice of how to search. All else is for experts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from braid.app.user.preferences import DEFAULT_STRATEGY
from braid.config.settings import Settings
from braid.core.types import MAX_K, Fusion, Mode

Pace = Literal["fast", "thorough", "expert"]
"""``expert`` stands for any other values than those of the two."""
THOROUGH_STRATEGY = "multi_query"
THOROUGH_FACTOR = 2
"""How many times the passages of a fast search a thorough one reads."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a pace searches."""

    strategy: str
    mode: Mode
    fusion: Fusion
    alpha: float
    k: int


def ways(settings: Settings) -> Mapping[Pace, Way]:
    """Return how the two paces search at a site: as its settings say, and in several ways for twice the passages."""
    mode, fusion = settings.mode, settings.fusion
    return {
        "fast": Way(DEFAULT_STRATEGY, mode, fusion, settings.alpha, settings.k),
        "thorough": Way(THOROUGH_STRATEGY, mode, fusion, settings.alpha, min(THOROUGH_FACTOR * settings.k, MAX_K)),
    }


def pace_of(way: Way, settings: Settings) -> Pace:
    """Return the pace that searches so; values without an effect are not compared."""
    return next((pace for pace, known in ways(settings).items() if _effect(known) == _effect(way)), "expert")


def _effect(way: Way) -> tuple[object, ...]:
    fusion = way.fusion if way.mode == "hybrid" else ""
    return way.strategy, way.mode, way.k, fusion, way.alpha if fusion == "weighted" else None
