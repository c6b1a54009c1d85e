"""Which chat models a user may choose, and the ones that a request is answered with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from braid.app.site import site
from braid.app.user.model_shelf import ChosenModel, ChosenModels
from braid.app.user.preferences import preferences_of
from braid.config.models import role_model
from braid.core.accounts.accounts import Account
from braid.core.chat.conversation import Conversation
from braid.core.errors import InvalidInputError
from braid.core.models.chat import ChatModels, Role
from braid.core.search.context import SearchModels

NO_MODEL = "none"
"""A choice that is always there: the query is completed by feedback, and answers are quoted."""
LISTS: Mapping[Role, str] = {"search": "search_models", "summary": "summary_models"}
"""Where administrators' lists of further models are kept, see `braid.core.accounts.app_settings`."""


@dataclass(frozen=True, slots=True)
class OfferedModels:
    """What each role's menu offers, as ``provider:model``; the first is the site's default, if it has one."""

    search: tuple[str, ...]
    summary: tuple[str, ...]

    def of(self, role: Role) -> tuple[str, ...]:
        """The role's."""
        return self.search if role == "search" else self.summary


def offered_models() -> OfferedModels:
    """The models that are configured, and those that administrators added."""
    return OfferedModels(_offered("search"), _offered("summary"))


def site_default(role: Role) -> str:
    """What the role has without a choice; empty for none."""
    configured = role_model(site().settings, role)
    return configured.name if configured else ""


def models_for(
    account: Account,
    search_model: str | None = None,
    summary_model: str | None = None,
    api_keys: Mapping[str, str] | None = None,
) -> ChatModels:
    """The models that this user's request is answered with.

    Each is the request's choice, else the user's preference as long as it is offered, else the site's. ``api_keys``
    (provider → key) are used for this call and not kept; else the user's own key is taken, else the site's.
    Raises InvalidInputError for a choice that is not offered.
    """
    return site().models.models(chosen_models(account, search_model, summary_model, api_keys))


def conversation_for(
    account: Account,
    search_model: str | None = None,
    summary_model: str | None = None,
    api_keys: Mapping[str, str] | None = None,
) -> Conversation:
    """A conversation over `models_for` the same."""
    return site().models.conversation(chosen_models(account, search_model, summary_model, api_keys))


def search_models_for(
    account: Account, search_model: str | None = None, api_keys: Mapping[str, str] | None = None
) -> SearchModels:
    """The models of this user's searches: the search model of `models_for` the same, and the site's reranker."""
    return site().models.search_models(chosen_models(account, search_model, NO_MODEL, api_keys))


def chosen_models(
    account: Account,
    search_model: str | None = None,
    summary_model: str | None = None,
    api_keys: Mapping[str, str] | None = None,
) -> ChosenModels:
    """The choice behind `models_for`; raises as it does."""
    return ChosenModels(
        chosen_model(account, "search", search_model, api_keys),
        chosen_model(account, "summary", summary_model, api_keys),
    )


def chosen_model(
    account: Account, role: Role, wanted: str | None = None, api_keys: Mapping[str, str] | None = None
) -> ChosenModel | None:
    """The choice for one role; None for no model. Raises as `models_for` does."""
    name = _name(account, role, wanted)
    model = None if name == NO_MODEL else role_model(site().settings, role, name)
    if model is None:
        return None
    key = {**site().provider_keys.of_user(account.id), **(api_keys or {})}.get(model.provider, "")
    return ChosenModel(replace(model, api_key=key), own_key=True) if key else ChosenModel(model)


def _offered(role: Role) -> tuple[str, ...]:
    added = site().app_settings.get(LISTS[role], [])
    return tuple(dict.fromkeys(name for name in (site_default(role), *added) if name))


def _name(account: Account, role: Role, wanted: str | None) -> str:
    """The model's name; empty for the site's default."""
    offered = (*_offered(role), NO_MODEL)
    if wanted:
        if wanted not in offered:
            raise InvalidInputError(
                f"{role}_model is {wanted[:100]!r}, which is not offered here; choose one of {', '.join(offered)}",
                field=f"{role}_model",
            )
        return wanted
    mine = preferences_of(account)
    preferred = mine.search_model if role == "search" else mine.summary_model
    return preferred if preferred in offered else ""
