"""Identifies requests: by a browser's session, by an API token, or by the user of the host app or of a proxy."""

from __future__ import annotations

import time
from collections.abc import Callable

from flask import Flask, request, session
from flask_login import LoginManager, UserMixin, current_user, login_user, logout_user
from werkzeug.exceptions import Forbidden

from braid.app.auth.identity import Identity
from braid.app.auth.proxy_users import user_of_proxy
from braid.app.host import HostUser
from braid.app.oidc import ProvidedUser
from braid.app.opening import FIRST_DATASET
from braid.app.site import Site
from braid.core.accounts.accounts import Account
from braid.core.accounts.credentials import DAY_S
from braid.core.errors import InvalidInputError, NotFoundError


def identify(site: Site) -> Identity | None:
    """Identify by API token, else by the host app's user, the proxy's, or the browser's session. None for nobody.

    An invalid token is rejected even if the browser is signed in; a host app may use the header for its own tokens.
    Raises Forbidden for a user whom somebody else than the proxy names.
    """
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    is_bearer, key = scheme.lower() == "bearer", key.strip()
    if site.host is not None:
        by_token = is_bearer and key.startswith("braid_")
        return identity_of_token(site, key) if by_token else _identity_of_host_user(site, site.host.user())
    user = user_of_proxy(site.settings)
    if is_bearer:
        return identity_of_token(site, key)
    if user is not None:
        return _identity_of_proxy_user(site, user)
    if scheme:
        return None
    return current_user.identity if isinstance(current_user._get_current_object(), _Browser) else None


def identity_of_token(site: Site, key: str) -> Identity | None:
    """Return the identity of an API token's owner, or None. Works outside Flask requests, as MCP needs."""
    token = site.tokens.find(key)
    account = _enabled_account(site, token.user_id) if token else None
    if token is None or account is None:
        return None
    return Identity(account, token.scopes, by_token=True, expires_at=token.expires_at, dataset_ids=token.dataset_ids)


# ---------------------------------------------------------------- Braid's own accounts


class _Browser(UserMixin):  # type: ignore[misc]  # Flask-Login has no types
    """A user of Flask-Login.

    The id that it keeps in the session is the secret of the browser's row in the ledger.
    """

    def __init__(self, secret: str, found: Identity) -> None:
        self.id = secret
        self.identity = found


def keep_logins(app: Flask, find_site: Callable[[], Site]) -> None:
    """Let Flask-Login keep browsers signed in to this app."""
    manager = LoginManager(app, add_context_processor=False)  # it would ask the database for every page of an error
    manager.session_protection = None  # it compares addresses and agents, which change on a phone

    @manager.user_loader  # type: ignore[untyped-decorator]
    def load(secret: str) -> _Browser | None:
        found = _identity_of_session(find_site(), secret)
        return None if found is None else _Browser(secret, found)


def sign_in(site: Site, account: Account) -> None:
    """Open a session for this browser.

    Drops the old session first, so that nobody can have prepared it (session fixation).
    """
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


def _identity_of_session(site: Site, secret: str) -> Identity | None:
    found = site.sessions.find(secret)
    account = _enabled_account(site, found.user_id) if found else None
    if not found or not account or _is_to_be_asked_again(site, account, found.created_at):
        return None
    return Identity(account, session_id=found.id, signed_in_at=found.created_at)


def _is_to_be_asked_again(site: Site, account: Account, signed_in_at: float) -> bool:
    """Return whether the provider has to say again who this is: groups and rights may have changed there."""
    settings = site.settings
    is_old = bool(settings.oidc_issuer) and time.time() - signed_in_at > 3600 * settings.oidc_hours
    return is_old and site.accounts.is_provided(account.id)


def _enabled_account(site: Site, user_id: int) -> Account | None:
    try:
        account = site.accounts.get(user_id)
    except NotFoundError:
        return None
    return None if account.disabled else account


