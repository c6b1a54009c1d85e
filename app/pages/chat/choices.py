"""Choices for a question (datasets, strategy, mode), read from the form or from where they were stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeVar, cast

from werkzeug.datastructures import MultiDict

from braid.app.site import site
from braid.app.user.assistants import UsableAssistant
from braid.app.user.dataset_picker import is_everything
from braid.app.user.datasets import Readable
from braid.app.user.preferences import VALID, Pace, Way, are_ids, pace_of, preferences_of, stored_datasets, ways
from braid.core.accounts.accounts import Account
from braid.core.errors import InvalidInputError
from braid.core.options import Datasets, Fusion, Mode

LAST_CHOICE = "chat"
"""Name of the preference with the way to search that a new conversation starts with."""
LAST_ASSISTANT = "assistant"
"""Name of the preference with the assistant that was asked last; 0 for datasets of the user's own selection."""
RECENT = "recent_datasets"
"""Name of the preference with the datasets that were chosen last."""
MOST_RECENT = 8
WAY = tuple(each.name for each in fields(Way))

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class ChatChoices(Way):
    """The choices of the form."""

    datasets: Datasets

    @property
    def pace(self) -> Pace:
        """Fast, thorough, or ``expert`` for other values than those of the two."""
        return pace_of(self, site().settings)

    def way(self) -> dict[str, Any]:
        """Return how to search as JSON, for the preference `LAST_CHOICE`."""
        return {name: getattr(self, name) for name in WAY}


def first_choices(account: Account) -> ChatChoices:
    """Return the choices of a new conversation: the datasets of the user's preferences, searched as the last time."""
    preferred = preferences_of(account)
    default = ChatChoices(**{name: getattr(preferred, name) for name in WAY}, datasets=preferred.datasets)
    last = account.preferences.get(LAST_CHOICE)
    return replace(default, **_valid(last)) if isinstance(last, Mapping) else default


def choices_of_turn(settings: Mapping[str, Any], default: ChatChoices) -> ChatChoices:
    """Return the choices of a stored question."""
    way = _valid({**settings, **settings.get("options", {})})
    return replace(default, **way, datasets=stored_datasets(settings, default.datasets))


def read_choices(form: MultiDict[str, str], default: ChatChoices, readable: Readable) -> ChatChoices:
    """Read the form; the search checks the values. A pace replaces those of the experts' fields.

    Raises InvalidInputError with the field's name for a value that is not a number.
    """
    given = form.getlist("d")
    everything = is_everything(given, [dataset.id for dataset in readable.all], form.get("offered", ""))
    ids = () if everything else tuple(_number("dataset_ids", each, int) for each in given)
    chosen = ChatChoices(
        datasets=Datasets(ids, everything),
        strategy=form.get("strategy") or default.strategy,
        mode=cast(Mode, form.get("mode") or default.mode),
        fusion=cast(Fusion, form.get("fusion") or default.fusion),
        alpha=_number("alpha", form.get("alpha") or str(default.alpha), float),
        k=_number("k", form.get("k") or str(default.k), int),
    )
    way = ways(site().settings).get(cast(Pace, form.get("pace")))
    return replace(chosen, **asdict(way)) if way else chosen


def first_assistant(account: Account, usable: Sequence[UsableAssistant]) -> UsableAssistant | None:
    """Return the assistant of a new conversation: the one that was asked last, or for who has never chosen the only
    one. None for datasets of the user's own selection.
    """
    last = account.preferences.get(LAST_ASSISTANT)
    if last is None:
        return usable[0] if len(usable) == 1 else None
    return next((each for each in usable if each.assistant.id == last), None)


def recent_datasets(account: Account) -> list[int]:
    """Return the datasets that the user chose last, the last one first."""
    kept = account.preferences.get(RECENT)
    return list(kept) if are_ids(kept) else []


def keep_choices(account: Account, choices: ChatChoices, assistant_id: int | None) -> None:
    """Remember how to search for the next conversation, and which few datasets were chosen; or that an assistant was
    asked, which leaves these as they were.
    """
    if assistant_id:
        if account.preferences.get(LAST_ASSISTANT) != assistant_id:
            site().accounts.set_preferences(account.id, {LAST_ASSISTANT: assistant_id})
        return
    chosen = choices.datasets.ids
    recent = recent_datasets(account)
    if 0 < len(chosen) <= MOST_RECENT:
        recent = list(dict.fromkeys((*chosen, *recent)))[:MOST_RECENT]
    kept = {LAST_CHOICE: choices.way(), RECENT: recent, LAST_ASSISTANT: 0}
    if any(account.preferences.get(name) != value for name, value in kept.items()):
        site().accounts.set_preferences(account.id, kept)


def _valid(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the stored values of a way to search that are still valid."""
    return {name: kept[name] for name in WAY if kept.get(name) is not None and VALID[name](kept[name])}


def _number(name: str, given: str, kind: Callable[[str], Number]) -> Number:
    try:
        return kind(given)
    except ValueError:
        raise InvalidInputError(f"{name} is {given[:40]!r}; it must be a number", field=name) from None
