"""The apps that a user connects: the page on which one is let in, and those that are, each with what it may read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask import Response, render_template, request
from flask_babel import gettext as _
from limits import parse
from werkzeug.wrappers import Response as AnyResponse

from braid.app.auth.access import Routes, throttle
from braid.app.auth.challenge import base_address
from braid.app.auth.identity import identity
from braid.app.oauth.redirects import destination, form_targets
from braid.app.pages.account.mine import account, is_fresh, knows_password, sign_in_again
from braid.app.site import site
from braid.app.user.dataset_picker import make_picker
from braid.app.user.datasets import readable_datasets
from braid.app.web.security_headers import SECURITY_HEADERS
from braid.app.words.languages import language_names
from braid.app.words.values import dataset_name
from braid.core.accounts.connected_apps import Grant
from braid.core.datasets.scope import MAX_DATASET_IDS
from braid.core.errors import InvalidInputError
from braid.core.options import ALL, Datasets

if TYPE_CHECKING:
    from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant


CONSENTS = parse("30/minute")
POLICY = "Content-Security-Policy"

consent = Routes("consent", __name__, "user")


@consent.get("/oauth/authorize")
def ask() -> Response:
    """Show who asks, and the datasets to pick from."""
    asked = _asked()
    return asked if isinstance(asked, Response) else _page(asked)


@consent.post("/oauth/authorize")
def decide() -> Response:
    """Send the user back to the app, with a code for the datasets that are ticked, or without."""
    from braid.app.oauth.server import Decision, server

    asked, me = _asked(), identity().account
    if isinstance(asked, Response):
        return asked
    if request.form.get("decision") != "allow":
        refused: Response = server().create_authorization_response(grant_user=None, grant=asked)
        return refused
    throttle(CONSENTS, "oauth-consent", str(me.id))
    ticked, readable = request.form.getlist("d"), [dataset.id for dataset in readable_datasets(me).all]
    chosen = readable if ALL in ticked else [each for each in readable if str(each) in ticked]
    if not 1 <= len(chosen) <= MAX_DATASET_IDS:
        return _page(asked, _("Select at least one dataset."), chosen)
    if problem := _unproved():
        return _page(asked, problem, chosen)
    scopes = [scope for scope in asked.request.scope.split() if scope == "read" or "write" in request.form]
    try:
        allowed: Response = server().create_authorization_response(grant_user=Decision(me, scopes, chosen), grant=asked)
    except InvalidInputError:
        return _page(asked, _("You have connected as many apps as possible. Disconnect one first."), chosen)
    return allowed


def _asked() -> AuthorizationCodeGrant | Response:
    """Return what the app asks for; for a request that is wrong, the way back to the app, or a page that says so."""
    from authlib.oauth2 import OAuth2Error

    from braid.app.oauth.server import refusal, server

    try:
        return server().get_consent_grant(end_user=identity().account)
    except OAuth2Error as error:
        answer: Response | None = refusal(error)
        if answer is not None:
            return answer
        page = render_template("braid/consent_refused.html", problem=error.description or error.error)
        return Response(page, 400, mimetype="text/html")


def _unproved() -> str:
    """Return what the user has to do first, where the sign-in was long ago: an app outlives the session."""
    if is_fresh():
        return ""
    if identity().account.has_password and site().standalone:
        return "" if knows_password(request.form.get("again", "")) else str(_("Your password is wrong."))
    return str(_("Sign in again to connect an app."))


def _page(asked: AuthorizationCodeGrant, problem: str = "", chosen: list[int] | None = None) -> Response:
    readable, me = readable_datasets(identity().account), identity().account
    only = [dataset.id for dataset in readable.all] if len(readable.all) == 1 else []
    here = request.script_root + request.full_path
    page = render_template(
        "braid/consent.html",
        app=asked.client.app,
        destination=destination(asked.redirect_uri),
        picker=make_picker(readable, Datasets.of(only if chosen is None else chosen), language_names(readable.all)),
        asks_to_write="write" in asked.request.scope.split(),
        writes="write" in request.form,
        here=here,
        fresh=is_fresh(),
        asks_password=me.has_password and site().standalone,
        sign_in_again=sign_in_again(here),
        problem=problem,
    )
    response = Response(page, 400 if problem else 200, mimetype="text/html")
    lets_lead = f"form-action 'self' {form_targets(asked.redirect_uri)}"
    response.headers[POLICY] = SECURITY_HEADERS[POLICY].replace("form-action 'self'", lets_lead)
    return response


# ---------------------------------------------------------------- the connected apps


@dataclass(frozen=True, slots=True)
class ShownApp:
    """A grant with what a reader sees of it."""

    grant: Grant
    destination: str
    """Host that the code was sent to; empty for a program on the user's computer."""
    names: tuple[str, ...]
    """Names of the datasets that the app reads."""
    gone: int
    """Datasets that the user let it read, and can no longer read."""


@account.get("/account/apps")
def apps() -> str:
    """List the connected apps."""
    me = identity().account
    readable = {dataset.id: dataset_name(dataset.name) for dataset in readable_datasets(me).all}
    shown = [_shown(grant, readable) for grant in site().connected_apps.of_user(me.id)]
    return render_template("braid/connected_apps.html", apps=shown, address=f"{base_address()}/mcp")


@account.post("/account/apps/<int:grant_id>/disconnect")
def disconnect_app(grant_id: int) -> AnyResponse:
    """End an app's access, at once."""
    me = identity().account
    ended = site().connected_apps.disconnect(me.id, grant_id)
    site().audit.add(me.name, "app.disconnected", me.name, f"{ended.app[:60]!r}, by the user")
    return account.done(_("%(name)s is disconnected.", name=ended.app), "apps")


def _shown(grant: Grant, readable: dict[int, str]) -> ShownApp:
    names = tuple(name for dataset_id, name in readable.items() if dataset_id in grant.dataset_ids)
    return ShownApp(grant, destination(grant.redirect_uri), names, len(grant.dataset_ids) - len(names))
