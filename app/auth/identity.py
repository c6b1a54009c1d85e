"""Who sends a request: a browser that is signed in, a program with a token, or a user of the host app."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from flask import Flask, g, request, session
from flask_login import LoginManager, UserMixin, current_user, login_user, logout_user

from braid.core.accounts.accounts import Account
from braid.core.errors import NotFoundError

if TYPE_CHECKING:
    from braid.app.site import Site

ALL_SCOPES = frozenset({"read", "write", "admin"})


@dataclass(frozen=True, slots=True)
class Identity:
    """The user, and what this way of signing in allows."""

    account: Account
    scopes: frozenset[str] = ALL_SCOPES
    session_id: int | None = None
    by_token: bool = False
    """A program; its requests need no token against forgery, since no browser sends them on its own."""

    @property
    def is_admin(self) -> bool:
        """Whether administrative acts are allowed."""
        return self.account.is_admin and "admin" in self.scopes


@dataclass(frozen=True, slots=True)
class HostUser:
    """A user of the app that Braid is built into. ``name`` must be stable, since it is what Braid knows them by."""

    name: str
    groups: frozenset[str] = frozenset()
    is_admin: bool = False


def identity() -> Identity:
    """The one who sends this request. Only for routes whose rule is not ``anyone``."""
    return cast(Identity, g.braid_identity)


def signed_in() -> Identity | None:
    """The one who sends this request, or None."""
    return cast("Identity | None", g.get("braid_identity"))


# ---------------------------------------------------------------- Braid's own accounts


class _Browser(UserMixin):  # type: ignore[misc]  # Flask-Login has no types
    """What Flask-Login keeps in the session: the secret of the browser's row in the ledger."""

    def __init__(self, secret: str, found: Identity) -> None:
        self.id = secret
        self.identity = found


def keep_logins(app: Flask, find_site: Callable[[], Site]) -> None:
    """Let Flask-Login keep browsers signed in to this app."""
    manager = LoginManager(app)
    manager.session_protection = None  # it compares addresses and agents, which change on a phone

    @manager.user_loader  # type: ignore[untyped-decorator]
    def load(secret: str) -> _Browser | None:
        found = _of_session(find_site(), secret)
        return None if found is None else _Browser(secret, found)


def own_identity(site: Site) -> Identity | None:
    """By API token, else by the browser's session. A wrong token is nobody, whatever the browser's session says."""
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    if scheme:
        return of_token(site, key.strip()) if scheme.lower() == "bearer" else None
    return current_user.identity if isinstance(current_user._get_current_object(), _Browser) else None


def of_token(site: Site, key: str) -> Identity | None:
    """The owner of an API token; also for servers that are not Flask's."""
    token = site.tokens.find(key)
    account = _enabled(site, token.user_id) if token else None
    return Identity(account, token.scopes, by_token=True) if token and account else None


def _of_session(site: Site, secret: str) -> Identity | None:
    found = site.sessions.find(secret)
    account = _enabled(site, found.user_id) if found else None
    return Identity(account, session_id=found.id) if found and account else None


def _enabled(site: Site, user_id: int) -> Account | None:
    try:
        account = site.accounts.get(user_id)
    except NotFoundError:
        return None
    return None if account.disabled else account


def sign_in(site: Site, account: Account) -> None:
    """Open a session for this browser; what it was before is forgotten, so that nobody can have prepared it."""
    session.clear()
    session.permanent = True
    secret = site.sessions.open(account.id, request.headers.get("User-Agent", ""))
    login_user(_Browser(secret, Identity(account)))


def sign_out(site: Site, found: Identity) -> None:
    """End this browser's session."""
    if found.session_id is not None:
        site.sessions.end(found.account.id, found.session_id)
    logout_user()
    session.clear()


# ---------------------------------------------------------------- the users of a host app


def host_identity(user_of: Callable[[], HostUser | None]) -> Callable[[Site], Identity | None]:
    """Identify by the host app's own users; API tokens work beside them."""

    def identify(site: Site) -> Identity | None:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and key.strip().startswith("braid_"):
            return of_token(site, key.strip())
        user = user_of()
        account = None if user is None else _account_of(site, user)
        return None if account is None or account.disabled else Identity(account)

    return identify


def _account_of(site: Site, user: HostUser) -> Account:
    """The account of this name, made at the first visit, with the groups and rights that the host app says."""
    account = site.accounts.named(user.name) or site.accounts.mirror(user.name)
    if account.groups != user.groups:
        site.accounts.set_groups(account.id, user.groups)
    if account.is_admin != user.is_admin or account.groups != user.groups:
        site.accounts.mirror_admin(account.id, user.is_admin)
        account = site.accounts.get(account.id)
    return account
