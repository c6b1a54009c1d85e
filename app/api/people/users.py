"""``/users``: accounts, for administrators."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from werkzeug.exceptions import Conflict

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import Given
from braid.app.api.schemas import Moment, Page, PageQuery, Shown, Sorted, page_of, slice_rows
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.core.accounts.account_list import find_accounts
from braid.core.accounts.accounts import MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS, Account, AccountState
from braid.core.errors import InvalidInputError
from braid.core.types import MAX_NAME_CHARS

resource = Resource("users", "Accounts; administrators manage them.", "admin")

Group = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
Password = Annotated[
    str, Field(min_length=MIN_PASSWORD_CHARS, max_length=MAX_PASSWORD_CHARS, examples=["correct horse"])
]


class UserShown(Shown):
    """An account."""

    id: int
    name: str
    groups: Sorted
    is_admin: bool
    disabled: bool
    waiting: bool = Field(description="Signed up and not approved yet; disabled until then")
    has_password: bool = Field(description="Without a password nobody can sign in as this user")
    state: AccountState = Field(
        description="active; invited and not here yet; new, who was never invited; waiting for approval; suspended"
    )
    signed_in_at: Moment = Field(
        description=(
            "When a browser was last signed in; where a proxy or a host app signs in, the day of the last visit; "
            "null: never"
        )
    )
    invited_at: Moment = Field(description="When the newest invitation was made; null: never")


class UserGiven(Given):
    """A new account."""

    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS, examples=["mika"])
    password: Password | None = None
    groups: list[Group] = Field([], max_length=100)
    is_admin: bool = False


class UserChanges(Given):
    """The fields to change; the others stay."""

    groups: list[Group] | None = Field(None, max_length=100, description="All groups of the user; others are removed")
    is_admin: bool | None = None
    disabled: bool | None = Field(None, description="Locked out at once; false also approves who waits for it")
    password: Password | None = Field(
        None, description="A new one; the user is signed out everywhere, and their API tokens are revoked"
    )


class UserChanged(UserShown):
    """An account after a change."""

    revoked_tokens: int = Field(description="How many API tokens a new password revoked")


class TokenShown(Shown):
    """An API token, without its key."""

    id: int
    name: str
    scopes: Sorted
    created_at: Moment
    expires_at: Moment = Field(description="Null: does not expire")
    used_at: Moment = Field(description="The last use, to the minute; null: never used")


class UserQuery(PageQuery):
    """The accounts to return."""

    q: str = Field("", max_length=MAX_NAME_CHARS, description="Only accounts with this in their name or a group's")
    group: str = Field("", max_length=MAX_NAME_CHARS, description="Only members of this group")
    waiting: bool = Field(False, description="Only those who wait for approval")
    state: AccountState | None = Field(None, description="Only those in this state")


@resource.get("/users", Page[UserShown])
def list_users(query: UserQuery) -> Answered:
    """List accounts by name."""
    if query.waiting and query.state not in (None, "waiting"):
        raise InvalidInputError("waiting and state contradict each other; give one", field="state")

    def read(limit: int, offset: int) -> list[Account]:
        only, database = "waiting" if query.waiting else query.state, site().braid.ledger.database
        return find_accounts(database, text=query.q, group=query.group, only=only, limit=limit, offset=offset)[0]

    return page_of(Page[UserShown], query, read, UserShown.model_validate)


@resource.get("/users/<int:user_id>", UserShown)
def get_user(user_id: int) -> UserShown:
    """Get an account."""
    return UserShown.model_validate(site().accounts.get(user_id))


@resource.post("/users", UserShown, status=201)
def add_user(body: UserGiven) -> Answered:
    """Add an account."""
    require_own_accounts()
    added = site().accounts.add(body.name, body.password or "", is_admin=body.is_admin, groups=body.groups)
    _record("added", added)
    return Answered(UserShown.model_validate(added), {"Location": url_for("braid.api.get_user", user_id=added.id)})


@resource.patch("/users/<int:user_id>", UserChanged)
def change_user(user_id: int, body: UserChanges) -> UserChanged:
    """Change an account's groups, rights or password, or lock it."""
    require_own_accounts()
    accounts, before = site().accounts, site().accounts.get(user_id)
    if body.is_admin is False or body.disabled:
        _require_another(user_id)
    hashed = None if body.password is None else accounts.hash_password(body.password)
    with site().whole():
        if body.groups is not None:
            accounts.set_groups(user_id, body.groups)
            _record("groups", before, ", ".join(sorted(accounts.get(user_id).groups)) or "none")
        if body.is_admin is not None:
            accounts.set_admin(user_id, body.is_admin)
            _record("made_administrator" if body.is_admin else "no_administrator", before)
        if body.disabled is not None:
            accounts.set_disabled(user_id, body.disabled)
            _record("disabled" if body.disabled else "enabled", before)
        revoked = 0 if hashed is None else accounts.store_password(user_id, hashed)
        if hashed is not None:
            _record("password", before, f"{revoked} tokens revoked" if revoked else "")
    return UserChanged(**UserShown.model_validate(accounts.get(user_id)).model_dump(), revoked_tokens=revoked)


@resource.delete("/users/<int:user_id>")
def remove_user(user_id: int) -> None:
    """Remove an account with everything it owns, immediately and permanently."""
    require_own_accounts()
    before = site().accounts.get(user_id)
    _require_another(user_id)
    site().accounts.remove(user_id)
    site().braid.wake()
    _record("removed", before)


@resource.get("/users/<int:user_id>/tokens", Page[TokenShown])
def list_tokens_of_user(user_id: int, query: PageQuery) -> Answered:
    """List a user's API tokens, the newest first, expired ones included."""
    tokens = site().tokens.of_user(site().accounts.get(user_id).id)
    return page_of(Page[TokenShown], query, slice_rows(tokens), TokenShown.model_validate)


@resource.delete("/users/<int:user_id>/tokens/<int:token_id>")
def revoke_token_of_user(user_id: int, token_id: int) -> None:
    """Revoke a user's API token: no request is allowed by it any more."""
    account = site().accounts.get(user_id)
    site().tokens.revoke(user_id, token_id)
    site().audit.add(identity().account.name, "token.revoked", account.name, str(token_id))


def require_own_accounts() -> None:
    """Raise Conflict where the accounts are those of a host app."""
    if not site().standalone:
        raise Conflict("accounts belong to the app that Braid is part of; change them there")


def _require_another(user_id: int) -> None:
    if user_id == identity().account.id:
        raise Conflict("administrators cannot lock themselves out; another administrator must do it")


def _record(what: str, account: Account, detail: str = "") -> None:
    site().audit.add(identity().account.name, f"user.{what}", account.name, detail)
