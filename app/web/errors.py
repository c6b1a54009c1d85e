"""Error responses: an HTML page for people, problem details (RFC 9457) for programs, or another interface's form."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import NoReturn
from urllib.parse import quote, urlsplit

from flask import Blueprint, Response, abort, current_app, g, render_template, request
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import Response as AsgiResponse
from werkzeug.exceptions import (
    HTTPException,
    MethodNotAllowed,
    NotFound,
    RequestedRangeNotSatisfiable,
    RequestEntityTooLarge,
    default_exceptions,
)
from werkzeug.routing import RequestRedirect

from braid.app.auth.access import rule, wants_json
from braid.app.auth.authenticate import identify
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.web.security_headers import SECURITY_HEADERS
from braid.app.words.languages import current_language
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
    Reason,
    RegistryError,
    TooManyError,
    traced,
)
from braid.core.ingest.parse_pool import ParserUnavailableError
from braid.core.ledger.outages import log_outage, outage_of

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
KEPT_HEADERS = ("Retry-After", "Allow", "WWW-Authenticate", "Content-Range")
UNROUTED = (404, 405)
"""Statuses of addresses that no route answers, so that nobody has asked yet who sends the request."""
UNKNOWN = "unknown.nothing"
"""The end of the endpoint of addresses below the prefix that no route answers."""
RETRY_AFTER_S = 5
"""What a client is told to wait after a 503 that names no other time."""
USUAL = "the request cannot be completed"
RETRY = {"Retry-After": str(RETRY_AFTER_S)}
REMEDIES = {
    "text": _l("Enter a question of 1 to 10,000 characters."),
    "query": _l("Enter a query of 1 to 10,000 characters."),
    "k": _l("The number of passages must be a whole number from 1 to 1000."),
    "mode": _l("Choose “Meaning and keywords”, “Meaning” or “Keywords” as the mode."),
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


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as it is answered, in whatever form: the HTTP status, and which field is wrong."""

    status: int
    detail: str = ""
    """What is wrong and what to do; empty where nothing is known of this very error."""
    headers: Mapping[str, str] = field(default_factory=dict)
    wrong: str = ""
    usual: str = USUAL
    """What is said in English where there is no detail."""

    @property
    def text(self) -> str:
        """The detail, or what is usually said."""
        return self.detail or self.usual


Write = Callable[[Failure], Response]
Errors = type[BraidError] | tuple[type[BraidError], ...]


def handle_errors(routes: Blueprint, write: Write | None = None) -> None:
    """Have every error of these routes answered by ``write``, as a page or as problem details without it; those of
    routing excepted that lead elsewhere.
    """

    def on_error(error: Exception) -> Response | HTTPException:
        return error_response(error) if write is None or _leads_elsewhere(error) else write(failure_of(error))

    for status in default_exceptions:  # a host's handler of one status comes before ours of all
        routes.register_error_handler(status, on_error)
    routes.register_error_handler(Exception, on_error)


@contextmanager
def refusing(
    page: Callable[..., str], *about: object, on: Errors = InvalidInputError, **typed: object
) -> Iterator[None]:
    """Answer the request with this page and status 400, where the block raises such an error: its text is the page's
    ``problem``.
    """
    try:
        yield
    except on as error:
        abort(Response(page(*about, problem=str(error), **typed), 400))


def error_response(error: Exception) -> Response | HTTPException:
    """Answer an error as a page or as problem details; one of routing that leads elsewhere as itself, and an address
    with a slash too many by leading to the page.
    """
    if isinstance(error, NotFound) and (page := meant_page()):
        return RequestRedirect(page)
    return error if _leads_elsewhere(error) else answer(failure_of(error))  # type: ignore[return-value]


def _leads_elsewhere(error: Exception) -> bool:
    return isinstance(error, HTTPException) and (error.code is None or error.code < 400)


def failure_of(error: Exception) -> Failure:
    """Return what is answered to an error; what is the server's fault is logged. The text of others is not shown."""
    if outage := outage_of(error):
        g.braid_outage_lasts = outage.lasts  # then nobody is told when to try again
        log_outage(logger, outage, f"request {_request_id()}")
        return Failure(503, outage.text, {} if outage.lasts else RETRY)
    if isinstance(error, BraidError):
        status = next((code for kind, code in STATUS_OF.items() if isinstance(error, kind)), 500)
        if status >= 500:
            logger.warning("event=error id=%s type=%s status=%d", _request_id(), type(error).__name__, status)
        busy = {"Retry-After": str(error.retry_s)} if isinstance(error, ModelBusyError) else {}
        wrong = error.field if isinstance(error, InvalidInputError) else ""
        return Failure(status, str(error), RETRY if status == 503 else busy, wrong)
    if isinstance(error, HTTPException):
        status, general = error.code or 500, type(error).description
        own = ("" if error.description == general else error.description or "") or _of_request(error)
        kept = {name: value for name, value in error.get_headers() if name in KEPT_HEADERS}
        headers = (RETRY if status == 503 else {}) | kept
        return Failure(status, own, headers, getattr(error, "field", ""), general or USUAL)
    log_unexpected(error)
    return Failure(500, usual="an unexpected error; the server's log has it")


