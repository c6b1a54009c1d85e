"""How many requests a user may send, and the headers that say how many are left."""

from __future__ import annotations

import math
import time

from flask import Response, g
from limits import RateLimitItem, parse
from werkzeug.exceptions import TooManyRequests

from app.identity import signed_in
from app.site import site


def count_request() -> None:
    """Count this request of its user. Raises TooManyRequests."""
    found = signed_in()
    if found is None:
        return
    limit, key = parse(site().settings.api_rate_limit), ("api", str(found.account.id))
    allowed = site().limiter.hit(limit, *key)
    g.braid_rate = (limit, key)
    if not allowed:
        seconds = _seconds_left(limit, key)
        raise TooManyRequests(f"at most {limit} are answered; try again in {seconds} s", retry_after=seconds)


def add_headers(response: Response) -> Response:
    """Say how many requests are left and when there will be more."""
    if "braid_rate" in g:
        limit, key = g.braid_rate
        left = site().limiter.get_window_stats(limit, *key).remaining
        response.headers["RateLimit-Limit"] = str(limit.amount)
        response.headers["RateLimit-Remaining"] = str(left)
        response.headers["RateLimit-Reset"] = str(_seconds_left(limit, key))
    return response


def _seconds_left(limit: RateLimitItem, key: tuple[str, str]) -> int:
    return max(1, math.ceil(site().limiter.get_window_stats(limit, *key).reset_time - time.time()))
