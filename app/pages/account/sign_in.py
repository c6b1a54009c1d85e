"""Signing in and out, signing up, and the first administrator."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import abort, flash, redirect, render_template, request
from flask_babel import gettext as _
from limits import parse
from werkzeug.wrappers import Response

from braid.app.auth.access import Routes, is_forwarded, is_local, rule, throttle
from braid.app.auth.attempts import attempt, enter
from braid.app.auth.authenticate import sign_in, sign_out
from braid.app.auth.identity import identity, origin_of, shown_address, signed_in
from braid.app.auth.invitations import accept, invited
from braid.app.mounted import url_for
from braid.app.opening import FIRST_DATASET
from braid.app.site import site
from braid.core.accounts.accounts import MIN_PASSWORD_CHARS
from braid.core.errors import InvalidInputError, TooManyError
from braid.core.ledger.database import storable

SIGN_UPS = parse("5/minute")

by_password = Routes("sign_in", __name__, "anyone")
"""The pages of Braid's own accounts: a host app has its own sign-in."""


# ---------------------------------------------------------------- the first administrator


@by_password.get("/setup")
def setup() -> str | Response:
    """Show the form of the first start, on this computer only and until there is an administrator."""
    _require_setup()
    return render_template("braid/setup.html", name="admin", problem="", least=MIN_PASSWORD_CHARS)


@by_password.post("/setup")
def make_administrator() -> tuple[str, int] | Response:
    """Create the administrator and sign them in."""
    _require_setup()
    name, password = request.form.get("name", ""), request.form.get("password", "")
    try:
        if request.form.get("again", password) != password:  # without scripts the password cannot be shown
            raise InvalidInputError(_("The passwords do not match. Enter them again."), field="again")
        made = site().accounts.create_first(name, password)
    except InvalidInputError as error:
        page = render_template("braid/setup.html", name=name, problem=str(error), least=MIN_PASSWORD_CHARS)
        return page, 400
    site().audit.add(made.name, "administrator.created", made.name)
    sign_in(site(), made)
    return redirect(_home())


def _require_setup() -> None:
    if not site().accounts.need_setup():
        abort(redirect(url_for("braid.sign_in.login")))
    found = signed_in()
    if not is_local() or (found is not None and found.by_proxy):
        abort(403, _("To create the first administrator, open this page on the computer where Braid runs."))
    if is_forwarded() and not site().settings.trusted_proxies:  # then every visitor seems to be on this computer
        abort(
            403,
            _(
                "This page was opened through a proxy that is not counted in the trusted_proxies setting. "
                "To create the first administrator, open it without the proxy on the computer where Braid runs, "
                "or run there: "
                "python -m app user add NAME --admin --password-stdin"
            ),
        )


# ---------------------------------------------------------------- in and out


@by_password.get("/login")
def login() -> str | Response:
    """Show the sign-in form."""
    if site().accounts.need_setup():
        return redirect(url_for("braid.sign_in.setup"))
    if signed_in():
        return redirect(page_wanted())
    if not site().settings.password_sign_in:
        return redirect(url_for("braid.provider.begin", next=page_wanted()))
    return _login_page()


@by_password.post("/login")
def check_login() -> tuple[str, int] | Response:
    """Sign in with name and password; a rate limit slows down guessing."""
    if not site().settings.password_sign_in:
        abort(403, _("Here one signs in with the sign-in provider alone, not with a password."))
    name, password = storable(request.form.get("name", "")).strip(), request.form.get("password", "")
    trying = attempt(name)
    trying.begin()
    try:
        found = site().accounts.verify(name, password, or_waiting=True, known=trying.known)
    except TooManyError:
        trying.succeed()  # it was not even tried
        raise
    if found is None:
        trying.fail()
        return _login_page(name, _("Wrong name or password.")), 401
    trying.succeed()
    if found.waiting:
        return _login_page(name, _still_waiting()), 403
    return enter(found, page_wanted())


@by_password.post("/logout")
@rule("user")
def logout() -> Response:
    """Sign this browser out."""
    sign_out(site(), identity())
    return redirect(url_for("braid.sign_in.login"))


@by_password.get("/signup")
def sign_up() -> str:
    """Show the form for a new account, if visitors may create one."""
    _require_sign_up()
    return _sign_up_page()


@by_password.post("/signup")
def make_account() -> tuple[str, int] | Response:
    """Create an account with a first dataset, and sign in, unless an administrator has to approve it first."""
    _require_sign_up()
    throttle(SIGN_UPS, "signup", origin_of(request.remote_addr or ""))
    name, password = request.form.get("name", ""), request.form.get("password", "")
    if not password:
        return _sign_up_page(name, _("Choose a password.")), 400
    waits = site().sign_up == "approval"
    try:
        made = site().accounts.sign_up(name, password, most=site().settings.max_users, waiting=waits)
    except InvalidInputError as error:
        return _sign_up_page(name, str(error)), 400
    site().audit.add(made.name, "user.signed_up", made.name, shown_address())
    site().braid.ledger.add_dataset(made.id, FIRST_DATASET)
    if made.waiting:
        flash(_still_waiting())
        return redirect(url_for("braid.sign_in.login"))
    return enter(made, _home())


@by_password.get("/invitation/<token>")
def invitation(token: str) -> str:
    """Show the form in which an invited user chooses a password."""
    return _invitation_page(invited(token).name)


@by_password.post("/invitation/<token>")
def accept_invitation(token: str) -> tuple[str, int] | Response:
    """Give the invited user the password, and sign them in; the link is worthless from then on."""
    try:
        account = accept(token, request.form.get("password", ""))
    except InvalidInputError as error:
        return _invitation_page(invited(token).name, str(error)), 400
    site().audit.add(account.name, "user.password", account.name, f"by invitation, {shown_address()}")
    return enter(account, _home())


def _invitation_page(name: str, problem: str = "") -> str:
    return render_template("braid/invitation.html", name=name, problem=problem, least=MIN_PASSWORD_CHARS)


def _sign_up_page(name: str = "", problem: str = "") -> str:
    return render_template(
        "braid/signup.html", name=name, problem=problem, least=MIN_PASSWORD_CHARS, waits=site().sign_up == "approval"
    )


def _still_waiting() -> str:
    return str(_("Your account has been created. You can sign in as soon as an administrator approves it."))


def _require_sign_up() -> None:
    if not site().sign_up_open or site().accounts.need_setup():
        abort(404)


def _login_page(name: str = "", problem: str = "") -> str:
    return render_template(
        "braid/login.html",
        name=name,
        problem=problem,
        next=request.values.get("next", ""),
        open=site().sign_up_open,
        provider=_provider_name(),
    )


def _provider_name() -> str:
    """Return what the sign-in provider is called; empty where there is none."""
    settings = site().settings
    return settings.oidc_label or urlsplit(settings.oidc_issuer).hostname or ""


def page_wanted() -> str:
    """Return the page that the visitor wanted, if it is one of Braid's own, else the home page."""
    given = request.values.get("next", "")
    parts = urlsplit(given)
    ours = given.startswith("/") and not given.startswith(("//", "/\\")) and not parts.scheme and not parts.netloc
    return given if ours and given.isprintable() else _home()


def _home() -> str:
    return url_for("braid.search.home")
