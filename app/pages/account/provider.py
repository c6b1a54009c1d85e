"""Signing in at an OpenID Connect provider: the way there, and back."""

from __future__ import annotations

import secrets

from flask import abort, redirect, render_template, request, session
from flask_babel import gettext as _
from limits import parse
from werkzeug.wrappers import Response

from braid.app.auth.access import Routes, throttle
from braid.app.auth.authenticate import account_of_provider, sign_in
from braid.app.auth.identity import origin_of, shown_address
from braid.app.mounted import url_for
from braid.app.oidc import Provider, ProviderError
from braid.app.pages.account.sign_in import page_wanted
from braid.app.site import site
from braid.core.errors import InvalidInputError

at_provider = Routes("provider", __name__, "anyone")

STARTS = parse("60/minute")
KEPT = "provider"
"""Key of what the browser's cookie keeps of the sign-ins that were begun, by their state."""
MOST_KEPT = 4
"""Sign-ins that a browser may have begun at a time, in several tabs."""
MOST_KEPT_CHARS = 2_500
"""Characters of the addresses that these sign-ins lead back to; apps choose them, and a cookie has 4,096 bytes."""


@at_provider.get("/login/provider")
def begin() -> Response:
    """Lead the browser to the provider."""
    throttle(STARTS, "provider", origin_of(request.remote_addr or ""))
    state, nonce, verifier = (secrets.token_urlsafe(48) for _number in range(3))
    try:
        started = _provider().start(_back(), state=state, nonce=nonce, verifier=verifier)
    except ProviderError as error:
        return _problem(str(error), 502)
    page = page_wanted()
    begun = dict(list(session.get(KEPT, {}).items())[1 - MOST_KEPT :])
    while begun and len(page) + sum(len(each["next"]) for each in begun.values()) > MOST_KEPT_CHARS:
        del begun[next(iter(begun))]
    session[KEPT] = {**begun, state: {**started.kept, "next": page}}
    return redirect(started.url)


@at_provider.get("/login/provider/done")
def finish() -> Response:
    """Sign in whom the provider names, once for each sign-in that this browser has begun."""
    throttle(STARTS, "provider", origin_of(request.remote_addr or ""))
    provider, begun = _provider(), dict(session.get(KEPT, {}))
    kept = begun.pop(request.args.get("state", ""), None)
    session[KEPT] = begun
    if kept is None:
        return _problem(_("This sign-in was not begun here, or is over. Begin again."), 400)
    if "error" in request.args or not request.args.get("code"):
        return _problem(_("The sign-in provider did not sign you in."), 403)
    try:
        user = provider.finish(request.args["code"], kept, _back())
        account = account_of_provider(site(), user)
    except ProviderError as error:
        return _problem(str(error), 502)
    except InvalidInputError as error:
        return _problem(str(error), 403)
    site().audit.add(account.name, "user.signed_in", account.name, f"by the provider, {shown_address()}")
    sign_in(site(), account)
    session[KEPT] = begun
    return redirect(kept["next"])


def _provider() -> Provider:
    found = site().provider
    if found is None:
        abort(404)
    return found


def _back() -> str:
    return url_for("braid.provider.finish", _external=True)


def _problem(problem: str, status: int) -> Response:
    page = render_template("braid/provider.html", problem=problem, passwords=site().settings.password_sign_in)
    return Response(page, status, mimetype="text/html")
