"""Access rules of routes: that of their `Routes`, unless a route states its own. A route without one is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlencode

from flask import Blueprint, current_app, flash, g, redirect, request
from limits import RateLimitItem
from werkzeug.exceptions import Forbidden, NotFound, RequestEntityTooLarge, TooManyRequests, Unauthorized
from werkzeug.wrappers import Response

from braid.app.auth.authenticate import identify
from braid.app.auth.body_limit import bound_fields, set_body_limit
from braid.app.auth.challenge import LacksScope, NoToken
from braid.app.auth.csrf import refuse_forged_requests
from braid.app.auth.identity import Identity
from braid.app.auth.proxy_users import connected_from
from braid.app.auth.quotas import take_share
from braid.app.mounted import blueprints_here, endpoint_here, theirs, url_for
from braid.app.site import Site, site
from braid.config.settings import Settings
from braid.core.accounts.credentials import Permission
from braid.core.errors import Reason, internal
from braid.core.types import MAX_ID

Who = Literal["anyone", "client", "user", "admin"]
"""``client`` is a program that has registered itself, which authenticates to the view: no user sends its requests."""
View = TypeVar("View", bound=Callable[..., object])

STATIC = "braid.static"
API = "/api/v1/"
SAFE = ("GET", "HEAD", "OPTIONS")
IN_JSON = ("braid.api", "braid.openai_api", "braid.dify", "braid.oauth", "braid.scim")
"""Blueprints that answer errors in JSON, whatever the caller accepts."""
FOR_PROGRAMS = (*IN_JSON, "braid.health", "braid.mcp")
"""Blueprints whose routes accept API tokens.

Other routes are for browsers: a token must not create another token there.
"""
MAX_FORM_BYTES = 2 * 2**20
"""Largest body of a request that is not an upload, in bytes."""

# A page of another site can make its own name point at this computer (DNS rebinding); the Host header then
# carries that name. The port says nothing about that, and differs behind an SSH tunnel.
LOCAL_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)
LOCAL_ADDRESSES = ("127.0.0.1", "::1")
FORWARDING = ("forwarded", "via", "x-real-ip", "x-client-ip", "cf-connecting-ip", "true-client-ip")
"""Headers that proxies add, besides those that begin with ``X-Forwarded-``."""


class Rule(NamedTuple):
    """Users who may call a route, and the permission (for users: the scope) that an API token needs for it."""

    who: Who
    permission: Permission | None

    def permission_for(self, method: str) -> Permission:
        """Return the permission that a token needs for a request with this method."""
        if self.permission is not None:
            return self.permission
        if self.who == "admin":
            return "admin"
        return "read" if method in SAFE else "write"


def rule(
    who: Who, permission: Permission | None = None, *, limited: bool = False, or_if: Callable[[], bool] = bool
) -> Callable[[View], View]:
    """State a route's rule. Apply below the route's decorator.

    Without a permission it is ``admin`` for administrators' routes, else ``read`` for requests that only read and
    ``write`` for all others. Only a route that is ``limited`` lets tokens in that are limited to some datasets. A
    request for which ``or_if`` is true is let through without a user.
    """

    def state(view: View) -> View:
        view.braid_rule = Rule(who, permission)  # type: ignore[attr-defined]
        view.braid_limited = limited  # type: ignore[attr-defined]
        view.braid_or_if = or_if  # type: ignore[attr-defined]
        return view

    return state


class Routes(Blueprint):
    """Routes for ``who``, unless one states a `rule` of its own."""

    def __init__(self, name: str, import_name: str, who: Who, **options: Any) -> None:
        super().__init__(name, import_name, **options)
        self._state = rule(who)

    def add_url_rule(
        self,
        rule: str,
        endpoint: str | None = None,
        view_func: Callable[..., Any] | None = None,
        provide_automatic_options: bool | None = None,
        **options: Any,
    ) -> None:
        """Register a route, whose view has its own rule or that of all."""
        view = None if view_func is None else with_rule(view_func, self._state)
        super().add_url_rule(rule, endpoint, view, provide_automatic_options, **options)

    def done(self, told: str, view: str, **values: Any) -> Response:
        """Redirect to the page of one of these views, which shows the text."""
        flash(told)
        return redirect(url_for(f"braid.{self.name}.{view}", **values))


def with_rule(view: View, state: Callable[[View], View]) -> View:
    """Return the view with its own rule, or else with the one that is given."""
    return view if hasattr(view, "braid_rule") else state(view)


def takes_uploads(max_bytes: Callable[[Settings], int]) -> Callable[[View], View]:
    """State the largest body that a route accepts, in place of `MAX_FORM_BYTES`. Apply below `rule`."""

    def state(view: View) -> View:
        view.braid_max_bytes = max_bytes  # type: ignore[attr-defined]
        return view

    return state


def rule_of(endpoint: str) -> Rule | None:
    """Return the rule that a route states, by the code's name of its endpoint, or None."""
    if endpoint == STATIC:
        return Rule("anyone", None)
    found: Rule | None = getattr(_view(endpoint), "braid_rule", None)
    return found


def _view(endpoint: str) -> Callable[..., object] | None:
    return current_app.view_functions.get(theirs(endpoint))


