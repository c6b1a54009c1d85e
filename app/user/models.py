"""Chat models that a user may choose, and the models and conversations made from a choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from flask import current_app

from braid.app.mounted import mount
from braid.app.site import site
from braid.app.user.preferences import preferences_of
from braid.config.models import lookup_limits, with_own_key
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.errors import InvalidInputError
from braid.core.lru import LeastRecentlyUsed
from braid.core.models.chat import ROLES, ChatModel, ChatModels, ModelSettings, Role
from braid.core.search.context import SearchModels

NO_MODEL = "none"
"""A choice that is always offered: feedback completes the query, and answers are quoted."""
MAX_KEPT = 32
"""Largest number of models, and of conversations, kept at once. An evicted one is made again when it is needed."""
SHELF = "%s.models"
"""Key of the `ModelShelf` in Flask's extensions, with the name of the mount."""


# ---------------------------------------------------------------- what is offered


@dataclass(frozen=True, slots=True)
class OfferedModels:
    """Models offered per role as ``provider:model``; the site's default, if there is one, comes first."""

    search: tuple[str, ...]
    summary: tuple[str, ...]

    def of(self, role: Role) -> tuple[str, ...]:
        """Return the models offered for this role."""
        return self.search if role == "search" else self.summary


def offered_models() -> OfferedModels:
    """Return the configured models and those that administrators added."""
    models = site().models
    return OfferedModels(models.menu("search"), models.menu("summary"))


def site_default(role: Role) -> str:
    """Return the role's model when nobody chooses one; empty for none."""
    return site().models.default(role)


# ---------------------------------------------------------------- what is chosen


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model with its address and key. ``own_key`` is true if the key is the user's and not the site's."""

    settings: ModelSettings
    own_key: bool = False


@dataclass(frozen=True, slots=True)
class ChosenModels:
    """The chosen model per role; None for no model."""

    search: ChosenModel | None = None
    summary: ChosenModel | None = None

    @property
    def own_key(self) -> bool:
        """True if one of the keys is the user's."""
        return any(chosen is not None and chosen.own_key for chosen in (self.search, self.summary))


def choose_models(
    account: Account,
    search_model: str | None = None,
    summary_model: str | None = None,
    api_keys: Mapping[str, str] | None = None,
) -> ChosenModels:
    """Choose the models that answer this user's request; `ModelShelf` makes them.

    Each is the request's choice, else the user's preference as long as it is offered, else the site's default.
    ``api_keys`` (provider → key) are used for this call and not kept; otherwise the user's stored key is used, else the
    site's. Raises InvalidInputError for a choice that is not offered.
    """
    return ChosenModels(
        choose_model(account, "search", search_model, api_keys),
        choose_model(account, "summary", summary_model, api_keys),
    )


def choose_model(
    account: Account, role: Role, wanted: str | None = None, api_keys: Mapping[str, str] | None = None
) -> ChosenModel | None:
    """Choose the model of one role as `choose_models` does; None for no model."""
    name = _name(account, role, wanted)
    model = None if name == NO_MODEL else site().models.model(role, name)
    if model is None:
        return None
    if not takes_own_keys(model.name):
        return ChosenModel(model)
    key = {**site().provider_keys.of_user(account.id), **(api_keys or {})}.get(model.provider, "")
    return ChosenModel(with_own_key(model, key), own_key=True) if key else ChosenModel(model)


def takes_own_keys(name: str) -> bool:
    """Return whether users' own keys are sent to this model's server. They are not to an address that administrators
    gave, on a page or in the settings, for which no user gave a key.
    """
    models = site().models
    if server := models.connection_of(name):
        return server.takes_own_keys
    return not any(model and model.base_url for model in (models.model(role, name) for role in ROLES))


def _name(account: Account, role: Role, wanted: str | None) -> str:
    """Return the name of the chosen model; empty for the site's default."""
    offered = (*site().models.menu(role), NO_MODEL)
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


# ---------------------------------------------------------------- what is made of a choice


class ModelShelf:
    """Makes models and conversations from choices.

    Those with the site's keys are kept, so that all requests share what is known about an outage. Those with a user's
    own key are made per request and never kept.
    """

    def __init__(self, settings: Settings, braid: Braid) -> None:
        self._braid = braid
        self._prompt_tokens = settings.answer_prompt_tokens
        self._lookups = lookup_limits(settings)
        self._models: LeastRecentlyUsed[ModelSettings, ChatModel] = LeastRecentlyUsed(MAX_KEPT)
        self._conversations: LeastRecentlyUsed[ChosenModels, Conversation] = LeastRecentlyUsed(MAX_KEPT)

    def models(self, chosen: ChosenModels) -> ChatModels:
        """Return the models of this choice."""
        return ChatModels(self._model(chosen.search), self._model(chosen.summary))

    def conversation(self, chosen: ChosenModels) -> Conversation:
        """Return a conversation that asks the models of this choice."""

        def make() -> Conversation:
            return Conversation(
                self._braid, models=self.models(chosen), prompt_tokens=self._prompt_tokens, lookups=self._lookups
            )

        return make() if chosen.own_key else self._conversations.get_or_make(chosen, make)

    def search_models(self, chosen: ChosenModels) -> SearchModels:
        """Return the models of this choice for a search, with the site's prompts and rerankers."""
        manager = self._braid.manager
        return SearchModels(self.models(chosen), manager.prompts, manager.rerankers)

    def _model(self, chosen: ChosenModel | None) -> ChatModel | None:
        if chosen is None:
            return None
        if chosen.own_key:
            return ChatModel(chosen.settings, counts=False)
        return self._models.get_or_make(chosen.settings, lambda: ChatModel(chosen.settings))


def model_shelf() -> ModelShelf:
    """Return the shelf of the app that serves this request."""
    return cast(ModelShelf, current_app.extensions[SHELF % mount()])
