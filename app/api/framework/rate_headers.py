"""Rate-limit headers of the API: how many requests the user has left."""

from __future__ import annotations

from flask import Response, g

from braid.app.auth.identity import signed_in
from braid.app.auth.rates import Rate, rate_of
from braid.app.site import site


def count_request() -> None:
    """Count this request against its user's rate. Raises TooManyRequests."""
    found = signed_in()
    if found is not None:
        g.braid_rate = rate_of(site(), found.account.id)
        g.braid_rate.take(site())


def add_headers(response: Response) -> Response:
    """Add how many requests are left, and when there will be more."""
    if "braid_rate" in g:
        rate: Rate = g.braid_rate
        response.headers["RateLimit-Limit"] = str(rate.limit.amount)
        response.headers["RateLimit-Remaining"] = str(rate.left(site()))
        response.headers["RateLimit-Reset"] = str(rate.seconds_left(site()))
    return response
