"""Who may call a route. Every route says so with `rule`; one that does not is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar
from urllib.parse import urlencode

from flask import current_app, g, redirect, request, url_for
from flask_wtf.csrf import CSRFProtect
from limits import RateLimitItem
from werkzeug.exceptions import Forbidden, NotFound, RequestEntityTooLarge, TooManyRequests, Unauthorized
from werkzeug.wrappers import Response

from braid.app.auth.authenticate import identify
from braid.app.auth.shares import take_share
from braid.app.site import Site, site
from braid.config.settings import Settings
from braid.core.accounts.credentials import Permission
from braid.core.types import MAX_ID

Who = Literal["anyone", "user", "admin"]
View = TypeVar("View", bound=Callable[..., object])

STATIC = "braid.static"
API = "/api/v1/"
SAFE = ("GET", "HEAD", "OPTIONS")
FOR_PROGRAMS = ("braid.api", "braid.health", "braid.owner")
"""Blueprints whose routes take API tokens. The others are for browsers: a token must not make another one there."""
"""What an integer column holds; nothing has a higher id."""
MAX_FORM_BYTES = 2 * 2**20
"""Of a request that is not an upload."""

# A page of another site can make its own name point at this computer (DNS rebinding); the Host header then
# carries that name. The port says nothing about that, and differs behind an SSH tunnel.
LOCAL_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)
LOCAL_ADDRESSES = ("127.0.0.1", "::1")
FORWARDING = ("forwarded", "via", "x-real-ip", "x-client-ip", "cf-connecting-ip", "true-client-ip")
"""Headers that proxies add, beside those that begin with ``X-Forwarded-``."""

csrf = CSRFProtect()


class Rule(NamedTuple):
    """Who may call a route, and the permission that an API token needs for it (its scope, to users)."""

    who: Who
    permission: Permission | None

    def permission_for(self, method: str) -> Permission:
        """The permission that a token needs for a request of this method."""
        if self.permission is not None:
            return self.permission
        if self.who == "admin":
            return "admin"
        return "read" if method in SAFE else "write"


def rule(who: Who, permission: Permission | None = None) -> Callable[[View], View]:
    """State a route's rule. Without a permission it is ``admin`` for administrators' routes, else ``read`` for requests
    that only read, and ``write`` for others. Goes below the route's decorator.
    """

    def state(view: View) -> View:
        view.braid_rule = Rule(who, permission)  # type: ignore[attr-defined]
        return view

    return state


def takes_uploads(max_bytes: Callable[[Settings], int]) -> Callable[[View], View]:
    """State that a route takes bodies of so many bytes, instead of those of a form. Goes below `rule`."""

    def state(view: View) -> View:
        view.braid_max_bytes = max_bytes  # type: ignore[attr-defined]
        return view

    return state


def rule_of(endpoint: str) -> Rule | None:
    """The rule that a route states."""
    if endpoint == STATIC:
        return Rule("anyone", None)
    found: Rule | None = getattr(current_app.view_functions.get(endpoint), "braid_rule", None)
    return found


def admit() -> Response | None:
    """Let the request pass, or say why not. Sets the identity for what follows."""
    if request.endpoint == STATIC:
        return None
    here, stated = site(), rule_of(request.endpoint or "")
    if stated is None:
        raise Forbidden("this address has no rule that allows it")
    if any(isinstance(value, int) and abs(value) > MAX_ID for value in (request.view_args or {}).values()):
        raise NotFound
    g.braid_identity = found = identify(here)
    if stated.who != "anyone":
        if found is None:
            return _to_sign_in(here)
        if found.by_token and not set(FOR_PROGRAMS).intersection(request.blueprints):
            raise Forbidden("API tokens are for the API, /metrics and MCP; pages are opened by signing in")
        if stated.who == "admin" and not found.account.is_admin:
            raise Forbidden("only administrators may do this")
        take_share(request.environ, found.account.id)
        if (needed := stated.permission_for(request.method)) not in found.permissions:
            raise Forbidden(f"the token lacks the scope {needed!r}; make one that has it")
    _allow_upload(here)
    if request.method not in SAFE and not (found and found.by_token):
        csrf.protect()
    return None


def _allow_upload(here: Site) -> None:
    """Set the limit of this route's body, before anything reads it. What is declared as longer is refused at once."""
    view = current_app.view_functions.get(request.endpoint or "")
    if max_bytes := getattr(view, "braid_max_bytes", None):
        most = max_bytes(here.settings)
        if (request.content_length or 0) > most:
            raise RequestEntityTooLarge(f"at most {most:,} bytes are taken at once; split it")
        request.max_content_length = most + 2  # so that who reads one byte too many can say what is too long
    elif request.max_content_length is None:  # in a host app that sets no limit of its own
        request.max_content_length = MAX_FORM_BYTES


def _to_sign_in(here: Site) -> Response:
    """Pages lead to the form; everything else gets 401."""
    if not here.standalone or request.method not in SAFE or wants_json() or "Authorization" in request.headers:
        raise Unauthorized("sign in, or send an API token: Authorization: Bearer braid_…")
    if here.accounts.need_setup():
        return redirect(url_for("braid.account.setup"))
    target = request.full_path.rstrip("?")
    return redirect(url_for("braid.account.login") + "?" + urlencode({"next": target}))


def wants_json() -> bool:
    """Whether the caller is a program or a page's script."""
    if "braid.api" in request.blueprints or API in request.path or request.path.endswith(".json"):
        return True
    best = request.accept_mimetypes.best_match(("text/html", "application/json", "text/event-stream"))
    return best != "text/html" and "Accept" in request.headers and "*/*" not in request.headers["Accept"]


def answers_to(host: str, settings: Settings) -> bool:
    """Whether the app answers under the name in a Host header."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return bool(LOCAL_HOST.fullmatch(host)) or name.lower() in map(str.lower, settings.allowed_hosts)


def is_local() -> bool:
    """Whether the request comes from this computer, to this computer's own name."""
    local_name = LOCAL_HOST.fullmatch(request.headers.get("Host", "")) is not None
    return local_name and request.remote_addr in LOCAL_ADDRESSES


def is_forwarded() -> bool:
    """Whether the request came through a proxy.

    nginx adds no header unless configured to, but speaks HTTP/1.0, as no browser does.
    """
    names = {name.lower() for name, _ in request.headers}
    by_name = any(name in FORWARDING or name.startswith("x-forwarded-") for name in names)
    return by_name or request.environ.get("SERVER_PROTOCOL") == "HTTP/1.0"


def throttle(limit: RateLimitItem, *key: str) -> None:
    """Count this attempt. Raises TooManyRequests when there were too many of this key."""
    if not site().limiter.hit(limit, *key):
        raise TooManyRequests("too many attempts; wait a minute and try again", retry_after=60)
