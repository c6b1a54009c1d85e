"""The search form, read from the query arguments and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from werkzeug.datastructures import MultiDict

from braid.app.pages.search.filters import ChosenFilters, Keys, read_filters
from braid.app.site import site
from braid.app.user.dataset_picker import is_everything
from braid.app.user.datasets import Readable
from braid.app.user.preferences import Preferences, Way
from braid.core.datasets.metadata_keys import metadata_keys
from braid.core.errors import InvalidInputError
from braid.core.options import ABOUT, ALL, DEFAULTS, MAX_K, Datasets, Fusion, GroupBy, Mode, require_choice

MAX_CARRIED_CHARS = 500
"""Longest query repeated in the links of its result; a longer one would bloat the page."""

FILTER_ARGUMENTS = {"filter_on": True, "filter_off": False}
"""Query arguments with words of the query, and whether they are a filter."""
MOST_WORDS = 20

NUMBERS = tuple(name for name, told in ABOUT.items() if told.label)
"""Options that are number fields of the page."""
Carried = dict[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class SearchForm(Way):
    """A search as the query arguments describe it."""

    text: str
    datasets: Datasets
    is_chosen: bool
    """Whether the datasets are those of a search; else they are ticked until the user chooses."""
    readable: Readable
    """What the user could choose from."""
    filters: ChosenFilters
    rerank: bool
    group_by: GroupBy
    numbers: Mapping[str, float]
    """Options that are number fields of the page, `NUMBERS`, by name."""
    filter_words: Mapping[str, bool]
    """Which words of the query are a filter and which are not, where the user has decided."""
    more: int
    """Further hits that the user has asked for, behind the first ``k``."""
    customized: bool
    """Whether an option differs from the user's default, so that the page shows the options."""

    @property
    def meaning_percent(self) -> int:
        """Alpha in percent."""
        return round(100 * self.alpha)

    def further_options(self, of_site: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that only the search pages have."""
        return {
            "reranker": of_site["reranker"] if self.rerank else "",
            "filters": self.filters.filters(),
            "group_by": self.group_by,
            "k": max(self.k, min(MAX_K, self.k + self.more)),
            **self.numbers,
        }

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
        if self.more:
            carried["more"] = str(self.more)
        carried |= {name: f"{value:g}" for name, value in self.numbers.items() if value != getattr(DEFAULTS, name)}
        for name, on in FILTER_ARGUMENTS.items():
            if said := [each for each, chosen in self.filter_words.items() if chosen is on]:
                carried[name] = said
        if self.is_chosen:
            carried["d"] = [ALL] if self.datasets.is_everything else [str(each) for each in self.datasets.ids]
        return carried


def read_form(
    args: MultiDict[str, str], preferred: Preferences, readable: Readable, *, mode: Mode | None = None
) -> SearchForm:
    """Read the form from a request's arguments; ``mode`` replaces the user's default mode.

    A form in which no dataset is ticked searches the personal ones of ``readable``, and one with all of them carries
    ``d=all``. An address that says nothing of datasets searches those that the user prefers.

    Raises InvalidInputError with the field's name.
    """
    fusion = cast(Fusion, _choice(args, "fusion", get_args(Fusion), preferred.fusion))
    k = whole_number("k", args.get("k") or str(preferred.k))
    strategy = args.get("strategy") or preferred.strategy
    given = args.getlist("d")
    is_search = "q" in args or "purpose" in args
    is_unticked = not given and is_search and "offered" in args
    if is_unticked:
        given = [str(dataset.id) for dataset in readable.personal]
    every = tuple(dataset.id for dataset in readable.all)
    chosen = Datasets.of(whole_number("dataset_ids", each) for each in given if each != ALL)
    if is_everything(given, every, args.get("offered", "")):
        further = set(chosen.ids) - set(every)  # one that cannot be read is named in the answer
        chosen = Datasets.of((*every, *sorted(further))) if further else Datasets.everything()
    if not given and not is_unticked:
        chosen = preferred.datasets
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
        datasets=chosen,
        is_chosen=bool(given) or is_search,
        readable=readable,
        filters=read_filters(args, lambda: keys_of(readable.by_id)),
        rerank=rerank,
        group_by=group_by,
        numbers=numbers,
        filter_words={said: on for name, on in FILTER_ARGUMENTS.items() for said in args.getlist(name)[:MOST_WORDS]},
        more=min(MAX_K, max(0, whole_number("more", args.get("more") or "0"))),
        customized=(fusion, k, rerank, numbers) != (preferred.fusion, preferred.k, True, usual),
    )


def keys_of(dataset_ids: Iterable[int]) -> Keys:
    """Return the keys of metadata in these datasets."""
    return metadata_keys(site().braid.ledger.database, frozenset(dataset_ids))


def _choice(args: MultiDict[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    value = args.get(name) or default
    require_choice(name, value, choices)
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
