"""Counts the calls of the tools: usage always, and on a site with many users how often each calls."""

from __future__ import annotations

from braid.app.auth.rates import rate_of
from braid.app.site import Site
from braid.core.accounts.usage import Usage
from braid.core.types import SearchResult

IDENTITY = "braid.identity"
"""Key of the caller's `Identity` in the scope of an ASGI request."""


class Meter:
    """For a process with one user: counts usage, and limits nothing."""

    def __init__(self, usage: Usage, user_id: int) -> None:
        self._usage = usage
        self._user_id = user_id

    def count_call(self) -> None:
        """Count a call of a tool. Raises TooManyRequests where calls are limited."""

    def count_use(self, kind: str) -> None:
        """Count a ``search`` or an ``upload`` in the user's usage."""
        self._usage.count(self._user_id, kind)

    def count_search(self, result: SearchResult) -> None:
        """Count a search that has answered."""


class SiteMeter(Meter):
    """For a site: a call counts as a request to the API, and a search is counted in the metrics."""

    def __init__(self, site: Site, user_id: int) -> None:
        super().__init__(site.usage, user_id)
        self._site = site

    def count_call(self) -> None:
        """Count a call of a tool. Raises TooManyRequests."""
        rate_of(self._site, self._user_id).take(self._site)

    def count_search(self, result: SearchResult) -> None:
        """Count a search that has answered."""
        self._site.metrics.count_search(result)
