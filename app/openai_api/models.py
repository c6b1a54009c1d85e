"""``GET /models``: a model's id is a choice of datasets.

``braid`` means those of the user's settings, ``braid:all`` for all that the user may read, ``braid:-1,3`` for some
by their ids, ``braid:NAME`` for a choice that the user has saved; ``braid:assistant:7`` is an assistant.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, Field

from braid.app.api.framework.operations import Resource
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.openai_api.errors import ModelNotFoundError
from braid.app.user.assistants import UsableAssistant, assistant_of, usable_assistants
from braid.app.user.dataset_choices import choice_named, saved_choices
from braid.app.user.datasets import readable_datasets
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.options import Datasets
from braid.core.types import ALL

MODEL = "braid"
PREFIX = f"{MODEL}:"
ASSISTANT = f"{PREFIX}assistant:"

resource = Resource("models", "A model for each choice of datasets.", "user")


class ModelShown(BaseModel):
    """A choice of datasets."""

    id: str = Field(examples=["braid:-1,3"])
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = MODEL
    name: str = Field(description="For people; the datasets' names")


class ModelsShown(BaseModel):
    """All models; other ids than the listed ones can be given, too, for several datasets."""

    object: Literal["list"] = "list"
    data: list[ModelShown]


@resource.get("/models", ModelsShown)
@rule("user", limited=True)
def list_wire_models() -> ModelsShown:
    """List a model for each assistant and each dataset that the caller may use, for all datasets, and for each saved
    choice.
    """
    account = identity().account
    readable = readable_datasets(account)
    named = {MODEL: "Braid", f"{PREFIX}{ALL}": "Braid: everything"}
    open_to_caller = (each.assistant for each in usable_assistants(readable) if each.dataset_ids)
    named |= {f"{ASSISTANT}{each.id}": each.name for each in open_to_caller}
    named |= {f"{PREFIX}{name}": f"Braid: {name}" for name in saved_choices(account)}
    named |= {f"{PREFIX}{dataset.id}": f"Braid: {dataset.name}" for dataset in readable.all}
    return ModelsShown(data=[ModelShown(id=model, name=name) for model, name in named.items()])


@resource.get("/models/<model>", ModelShown)
@rule("user", limited=True)
def get_wire_model(model: str) -> ModelShown:
    """Get one model, also one that is not listed, such as `braid:-1,3`."""
    if assistant := asked_assistant(model):
        return ModelShown(id=model, name=assistant.assistant.name)
    chosen, readable = choice_of(model), readable_datasets(identity().account).by_id
    names = ["everything"] if chosen.is_everything else [readable[each].name for each in chosen.ids if each in readable]
    return ModelShown(id=model, name=f"Braid: {', '.join(names)}")


def asked_assistant(model: str) -> UsableAssistant | None:
    """Return the assistant that a model's id names, None for any other id. Raises ModelNotFoundError for one that the
    user may not use, or none of whose datasets is open to them.
    """
    if not model.startswith(ASSISTANT):
        return None
    number = model.removeprefix(ASSISTANT)
    try:
        if not re.fullmatch("[1-9][0-9]{0,8}", number):
            raise NotFoundError("give the number of an assistant")
        return assistant_of(int(number)).require_open()
    except (NotFoundError, InvalidInputError) as error:
        raise ModelNotFoundError(f"there is no model {model[:100]!r}: {error}") from None


def choice_of(model: str) -> Datasets:
    """Return the datasets of a model's id. Raises ModelNotFoundError."""
    if model != MODEL and not model.startswith(PREFIX):
        raise ModelNotFoundError(
            f"there is no model {model[:100]!r}; the models are {MODEL}, {PREFIX}{ALL}, {PREFIX}-1,3 with ids of "
            f"datasets, {PREFIX}NAME with the name of a saved choice, and {ASSISTANT}7 with the id of an assistant"
        )
    try:
        return choice_named(identity().account, model.removeprefix(MODEL).removeprefix(":"))
    except NotFoundError as error:
        raise ModelNotFoundError(f"there is no model {model[:100]!r}: {error}") from None
