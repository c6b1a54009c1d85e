"""One's own account: password, signed-in browsers, API tokens."""

from __future__ import annotations

import time

from flask import abort, flash, redirect, render_template, request
from flask_babel import gettext as _
from flask_babel import ngettext
from limits import parse
from werkzeug.wrappers import Response

from braid.app.auth.access import Routes, rule, throttle
from braid.app.auth.authenticate import sign_in, sign_out
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.account.sign_in import by_password
from braid.app.site import site
from braid.app.web.errors import refusing
from braid.core.accounts.accounts import MIN_PASSWORD_CHARS
from braid.core.accounts.credentials import TOKEN_DAYS, Permission
from braid.core.errors import InvalidInputError

PASSWORD_CHECKS = parse("10/minute")
TOKEN_SCOPES: tuple[Permission, ...] = ("read", "write", "admin")
TOKEN_DAYS_OFFERED = (7, 30, 90, 365)
HOST_TOKEN_DAYS = 90
"""Longest life of a token in a host app: Braid is not told when the host removes the user."""
NEVER = "never"
FRESH_S = 15 * 60
"""How long after signing in a token can be made without the password."""

account = Routes("account", __name__, "user")


@account.get("/account")
def mine() -> str:
    """Password, browsers and tokens."""
    return _account_page()


@by_password.post("/account/password")
@rule("user")
def change_password() -> tuple[str, int] | Response:
    """Change the password, which signs all other browsers out and, if ticked, revokes the tokens."""
    me = identity().account
    if not knows_password(request.form.get("old", "")):
        return _account_page(problem=_("The current password is wrong.")), 400
    with refusing(_account_page):
        password, ticked = request.form.get("password", ""), "tokens" in request.form
        revoked = site().accounts.set_password(me.id, password, revoke_tokens=ticked)
    _record("user.password", f"own, {revoked} tokens revoked")
    sign_in(site(), me)
    flash(_("Password changed. All other browsers have been signed out."))
    flash_revoked(revoked)
    return redirect(url_for("braid.account.mine"))


@by_password.post("/account/sessions/<int:session_id>/end")
@rule("user")
def end_session(session_id: int) -> Response:
    """Sign one browser out."""
    site().sessions.end(identity().account.id, session_id)
    _record("user.signed_out", "one browser")
    return redirect(url_for("braid.account.mine"))


@by_password.post("/account/sessions/end")
@rule("user")
def end_sessions() -> Response:
    """Sign out everywhere, here too, and revoke the tokens if ticked."""
    me = identity().account
    site().sessions.end_all(me.id)
    revoked = site().tokens.revoke_all(me.id) if "tokens" in request.form else 0
    _record("user.signed_out", f"all browsers, {revoked} tokens revoked")
    sign_out(site(), identity())
    flash_revoked(revoked)
    return redirect(url_for("braid.sign_in.login"))


@account.post("/account/tokens")
def add_token() -> tuple[str, int]:
    """Make an API token and show its key, once. Long after signing in it takes the password again, and in a host app
    a new sign-in there.
    """
    me = identity().account
    scopes = [scope for scope in request.form.getlist("scope") if scope in TOKEN_SCOPES]
    if set(scopes) - set(_scopes_offered()):
        abort(403, _("Only administrators can create a token with admin permission."))
    if not is_fresh():
        if not site().standalone:
            return _account_page(problem=_("Sign in again to create a token.")), 403
        if not knows_password(request.form.get("again", "")):
            return _account_page(problem=_("Enter your password to create a token.")), 400
    with refusing(_account_page):
        token, key = site().tokens.add(me.id, request.form.get("name", ""), scopes, days=_days())
    site().audit.add(me.name, "token.made", me.name, f"{token.id} {' '.join(sorted(token.scopes))}")
    return _account_page(key=key), 201


@account.post("/account/tokens/<int:token_id>/revoke")
def revoke_token(token_id: int) -> Response:
    """Make a token worthless."""
    site().tokens.revoke(identity().account.id, token_id)
    _record("token.revoked", str(token_id))
    return redirect(url_for("braid.account.mine"))


def _record(action: str, detail: str) -> None:
    """Add what users did to their own account to the audit log."""
    name = identity().account.name
    site().audit.add(name, action, name, detail)


def flash_revoked(number: int) -> None:
    """Say how many tokens were revoked, if there were any."""
    if number:
        flash(ngettext("%(num)s API token revoked.", "%(num)s API tokens revoked.", number))


def knows_password(password: str) -> bool:
    """Whether it is the password of the one who is signed in; few attempts per minute."""
    me = identity().account
    throttle(PASSWORD_CHECKS, "password", str(me.id))
    return site().accounts.verify(me.name, password, known=True) is not None


def _scopes_offered() -> tuple[Permission, ...]:
    """Return the permissions that a token of this user may have: no admin in a host, which alone knows who is one."""
    return TOKEN_SCOPES if identity().is_admin and site().standalone else TOKEN_SCOPES[:2]


def is_fresh() -> bool:
    """Whether the user has lately shown who they are; in a host app the host says so."""
    if not site().standalone or identity().by_proxy:
        return identity().fresh
    return time.time() - identity().signed_in_at < FRESH_S


def _days() -> int | None:
    """Days until the token expires, None for never. Raises InvalidInputError."""
    given = request.form.get("days", "")
    if given == NEVER and site().standalone:
        return None
    if not given:
        return TOKEN_DAYS
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        raise InvalidInputError(f"days is {given[:20]!r}; give a whole number, or {NEVER!r}", field="days")
    if not site().standalone and int(given) > HOST_TOKEN_DAYS:
        raise InvalidInputError(f"days is {given}; it must be from 1 to {HOST_TOKEN_DAYS} here", field="days")
    return int(given)


def _account_page(*, problem: str = "", key: str = "") -> str:
    me = identity()
    return render_template(
        "braid/account.html",
        me=me,
        sessions=site().sessions.of_user(me.account.id),
        tokens=site().tokens.of_user(me.account.id),
        apps=site().connected_apps.of_user(me.account.id),
        second_factor=site().second_factors.is_on(me.account.id),
        scopes=_scopes_offered(),
        token_days=[days for days in TOKEN_DAYS_OFFERED if site().standalone or days <= HOST_TOKEN_DAYS],
        default_days=TOKEN_DAYS,
        never=NEVER,
        fresh=is_fresh(),
        sign_in_again=sign_in_again(url_for("braid.account.mine")),
        least=MIN_PASSWORD_CHARS,
        problem=problem,
        key=key,
    )


def sign_in_again(page: str) -> str:
    """Return where the user signs in again to come back to a page: at the host, or at the provider; "" for nowhere."""
    if (host := site().host) is not None:
        return host.sign_in_url(page)
    return url_for("braid.provider.begin", next=page) if site().provider is not None else ""
