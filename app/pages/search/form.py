"""The search form, read from the query arguments and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from werkzeug.datastructures import MultiDict

from braid.app.pages.search.conditions import Keys
from braid.app.pages.search.filters import ChosenFilters, read_filters
from braid.app.site import site
from braid.app.user.dataset_picker import ALL, is_everything
from braid.app.user.datasets import Readable
from braid.app.user.preferences import Preferences
from braid.config.settings import Settings
from braid.core.datasets.metadata_keys import metadata_keys
from braid.core.errors import InvalidInputError
from braid.core.options import ABOUT, DEFAULTS, Fusion, GroupBy, Mode, site_options, used_options

MAX_CARRIED_CHARS = 500
"""Longest query repeated in the links of its result; a longer one would bloat the page."""

NUMBERS = tuple(name for name, told in ABOUT.items() if told.label)
"""Options that are number fields of the page."""
Carried = dict[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class SearchForm:
    """A search as the query arguments describe it. ``dataset_ids`` None means that nothing is chosen yet."""

    text: str
    mode: Mode
    fusion: Fusion
    k: int
    alpha: float
    strategy: str
    dataset_ids: tuple[int, ...] | None
    preferred_ids: tuple[int, ...] | None
    """Datasets that are ticked until the user chooses; None for all."""
    everything: bool
    """Whether all readable datasets are chosen, so that links to the search also have those that are to come."""
    filters: ChosenFilters
    rerank: bool
    group_by: GroupBy
    numbers: Mapping[str, float]
    """Options that are number fields of the page, `NUMBERS`, by name."""
    customized: bool
    """Whether an option differs from the user's default, so that the page shows the options."""

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

    @property
    def meaning_percent(self) -> int:
        """Alpha in percent."""
        return round(100 * self.alpha)

    @property
    def ticked_ids(self) -> tuple[int, ...] | None:
        """The datasets that the picker shows as chosen; None for all."""
        return self.preferred_ids if self.dataset_ids is None else self.dataset_ids

    def ticks(self, dataset_id: int) -> bool:
        """Return whether the picker shows this dataset as chosen."""
        return self.ticked_ids is None or dataset_id in self.ticked_ids

    def options(self, settings: Settings) -> dict[str, Any]:
        """Return the values of the fields of `braid.core.types.SearchOptions`, and the strategy."""
        given = {
            "mode": self.mode,
            "k": self.k,
            "fusion": self.used_fusion,
            "alpha": self.used_alpha,
            "reranker": settings.reranker if self.rerank else "",
            "filters": self.filters.filters(),
            "group_by": self.group_by,
            **self.numbers,
        }
        return {"strategy": self.strategy, **used_options(given, site_options(settings))}

    def query_arguments(self) -> Carried:
        """Return the query arguments that lead back to this search."""
        carried: Carried = {"mode": self.mode, "k": str(self.k), **self.filters.query_arguments()}
        if len(self.text) <= MAX_CARRIED_CHARS:
            carried["q"] = self.text
        if self.strategy != "basic":
            carried["strategy"] = self.strategy
        if self.used_alpha is not None:
            carried |= {"fusion": self.fusion, "alpha": self.alpha_text}
        if not self.rerank:
            carried["rerank"] = "no"
        if self.group_by != "passage":
            carried["group"] = self.group_by
        carried |= {name: f"{value:g}" for name, value in self.numbers.items() if value != getattr(DEFAULTS, name)}
        if self.dataset_ids is not None:
            carried["d"] = [ALL] if self.everything else [str(dataset_id) for dataset_id in self.dataset_ids]
        return carried


def read_form(
    args: MultiDict[str, str], preferred: Preferences, readable: Readable, *, mode: Mode | None = None
) -> SearchForm:
    """Read the form from a request's arguments; ``mode`` replaces the user's default mode.

    A search without datasets is one in the personal datasets of ``readable``, and one in all of them carries ``d=all``.

    Raises InvalidInputError with the field's name.
    """
    fusion = cast(Fusion, _choice(args, "fusion", get_args(Fusion), preferred.fusion))
    k = whole_number("k", args.get("k") or str(preferred.k))
    strategy = args.get("strategy") or preferred.strategy
    given = args.getlist("d")
    if not given and ("q" in args or "purpose" in args):
        given = [str(dataset.id) for dataset in readable.personal]
    every = tuple(dataset.id for dataset in readable.all)
    everything = is_everything(given, every, args.get("offered", ""))
    chosen = tuple(whole_number("dataset_ids", each) for each in given if each != ALL)
    if everything:
        chosen = tuple(dict.fromkeys((*every, *chosen)))  # one that cannot be read is named in the answer
    rerank = args.get("rerank") != "no"
    group_by = cast(GroupBy, _choice(args, "group", get_args(GroupBy), "passage"))
    usual = {name: getattr(DEFAULTS, name) for name in NUMBERS}
    numbers = {name: number(name, args.get(name) or str(default)) for name, default in usual.items()}
    return SearchForm(
        text=args.get("q", "").strip(),
        mode=cast(Mode, _choice(args, "mode", get_args(Mode), mode or preferred.mode)),
        fusion=fusion,
        k=k,
        alpha=number("alpha", args.get("alpha") or str(preferred.alpha)),
        strategy=strategy,
        dataset_ids=chosen if chosen or "q" in args or "purpose" in args else None,
        preferred_ids=preferred.dataset_ids,
        everything=everything,
        filters=read_filters(args, lambda: keys_of(readable.by_id)),
        rerank=rerank,
        group_by=group_by,
        numbers=numbers,
        customized=(fusion, k, rerank, group_by, numbers) != (preferred.fusion, preferred.k, True, "passage", usual),
    )


def keys_of(dataset_ids: Iterable[int]) -> Keys:
    """Return the keys of metadata in these datasets."""
    return metadata_keys(site().braid.ledger.database, frozenset(dataset_ids))


def _choice(args: MultiDict[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    value = args.get(name) or default
    if value not in choices:
        raise InvalidInputError(f"{name} is {value[:40]!r}; choose one of {', '.join(choices)}", field=name)
    return value


def whole_number(name: str, given: str) -> int:
    """Return the text as a whole number. Raises InvalidInputError."""
    try:
        return int(given)
    except ValueError:
        raise InvalidInputError(f"{name} is {given[:40]!r}; it must be a whole number", field=name) from None


def number(name: str, given: str) -> float:
    """Return the text as a number. Raises InvalidInputError."""
    try:
        return float(given)
    except ValueError:
        raise InvalidInputError(f"{name} is {given[:40]!r}; it must be a number", field=name) from None
