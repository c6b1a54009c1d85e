"""What is counted of the tools' calls: usage always, and where there are many users also how often they call."""

from __future__ import annotations

from braid.app.auth.rates import rate_of
from braid.app.site import Site
from braid.core.accounts.usage import Usage
from braid.core.types import SearchResult


class Meter:
    """Of a process for one user: usage is counted, and nobody is held up."""

    def __init__(self, usage: Usage, user_id: int) -> None:
        self._usage = usage
        self._user_id = user_id

    def count_call(self) -> None:
        """A tool is called. Raises TooManyRequests where calls are limited."""

    def count_use(self, kind: str) -> None:
        """Something is done that usage tells: ``search`` or ``upload``."""
        self._usage.count(self._user_id, kind)

    def count_search(self, result: SearchResult) -> None:
        """A search has answered."""


class SiteMeter(Meter):
    """Of a site: a call counts as a request to the API does, and a search stands in the metrics."""

    def __init__(self, site: Site, user_id: int) -> None:
        super().__init__(site.usage, user_id)
        self._site = site

    def count_call(self) -> None:
        """A tool is called. Raises TooManyRequests."""
        rate_of(self._site, self._user_id).take(self._site)

    def count_search(self, result: SearchResult) -> None:
        """A search has answered."""
        self._site.metrics.count_search(result)
