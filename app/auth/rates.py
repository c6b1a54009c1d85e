"""How many requests to the API and calls of MCP's tools a user may send: one count for both."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from limits import RateLimitItem, parse
from werkzeug.exceptions import TooManyRequests

from braid.app.site import Site


class Rate(NamedTuple):
    """A user's limit, and what it is counted under."""

    limit: RateLimitItem
    key: tuple[str, str]

    def left(self, here: Site) -> int:
        """How many more requests are answered within the next `seconds_left`."""
        return int(here.limiter.get_window_stats(self.limit, *self.key).remaining)

    def seconds_left(self, here: Site) -> int:
        """Seconds until there are more, at least 1."""
        return max(1, math.ceil(here.limiter.get_window_stats(self.limit, *self.key).reset_time - time.time()))

    def take(self, here: Site) -> None:
        """Count one request. Raises TooManyRequests, which says when there are more."""
        if not here.limiter.hit(self.limit, *self.key):
            seconds = self.seconds_left(here)
            raise TooManyRequests(f"at most {self.limit} are answered; try again in {seconds} s", retry_after=seconds)


def rate_of(here: Site, user_id: int) -> Rate:
    """The rate of a user."""
    return Rate(parse(here.settings.api_rate_limit), ("api", str(user_id)))
