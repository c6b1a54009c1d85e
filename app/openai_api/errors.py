"""Errors in OpenAI's form: ``{"error": {"message", "type", "param", "code"}}``."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response
from pydantic import BaseModel, Field

from braid.app.api.framework.requests import InvalidRequestError
from braid.app.web import errors as web_errors
from braid.app.web.errors import Failure, failure_of

TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
CODES = {
    401: "invalid_api_key",
    403: "insufficient_permissions",
    413: "request_too_large",
    429: "rate_limit_exceeded",
    503: "service_unavailable",
}


class ErrorDetail(BaseModel):
    """What is wrong."""

    message: str = Field(description="What is wrong and what to do, in English")
    type: str = Field(examples=["invalid_request_error"])
    param: str | None = Field(description="The parameter that is wrong")
    code: str | None = Field(examples=["model_not_found"])


class ErrorShown(BaseModel):
    """An error, as OpenAI's clients read it."""

    error: ErrorDetail


class ModelNotFoundError(Exception):
    """The model names datasets that do not exist or are somebody else's, or is no model of this interface."""


def error_form(failure: Failure) -> dict[str, Any]:
    """Return the error as JSON."""
    server_error = "server_error" if failure.status >= 500 else "invalid_request_error"
    code = "model_not_found" if failure.wrong == "model" and failure.status == 404 else CODES.get(failure.status)
    detail = ErrorDetail(
        message=failure.text,
        type=TYPES.get(failure.status, server_error),
        param=failure.wrong or None,
        code=code,
    )
    return ErrorShown(error=detail).model_dump()


def handle_errors(routes: Blueprint) -> None:
    """Answer every error of these routes in OpenAI's form."""
    web_errors.handle_errors(routes, _response)
    routes.register_error_handler(
        InvalidRequestError, lambda error: _response(Failure(400, str(error), wrong=error.errors[0][0]))
    )
    routes.register_error_handler(ModelNotFoundError, lambda error: _response(failure_of_model(error)))


def failure_of_model(error: ModelNotFoundError) -> Failure:
    """Return what is answered for a model that there is not."""
    return Failure(404, str(error), wrong="model")


def failure_in_stream(error: Exception) -> dict[str, Any]:
    """Return an error that happens behind the status as JSON."""
    return error_form(failure_of(error))


def _response(failure: Failure) -> Response:
    response = Response(
        ErrorShown.model_validate(error_form(failure)).model_dump_json(), failure.status, mimetype="application/json"
    )
    response.headers.extend(dict(failure.headers))
    return response
