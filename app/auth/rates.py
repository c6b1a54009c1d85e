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
        """How many more are answered until `seconds_left` are over."""
        return int(here.limiter.get_window_stats(self.limit, *self.key).remaining)

    def seconds_left(self, here: Site) -> int:
        """Until there are more, at least 1."""
        return max(1, math.ceil(here.limiter.get_window_stats(self.limit, *self.key).reset_time - time.time()))

    def take(self, here: Site) -> None:
        """Take one. Raises TooManyRequests, which says when there are more."""
        if not here.limiter.hit(self.limit, *self.key):
            seconds = self.seconds_left(here)
            raise TooManyRequests(f"at most {self.limit} are answered; try again in {seconds} s", retry_after=seconds)


def rate_of(here: Site, user_id: int) -> Rate:
    """The user's."""
    return Rate(parse(here.settings.api_rate_limit), ("api", str(user_id)))
