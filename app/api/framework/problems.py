"""Answers to the API's own errors, as problem details (RFC 9457)."""

from __future__ import annotations

from flask import Response
from flask_babel import gettext as _
from pydantic import BaseModel, Field

from braid.app.api.framework.etags import ChangedMeanwhileError
from braid.app.api.framework.requests import InvalidRequestError
from braid.app.web.errors import problem
from braid.core.accounts.idempotency import KeyInUseError
from braid.core.errors import BraidError


class FieldError(BaseModel):
    """An error in one field."""

    field: str
    """Path of the field, such as ``filters.date_from``; empty for the body as a whole."""
    detail: str


class Problem(BaseModel):
    """An error, RFC 9457. Its media type is ``application/problem+json``."""

    type: str = Field(examples=["about:blank"])
    title: str
    status: int
    detail: str = Field("", description="What is wrong and what to do, in English")
    message: str = Field("", description="The detail in the language of the request, where it is translated")
    field: str = Field("", description="The invalid parameter or body field")
    errors: list[FieldError] = Field(default=[], description="All errors, if the request does not fit the document")
    request_id: str = Field("", description="Also in the server's log")


def on_invalid_request(error: InvalidRequestError) -> tuple[Response, int]:
    """Answer a request that does not fit the document."""
    errors = [{"field": field, "detail": detail} for field, detail in error.errors]
    title, field = _("This request cannot be completed"), error.errors[0][0]
    return problem(422, title, detail=str(error), field=field, more={"errors": errors}), 422


def on_key_error(error: BraidError) -> tuple[Response, int]:
    """Answer a request whose idempotency key cannot be used, now or at all."""
    title, field = _("This request cannot be completed"), "Idempotency-Key"
    response = problem(409, title, detail=str(error), field=field)
    if isinstance(error, KeyInUseError):
        response.headers["Retry-After"] = "1"
    return response, 409


def on_changed_meanwhile(error: ChangedMeanwhileError) -> tuple[Response, int]:
    """Answer a conditional write to a document that has changed."""
    title = _("This request cannot be completed")
    return problem(412, title, detail=str(error), field=error.header), 412
