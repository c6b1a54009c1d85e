"""Strategies: how a query is expanded before the search and how its hits are refined after it.

A strategy is one class and one entry in `STRATEGIES`; everything between expanding and refining is shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.errors import InvalidInputError
from core.types import Hit, Query


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of putting the query. Both legs search for its text."""

    text: str
    weight: float = 1.0
    """Share of the variant's rankings in the fusion."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """The variants to search for, and who wrote them: ``none`` when the query is searched as it is."""

    variants: tuple[Variant, ...]
    generator: str = "none"


class Strategy(Protocol):
    """Expands a query and refines its hits."""

    description: str
    """One line for menus."""

    def expand(self, query: Query) -> Expansion:
        """The variants to search for: at least one."""

    def refine(self, query: Query, hits: Sequence[Hit]) -> Sequence[Hit]:
        """The hits to show, best first; each keeps its chunk id."""


class Basic:
    """Searches for the query as it was typed."""

    description = "Searches for the query as it was typed. No model call."

    def expand(self, query: Query) -> Expansion:
        """The query itself."""
        return Expansion((Variant(query.text),))

    def refine(self, query: Query, hits: Sequence[Hit]) -> Sequence[Hit]:
        """The hits as they are."""
        return hits


STRATEGIES: Mapping[str, Strategy] = {"basic": Basic()}


def strategy_named(name: str) -> Strategy:
    """Raises InvalidInputError with the names that exist."""
    try:
        return STRATEGIES[name]
    except KeyError:
        known = ", ".join(STRATEGIES)
        raise InvalidInputError(f"strategy is {name!r}; choose one of {known}", field="strategy") from None
