"""The second factor: codes at sign-in, and setting it up, by an authenticator app and recovery codes."""

from __future__ import annotations

import time

import segno
from flask import abort, flash, redirect, render_template, request, session
from flask_babel import gettext as _
from flask_babel import ngettext
from markupsafe import Markup
from werkzeug.wrappers import Response

from braid.app.auth.access import Routes, rule, throttle
from braid.app.auth.attempts import OWN_CHECKS, attempt, complete, waiting_for
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.account.mine import FRESH_S, is_fresh, knows_password
from braid.app.site import site
from braid.core.accounts.accounts import Account
from braid.core.accounts.second_factor import Shown, address_of

second_factor = Routes("second_factor", __name__, "user")
BEGUN = "second_factor_begun"
"""When this browser was shown the secret, in its session."""
FEW_CODES = 3
"""Recovery codes left from which on the user is told."""


# ---------------------------------------------------------------- after the password


@second_factor.get("/login/code")
@rule("anyone")
def ask() -> str | Response:
    """Ask for a code."""
    return render_template("braid/login_code.html", problem="") if waiting_for("ask") else _from_the_beginning()


@second_factor.post("/login/code")
@rule("anyone")
def check() -> tuple[str, int] | Response:
    """Sign in with a code of the app, or a recovery code; few attempts."""
    waits = waiting_for("ask")
    if waits is None:
        return _from_the_beginning()
    account, page = waits
    trying = attempt(account.name, by_code=True)
    trying.begin()
    shown = site().second_factors.accept(account.id, request.form.get("code", ""))
    if shown is None:
        trying.fail()
        return render_template("braid/login_code.html", problem=_wrong_code()), 401
    trying.succeed()
    how = "with a code, " if shown == "code" else "with a recovery code, "
    response = complete(account, redirect(page), how)
    _tell_of_recovery(account, shown)
    return response


@second_factor.get("/login/second-factor")
@rule("anyone")
def enrol() -> str | Response:
    """Have a user set up the second factor that is required, before the first session."""
    waits = waiting_for("enrol")
    if waits is None:
        return _from_the_beginning()
    site().second_factors.begin(waits[0].id)
    return _set_up_page(waits[0])


@second_factor.post("/login/second-factor")
@rule("anyone")
def finish_enrolment() -> tuple[str, int] | Response:
    """Turn the second factor on, and sign in."""
    waits = waiting_for("enrol")
    if waits is None:
        return _from_the_beginning()
    account, page = waits
    if not site().second_factors.pending(account.id):
        return redirect(url_for("braid.second_factor.enrol"))
    codes = site().second_factors.confirm(account.id, request.form.get("code", ""))
    if not codes:
        return _set_up_page(account, problem=_wrong_code()), 400
    _record(account, "on")
    shown = Response(_codes_page(codes, page), 201, mimetype="text/html")
    return complete(account, shown, "with a code, ")


def _from_the_beginning() -> Response:
    return redirect(url_for("braid.sign_in.login"))


# ---------------------------------------------------------------- one's own account


@second_factor.get("/account/second-factor")
def mine() -> str:
    """Show whether the user's second factor is on."""
    return _own_page()


@second_factor.post("/account/second-factor")
def begin() -> tuple[str, int] | str | Response:
    """Show a secret for the authenticator app. Long after signing in it takes the password again."""
    me = _me()
    if not is_fresh() and not knows_password(request.form.get("again", "")):
        return _own_page(_("Your password is wrong.")), 400
    if site().second_factors.is_on(me.id):
        return redirect(url_for("braid.second_factor.mine"))
    site().second_factors.begin(me.id)
    session[BEGUN] = time.time()
    return _set_up_page(me)


@second_factor.post("/account/second-factor/confirm")
def confirm() -> tuple[str, int] | Response:
    """Turn the second factor on by a first code, and show the recovery codes, once."""
    me = _me()
    begun_here = time.time() - session.get(BEGUN, 0) < FRESH_S  # the secret is shown to nobody who comes later
    if not begun_here or not site().second_factors.pending(me.id):
        return redirect(url_for("braid.second_factor.mine"))
    throttle(OWN_CHECKS, "second-factor", str(me.id))
    codes = site().second_factors.confirm(me.id, request.form.get("code", ""))
    if not codes:
        return _set_up_page(me, problem=_wrong_code()), 400
    _record(me, "on")
    return _codes_page(codes, url_for("braid.second_factor.mine")), 201


@second_factor.post("/account/second-factor/codes")
def new_codes() -> tuple[str, int]:
    """Replace the recovery codes, for a code."""
    me = _me()
    if _shows_no_code(me):
        return _own_page(_wrong_code()), 400
    _record(me, "codes")
    return _codes_page(site().second_factors.new_codes(me.id), url_for("braid.second_factor.mine")), 201


@second_factor.post("/account/second-factor/off")
def turn_off() -> tuple[str, int] | Response:
    """Turn the second factor off for a code, and sign all browsers out; refused where it is required."""
    me = _me()
    if site().second_factor_required:
        return _own_page(_("It is required here and cannot be turned off.")), 400
    if _shows_no_code(me):
        return _own_page(_wrong_code()), 400
    site().second_factors.reset(me.id)
    _record(me, "off")
    flash(_("The second factor is off. Sign in with your password."))
    return _from_the_beginning()


def _me() -> Account:
    """Return the user, who signs in with a password. Raises NotFound for all others: theirs is not Braid's matter."""
    me = identity()
    if me.by_proxy or not me.account.has_password or not site().settings.password_sign_in:
        abort(404)
    return me.account


def _shows_no_code(me: Account) -> bool:
    throttle(OWN_CHECKS, "second-factor", str(me.id))
    return site().second_factors.accept(me.id, request.form.get("code", "")) is None


def _tell_of_recovery(account: Account, shown: Shown) -> None:
    left = site().second_factors.codes_left(account.id)
    if shown == "recovery":
        _record(account, "recovery")
    if shown == "recovery" or left <= FEW_CODES:
        flash(ngettext("You have %(num)s recovery code left.", "You have %(num)s recovery codes left.", left))


def _record(account: Account, what: str) -> None:
    site().audit.add(account.name, f"second_factor.{what}", account.name)


def _wrong_code() -> str:
    return str(_("This code is wrong, or was used already. Wait for the next one, and check the clock of your phone."))


def _own_page(problem: str = "") -> str:
    me = _me()
    return render_template(
        "braid/second_factor.html",
        on=site().second_factors.is_on(me.id),
        left=site().second_factors.codes_left(me.id),
        required=site().second_factor_required,
        fresh=is_fresh(),
        problem=problem,
    )


def _set_up_page(account: Account, problem: str = "") -> str:
    secret = site().second_factors.pending(account.id)
    address = address_of(secret, account.name)
    return render_template(
        "braid/second_factor_new.html",
        secret=" ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        address=address,
        picture=Markup(segno.make(address, micro=False).svg_inline(scale=4, border=3, light="#fff")),
        signing_in=waiting_for("enrol") is not None,
        problem=problem,
    )


def _codes_page(codes: list[str], following: str) -> str:
    return render_template("braid/second_factor_codes.html", codes=codes, following=following)
