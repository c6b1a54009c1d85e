"""``GET /me``: the caller."""

from __future__ import annotations

from pydantic import BaseModel

from braid.app.api.framework.operations import Resource
from braid.app.auth.access import rule
from braid.app.auth.identity import identity

resource = Resource("me", "Your account and its rights.")


class Me(BaseModel):
    """The caller."""

    id: int
    name: str
    groups: list[str]
    is_admin: bool
    scopes: list[str]


@resource.get("/me", Me)
@rule("user")
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
