"""Errors in Dify's form: ``{"error_code", "error_msg"}``.

Whoever may not read is answered with 403: that is what Dify looks for when it is given an address and a key.
"""

from __future__ import annotations

from flask import Blueprint, Response, request
from pydantic import BaseModel, Field

from braid.app.api.framework.requests import InvalidRequestError
from braid.app.web import errors as web_errors
from braid.app.web.errors import Failure

NO_BEARER, NOT_ALLOWED, NO_KNOWLEDGE = 1001, 1002, 2001


class ErrorShown(BaseModel):
    """An error, as Dify reads it."""

    error_code: int = Field(description="1001, 1002, 2001, or the HTTP status")
    error_msg: str


def handle_errors(routes: Blueprint) -> None:
    """Answer every error of these routes in Dify's form."""
    web_errors.handle_errors(routes, _response)
    routes.register_error_handler(
        InvalidRequestError, lambda error: _response(Failure(400, str(error), wrong=error.errors[0][0]))
    )


def _response(failure: Failure) -> Response:
    status, code, message = failure.status, failure.status, failure.text
    if status == 401:
        status, code, message = 403, *_unauthorized()
    elif status == 403:
        code = NOT_ALLOWED
    elif status == 404:
        code = NO_KNOWLEDGE
    body = ErrorShown(error_code=code, error_msg=message)
    response = Response(body.model_dump_json(), status, mimetype="application/json")
    response.headers.extend(dict(failure.headers))
    return response


def _unauthorized() -> tuple[int, str]:
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        return NO_BEARER, "the header Authorization must be 'Bearer braid_…', with an API token of the account page"
    return NOT_ALLOWED, "this API token is not valid here, or has expired; make a new one on the account page"
