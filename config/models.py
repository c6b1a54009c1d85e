"""From settings to the models of both roles and the prompts."""

from __future__ import annotations

from pathlib import Path

from config.settings import DEFAULT_PROMPTS, Settings
from core.llm import ChatModels, ModelSettings, chat_models
from core.prompts import Prompts, read_prompts


def models_of(settings: Settings) -> ChatModels:
    """The models as they are set; none is loaded yet. Raises InvalidInputError for a name of another form."""
    search = _model(
        settings.search_model or settings.llm_model,
        settings.search_model_base_url,
        settings.search_model_api_key,
        settings.search_model_timeout_s,
        settings.model_retries,
    )
    summary = _model(
        settings.summary_model or settings.llm_model,
        settings.summary_model_base_url,
        settings.summary_model_api_key,
        settings.summary_model_timeout_s,
        settings.model_retries,
    )
    return chat_models(search, summary)


def prompts_of(settings: Settings) -> Prompts:
    """The prompts, with those of the file ``custom_prompts`` in the place of ours. Raises InvalidInputError."""
    path = settings.custom_prompts
    if path.absolute() == Path.cwd() / DEFAULT_PROMPTS and not path.exists():
        return Prompts()
    return read_prompts(path)


def _model(name: str, base_url: str, api_key: str, timeout_s: float, retries: int) -> ModelSettings | None:
    return ModelSettings(name, base_url, api_key, timeout_s, retries) if name else None
