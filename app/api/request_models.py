"""Models, reranker and prompts of one request, with the keys sent along.

A caller may name what the site offers, or what their own key pays for. Keys are used for the request and forgotten;
callers can never set an address.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any, TypeVar

from flask import request

from braid.app.api.framework.requests import KEY_HEADERS, KEY_PATTERN, InvalidRequestError
from braid.app.api.search_options import SearchOptionsGiven
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.assistants import UsableAssistant
from braid.app.user.models import (
    ChosenModel,
    ChosenModels,
    choose_model,
    model_shelf,
    offered_models,
    site_default,
    takes_own_keys,
)
from braid.config.models import lookup_limits, with_own_key
from braid.core.chat.conversation import Conversation
from braid.core.errors import InvalidInputError
from braid.core.models.chat import ModelSettings, Role
from braid.core.models.prompts import Prompts, custom_prompts
from braid.core.models.rerank import Rerankers
from braid.core.search.context import SearchModels
from braid.core.types import HOSTED_RERANKERS

HOSTED = ("anthropic", "google_genai", "mistralai", "openai")
"""Providers that a caller's own key may be used with: their packages use the key as given and have their own address.

Others would find credentials or servers of the site.
"""


Body = TypeVar("Body", bound=SearchOptionsGiven)


def search_models(body: SearchOptionsGiven, options: dict[str, Any]) -> SearchModels:
    """Return the models of the request's search. Raises InvalidInputError."""
    return _search_models(body, _choose_models(body), options)


def conversation(body: SearchOptionsGiven, options: dict[str, Any]) -> Conversation:
    """Return a conversation with the request's models and prompts. Raises InvalidInputError."""
    chosen = _choose_models(body)
    models = _search_models(body, chosen, options)
    # without prompts or a reranker of its own, the request can share the conversation that is kept for this choice
    if not body.custom_prompts and not _key("reranker"):
        return model_shelf().conversation(chosen)
    return Conversation(
        site().braid,
        models=models.chat,
        prompts=models.prompts,
        rerankers=models.rerankers,
        prompt_tokens=site().settings.answer_prompt_tokens,
        lookups=lookup_limits(site().settings),
    )


def require_no_options(body: SearchOptionsGiven, allowed: Collection[str] = ()) -> None:
    """Raise InvalidInputError for an option beside an assistant, which has its own."""
    given = sorted(body.model_fields_set - set(allowed))
    if given:
        raise InvalidInputError(
            f"{given[0]} is given beside an assistant, which has its own datasets and options; leave {given[0]} out",
            field=given[0],
        )


def with_model_of(body: Body, assistant: UsableAssistant | None) -> Body:
    """Return the request with the model of the assistant, if it has one that is offered."""
    model = assistant.model if assistant else ""
    return body.model_copy(update={"summary_llm_model": model}) if model else body


def _search_models(body: SearchOptionsGiven, chosen: ChosenModels, options: dict[str, Any]) -> SearchModels:
    """Return the chosen models, with the prompts and the reranker's key from the request."""
    sites = model_shelf().search_models(chosen)
    rerankers, prompts = _rerankers(options["reranker"]), _prompts(body)
    return replace(sites, prompts=prompts or sites.prompts, rerankers=rerankers or sites.rerankers)


def _choose_models(body: SearchOptionsGiven) -> ChosenModels:
    return ChosenModels(
        _choose_model("search", body.search_llm_model or body.llm_model),
        _choose_model("summary", body.summary_llm_model or body.llm_model),
    )


def _choose_model(role: Role, name: str | None) -> ChosenModel | None:
    key = _key(role)
    if not key:
        return _choose_offered(role, name)
    name = name or site_default(role)
    if not name:
        field = f"{role}_llm_model"
        raise InvalidInputError(f"{KEY_HEADERS[role]} is given without a model; name one in {field}", field=field)
    if name in offered_models().of(role):
        if not takes_own_keys(name):
            raise InvalidInputError(
                f"{name} is asked at a server of this site, which gets no key of yours; leave {KEY_HEADERS[role]} out",
                field=f"{role}_llm_model",
            )
        offered = site().models.model(role, name)
        if offered is not None:
            return ChosenModel(with_own_key(offered, key), own_key=True)
    return ChosenModel(_settings_of_own_key(role, name, key), own_key=True)


def _choose_offered(role: Role, name: str | None) -> ChosenModel | None:
    try:
        return choose_model(identity().account, role, name)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{error}, or send your own key in {KEY_HEADERS[role]}", field=f"{role}_llm_model"
        ) from None


def _settings_of_own_key(role: Role, name: str, key: str) -> ModelSettings:
    provider = name.partition(":")[0]
    if provider not in HOSTED:
        raise InvalidInputError(
            f"{role}_llm_model is {name!r}; with your own key choose a model of {', '.join(HOSTED)}",
            field=f"{role}_llm_model",
        )
    settings = site().settings
    timeout_s = settings.search_model_timeout_s if role == "search" else settings.summary_model_timeout_s
    return with_own_key(ModelSettings(name, "", "", timeout_s, settings.model_retries), key)


def _rerankers(name: str) -> Rerankers | None:
    """Return the request's rerankers, or None for the site's. Raises InvalidInputError for one that is not offered."""
    if key := _key("reranker"):
        if name.partition(":")[0] not in HOSTED_RERANKERS:
            forms = ", ".join(f"{provider}:MODEL" for provider in HOSTED_RERANKERS)
            raise InvalidInputError(f"reranker is {name!r}; a key can be used with {forms} only", field="reranker")
        return Rerankers(api_key=key, timeout_s=site().settings.reranker_timeout_s, counts=False)
    if name and name != (offered := site().reranker):
        choices = f"{offered!r}, or " if offered else ""
        raise InvalidInputError(
            f"reranker is {name!r}, which is not offered here; choose {choices}cohere:MODEL, jina:MODEL or "
            f"voyage:MODEL with your own key in {KEY_HEADERS['reranker']}",
            field="reranker",
        )
    return None


def _prompts(body: SearchOptionsGiven) -> Prompts | None:
    """Return the site's prompts with those that the request replaces, or None if it replaces none."""
    if not body.custom_prompts:
        return None
    given: dict[str, object] = {
        name: prompt if isinstance(prompt, str) else prompt.model_dump(exclude_unset=True)
        for name, prompt in body.custom_prompts.items()
    }
    checked = custom_prompts(given)
    return replace(site().braid.manager.prompts, **{name: getattr(checked, name) for name in given})


def _key(role: str) -> str:
    header = KEY_HEADERS[role]
    given = request.headers.get(header, "")
    if not re.fullmatch(KEY_PATTERN, given):
        raise InvalidRequestError(((header, "it must be up to 500 visible ASCII characters"),))
    return given
