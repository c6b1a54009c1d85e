"""The chat models of a site, made once each, and what searches and answers with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.lru import LeastRecentlyUsed
from braid.core.models.chat import ChatModel, ChatModels, ModelSettings
from braid.core.search.context import SearchModels

MAX_KEPT = 32
"""Per kind. What was evicted is made again when it is needed."""


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model with its address and key. ``own_key`` says that the key is the user's and not the site's."""

    settings: ModelSettings
    own_key: bool = False


@dataclass(frozen=True, slots=True)
class ChosenModels:
    """The choice for each role; None for no model."""

    search: ChosenModel | None = None
    summary: ChosenModel | None = None

    @property
    def own_key(self) -> bool:
        """Whether a key of the user's is among them."""
        return any(chosen is not None and chosen.own_key for chosen in (self.search, self.summary))


class ModelShelf:
    """Keeps what is made with the site's keys, so that an outage is known to all. What is made with somebody's own
    key is made for the request and never kept.
    """

    def __init__(self, settings: Settings, braid: Braid) -> None:
        self._braid = braid
        self._prompt_tokens = settings.answer_prompt_tokens
        self._models: LeastRecentlyUsed[ModelSettings, ChatModel] = LeastRecentlyUsed(MAX_KEPT)
        self._conversations: LeastRecentlyUsed[ChosenModels, Conversation] = LeastRecentlyUsed(MAX_KEPT)

    def models(self, chosen: ChosenModels) -> ChatModels:
        """The models of this choice."""
        return ChatModels(self._model(chosen.search), self._model(chosen.summary))

    def conversation(self, chosen: ChosenModels) -> Conversation:
        """A conversation over them."""

        def make() -> Conversation:
            return Conversation(self._braid, models=self.models(chosen), prompt_tokens=self._prompt_tokens)

        return make() if chosen.own_key else self._conversations.get_or_make(chosen, make)

    def search_models(self, chosen: ChosenModels) -> SearchModels:
        """The same for a search, with the site's prompts and rerankers."""
        return replace(self._braid.manager.search_models, chat=self.models(chosen))

    def _model(self, chosen: ChosenModel | None) -> ChatModel | None:
        if chosen is None:
            return None
        if chosen.own_key:
            return ChatModel(chosen.settings)
        return self._models.get_or_make(chosen.settings, lambda: ChatModel(chosen.settings))
