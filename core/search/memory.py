"""The memory of a search: results that it reuses for further variants of its query."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from braid.core.search.filter_plan import FilterPlan
from braid.core.types import Leg, ScoredChunk
from braid.core.vector import Vector


class VectorKey(NamedTuple):
    """A text under an embedding model, embedded as a query or as a passage."""

    model: str
    """Fingerprint."""
    text: str
    is_passage: bool


class LegKey(NamedTuple):
    """Identifies a leg's search in one collection: how many hits were asked for, and what for."""

    leg: Leg
    collection: str
    depth: int
    target: Hashable
    """The variant's `QueryVariant.target_for` the leg."""


@dataclass(slots=True)
class SearchMemory:
    """Results that a search reuses when it searches for more variants of its query."""

    plans: Mapping[str, FilterPlan] | None = None
    """Filter plans by collection; None before they are made."""
    vectors: dict[VectorKey, Vector | None] = field(default_factory=dict)
    """Vectors of texts; None for a text whose embedding failed."""
    hits: dict[LegKey, Sequence[ScoredChunk] | None] = field(default_factory=dict)
    """Hits of legs; None for a leg that failed."""
    spreads: dict[tuple[str, Hashable], float] = field(default_factory=dict)
    """Standard deviations of cosines by the model's fingerprint and the variant's target."""
