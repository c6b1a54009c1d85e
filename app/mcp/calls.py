"""Calls of tools: counted, limited, and their errors as answers: ``{status: "error", message, error_type}``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar

from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import ServiceUnavailable, TooManyRequests

from braid.app.auth.identity import Identity
from braid.app.auth.quotas import rate_of
from braid.app.site import Site
from braid.core.accounts.usage import Usage
from braid.core.errors import BraidError, ChromaDBError, InvalidInputError, NotFoundError, UnreadableDocumentError
from braid.core.ledger.outages import is_outage, log_failure, outage_of
from braid.core.types import SearchResult

Kind = Literal["read", "write", "connector"]
"""Servers: one that only reads, one that writes, too, and one with the two tools of connectors."""
IDENTITY = "braid.identity"
"""Key of the caller's `Identity` in the scope of an ASGI request."""
PAGES = "braid.pages"
"""Key of the address of the datasets' pages, as the caller reaches them, in that scope."""
ASSISTANT = "braid.assistant"
"""Key of the id of the assistant whose address was called, in that scope."""
MAX_REQUEST_BYTES = 12_000_000
"""A document of 5,000,000 characters in UTF-8, most of the time."""


def kind_for(caller: Identity, *, is_connector: bool) -> Kind:
    """Return which server a caller gets."""
    if is_connector:
        return "connector"
    return "write" if "write" in caller.permissions else "read"


class Meter:
    """Counts usage for a process with one user; never limits calls."""

    def __init__(self, usage: Usage, user_id: int) -> None:
        self._usage = usage
        self._user_id = user_id

    def count_call(self) -> None:
        """Count a tool call. Raises TooManyRequests where calls are limited."""

    def count_use(self, kind: str) -> None:
        """Count a ``search`` or an ``upload`` in the user's usage."""
        self._usage.count(self._user_id, kind)

    def count_search(self, result: SearchResult) -> None:
        """Count a completed search."""


class SiteMeter(Meter):
    """Counts for a site: a call counts as an API request, a search is counted in the metrics."""

    def __init__(self, site: Site, user_id: int) -> None:
        super().__init__(site.usage, user_id)
        self._site = site

    def count_call(self) -> None:
        """Count a tool call. Raises TooManyRequests."""
        rate_of(self._site, self._user_id).take(self._site)

    def count_search(self, result: SearchResult) -> None:
        """Count a completed search."""
        self._site.metrics.count_search(result)


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
