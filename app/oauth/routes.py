"""Routes of the authorization server for programs: metadata, registration, tokens, revocation.

Pages of any origin may ask them: they look at no cookie, and some clients run in a browser.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from flask import Response, abort, jsonify, request
from limits import parse

from braid.app.auth.access import Routes, takes_uploads, throttle
from braid.app.auth.challenge import RESOURCES, base_address
from braid.app.auth.identity import origin_of
from braid.app.oauth.metadata import openid_metadata, resource_metadata, server_metadata

if TYPE_CHECKING:  # Authlib takes a while to load: it is imported with the first request
    from authlib.integrations.flask_oauth2 import AuthorizationServer

REGISTRATIONS = parse("30/hour")
"""Registrations from one address; `core.accounts.connected_apps` keeps a thousand unused ones of all."""
TOKEN_REQUESTS = parse("300/minute")
"""Token requests from one address. All users of a chat assistant come from a few addresses."""
MAX_BODY_BYTES = 64 * 1024
PREFLIGHT_S = 600

oauth = Routes("oauth", __name__, "client")


@oauth.get("/.well-known/oauth-authorization-server")
@oauth.get("/.well-known/oauth-authorization-server/<path:place>", endpoint="server_document_of")
def server_document(place: str = "") -> Response:
    """Describe the server. Below a path the address has it at its end, or, where only the path leads here, before."""
    _require_place(place, [""])
    return jsonify(server_metadata(base_address()))


@oauth.get("/.well-known/openid-configuration")
@oauth.get("/.well-known/openid-configuration/<path:place>", endpoint="openid_document_of")
def openid_document(place: str = "") -> Response:
    """Describe the server where clients look for it below a path."""
    _require_place(place, [""])
    return jsonify(openid_metadata(base_address()))


@oauth.get("/.well-known/oauth-protected-resource")
@oauth.get("/.well-known/oauth-protected-resource/<path:place>", endpoint="resource_document_of")
def resource_document(place: str = "") -> Response:
    """Describe what a token is for: everything, or what is at the path."""
    path = _require_place(place, ["", *RESOURCES])
    return jsonify(resource_metadata(base_address(), path))


@oauth.get("/oauth/keys")
def keys() -> dict[str, list[object]]:
    """Return the keys that sign ID tokens: none."""
    return {"keys": []}


@oauth.post("/oauth/register")
@takes_uploads(lambda _settings: MAX_BODY_BYTES)
def register() -> Response:
    """Register an app (RFC 7591)."""
    throttle(REGISTRATIONS, "oauth-register", _origin())
    return _answer(lambda here: here.create_endpoint_response("client_registration"))


@oauth.post("/oauth/token")
@takes_uploads(lambda _settings: MAX_BODY_BYTES)
def token() -> Response:
    """Exchange a code, or a refresh token, for tokens (RFC 6749)."""
    throttle(TOKEN_REQUESTS, "oauth-token", _origin())
    return _answer(lambda here: here.create_token_response())


@oauth.post("/oauth/revoke")
@takes_uploads(lambda _settings: MAX_BODY_BYTES)
def revoke() -> Response:
    """End the access that a token gives (RFC 7009)."""
    throttle(TOKEN_REQUESTS, "oauth-token", _origin())
    return _answer(lambda here: here.create_endpoint_response("revocation"))


@oauth.after_request
def let_pages_read(response: Response) -> Response:
    """Let the pages of all origins read the answers."""
    response.headers["Access-Control-Allow-Origin"] = "*"
    if request.method == "OPTIONS":
        response.headers["Access-Control-Allow-Methods"] = "GET, POST"
        response.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type, MCP-Protocol-Version"
        response.headers["Access-Control-Max-Age"] = str(PREFLIGHT_S)
    return response


def _require_place(place: str, paths: list[str]) -> str:
    """Return which of the paths below Braid's address the place is, with that address's own path before it or not."""
    below = urlsplit(base_address()).path
    for path in paths:
        if place.strip("/") in {f"{start}{path}".strip("/") for start in ("", below)}:
            return path
    abort(404)


def _origin() -> str:
    return origin_of(request.remote_addr or "")


def _answer(ask: Callable[[AuthorizationServer], Response]) -> Response:
    """Return the server's answer, also to a request that it cannot even read, in the form of RFC 6749, section 5.2."""
    from authlib.oauth2 import OAuth2Error

    from braid.app.oauth.server import server

    try:
        return ask(server())
    except OAuth2Error as error:
        refused: Response = server().handle_error_response(None, error)
        return refused
