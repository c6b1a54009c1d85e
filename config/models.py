"""From settings to the models of both roles and the prompts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from braid.config.settings import DEFAULT_PROMPTS, Settings
from braid.core.models.chat import ChatModels, ModelSettings, Role, chat_models
from braid.core.models.prompts import Prompts, read_prompts

BASE_URL_PROVIDER = "openai"
"""Whose interface an address has that is set without a model."""


def models_of(settings: Settings) -> ChatModels:
    """The models as they are set; none is loaded yet. Raises InvalidInputError for a name of another form."""
    return chat_models(role_model(settings, "search"), role_model(settings, "summary"))


def role_model(settings: Settings, role: Role, name: str = "") -> ModelSettings | None:
    """The role's model, or the one that is named in its place; None when there is neither.

    The role's address and key belong to the provider of its own model: a model of another provider is asked at that
    provider's address, with the key in the environment. Raises InvalidInputError for a name of another form.
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
    """The prompts, with those of the file ``custom_prompts`` in the place of ours. Raises InvalidInputError."""
    path = settings.custom_prompts
    if path.absolute() == Path.cwd() / DEFAULT_PROMPTS and not path.exists():
        return Prompts()
    return read_prompts(path)
