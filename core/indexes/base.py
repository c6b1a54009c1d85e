"""The interface of an index: derived from the ledger, disposable, one implementation per leg.

An index has ids and scores and nothing else. Another engine replaces one of Braid's by implementing `LegIndex` and
the search method of its leg.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

from braid.core.ledger.change_log import IndexedChunk
from braid.core.types import Leg

IndexName = Literal["bm25", "dense", "chroma"]
"""A leg's index, or the copy of the vectors in Chroma."""


class LegIndex(Protocol):
    """One leg's index over all collections of a data directory: apply changes, count, check, drop.

    Each leg has a search method of its own, since one takes a vector and the other terms. Every method may raise
    IndexUnavailableError.
    """

    name: IndexName
    """The name under which the ledger keeps how far the index is."""
    leg: Leg
    """The leg that asks it."""
    stored: bool
    """Whether the index has files, which may be lost or damaged; the ledger is not damaged."""
    crash_safe: bool
    """Whether the index is sound after a process was killed during `apply`."""

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Add or replace chunks and delete ids; durable on return, harmless when repeated."""

    def count(self, collection: str) -> int:
        """Count the chunks in the collection; 0 when it does not exist."""

    def ids(self, collection: str) -> Iterator[str]:
        """Yield every chunk id in the collection, in no order."""

    def check(self, collection: str) -> str:
        """Probe the collection and return what is wrong, in one sentence; empty when it is sound."""

    def drop(self, collection: str) -> None:
        """Delete the collection, even if it is broken; the next `apply` creates it again."""

    def reset(self) -> bool:
        """Abandon a store that all collections share, even if it cannot be opened, and start empty.

        False, with nothing done, when the collections are independent.
        """

    def collections(self) -> list[str]:
        """Return the names of the collections that exist, sorted."""

    def rest(self) -> None:
        """Give back what has not been used for a while, if it is quickly had again; called when there is no work."""

    def close(self) -> None:
        """Release files and threads."""
