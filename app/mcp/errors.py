"""Errors of tools as answers: ``{status: "error", message, error_type}``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import ServiceUnavailable, TooManyRequests

from braid.core.errors import BraidError, ChromaDBError, InvalidInputError, NotFoundError, UnreadableDocumentError
from braid.core.ledger.outages import is_outage, log_failure, outage_of

if TYPE_CHECKING:
    from braid.app.mcp.meter import Meter

logger = logging.getLogger(__name__)

Result = dict[str, Any]
P = ParamSpec("P")


class Metered(Protocol):
    """What counts the calls of its tools."""

    meter: Meter


T = TypeVar("T", bound=Metered)
Tool = Callable[Concatenate[T, P], Result]


def error_answer(message: str, error_type: str) -> Result:
    """Return what a tool answers when it fails. The message must be safe to show."""
    return {"status": "error", "message": message, "error_type": error_type}


def report_errors(outage: str, *, store: str = "ChromaDBError") -> Callable[[Tool[T, P]], Tool[T, P]]:
    """Count the call, and answer errors as `error_answer` does.

    ``outage`` is the ``error_type`` of a failure of what the tool asks, ``store`` that of a database which cannot be
    read or written. Any other exception is answered with the name of its class, and logged.
    """

    def wrap(tool: Tool[T, P]) -> Tool[T, P]:
        @wraps(tool)
        def answer(tools: T, /, *args: P.args, **kwargs: P.kwargs) -> Result:
            try:
                tools.meter.count_call()
                return tool(tools, *args, **kwargs)
            except Exception as error:
                return answer_of(error, outage, store)

        return answer

    return wrap


def answer_of(error: Exception, outage: str, store: str) -> Result:
    """Return the answer to an error; ``outage`` and ``store`` as for `report_errors`. Faults of the code are logged."""
    if isinstance(error, InvalidInputError):
        return error_answer(str(error), "ValidationError")
    if isinstance(error, NotFoundError):
        return error_answer(str(error), "NotFoundError")
    if isinstance(error, UnreadableDocumentError):
        return error_answer(str(error), "UnreadableDocumentError")
    if isinstance(error, BraidError):
        return error_answer(str(error), store if isinstance(error, ChromaDBError) else outage)
    if isinstance(error, TooManyRequests):
        return error_answer(error.description or "", "RateLimitError")
    if isinstance(error, ServiceUnavailable):
        return error_answer(error.description or "", outage)
    if isinstance(error, SQLAlchemyError) or is_outage(error):
        log_failure(logger, "a tool of the MCP server", error)
        known = outage_of(error)
        return error_answer(known.text if known else "the store failed; the server's log says why", store)
    logger.error("unexpected error in a tool of the MCP server", exc_info=error)
    return error_answer("the tool failed unexpectedly; the server's log says why", type(error).__name__)
