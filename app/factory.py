"""The Flask app: Braid's pages and API on their own, or inside somebody else's app."""

from __future__ import annotations

import atexit
import logging
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, g, request
from flask.sessions import SecureCookieSessionInterface, SessionMixin
from flask_babel import Babel, get_domain, get_locale
from jinja2.ext import Extension
from werkzeug.middleware.proxy_fix import ProxyFix

from braid.app.api import api
from braid.app.auth.access import MAX_FORM_BYTES, STATIC, admit, answers_to
from braid.app.auth.authenticate import keep_logins
from braid.app.auth.csrf import csrf_token, exempt_from_host, exempt_this_request
from braid.app.auth.identity import identity, shown_address, signed_in
from braid.app.dify import dify
from braid.app.host import Brand, Host, HostUser, require_free
from braid.app.mcp.route import mcp_route
from braid.app.mounted import ROOT, cookie_path, endpoint_here, mounts, url_for
from braid.app.oauth.routes import oauth
from braid.app.openai_api import openai_api
from braid.app.openai_api.cross_origin import answer_preflight
from braid.app.opening import open_braid
from braid.app.pages import PAGES
from braid.app.pages.account import entry
from braid.app.scim.routes import scim
from braid.app.site import Site, site
from braid.app.user.models import SHELF, ModelShelf
from braid.app.web.compression import compress
from braid.app.web.errors import RETRY_AFTER_S, error_response, handle_errors, unknown
from braid.app.web.header import place_here, places
from braid.app.web.health import health
from braid.app.web.security_headers import frame_origins, is_framed, security_headers
from braid.app.web.static_files import hash_name, send_static
from braid.app.web.sub_path import below
from braid.app.words.audit_log import action_name, actor_name, detail_text, target_text
from braid.app.words.filled import TEXTS, FilledDomain, number
from braid.app.words.languages import keep_language, language_links, language_names, select_language, theme
from braid.app.words.reasons import reason_html, sentence
from braid.app.words.values import (
    ago,
    called,
    dataset_name,
    day,
    device,
    model_name,
    moment,
    money,
    person,
    provider_name,
    sentences,
    size,
    spaced,
)
from braid.config.settings import Settings, load_settings
from braid.core import spans
from braid.core.accounts.credentials import SESSION_DAYS
from braid.core.accounts.secret_key import secret_key
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError

TRANSLATIONS = Path(__file__).parent / "translations"

DENIED = (401, 403, 429)
"""Statuses whose line in the log says who asked."""

logger = logging.getLogger(__name__)


def create_app(settings: Settings | None = None, braid: Braid | None = None) -> Flask:
    """Return a standalone app with its own accounts.

    Without a Braid it opens the data directory of the settings and runs the queued jobs until the process ends. With
    one, the caller calls `Site.start_jobs` and `Site.close`. Raises NotOwnerError when another process owns the data
    directory.

    >>> app = create_app(Settings(), braid)
    >>> app.test_client().get("/healthz").status_code
    200
    """
    settings = settings or load_settings()
    is_ours = braid is None
    braid = braid or _open_until_exit(settings)
    app = Flask(__name__, static_folder=None, template_folder=None)
    app.config.update(
        SECRET_KEY=secret_key(braid.data_dir, settings.secret_key),
        SESSION_COOKIE_NAME="braid_session",
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=timedelta(days=SESSION_DAYS),
        MAX_CONTENT_LENGTH=MAX_FORM_BYTES,
        MAX_FORM_MEMORY_SIZE=MAX_FORM_BYTES,
    )
    app.session_interface = _Cookies()
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.add_extension(_Unindented)
    babel = Babel(app, locale_selector=select_language, default_translation_directories=str(TRANSLATIONS))
    with app.app_context():
        babel.domain_instance = FilledDomain(babel.domain_instance)
    app.jinja_env.globals.update(TEXTS)
    here = Site(settings, braid)
    keep_logins(app, lambda: here)
    app.before_request(_number)
    app.before_request(_refuse_other_hosts)
    _mount(app, here, url_prefix="", more=[*entry, scim])
    if is_ours:
        here.start_jobs()
    app.context_processor(_in_templates)
    app.register_error_handler(404, error_response)
    app.register_error_handler(405, error_response)
    app.register_error_handler(Exception, error_response)
    app.after_request(_finish)
    if settings.trusted_proxies:
        n = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=n, x_proto=n, x_host=n)  # type: ignore[method-assign]
    if settings.url_prefix:
        app.wsgi_app = below(app.wsgi_app, settings.url_prefix)  # type: ignore[method-assign,assignment]
    return app