def _of_request(error: HTTPException) -> str:
    """Return what a program is told of an error of routing or of reading that says nothing itself; else nothing."""
    if isinstance(error, RequestEntityTooLarge) and request.max_content_length is not None:
        return Reason(
            "at most %(most)s bytes are accepted at once; split it", most=format(request.max_content_length, ",")
        )
    if not wants_json():
        return ""
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        return f"{request.method} is not answered here; use {' or '.join(sorted(error.valid_methods))}"
    if isinstance(error, RequestedRangeNotSatisfiable):
        return f"there is nothing in this Range; there are {error.length or 0:,} bytes"
    if isinstance(error, NotFound) and (request.endpoint is None or request.endpoint.endswith(UNKNOWN)):
        return f"there is no {request.path[:200]}; the addresses are in the API's documentation"
    return ""


def log_unexpected(error: Exception) -> None:
    """Log the type and place of an error but not its message, which may quote a document."""
    logger.error("event=unexpected id=%s %s", _request_id(), traced(error))


def answer(failure: Failure) -> Response:
    """Return a page or problem details."""
    status, detail, wrong = failure.status, failure.detail, failure.wrong
    if status in UNROUTED and "braid_identity" not in g and site().standalone and not wants_json():
        _identify()
    heading = _headings().get(status, _("Something went wrong"))
    if wants_json():
        response = problem(status, heading, detail=detail, field=wrong)
    else:
        is_known = not detail or translated(detail) is not None or current_language() == "en"
        page = render_template(
            "braid/error.html",
            heading=heading,
            remedy=REMEDIES.get(wrong, "") or _remedies().get(status, ""),
            detail=detail,
            is_technical=not is_known,
            request_id=_request_id() if status >= 500 else "",
            sign_in=_sign_in() if status == 401 else "",
        )
        response = Response(page, status, mimetype="text/html")
    response.headers.extend(dict(failure.headers))
    return response


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
        416: _("This request cannot be completed"),
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


# ---------------------------------------------------------------- without asking the app


def refusal(status: int, detail: str, *, again: bool = True) -> AsgiResponse:
    """Problem details, RFC 9457. The connection is closed after it, since the rest of the request is not read.

    ``again`` tells whether a 429 or 503 says when to try again.
    """
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    headers = {"Connection": "close", "Cache-Control": "no-store", **SECURITY_HEADERS}
    if again and status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers["Retry-After"] = "5"
    return AsgiResponse(json.dumps(body), status, headers, media_type="application/problem+json")


# ---------------------------------------------------------------- addresses below the prefix that no route answers

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
OF_QUERIES = "!$&'()*+,;=:@/?%"
"""Characters that are themselves in a query (RFC 3986, 3.4), beside letters and digits, or begin an encoded one."""

unknown = Blueprint("unknown", __name__)


@unknown.route("/<path:_path>", methods=METHODS)
@rule("anyone")
def nothing(_path: str) -> NoReturn:
    """Refuse an address that is not Braid's, or a method that it is not for. In an interface, name what it has."""
    if allowed := [method for method in METHODS if _answers(method)]:
        raise MethodNotAllowed(valid_methods=allowed)
    others = {rule.rule for rule in current_app.url_map.iter_rules() if _is_beside(rule.endpoint)}
    raise NotFound(f"there is no {request.path[:200]}; there are {', '.join(sorted(others))}" if others else None)


def meant_page() -> str:
    """Return the address of the page that this request means by one with a slash behind it; empty if it means none."""
    path = request.path.removesuffix("/")
    if path == request.path or request.method not in ("GET", "HEAD") or wants_json() or not _answers("GET", path):
        return ""
    asked = f"?{quote(request.query_string, safe=OF_QUERIES)}" if request.query_string else ""
    return f"{quote(request.script_root + path)}{asked}"


def _is_beside(endpoint: str) -> bool:
    """Return whether an endpoint is another one of this blueprint."""
    return endpoint.rpartition(".")[0] == request.blueprint and endpoint != request.endpoint


def _answers(method: str, path: str | None = None) -> bool:
    """Return whether another route takes this path, the request's without one, with this method."""
    adapter = current_app.create_url_adapter(request)
    try:
        return adapter is not None and adapter.match(path, method=method)[0] != request.endpoint
    except HTTPException:
        return False
