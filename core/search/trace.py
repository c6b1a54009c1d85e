"""The trace of a search: what it reports beside its hits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from braid.core.spans import span
from braid.core.types import Degraded, Leg, Part


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
