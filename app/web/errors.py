"""Error responses: an HTML page for people, problem details (RFC 9457) for programs."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from flask import Blueprint, Response, g, render_template, request
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException, default_exceptions

from braid.app.auth.access import wants_json
from braid.app.auth.authenticate import identify
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.words.reasons import translated
from braid.core.errors import (
    BraidError,
    EmbeddingError,
    IndexUnavailableError,
    InvalidInputError,
    ModelBusyError,
    ModelError,
    NotFoundError,
    NotOwnerError,
    RegistryError,
    TooManyError,
)
from braid.core.ingest.parse_pool import ParserUnavailableError
from braid.core.ledger.outages import Outage, log_outage, outage_of

STATUS_OF = {
    InvalidInputError: 400,
    RegistryError: 400,
    NotFoundError: 404,
    IndexUnavailableError: 503,
    EmbeddingError: 503,
    NotOwnerError: 503,
    ParserUnavailableError: 503,
    ModelBusyError: 429,
    ModelError: 503,
    TooManyError: 429,
}
KEPT_HEADERS = ("Retry-After", "Allow", "WWW-Authenticate")
UNROUTED = (404, 405)
"""Statuses of addresses that no route answers, so that nobody has asked yet who sends the request."""
RETRY_AFTER_S = 5
"""What a client is told to wait after a 503 that names no other time."""
REMEDIES = {
    "text": _l("Enter a question of 1 to 10,000 characters."),
    "query": _l("Enter a query of 1 to 10,000 characters."),
    "k": _l("The number of passages must be a whole number from 1 to 1000."),
    "mode": _l("Choose hybrid, meaning or keywords as the mode."),
    "fusion": _l("Choose automatic fusion, or fusion by rank or by score."),
    "alpha": _l("The balance must be a number from 0 to 1."),
    "strategy": _l("Choose a strategy from the list."),
    "file_types": _l("Select the file types with the checkboxes."),
    "date_from": _l("Enter dates as year-month-day; the first must not be later than the last."),
    "date_to": _l("Enter dates as year-month-day; the first must not be later than the last."),
    "metadata": _l("Enter a value of the kind that the documents have, such as 2024, 2026-01-31 or true."),
    "purpose": _l("Fill in purpose, materials or methods, with at most 10,000 characters in all."),
    "instruction": _l("The instruction may have at most 2,000 characters."),
    "dataset_ids": _l("Select the datasets with the checkboxes on the search page."),
}

logger = logging.getLogger(__name__)


def handle_errors(routes: Blueprint) -> None:
    """Register handlers for every error of these routes."""
    routes.register_error_handler(BraidError, on_braid_error)
    routes.register_error_handler(HTTPException, on_http_error)
    for status in default_exceptions:  # a host's handler of one status comes before ours of all
        routes.register_error_handler(status, on_http_error)
    routes.register_error_handler(Exception, on_unexpected)


def on_braid_error(error: BraidError) -> tuple[Response | str, int]:
    """Answer an error that Braid raised on purpose; its message is safe to show."""
    if outage := outage_of(error):
        return on_outage(outage)
    field = error.field if isinstance(error, InvalidInputError) else ""
    return answer(logged_status(error), detail=str(error), field=field)


def logged_status(error: BraidError) -> int:
    """Return the HTTP status of an error, and log one that is the server's."""
    status = status_of(error)
    if status >= 500:
        logger.warning("event=error id=%s type=%s status=%d", _request_id(), type(error).__name__, status)
    return status


def status_of(error: BraidError) -> int:
    """Return the HTTP status of an error."""
    return next((code for kind, code in STATUS_OF.items() if isinstance(error, kind)), 500)


def on_http_error(error: HTTPException) -> tuple[Response | str, int] | HTTPException:
    """Answer an error of HTTP itself, such as not found, not allowed or too large."""
    if error.code is None or error.code < 400:
        return error
    body, status = answer(error.code, detail=own_words(error), field=getattr(error, "field", ""))
    response = body if isinstance(body, Response) else Response(body, mimetype="text/html")
    response.headers.extend(kept_headers(error))
    return response, status


