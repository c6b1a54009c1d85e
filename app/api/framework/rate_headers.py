"""Rate-limit headers of the API: how many requests the user has left."""

from __future__ import annotations

import logging

from flask import Response, g, request
from sqlalchemy.exc import SQLAlchemyError

from braid.app.auth.identity import signed_in
from braid.app.auth.rates import Rate, rate_of
from braid.app.site import site
from braid.app.web.gate.request_bodies import ASKED_AGAIN
from braid.core.ledger.outages import log_failure

logger = logging.getLogger(__name__)


def count_request() -> None:
    """Count this request against its user's rate. Raises TooManyRequests."""
    found = signed_in()
    if found is not None:
        g.braid_rate = rate_of(site(), found.account.id)
        if ASKED_AGAIN not in request.environ:
            g.braid_rate.take(site())


def add_headers(response: Response) -> Response:
    """Add how many requests are left and when there will be more; without them while the database is out.

    The response of a request that succeeded is sent all the same.
    """
    if "braid_rate" not in g:
        return response
    rate: Rate = g.braid_rate
    try:
        left, seconds = rate.left(site())
    except SQLAlchemyError as error:
        log_failure(logger, "counting the requests that are left", error)
        return response
    response.headers["RateLimit-Limit"] = str(rate.limit.amount)
    response.headers["RateLimit-Remaining"] = str(left)
    response.headers["RateLimit-Reset"] = str(seconds)
    return response
