"""Strategies: how a query is expanded before the search and how its hits are refined after it.

May import: what `core.search` may.
Way in: `strategies()`. A strategy is one class and one entry here, or an entry point of another package in the group
``braid.strategies``; everything between expanding and refining is shared.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from braid.core.errors import InvalidInputError
from braid.core.search.strategies.base import Expansion, QueryVariant, Strategy, StrategyInfo, Tools
from braid.core.search.strategies.basic import Basic
from braid.core.search.strategies.compression import Compression
from braid.core.search.strategies.hyde import Hyde
from braid.core.search.strategies.multi_query import MultiQuery
from braid.core.search.strategies.parent_document import ParentDocument
from braid.core.search.strategies.step_back import StepBack

__all__ = [
    "BUILT_IN",
    "ENTRY_POINTS",
    "Expansion",
    "QueryVariant",
    "Strategy",
    "StrategyInfo",
    "Tools",
    "strategies",
    "strategy_named",
]

ENTRY_POINTS = "braid.strategies"
BUILT_IN: Mapping[str, Strategy] = MappingProxyType(
    {
        "basic": Basic(),
        "multi_query": MultiQuery(),
        "hyde": Hyde(),
        "step_back": StepBack(),
        "compression": Compression(),
        "parent_document": ParentDocument(),
    }
)

logger = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def strategies() -> Mapping[str, Strategy]:
    """Return all strategies by name: ours, then those of installed packages; one that cannot be used is logged."""
    found = dict(BUILT_IN)
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        if point.name in found:
            logger.warning("strategy %r of %s is left out: the name is taken", point.name, point.value)
            continue
        strategy = _load(point)
        if strategy is not None:
            found[point.name] = strategy
    return MappingProxyType(found)


def strategy_named(name: str) -> Strategy:
    """Return the strategy with this name. Raises InvalidInputError with the names that exist."""
    try:
        return strategies()[name]
    except KeyError:
        known = ", ".join(strategies())
        raise InvalidInputError(f"strategy is {name!r}; choose one of {known}", field="strategy") from None


def _load(point: EntryPoint) -> Strategy | None:
    """Return the strategy that the entry point names, as a class or an instance; None, logged, if it is not usable."""
    try:
        loaded: Any = point.load()
        strategy: Strategy = loaded() if isinstance(loaded, type) else loaded
    except Exception:  # the edge to another package: any error of its own must not take ours away
        logger.exception("strategy %r of %s is left out: it cannot be loaded", point.name, point.value)
        return None
    lacking = [
        name for name in ("description", "costs", "overfetch", "expand", "refine") if not hasattr(strategy, name)
    ]
    if lacking:
        logger.warning("strategy %r of %s is left out: it has no %s", point.name, point.value, ", ".join(lacking))
        return None
    return strategy
