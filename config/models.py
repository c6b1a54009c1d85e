"""Chat models and prompts of the site: those of the settings, and those that administrators connect on the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from braid.config.settings import DEFAULT_PROMPTS, Settings
from braid.core.accounts.app_settings import AppSettings
from braid.core.accounts.model_connections import Connection, ModelConnections
from braid.core.chat.lookups.lookup import LookupLimits
from braid.core.ledger.ledger import Ledger
from braid.core.models.chat import ChatModels, ModelSettings, Role, chat_models
from braid.core.models.failures import MODEL_CALLS
from braid.core.models.model_servers import PROVIDERS
from braid.core.models.prompts import Prompts, read_prompts
from braid.core.models.rerank import Rerankers
from braid.core.models.rerank_http import RerankServer
from braid.core.options import site_options

if TYPE_CHECKING:
    from braid.core.retriever_manager import RetrieverManager

BASE_URL_PROVIDER = "openai"
"""Provider of a model whose address is set without a name."""
CLIENT = "openai"
"""Provider whose package asks the models of connected servers."""


CHOSEN: Mapping[Role, str] = {"search": "search_model", "summary": "summary_model"}
"""The app setting with each role's model, where administrators chose one on the pages."""
MENUS: Mapping[Role, str] = {"search": "search_models", "summary": "summary_models"}
"""The app setting that lists each role's additional models."""


class SiteModels:
    """The site's models by role, as they are now: what administrators chose and connected, else the settings'.

    ``secret`` is the data directory's.
    """

    def __init__(self, settings: Settings, ledger: Ledger, secret: bytes) -> None:
        self._settings = settings
        self._chosen = AppSettings(ledger)
        self.connections = ModelConnections(ledger, secret)
        self._made: tuple[tuple[ModelSettings | None, ...], ChatModels] = (), ChatModels()

    def default(self, role: Role) -> str:
        """Return the name of the role's model when nobody chooses one; empty for none."""
        chosen: str = self._chosen.get(CHOSEN[role], "")
        configured = role_model(self._settings, role)
        return chosen or (configured.name if configured else "")

    def menu(self, role: Role) -> tuple[str, ...]:
        """Return the models that users may choose, the default first."""
        names = (self.default(role), *self.offered_besides(role))
        return tuple(dict.fromkeys(name for name in names if name))

    def model(self, role: Role, name: str = "") -> ModelSettings | None:
        """Return a model with its address and key, or the role's default; None for no model.

        The settings' own model keeps the settings' address. Raises InvalidInputError for a malformed name.
        """
        name = name or self.default(role)
        configured = role_model(self._settings, role, name) if name else None
        if configured is None or self._is_configured(role, name):
            return configured
        server = self.connection_of(name)
        if server is None:
            return configured
        return replace(configured, base_url=server.base_url, api_key=server.key, client=CLIENT)

    def connection_of(self, name: str) -> Connection | None:
        """Return the connected server that is asked for this model; None for one of the settings."""
        return self.connections.get(name.partition(":")[0])

    def choose(self, role: Role, name: str) -> None:
        """Make this the role's model; an empty name leaves it to the settings."""
        self._chosen.set(CHOSEN[role], name or None)
        MODEL_CALLS.forget()

    def is_chosen(self, role: Role) -> bool:
        """Return whether an administrator chose the role's model, so that the settings' is not used."""
        return bool(self._chosen.get(CHOSEN[role], ""))

    def offered_besides(self, role: Role) -> list[str]:
        """Return the models that administrators added to the role's menu."""
        return list(self._chosen.get(MENUS[role], []))

    def offer(self, role: Role, names: Sequence[str]) -> None:
        """Set the models that users may choose besides the role's."""
        self._chosen.set(MENUS[role], list(names))

    def chat_models(self) -> ChatModels:
        """Return the models that administrators chose, in whichever process; None where they left it to the settings.

        The same ones are returned until the choice is another one. None is loaded yet.
        """
        search, summary = (self.model(role) if self.is_chosen(role) else None for role in CHOSEN)
        made_of, made = self._made
        if made_of != (search, summary):
            made = chat_models(search, summary)
            self._made = (search, summary), made
        return made

    def choose_reranker(self, server: RerankServer | None) -> None:
        """Have every search ask the reranker of this server; None leaves it to the settings."""
        self.connections.put_reranker(server)
        MODEL_CALLS.forget()

    def serve(self, manager: RetrieverManager) -> None:
        """Have the manager's searches ask the models and the reranker that administrators chose, as they are then."""
        manager.use_models(self.chat_models)
        manager.rerankers.use(self.connections.reranker)

    def _is_configured(self, role: Role, name: str) -> bool:
        configured = role_model(self._settings, role)
        return configured is not None and configured.name == name


def options_in_force(settings: Settings, rerankers: Rerankers) -> dict[str, Any]:
    """Return the options that a site has values for: its settings', with the reranker that is in force."""
    return {**site_options(settings), "reranker": rerankers.in_force(settings.reranker)}


def with_own_key(model: ModelSettings, key: str) -> ModelSettings:
    """Return the model as it is asked with a user's key, which belongs to its provider: at the provider's own address,
    whatever address the environment gives.
    """
    known = PROVIDERS.get(model.provider)
    if known is None or not known.has_fixed_address:
        return replace(model, base_url="", api_key=key)
    return replace(model, base_url=known.base_url, api_key=key, client=CLIENT)


def models_of(settings: Settings) -> ChatModels:
    """Return the models of the settings; none is loaded yet. Raises InvalidInputError for a malformed name."""
    return chat_models(role_model(settings, "search"), role_model(settings, "summary"))


def role_model(settings: Settings, role: Role, name: str = "") -> ModelSettings | None:
    """Return the role's model, or the model ``name`` in its place; None if there is neither.

    The role's address and key belong to the provider of its own model: a model of another provider is asked at that
    provider's address, with the key from the environment. Raises InvalidInputError for a malformed name.
    """
    if role == "search":
        own, base_url, api_key = settings.search_model, settings.search_model_base_url, settings.search_model_api_key
        timeout_s = settings.search_model_timeout_s
    else:
        own, base_url, api_key = settings.summary_model, settings.summary_model_base_url, settings.summary_model_api_key
        timeout_s = settings.summary_model_timeout_s
    own = own or settings.llm_model
    if not (name or own):
        return None
    model = ModelSettings(name or own, base_url, api_key, timeout_s, settings.model_retries)
    provider = own.partition(":")[0] or BASE_URL_PROVIDER
    return model if model.provider == provider else replace(model, base_url="", api_key="")


def prompts_of(settings: Settings) -> Prompts:
    """Return the prompts, with those from the file ``custom_prompts`` in place of the built-in ones.

    Raises InvalidInputError.
    """
    path = settings.custom_prompts
    if path.absolute() == Path.cwd() / DEFAULT_PROMPTS and not path.exists():
        return Prompts()
    return read_prompts(path)


def lookup_limits(settings: Settings) -> LookupLimits:
    """Return what a model may use to look up more in a turn, as the settings say."""
    return LookupLimits(
        settings.lookup_calls,
        settings.lookup_calls_thorough,
        settings.lookup_seconds,
        settings.lookup_tokens,
        settings.lookup_parts,
    )
