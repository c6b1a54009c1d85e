"""What one search remembers, so as not to do it twice, and what it reports beside its hits."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from braid.core.search.filter_plan import FilterPlan
from braid.core.spans import span
from braid.core.types import Degraded, Leg, Part, ScoredChunk
from braid.core.vector import Vector


class VectorKey(NamedTuple):
    """A text under an embedding model, embedded as a query or as a passage."""

    model: str
    """Fingerprint."""
    text: str
    is_passage: bool


class Asked(NamedTuple):
    """What a leg was asked: how many hits of each collection, and what for."""

    leg: Leg
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
    hits: dict[Asked, dict[str, Sequence[ScoredChunk] | None]] = field(default_factory=dict)
    """Hits of legs by collection; None for a leg that failed."""
    spreads: dict[tuple[str, Hashable], float] = field(default_factory=dict)
    """Standard deviations of cosines by the model's fingerprint and the variant's target."""


@dataclass(slots=True)
class SearchTrace:
    """The report of a search beside its hits: missing parts, notes, timings and counts."""

    degraded: list[Degraded] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)
    """Milliseconds per stage."""
    model_calls: int = 0
    embeddings: int = 0
    """Texts that were given to an embedding model."""
    unknown_tokens: set[str] = field(default_factory=set)
    """Tokens that were counted in all collections, and that none has."""
    answered: dict[Leg, None] = field(default_factory=dict)
    """Legs that were searched in at least one collection, in the order in which they answered."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the block's duration to the stage."""
        started = time.perf_counter()
        try:
            with span(f"search.{name}"):
                yield
        finally:
            self.timings_ms[name] = self.timings_ms.get(name, 0.0) + 1000 * (time.perf_counter() - started)

    def report_missing(self, part: Part, collection: str, reason: str) -> None:
        """Report a part that is missing from the answer, once. An empty collection means all."""
        degraded = Degraded(part, collection, reason)
        if degraded not in self.degraded:
            self.degraded.append(degraded)

    def note(self, text: str) -> None:
        """Report, once, what a limit left out though nothing failed."""
        if text not in self.notes:
            self.notes.append(text)
