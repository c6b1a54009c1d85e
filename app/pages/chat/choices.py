"""What a question is asked with: datasets, strategy, mode. Read from the form, or from where it was kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar, cast

from werkzeug.datastructures import MultiDict

from braid.app.user.preferences import VALID, preferences_of
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.errors import InvalidInputError
from braid.core.types import Fusion, Mode

LAST_CHOICE = "chat"
"""The preference that a new conversation starts with."""

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class ChatChoices:
    """``dataset_ids`` None means all that the user may read, until somebody chooses."""

    dataset_ids: tuple[int, ...] | None
    strategy: str
    mode: Mode
    fusion: Fusion
    alpha: float
    k: int

    def ticks(self, dataset_id: int) -> bool:
        """Whether the picker shows this dataset as chosen."""
        return self.dataset_ids is None or dataset_id in self.dataset_ids

    @property
    def shown_alpha(self) -> str:
        """Alpha with two digits."""
        return f"{self.alpha:.2f}"

    def options(self, settings: Settings) -> dict[str, Any]:
        """The search options of a request; fusion and alpha only where they matter."""
        fusion = self.fusion if self.mode == "hybrid" else "rrf"
        return {
            "mode": self.mode,
            "k": self.k,
            "fusion": fusion,
            "alpha": self.alpha if fusion == "weighted" else None,
            "dense_weight": settings.dense_weight,
            "reranker": settings.reranker,
        }

    def kept(self) -> dict[str, Any]:
        """As JSON values, for `last_choices`."""
        return {**asdict(self), "dataset_ids": None if self.dataset_ids is None else list(self.dataset_ids)}


def first_choices(account: Account) -> ChatChoices:
    """What a new conversation starts with: the last choice, else the user's preferences."""
    preferred = preferences_of(account)
    default = ChatChoices(
        preferred.dataset_ids, preferred.strategy, preferred.mode, preferred.fusion, preferred.alpha, preferred.k
    )
    last = account.preferences.get(LAST_CHOICE)
    return _with(default, last) if isinstance(last, Mapping) else default


def choices_of_turn(settings: Mapping[str, Any], default: ChatChoices) -> ChatChoices:
    """What a stored question was asked with."""
    return _with(default, {**settings, **settings.get("options", {})})


def read_choices(form: MultiDict[str, str], default: ChatChoices) -> ChatChoices:
    """What the form says; the search checks the rest. Raises InvalidInputError with the field's name."""
    return ChatChoices(
        dataset_ids=tuple(_number("dataset_ids", given, int) for given in form.getlist("d")),
        strategy=form.get("strategy") or default.strategy,
        mode=cast(Mode, form.get("mode") or default.mode),
        fusion=cast(Fusion, form.get("fusion") or default.fusion),
        alpha=_number("alpha", form.get("alpha") or str(default.alpha), float),
        k=_number("k", form.get("k") or str(default.k), int),
    )


def _with(default: ChatChoices, kept: Mapping[str, Any]) -> ChatChoices:
    """The default with what of the kept values is still valid."""
    valid = {name: kept[name] for name in asdict(default) if kept.get(name) is not None and VALID[name](kept[name])}
    if "dataset_ids" in valid:
        valid["dataset_ids"] = tuple(valid["dataset_ids"])
    return replace(default, **valid)


def _number(name: str, given: str, kind: Callable[[str], Number]) -> Number:
    try:
        return kind(given)
    except ValueError:
        raise InvalidInputError(f"{name} is {given[:40]!r}; it must be a number", field=name) from None