def register_braid(
    host_app: Flask,
    current_user: Callable[[], HostUser | None],
    *,
    braid: Braid,
    settings: Settings | None = None,
    url_prefix: str = "/braid",
    name: str = ROOT,
    login_url: str = "",
    home_url: str = "",
    brand: Brand | None = None,
) -> Site:
    """Mount pages and API in somebody else's app.

    ``current_user`` is called in each request and returns None if nobody is signed in; visitors are then led to
    ``login_url``, with the page that they wanted as ``next``. ``home_url`` and ``brand`` lead back from Braid's pages.
    ``name`` is that of the blueprint, for a host that mounts Braid twice or has a blueprint ``braid``. Queued jobs,
    mostly uploads, are run from now on until Braid is closed or the process ends.

    The host keeps its own sign-in, sessions, error pages and headers for its own addresses. Raises InvalidInputError
    when the host app has no secret key, which the CSRF tokens need, and for a name or prefix that cannot be used.

    >>> host = Flask("host")
    >>> host.secret_key = "keep it secret"
    >>> site = register_braid(host, lambda: HostUser("ann"), braid=braid, settings=Settings())
    >>> host.test_client().get("/braid/search").status_code
    200
    """
    if not host_app.secret_key:
        raise InvalidInputError("the host app has no secret_key; set one, forms need it", field="secret_key")
    host = Host(current_user, login_url, home_url, brand)
    require_free(host_app, name, url_prefix)
    if "babel" not in host_app.extensions:
        Babel(host_app, locale_selector=select_language, default_translation_directories=str(TRANSLATIONS))
    elif not mounts(host_app):
        host_app.extensions["babel"].default_directories.append(str(TRANSLATIONS))
    here = Site(settings or load_settings(), braid, host)
    _mount(host_app, here, name=name, url_prefix=url_prefix, more=[mcp_route, unknown] if url_prefix else [mcp_route])
    here.start_jobs()
    return here


def _mount(app: Flask, here: Site, *, name: str = ROOT, url_prefix: str, more: list[Blueprint]) -> None:
    """Register all blueprints below one, whose hooks apply to Braid's routes only."""
    root = Blueprint(name, __name__, template_folder="templates")
    root.add_url_rule("/static/<path:filename>", endpoint="static", view_func=send_static)
    root.url_defaults(hash_name)
    root.before_request(_begin)
    root.before_request(answer_preflight)
    root.before_request(admit)
    root.after_request(_finish)
    handle_errors(root)
    root.context_processor(_in_templates)
    root.add_app_template_filter(moment, "moment")
    root.add_app_template_filter(reason_html, "reason")
    root.add_app_template_filter(sentence, "translated")
    words = dataset_name, model_name, action_name, actor_name, target_text, detail_text, device, sentences, spaced
    names = person, called, provider_name
    for shows in (ago, day, size, number, money, *words, *names):
        root.add_app_template_filter(shows)
    for routes in (*PAGES, api, openai_api, dify, oauth, health, *more):
        root.register_blueprint(routes)
    mounts(app).append(name)
    app.extensions[name] = here
    app.extensions[SHELF % name] = ModelShelf(here.settings, here.braid)
    root.add_app_template_global(csrf_token, "braid_csrf_token")  # for macros, which see no context
    root.add_app_template_global(url_for, "braid_url_for")
    root.before_app_request(exempt_this_request)
    app.register_blueprint(root, url_prefix=url_prefix or None)
    exempt_from_host(app)


def _in_templates() -> dict[str, Any]:
    return {
        **TEXTS,
        "url_for": url_for,
        "endpoint_here": endpoint_here,
        "is_framed": is_framed,
        "frame_origins": frame_origins,
        "place_here": place_here,
        "places": places,
        "get_locale": get_locale,
        "language_names": language_names,
        "language_links": language_links,
        "theme": theme,
        "csrf_token": csrf_token,
        "site": site,
        "identity": identity,
        "signed_in": signed_in,
    }