def own_words(error: HTTPException) -> str:
    """Return what was written for this very error; empty for werkzeug's general sentence."""
    return "" if error.description == type(error).description else error.description or ""


def kept_headers(error: HTTPException) -> dict[str, str]:
    """Return the headers of an error of HTTP that its answer must have, too."""
    return {name: value for name, value in error.get_headers() if name in KEPT_HEADERS}


def on_unexpected(error: Exception) -> tuple[Response | str, int]:
    """Answer an unexpected error; 503 for an outage."""
    if outage := outage_of(error):
        return on_outage(outage)
    log_unexpected(error)
    return answer(500)


def log_unexpected(error: Exception) -> None:
    """Log the type and place of an error but not its message, which may quote a document."""
    frames = traceback.extract_tb(error.__traceback__)
    at = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames[-4:]))
    logger.error("event=unexpected id=%s type=%s at=%s", _request_id(), type(error).__name__, at)


def on_outage(outage: Outage) -> tuple[Response | str, int]:
    """Answer 503 without asking the database."""
    return answer(503, detail=logged_outage(outage))


def logged_outage(outage: Outage) -> str:
    """Log an outage, and return what is said of it. Of one that lasts nobody is told when to try again."""
    g.braid_outage_lasts = outage.lasts
    log_outage(logger, outage, f"request {_request_id()}")
    return outage.text


def answer(status: int, *, detail: str = "", field: str = "") -> tuple[Response | str, int]:
    """Return a page or problem details with this status."""
    if status in UNROUTED and "braid_identity" not in g and site().standalone and not wants_json():
        _identify()
    heading = _headings().get(status, _("Something went wrong"))
    if wants_json():
        return problem(status, heading, detail=detail, field=field), status
    page = render_template(
        "braid/error.html",
        heading=heading,
        remedy=REMEDIES.get(field, "") or _remedies().get(status, ""),
        detail=detail,
        request_id=_request_id() if status >= 500 else "",
        sign_in=_sign_in() if status == 401 else "",
    )
    return page, status


def _identify() -> None:
    """Find who is signed in, so that the page has their places; nobody while the database does not answer."""
    g.braid_identity = None
    with suppress(SQLAlchemyError):
        g.braid_identity = identify(site())


def _sign_in() -> str:
    """Return the address of the sign-in form, in a host app of the host's, that leads back to the page."""
    came_from = urlsplit(request.referrer or "")
    back = came_from.path if came_from.netloc == request.host else ""
    if (host := site().host) is not None:
        return host.sign_in_url(back or url_for("braid.search.home"))
    return url_for("braid.sign_in.login", next=back or None)


def problem(
    status: int, title: str, *, detail: str = "", field: str = "", more: Mapping[str, object] | None = None
) -> Response:
    """Return problem details (RFC 9457) with the invalid field, the request's id and the members of ``more``.

    ``detail`` is in English, ``message`` the same in the language of the request.
    """
    body = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        "message": translated(detail),
        "field": field,
        "request_id": _request_id(),
        **(more or {}),
    }
    text = json.dumps({name: value for name, value in body.items() if value}, ensure_ascii=False)
    return Response(text, status, mimetype="application/problem+json")


def _headings() -> dict[int, str]:
    return {
        400: _("This request cannot be completed"),
        401: _("Sign in first"),
        403: _("This is not allowed"),
        404: _("Page not found"),
        405: _("This address shows no page"),
        409: _("This request cannot be completed"),
        413: _("This is too large"),
        415: _("This request cannot be completed"),
        422: _("This request cannot be completed"),
        429: _("Too many requests"),
        503: _("Not available right now"),
    }


def _remedies() -> dict[int, str]:
    return {
        404: _("It may have been moved or deleted, or the address may be mistyped."),
        405: _("A form is sent to it. Go back and use the form, or choose a page."),
    }


def _request_id() -> str:
    return str(g.get("braid_request_id", ""))
