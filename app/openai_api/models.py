"""``GET /models``: a model's id is a choice of datasets.

``braid`` means those of the user's settings, ``braid:all`` for all that the user may read, ``braid:-1,3`` for some
by their ids, ``braid:NAME`` for a choice that the user has saved.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from braid.app.api.framework.operations import Resource
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.openai_api.errors import ModelNotFoundError
from braid.app.user.dataset_choices import choice_named, saved_choices
from braid.app.user.datasets import readable_datasets
from braid.core.errors import NotFoundError
from braid.core.options import Datasets
from braid.core.types import ALL

MODEL = "braid"
PREFIX = f"{MODEL}:"

resource = Resource("models", "A model for each choice of datasets.")


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
    """List a model for each dataset that the caller may read, for all of them, and for each saved choice."""
    account = identity().account
    named = {MODEL: "Braid", f"{PREFIX}{ALL}": "Braid: everything"}
    named |= {f"{PREFIX}{name}": f"Braid: {name}" for name in saved_choices(account)}
    named |= {f"{PREFIX}{dataset.id}": f"Braid: {dataset.name}" for dataset in readable_datasets(account).all}
    return ModelsShown(data=[ModelShown(id=model, name=name) for model, name in named.items()])


@resource.get("/models/<model>", ModelShown)
@rule("user", limited=True)
def get_wire_model(model: str) -> ModelShown:
    """Get one model, also one that is not listed, such as `braid:-1,3`."""
    chosen, readable = choice_of(model), readable_datasets(identity().account).by_id
    names = ["everything"] if chosen.is_everything else [readable[each].name for each in chosen.ids if each in readable]
    return ModelShown(id=model, name=f"Braid: {', '.join(names)}")


def choice_of(model: str) -> Datasets:
    """Return the datasets of a model's id. Raises ModelNotFoundError."""
    if model != MODEL and not model.startswith(PREFIX):
        raise ModelNotFoundError(
            f"there is no model {model[:100]!r}; the models are {MODEL}, {PREFIX}{ALL}, {PREFIX}-1,3 with ids of "
            f"datasets, and {PREFIX}NAME with the name of a saved choice"
        )
    try:
        return choice_named(identity().account, model.removeprefix(MODEL).removeprefix(":"))
    except NotFoundError as error:
        raise ModelNotFoundError(f"there is no model {model[:100]!r}: {error}") from None
