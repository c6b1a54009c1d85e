"""Strategies as menus show them: name, description and cost, in the page's language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l

from braid.core.search.strategies import strategies

NAMES: Mapping[str, str] = {
    "basic": _l("Basic"),
    "multi_query": _l("Several queries"),
    "hyde": _l("Imagined answer (HyDE)"),
    "step_back": _l("Step back"),
    "compression": _l("Only the sentences that answer"),
    "parent_document": _l("Whole sections"),
}
DESCRIPTIONS: Mapping[str, str] = {
    "basic": _l("Searches for the query as typed."),
    "multi_query": _l("Searches for several phrasings of the query and fuses the results."),
    "hyde": _l("Searches by meaning for a passage that might answer, and by keyword for the query."),
    "step_back": _l("Also searches for a more general question, for background."),
    "compression": _l("Shows only the sentences of each passage that answer the question."),
    "parent_document": _l("Finds passages and returns the section around each, once."),
}
_ONE_CALL = _l("Asks the model once in each search, which takes a little longer.")
_SEARCHES_TWICE = _l("Searches twice, without a model.")
COSTS: Mapping[tuple[str, bool], str] = {
    **dict.fromkeys(((name, True) for name in ("multi_query", "hyde", "step_back", "compression")), _ONE_CALL),
    **dict.fromkeys(((name, False) for name in ("multi_query", "hyde", "step_back")), _SEARCHES_TWICE),
    ("compression", False): _l("Compares each sentence with the question, without a model."),
}
"""Cost by strategy and whether a model serves it. Other strategies cost as much as a plain search."""


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """An entry of the menu. ``cost`` is empty if it is that of a plain search."""

    value: str
    name: str
    description: str
    cost: str


def strategy_choices(*, with_model: bool) -> list[StrategyChoice]:
    """Return all strategies; those of installed packages keep their own names and descriptions.

    ``with_model`` says whether a search model serves the strategies.
    """
    return [_choice(name, with_model) for name in strategies()]


def _choice(name: str, with_model: bool) -> StrategyChoice:
    strategy = strategies()[name]
    own_words = strategy.costs.get("llm" if with_model else "feedback", "")
    own_cost = str(_("Costs: %(cost)s.", cost=own_words)) if own_words else ""
    return StrategyChoice(
        name,
        str(NAMES.get(name, name)),
        str(DESCRIPTIONS.get(name, strategy.description)),
        str(COSTS.get((name, with_model), "")) if name in NAMES else own_cost,
    )
