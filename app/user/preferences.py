"""Search and chat preferences of a user, with the site's settings as defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from braid.app.site import site
from braid.core.accounts.accounts import Account
from braid.core.search.strategies import strategies
from braid.core.types import MAX_K, Fusion, Mode

LANGUAGES = {"en": "English", "ja": "日本語", "ko": "한국어"}
"""Languages of the pages: code → the language's own name."""
THEMES = ("auto", "light", "dark")
DEFAULT_STRATEGY = "basic"
MAX_DATASETS = 1_000


@dataclass(frozen=True, slots=True)
class Preferences:
    """The defaults of a user's searches and conversations; a request may override each."""

    mode: Mode
    fusion: Fusion
    alpha: float
    """Weight of the dense leg in ``weighted`` fusion."""
    k: int
    strategy: str
    search_model: str
    """``provider:model``, ``none``, or empty for the site's; see `braid.app.user.models`."""
    summary_model: str
    language: str
    """``en``, ``ja``, ``ko``, or empty for the browser's."""
    theme: str
    dataset_ids: tuple[int, ...] | None
    """Datasets that are selected at first, None for all. The user may have lost access to some of them."""


def preferences_of(account: Account) -> Preferences:
    """Return a user's preferences. A stored value that is no longer valid is replaced by the default."""
    settings, stored = site().settings, account.preferences
    return Preferences(
        mode=cast(Mode, _valid_value(stored, "mode", settings.mode)),
        fusion=cast(Fusion, _valid_value(stored, "fusion", settings.fusion)),
        alpha=float(_valid_value(stored, "alpha", settings.alpha)),
        k=_valid_value(stored, "k", settings.k),
        strategy=_valid_value(stored, "strategy", DEFAULT_STRATEGY),
        search_model=_valid_value(stored, "search_model", ""),
        summary_model=_valid_value(stored, "summary_model", ""),
        language=_valid_value(stored, "language", ""),
        theme=_valid_value(stored, "theme", THEMES[0]),
        dataset_ids=_datasets(stored),
    )


def _valid_value(stored: Mapping[str, Any], name: str, default: Any) -> Any:
    value = stored.get(name)
    return value if value is not None and VALID[name](value) else default


def _datasets(stored: Mapping[str, Any]) -> tuple[int, ...] | None:
    ids = _valid_value(stored, "dataset_ids", None)
    return None if ids is None else tuple(ids)


def _is_number(value: object, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _are_ids(value: object) -> bool:
    if not isinstance(value, list) or len(value) > MAX_DATASETS:
        return False
    return all(type(dataset_id) is int and dataset_id for dataset_id in value)


VALID: Mapping[str, Callable[[Any], bool]] = {
    "mode": lambda value: value in get_args(Mode),
    "fusion": lambda value: value in get_args(Fusion),
    "alpha": lambda value: _is_number(value, 0, 1),
    "k": lambda value: type(value) is int and 1 <= value <= MAX_K,
    "strategy": lambda value: value in strategies(),
    "search_model": lambda value: isinstance(value, str),
    "summary_model": lambda value: isinstance(value, str),
    "language": lambda value: value in LANGUAGES,
    "theme": lambda value: value in THEMES,
    "dataset_ids": _are_ids,
}
"""Check of a stored value, per preference."""