# ---------------------------------------------------------------- the users of a host app, or of a proxy


def _identity_of_host_user(site: Site, user: HostUser | None) -> Identity | None:
    account = None if user is None else _account_of(site, user)
    return None if user is None or account is None or account.disabled else Identity(account, fresh=user.fresh)


def _account_of(site: Site, user: HostUser) -> Account:
    """Return the account of this name, added at the first visit, with the groups and rights that the host app gives."""
    account = _mirrored(site, user.name)
    groups = frozenset(user.groups)
    if account.is_admin != user.is_admin or account.groups != groups:
        with site.whole():
            site.accounts.set_groups(account.id, groups)
            site.accounts.mirror_admin(account.id, user.is_admin)
        account = site.accounts.get(account.id)
    _note_visit(site, account)
    return account


def _note_visit(site: Site, account: Account) -> None:
    """Keep that this user came, once a day: it is all the sign-in that Braid sees."""
    if not account.disabled and (account.signed_in_at is None or account.signed_in_at < time.time() - DAY_S):
        site.accounts.note_sign_in(account.id)


def _mirrored(site: Site, name: str, how: str = "") -> Account:
    """Return the account of this name, added now if there is none; ``how`` welcomes who is new."""
    if found := site.accounts.named(name):
        return found
    try:
        with site.whole():
            added = site.accounts.mirror(name)
            if how:
                welcome(site, added, how)
        return added
    except InvalidInputError:
        if found := site.accounts.named(name):  # another request of the same first visit added it
            return found
        raise


def _identity_of_proxy_user(site: Site, user: HostUser) -> Identity:
    """Return the identity of whom a proxy has signed in, with an account and a first dataset from the first visit on.

    Groups, and who is an administrator, are the proxy's where the settings say so, and Braid's own elsewhere.
    """
    account = _mirrored(site, user.name, BY_PROXY)
    _require_enabled(account)
    _note_visit(site, account)
    groups = frozenset(user.groups) if site.settings.sign_in_groups_header else None
    return Identity(follow(site, account, groups, BY_PROXY), fresh=True, by_proxy=True)


# ---------------------------------------------------------------- whoever else signs users in


BY_PROXY, BY_PROVIDER = "by the proxy that signs in", "by the provider that signs in"


def account_of_provider(site: Site, user: ProvidedUser) -> Account:
    """Return the account of whom a provider has signed in, with its groups and rights; added at the first time.

    Raises InvalidInputError for a name that is somebody else's, and Forbidden for an account that is suspended.
    """
    with site.whole():
        account, is_new = site.accounts.provided(user.subject, user.name, take_over=site.settings.oidc_take_over)
        if is_new:
            welcome(site, account, BY_PROVIDER)
    _require_enabled(account)
    return follow(site, account, user.groups, BY_PROVIDER)


def welcome(site: Site, account: Account, how: str) -> None:
    """Give a new account its first dataset, and write it to the audit log."""
    site.audit.add(account.name, "user.added", account.name, how)
    site.braid.ledger.add_dataset(account.id, FIRST_DATASET)


def follow(site: Site, account: Account, groups: frozenset[str] | None, how: str) -> Account:
    """Return the account with these groups, and as an administrator if one of them says so; as it is for None."""
    if groups is None:
        return account
    admins = site.settings.sign_in_admin_group
    is_admin = admins in groups if admins else account.is_admin
    if (account.groups, account.is_admin) == (groups, is_admin):
        return account
    with site.whole():
        site.accounts.set_groups(account.id, groups)
        if account.is_admin != is_admin:
            site.accounts.mirror_admin(account.id, is_admin)
            what = "user.made_administrator" if is_admin else "user.no_administrator"
            site.audit.add(account.name, what, account.name, how)
    return site.accounts.get(account.id)


def _require_enabled(account: Account) -> None:
    if account.disabled:
        raise Forbidden("this account is suspended; ask an administrator")
