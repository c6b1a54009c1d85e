"""The Flask app: who may talk to it, in which language, and what an error looks like."""

from __future__ import annotations

import json
import logging
import re
import time
import traceback
import uuid
from collections.abc import Iterator
from urllib.parse import urlencode

from flask import Flask, Response, g, render_template, request
from flask_babel import Babel, get_locale
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from werkzeug.exceptions import HTTPException

from app.pages import blueprint
from config.settings import Settings, load_settings
from core.braid import Braid
from core.errors import (
    BraidError,
    EmbeddingError,
    IndexUnavailableError,
    InvalidInputError,
    NotFoundError,
    NotOwnerError,
)

LANGUAGES = {"en": "English", "ja": "日本語", "ko": "한국어"}
LANGUAGE_COOKIE = "braid_language"
LANGUAGE_COOKIE_DAYS = 365
JSON_PATHS = ("/status.json", "/healthz")

# A page of another site can make its own name point at this computer (DNS rebinding); the Host header then
# carries that name. The port says nothing about that, and differs behind an SSH tunnel.
LOCAL_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

STATUS_OF = {
    InvalidInputError: 400,
    NotFoundError: 404,
    IndexUnavailableError: 503,
    EmbeddingError: 503,
    NotOwnerError: 503,
}
REMEDIES = {
    "query": _l("Type a query of 1 to 10,000 characters."),
    "k": _l("The number of passages must be a whole number from 1 to 1000."),
    "mode": _l("Choose hybrid, meaning or keywords as the mode."),
    "fusion": _l("Choose fusion by rank or by score."),
    "alpha": _l("The balance must be a number from 0 to 1."),
    "dataset_ids": _l("Choose the datasets with the boxes on the search page."),
}

log = logging.getLogger(__name__)


def create_app(settings: Settings | None = None, braid: Braid | None = None) -> Flask:
    """The app over an open Braid. Without one it answers 503 until `app.extensions["braid"]` is set."""
    app = Flask(__name__)
    app.extensions["settings"] = settings or load_settings()
    app.extensions["braid"] = braid
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    Babel(app, locale_selector=_chosen_language)
    app.context_processor(lambda: {"get_locale": get_locale, "language_links": _language_links})
    app.before_request(_admit)
    app.after_request(_finish)
    app.register_error_handler(BraidError, _on_braid_error)
    app.register_error_handler(HTTPException, _on_http_error)
    app.register_error_handler(Exception, _on_unexpected)
    app.register_blueprint(blueprint)
    return app


# ---------------------------------------------------------------- every request


def _admit() -> Response | None:
    """Number the request, and turn away one that was not meant for this computer."""
    g.request_id = uuid.uuid4().hex[:12]
    g.started = time.perf_counter()
    if LOCAL_HOST.fullmatch(request.headers.get("Host", "")):
        return None
    return Response(
        "Braid answers on this computer only. Open http://127.0.0.1 or http://localhost with its port.\n",
        400,
        mimetype="text/plain",
    )


def _finish(response: Response) -> Response:
    """Add the headers, keep the chosen language, and log one line, without the query or the document."""
    response.headers.update(SECURITY_HEADERS)
    response.headers["X-Request-ID"] = g.request_id
    if request.endpoint != "static":
        response.headers["Cache-Control"] = "no-store"
        response.headers["Vary"] = "Accept-Language, Cookie"
        _keep_language(response)
    route = request.url_rule.rule if request.url_rule else "-"
    took = 1000 * (time.perf_counter() - g.started)
    log.info(
        "event=request id=%s method=%s route=%s status=%d ms=%.1f",
        g.request_id,
        request.method,
        route,
        response.status_code,
        took,
    )
    return response


# ---------------------------------------------------------------- language


def _chosen_language() -> str:
    """The language asked for in the address, else the one asked for earlier, else the browser's."""
    for given in (request.args.get("lang"), request.cookies.get(LANGUAGE_COOKIE)):
        if given in LANGUAGES:
            return given
    accepted = (tag.partition("-")[0].lower() for tag, quality in request.accept_languages if quality > 0)
    return next((code for code in accepted if code in LANGUAGES), "en")


def _keep_language(response: Response) -> None:
    language = request.args.get("lang")
    if language in LANGUAGES:
        response.set_cookie(
            LANGUAGE_COOKIE, language, max_age=LANGUAGE_COOKIE_DAYS * 86_400, httponly=True, samesite="Lax"
        )


def _language_links() -> Iterator[tuple[str, str, str]]:
    """(code, own name, address) of each language; the address is this page's in that language."""
    for code, name in LANGUAGES.items():
        arguments = [(key, value) for key, value in request.args.items(multi=True) if key != "lang"]
        yield code, name, "?" + urlencode([*arguments, ("lang", code)])


# ---------------------------------------------------------------- errors


def _on_braid_error(error: BraidError) -> tuple[Response | str, int]:
    status = next((code for kind, code in STATUS_OF.items() if isinstance(error, kind)), 500)
    field = error.field if isinstance(error, InvalidInputError) else ""
    if status >= 500:
        log.warning("event=error id=%s type=%s status=%d", g.request_id, type(error).__name__, status)
    return _error(status, detail=str(error), field=field)


def _on_http_error(error: HTTPException) -> tuple[Response | str, int] | HTTPException:
    if error.code is None or error.code < 400:
        return error
    return _error(error.code)


def _on_unexpected(error: Exception) -> tuple[Response | str, int]:
    """The edge: log the kind of error and where, but not its message, which may quote a document."""
    frames = traceback.extract_tb(error.__traceback__)
    at = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames[-4:]))
    log.error("event=unexpected id=%s type=%s at=%s", g.request_id, type(error).__name__, at)
    return _error(500)


def _error(status: int, *, detail: str = "", field: str = "") -> tuple[Response | str, int]:
    headings = {
        400: _("This cannot be searched for"),
        404: _("There is nothing here"),
        503: _("Not available right now"),
    }
    heading = headings.get(status, _("Something went wrong"))
    if request.path in JSON_PATHS:
        problem = {
            "title": heading,
            "status": status,
            "detail": detail,
            "field": field,
            "request_id": g.request_id,
        }
        body = json.dumps({name: value for name, value in problem.items() if value}, ensure_ascii=False)
        return Response(body, mimetype="application/problem+json"), status
    page = render_template(
        "error.html",
        heading=heading,
        remedy=REMEDIES.get(field, ""),
        detail=detail,
        request_id=g.request_id if status >= 500 else "",
    )
    return page, status