def admit() -> Response | None:
    """Let the request pass, or return a redirect to the sign-in form. Sets the identity for the rest of the request.

    Raises Unauthorized, Forbidden, NotFound for an id beyond `MAX_ID`, and RequestEntityTooLarge.
    """
    if endpoint_here() == STATIC:
        return None
    here, stated = site(), rule_of(endpoint_here())
    if stated is None:
        raise Forbidden("this address has no rule that allows it")
    # no row has such an id, and databases refuse the number
    if any(isinstance(value, int) and abs(value) > MAX_ID for value in (request.view_args or {}).values()):
        raise NotFound
    if getattr(_view(endpoint_here()), "braid_or_if", bool)():
        return None
    if stated.who == "client":
        _allow_upload(here)
        return None
    g.braid_identity = found = identify(here)
    if stated.who != "anyone":
        if found is None:
            return _to_sign_in(here)
        _require_right(stated, found)
    _allow_upload(here)
    # a browser sends its cookie with forged requests as well; a token is only sent on purpose
    if request.method not in SAFE and not (found and found.by_token):
        refuse_forged_requests()
    return None


def _require_right(stated: Rule, found: Identity) -> None:
    """Raise Forbidden unless the caller, and the token, may call the route."""
    if found.by_token and not set(FOR_PROGRAMS).intersection(blueprints_here()):
        raise Forbidden("API tokens are for the API, /metrics and MCP; pages are opened by signing in")
    if stated.who == "admin" and not found.account.is_admin:
        raise Forbidden(Reason("only administrators may do this"))
    take_share(request.environ, found.account.id)
    if (needed := stated.permission_for(request.method)) not in found.permissions:
        raise LacksScope(needed)
    if found.dataset_ids is not None and not getattr(_view(endpoint_here()), "braid_limited", False):
        raise Forbidden("this token is limited to some datasets, and this address is about more than those")


def _allow_upload(here: Site) -> None:
    """Set the body limit of this route before anything reads the body. Refuses a larger declared length at once."""
    bound_fields()
    view = _view(endpoint_here())
    if max_bytes := getattr(view, "braid_max_bytes", None):
        most = max_bytes(here.settings)
        if (request.content_length or 0) > most:
            raise RequestEntityTooLarge(
                Reason("at most %(most)s bytes are accepted at once; split it", most=format(most, ","))
            )
        set_body_limit(most + 2)  # a view that reads one byte too many can report what is too long
    elif request.max_content_length is None:  # in a host app that sets no limit of its own
        set_body_limit(MAX_FORM_BYTES)


def _to_sign_in(here: Site) -> Response:
    """Redirect pages to the sign-in form, in a host app to the host's. Raises Unauthorized for everything else."""
    is_page = request.method in SAFE and not wants_json() and "Authorization" not in request.headers
    page = request.script_root + request.full_path.rstrip("?")
    # a disabled account is signed in at the host: it would come back from there for ever
    there = here.host.sign_in_url(page) if here.host is not None and here.host.user() is None else ""
    if {"braid.embed", "braid.health"} & set(blueprints_here()):  # no form in a frame, nor for a program
        is_page = False
    if is_page and there:
        return redirect(there)
    if not here.standalone or not is_page:
        told = internal("sign in, or send an API token: Authorization: Bearer braid_…")
        raise NoToken(told) if set(FOR_PROGRAMS).intersection(blueprints_here()) else Unauthorized(told)
    if here.accounts.need_setup():
        return redirect(url_for("braid.sign_in.setup"))
    return redirect(url_for("braid.sign_in.login") + "?" + urlencode({"next": page}))


def wants_json() -> bool:
    """Return whether the caller is a program or a page's script."""
    if set(IN_JSON).intersection(blueprints_here()) or API in request.path or request.path.endswith(".json"):
        return True
    best = request.accept_mimetypes.best_match(("text/html", "application/json", "text/event-stream"))
    return best != "text/html" and "Accept" in request.headers and "*/*" not in request.headers["Accept"]


def answers_to(host: str, settings: Settings) -> bool:
    """Whether the app answers under the name in a Host header."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return bool(LOCAL_HOST.fullmatch(host)) or name.lower() in map(str.lower, settings.allowed_hosts)


def is_local() -> bool:
    """Return whether the request comes from this computer and is addressed to this computer's own name.

    Behind a proxy the connection must come from this computer, too: who reaches Braid without the proxy gives any
    address as the visitor's.
    """
    local_name = LOCAL_HOST.fullmatch(request.headers.get("Host", "")) is not None
    return local_name and {request.remote_addr, connected_from()} <= set(LOCAL_ADDRESSES)


def is_forwarded() -> bool:
    """Return whether the request came through a proxy.

    nginx adds no header unless configured to, but speaks HTTP/1.0, which no browser does.
    """
    names = {name.lower() for name, _ in request.headers}
    by_name = any(name in FORWARDING or name.startswith("x-forwarded-") for name in names)
    return by_name or request.environ.get("SERVER_PROTOCOL") == "HTTP/1.0"


def throttle(limit: RateLimitItem, *key: str) -> None:
    """Count this attempt. Raises TooManyRequests after too many attempts with this key."""
    if not site().limiter.hit(limit, *key):
        raise TooManyRequests(Reason("too many attempts; wait a minute and try again"), retry_after=60)
