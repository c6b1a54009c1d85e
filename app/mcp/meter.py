"""Counts tool calls in the usage and, on a site with many users, against each user's rate limit."""

from __future__ import annotations

from typing import Literal

from braid.app.auth.identity import Identity
from braid.app.auth.rates import rate_of
from braid.app.site import Site
from braid.core.accounts.usage import Usage
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
