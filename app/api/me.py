"""``/me``: the caller, and the choices of datasets that they have saved."""

from __future__ import annotations

from pydantic import BaseModel, Field

from braid.app.api.framework.operations import Resource
from braid.app.api.framework.requests import Given
from braid.app.api.schemas import DatasetId
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.user.dataset_choices import remove_choice, save_choice, saved_choices
from braid.core.datasets.scope import MAX_DATASET_IDS

resource = Resource("me", "Your account, its rights, and your saved choices of datasets.", "user")


class Me(BaseModel):
    """The caller."""

    id: int
    name: str
    groups: list[str]
    is_admin: bool
    scopes: list[str]


@resource.get("/me", Me)
@rule("user", limited=True)
def get_me() -> Me:
    """Get the caller's account and the scopes of their token."""
    found = identity()
    account = found.account
    return Me(
        id=account.id,
        name=account.name,
        groups=sorted(account.groups),
        is_admin=account.is_admin,
        scopes=sorted(found.permissions),
    )


class ChoiceGiven(Given):
    """The datasets of a choice."""

    dataset_ids: list[DatasetId] = Field(min_length=1, max_length=MAX_DATASET_IDS, examples=[[1, -1]])


class ChoiceShown(BaseModel):
    """A saved choice of datasets, which other programs name: `braid:NAME` as a model, NAME as knowledge of Dify's."""

    name: str
    dataset_ids: list[int]


class ChoicesShown(BaseModel):
    """All saved choices."""

    items: list[ChoiceShown]


@resource.get("/me/choices", ChoicesShown)
def list_choices() -> ChoicesShown:
    """List the caller's saved choices of datasets."""
    saved = saved_choices(identity().account)
    return ChoicesShown(items=[ChoiceShown(name=name, dataset_ids=list(ids)) for name, ids in saved.items()])


@resource.put("/me/choices/<name>", ChoiceShown)
def put_choice(name: str, body: ChoiceGiven) -> ChoiceShown:
    """Save a choice of datasets under a name, in place of the one that has it.

    The name has up to 60 characters without comma, colon and slash, and is neither a number nor `all`.
    """
    save_choice(identity().account, name, body.dataset_ids)
    return ChoiceShown(name=name, dataset_ids=list(dict.fromkeys(body.dataset_ids)))


@resource.delete("/me/choices/<name>")
def delete_choice(name: str) -> None:
    """Delete a saved choice; its datasets stay."""
    remove_choice(identity().account, name)
