"""What an index is: derived from the ledger, disposable, one implementation a leg.

An index knows ids and scores and nothing else. Another engine takes the place of one of ours by
implementing `LegIndex` and the search method of its leg.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from braid.core.ledger.change_log import IndexedChunk
from braid.core.types import Leg


class LegIndex(Protocol):
    """One leg's index over all collections of a data directory. Every method may raise IndexUnavailableError."""

    leg: Leg
    crash_safe: bool
    """Whether a process killed in the middle of `apply` leaves a sound index."""

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Make the chunks findable and the deleted ids gone; durable on return; applying twice is harmless."""

    def count(self, collection: str) -> int:
        """Chunks in the collection; 0 when it does not exist."""

    def ids(self, collection: str) -> Iterator[str]:
        """Every chunk id in the collection, in no order."""

    def check(self, collection: str) -> str:
        """What is wrong with the collection, found by probing it, in one sentence; empty when sound."""

    def drop(self, collection: str) -> None:
        """Forget the collection, also when it is broken; the next `apply` creates it anew."""

    def reset(self) -> bool:
        """Abandon a store that all collections share, also when it cannot be opened, and start empty.

        False, and nothing done, when each collection stands by itself.
        """

    def collections(self) -> list[str]:
        """Names of the collections that exist, sorted."""

    def close(self) -> None:
        """Release files and threads."""
