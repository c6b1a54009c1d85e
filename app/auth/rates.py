"""Request rate per user, one count for the API and the MCP tools together."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from limits import RateLimitItem, parse
from werkzeug.exceptions import TooManyRequests

from braid.app.site import Site
from braid.core.errors import Reason


class Rate(NamedTuple):
    """A user's rate limit, and the key that it is counted under."""

    limit: RateLimitItem
    key: tuple[str, str]

    def left(self, here: Site) -> tuple[int, int]:
        """Return how many more requests are answered, and the seconds until there will be more, at least 1."""
        stats = here.limiter.get_window_stats(self.limit, *self.key)
        return int(stats.remaining), max(1, math.ceil(stats.reset_time - time.time()))

    def take(self, here: Site) -> None:
        """Count one request. Raises TooManyRequests, whose ``retry_after`` is the seconds that `left` returns."""
        if not here.limiter.hit(self.limit, *self.key):
            _, seconds = self.left(here)
            raise TooManyRequests(
                Reason("at most %(most)s are answered; try again in %(seconds)s s", most=self.limit, seconds=seconds),
                retry_after=seconds,
            )


def rate_of(here: Site, user_id: int) -> Rate:
    """Return the rate of a user."""
    return Rate(parse(here.settings.api_rate_limit), ("api", str(user_id)))