def _open_until_exit(settings: Settings) -> Braid:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(open_braid(settings, migrate=True))


_INDENTED = re.compile(r"(?m)^[ \t]+(?=\S)")


class _Unindented(Extension):
    """Has templates be sent with the indentation of their lines as one space: bytes that nobody sees."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the source of a template with its lines where they were. One space stays: where a block takes the line
        break before it, it is all that parts two words.
        """
        return _INDENTED.sub(" ", source)


class _Cookies(SecureCookieSessionInterface):
    """Marks cookies as secure only if the page was loaded over HTTPS; on this computer the page comes over HTTP.

    Static files, which caches may keep for everybody, come without one.
    """

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        if endpoint_here() != STATIC:
            super().save_session(app, session, response)

    def get_cookie_path(self, app: Flask) -> str:
        return cookie_path()

    def get_cookie_secure(self, app: Flask) -> bool:
        return request.is_secure


# ---------------------------------------------------------------- every request


def _number() -> None:
    g.braid_request_id = uuid.uuid4().hex[:12]
    g.braid_started = time.perf_counter()
    if spans.on():
        g.braid_trace = ExitStack()
        g.braid_span = g.braid_trace.enter_context(spans.root("request"))


def _begin() -> None:
    if "braid_request_id" not in g:  # in a host app
        _number()
    if not isinstance(domain := get_domain(), FilledDomain):
        FilledDomain(domain).as_default()


def _refuse_other_hosts() -> Response | None:
    """Refuse a request whose Host header names another app."""
    if answers_to(request.headers.get("Host", ""), site().settings):
        return None
    return Response(
        "Braid does not answer under this name. Open http://127.0.0.1 or http://localhost with its port, or add the "
        "name to the setting allowed_hosts.\n",
        400,
        mimetype="text/plain",
    )


def _finish(response: Response) -> Response:
    """Add the headers, keep the chosen language, and log one line, without the query or the document.

    A host app may have answered the request before `_begin`.
    """
    if g.get("braid_finished"):
        return response
    g.braid_finished = True
    _begin()
    for name, value in security_headers().items():
        response.headers.setdefault(name, value)
    response.headers["X-Request-ID"] = g.braid_request_id
    lasts = response.status_code == 503 and g.get("braid_outage_lasts")
    if response.status_code in (429, 503) and not lasts:
        response.headers.setdefault("Retry-After", str(RETRY_AFTER_S))
    if endpoint_here() != STATIC:
        response.headers.setdefault("Cache-Control", "no-store")
        response.vary.update(("Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cookie"))
        if not is_framed():  # there the page around it chooses
            keep_language(response)
        compress(response)
    route = request.url_rule.rule if request.url_rule else "-"
    took = time.perf_counter() - g.braid_started
    metrics = site().metrics
    metrics.requests.labels(request.method if request.url_rule else "-", route, response.status_code).inc()
    metrics.request_seconds.labels(route).observe(took)
    logger.info(
        "event=request id=%s method=%s route=%s status=%d ms=%.1f%s",
        g.braid_request_id,
        request.method,
        route,
        response.status_code,
        1000 * took,
        _who() if response.status_code in DENIED else "",
    )
    _end_span(route, response.status_code)
    return response


def _end_span(route: str, status: int) -> None:
    if trace := g.pop("braid_trace", None):
        g.braid_span.set_attribute("http.request.method", request.method if request.url_rule else "-")
        g.braid_span.set_attribute("http.route", route)
        g.braid_span.set_attribute("http.response.status_code", status)
        trace.close()


def _who() -> str:
    """Say who was denied something, for the administrator and programs such as fail2ban."""
    found = signed_in()
    return f" address={shown_address()} user={found.account.id if found else '-'}"


def routes_of(app: Flask) -> Iterator[tuple[str, str]]:
    """Yield (endpoint, rule) of every Braid route in the app."""
    for found in app.url_map.iter_rules():
        if found.endpoint.partition(".")[0] in mounts(app):
            yield found.endpoint, found.rule
