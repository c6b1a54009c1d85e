"""Chat models and prompts made from the settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from braid.config.settings import DEFAULT_PROMPTS, Settings
from braid.core.models.chat import ChatModels, ModelSettings, Role, chat_models
from braid.core.models.prompts import Prompts, read_prompts

BASE_URL_PROVIDER = "openai"
"""Provider of a model whose address is set without a name."""


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
