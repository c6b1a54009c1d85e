"""Errors in the form of another program's interface, for blueprints that speak one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flask import Blueprint, Response
from werkzeug.exceptions import HTTPException, default_exceptions

from braid.app.web.errors import (
    RETRY_AFTER_S,
    kept_headers,
    log_unexpected,
    logged_outage,
    logged_status,
    own_words,
)
from braid.core.errors import BraidError, InvalidInputError, ModelBusyError
from braid.core.ledger.outages import outage_of

RETRY = {"Retry-After": str(RETRY_AFTER_S)}


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as it is answered: the HTTP status, what is wrong and what to do, and which field is wrong."""

    status: int
    detail: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    wrong: str = ""


def failure_of(error: Exception) -> Failure:
    """Return what is answered to an error; what is the server's fault is logged."""
    if outage := outage_of(error):
        return Failure(503, logged_outage(outage), {} if outage.lasts else RETRY)
    if isinstance(error, BraidError):
        status, wrong = logged_status(error), error.field if isinstance(error, InvalidInputError) else ""
        busy = {"Retry-After": str(error.retry_s)} if isinstance(error, ModelBusyError) else {}
        return Failure(status, str(error), RETRY if status == 503 else busy, wrong)
    if isinstance(error, HTTPException):
        status, detail = error.code or 500, own_words(error) or error.description or ""
        return Failure(status, detail, (RETRY if status == 503 else {}) | kept_headers(error))
    log_unexpected(error)
    return Failure(500, "an unexpected error; the server's log has it")


def handle_failures(routes: Blueprint, write: Callable[[Failure], Response]) -> None:
    """Have every error of these routes answered by ``write``, those of routing excepted that lead elsewhere."""

    def on_error(error: Exception) -> Response | HTTPException:
        if isinstance(error, HTTPException) and (error.code or 500) < 400:
            return error
        return write(failure_of(error))

    for status in default_exceptions:  # handlers of one status, of the blueprint around, come before ours of all
        routes.register_error_handler(status, on_error)
    routes.register_error_handler(Exception, on_error)
