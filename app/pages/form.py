"""The search form: what stands in the address, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast, get_args

from werkzeug.datastructures import MultiDict

from config.settings import Settings
from core.errors import InvalidInputError
from core.types import Fusion, Mode

MAX_CARRIED_CHARS = 500
"""A longer query is not repeated in the links of its result, which would make the page heavy."""


@dataclass(frozen=True, slots=True)
class SearchForm:
    """A search as the address gives it. ``dataset_ids`` None means that nobody has chosen yet."""

    text: str
    mode: Mode
    fusion: Fusion
    k: int
    alpha: float
    dataset_ids: tuple[int, ...] | None
    customized: bool
    """Whether an option differs from its default, so that the options are shown."""

    @property
    def used_fusion(self) -> Fusion:
        """The fusion, which is of no account where a single leg is asked."""
        return self.fusion if self.mode == "hybrid" else "rrf"

    @property
    def used_alpha(self) -> float | None:
        """Alpha where it matters."""
        return self.alpha if self.used_fusion == "weighted" else None

    @property
    def shown_alpha(self) -> str:
        """Alpha with two digits."""
        return f"{self.alpha:.2f}"

    def ticks(self, dataset_id: int) -> bool:
        """Whether the picker shows this dataset as chosen; all are until somebody chooses."""
        return self.dataset_ids is None or dataset_id in self.dataset_ids

    def carried(self) -> dict[str, str | list[str]]:
        """The arguments that lead back to this search."""
        carried: dict[str, str | list[str]] = {"mode": self.mode, "k": str(self.k)}
        if len(self.text) <= MAX_CARRIED_CHARS:
            carried["q"] = self.text
        if self.used_alpha is not None:
            carried |= {"fusion": self.fusion, "alpha": self.shown_alpha}
        if self.dataset_ids is not None:
            carried["d"] = [str(dataset_id) for dataset_id in self.dataset_ids]
        return carried


def read_form(args: MultiDict[str, str], settings: Settings) -> SearchForm:
    """The form in a request's arguments. Raises InvalidInputError with the field's name."""
    mode = cast(Mode, _choice(args, "mode", get_args(Mode), settings.mode))
    fusion = cast(Fusion, _choice(args, "fusion", get_args(Fusion), settings.fusion))
    k = _whole_number("k", args.get("k") or str(settings.k))
    alpha = _number("alpha", args.get("alpha") or str(settings.alpha))
    chosen = tuple(_whole_number("dataset_ids", given) for given in args.getlist("d"))
    return SearchForm(
        text=args.get("q", "").strip(),
        mode=mode,
        fusion=fusion,
        k=k,
        alpha=alpha,
        dataset_ids=chosen if chosen or "q" in args else None,
        customized=fusion != settings.fusion or k != settings.k,
    )


def _choice(args: MultiDict[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    value = args.get(name) or default
    if value not in choices:
        raise InvalidInputError(f"{name} is {value[:40]!r}; choose one of {', '.join(choices)}", field=name)
    return value


def _whole_number(name: str, given: str) -> int:
    try:
        return int(given)
    except ValueError:
        raise InvalidInputError(f"{name} is {given[:40]!r}; it must be a whole number", field=name) from None


def _number(name: str, given: str) -> float:
    try:
        return float(given)
    except ValueError:
        raise InvalidInputError(f"{name} is {given[:40]!r}; it must be a number", field=name) from None
