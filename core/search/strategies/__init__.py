"""Strategies: how a query is expanded before the search and how its hits are refined after it.

May import: what `core.search` may.
Way in: `strategies()` and `parameter_values`. A strategy is one class and one entry here, or an entry point of another
package in the group ``braid.strategies``; everything between expanding and refining is shared.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint
from types import MappingProxyType
from typing import Any

from braid.core.errors import InvalidInputError
from braid.core.extras import installed, loaded
from braid.core.search.strategies.base import Expansion, Parameter, QueryVariant, Strategy, StrategyInfo, Tools
from braid.core.search.strategies.basic import Basic
from braid.core.search.strategies.compression import Compression
from braid.core.search.strategies.hyde import Hyde
from braid.core.search.strategies.multi_query import MultiQuery
from braid.core.search.strategies.parent_document import ParentDocument
from braid.core.search.strategies.step_back import StepBack

__all__ = [
    "BUILT_IN",
    "ENTRY_POINTS",
    "Configured",
    "Expansion",
    "Parameter",
    "QueryVariant",
    "Strategy",
    "StrategyInfo",
    "Tools",
    "check_configured",
    "parameter_values",
    "parameters_of",
    "strategies",
    "strategy_named",
]

ENTRY_POINTS = "braid.strategies"
Configured = Mapping[str, Mapping[str, float]]
"""Values of parameters by strategy and name, as the tables ``[strategies.NAME]`` of the settings have them."""
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
    for point in installed(ENTRY_POINTS).values():
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


def parameters_of(name: str) -> Mapping[str, Parameter]:
    """Return the parameters of the strategy with this name. Raises InvalidInputError."""
    found: Mapping[str, Parameter] = getattr(strategy_named(name), "parameters", {})
    return found


def parameter_values(
    name: str, configured: Configured, given: Mapping[str, float] = MappingProxyType({})
) -> dict[str, float]:
    """Return the value of each parameter of a strategy: as given, else as configured, else its default.

    Raises InvalidInputError for an unknown name and a wrong value.
    """
    values: dict[str, float] = {each: parameter.default for each, parameter in parameters_of(name).items()}
    values |= _checked(name, configured.get(name, {}), f"strategies.{name}")
    return values | _checked(name, given, "parameters")


def check_configured(configured: Configured) -> None:
    """Raise InvalidInputError for a strategy or parameter that does not exist, and for a wrong value."""
    for name in configured:
        if name not in strategies():
            known = ", ".join(strategies())
            raise InvalidInputError(
                f"strategies.{name}: there is no such strategy; choose one of {known}", field="strategies"
            )
        parameter_values(name, configured)


def _checked(strategy: str, given: Mapping[str, float], place: str) -> dict[str, float]:
    known = parameters_of(strategy)
    for name in given:
        if name not in known:
            there = f"it has {', '.join(known)}" if known else "it has none"
            message = f"{place}.{name} is no parameter of the strategy {strategy}; {there}"
            raise InvalidInputError(message, field=f"{place}.{name}")
    return {name: known[name].checked(f"{place}.{name}", value) for name, value in given.items()}


def _load(point: EntryPoint) -> Strategy | None:
    """Return the strategy that the entry point names, as a class or an instance; None, logged, if it is not usable."""
    found: Any = loaded("strategy", point)
    if found is None:
        return None
    strategy: Strategy = found() if isinstance(found, type) else found
    lacking = [
        name for name in ("description", "costs", "overfetch", "expand", "refine") if not hasattr(strategy, name)
    ]
    if lacking:
        logger.warning("strategy %r of %s is left out: it has no %s", point.name, point.value, ", ".join(lacking))
        return None
    return strategy
