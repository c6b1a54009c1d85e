"""How a question is searched, and a user's preferences of it, with the site's settings as defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeGuard, get_args

from braid.app.site import site
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.options import MAX_K, Datasets, Fusion, Mode, used_options
from braid.core.search.strategies import strategies

LANGUAGES = {"en": "English", "ja": "日本語", "ko": "한국어"}
"""Languages of the pages: code → the language's own name."""
THEMES = ("auto", "light", "dark")
DEFAULT_STRATEGY = "basic"
MAX_DATASETS = 1_000


Pace = Literal["fast", "thorough", "expert"]
"""The chat's one choice of how to search; ``expert`` stands for any other values than those of the two."""
THOROUGH_STRATEGY = "multi_query"
THOROUGH_FACTOR = 2
"""How many times the passages of a fast search a thorough one reads."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a question is searched."""

    mode: Mode
    fusion: Fusion
    alpha: float
    """Weight of the dense leg in ``weighted`` fusion."""
    k: int
    strategy: str

    @property
    def used_fusion(self) -> Fusion:
        """The fusion; ``rrf`` in modes with one leg, where it has no effect."""
        return self.fusion if self.mode == "hybrid" else "rrf"

    @property
    def used_alpha(self) -> float | None:
        """Alpha if the fusion uses it, else None."""
        return self.alpha if self.used_fusion == "weighted" else None

    @property
    def alpha_text(self) -> str:
        """Alpha with two digits."""
        return f"{self.alpha:.2f}"

    def options(self, of_site: Mapping[str, Any]) -> dict[str, Any]:
        """Return the search options of a request; fusion and alpha are set only if they have an effect.

        ``of_site`` are those of a search that names none.
        """
        given = {"mode": self.mode, "k": self.k, "fusion": self.used_fusion, "alpha": self.used_alpha}
        return used_options(given | self.further_options(of_site), of_site)

    def further_options(self, of_site: Mapping[str, Any]) -> dict[str, Any]:
        """Return what else a request is searched with."""
        return {}


def ways(settings: Settings) -> Mapping[Pace, Way]:
    """Return how the two paces search at a site: as its settings say, and in several ways for twice the passages."""
    fast = Way(settings.mode, settings.fusion, settings.alpha, settings.k, DEFAULT_STRATEGY)
    more = min(THOROUGH_FACTOR * settings.k, MAX_K)
    return {"fast": fast, "thorough": replace(fast, strategy=THOROUGH_STRATEGY, k=more)}


def pace_of(way: Way, settings: Settings) -> Pace:
    """Return the pace that searches so; values without an effect are not compared."""
    return next((pace for pace, known in ways(settings).items() if _effect(known) == _effect(way)), "expert")


def _effect(way: Way) -> tuple[object, ...]:
    fusion = way.fusion if way.mode == "hybrid" else ""
    return way.strategy, way.mode, way.k, fusion, way.alpha if fusion == "weighted" else None


@dataclass(frozen=True, slots=True)
class Preferences(Way):
    """The defaults of a user's searches and conversations; a request may override each."""

    search_model: str
    """``provider:model``, ``none``, or empty for the site's; see `braid.app.user.models`."""
    summary_model: str
    language: str
    """``en``, ``ja``, ``ko``, or empty for the browser's."""
    theme: str
    datasets: Datasets
    """Datasets that are selected at first. The user may have lost access to some of them."""


def preferences_of(account: Account) -> Preferences:
    """Return a user's preferences. A stored value that is no longer valid is replaced by the default."""
    default, stored = site_preferences(), account.preferences
    chosen = {name: stored[name] for name in TYPED if stored.get(name) is not None and VALID[name](stored[name])}
    return replace(default, **chosen, datasets=stored_datasets(stored, default.datasets))


def site_preferences() -> Preferences:
    """Return the preferences of who has chosen none."""
    more = {"search_model": "", "summary_model": "", "language": "", "theme": THEMES[0]}
    values: dict[str, Any] = {**asdict(ways(site().settings)["fast"]), **more}
    return Preferences(**values, datasets=Datasets.everything())


def stored_datasets(stored: Mapping[str, Any], default: Datasets) -> Datasets:
    """Return the datasets of stored ``dataset_ids``, or everything where ``everything`` says so."""
    if stored.get("everything") is True:
        return Datasets.everything()
    ids = stored.get("dataset_ids")
    return Datasets.of(ids) if are_ids(ids) else default


def _is_number(value: object, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def are_ids(value: object) -> TypeGuard[list[int]]:
    """Return whether a stored value is a list of ids of datasets, not too long."""
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
}
"""Check of a stored value, per preference."""
TYPED = tuple(VALID)
"""The preferences that are one value each, which forms have as one field."""
