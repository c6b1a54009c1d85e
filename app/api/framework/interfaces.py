"""An interface as a whole: its operations, their document, and what each request is held to."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from flask import Blueprint, Response, g, request
from sqlalchemy.exc import SQLAlchemyError

from braid.app.api.framework.document_pages import mount_pages
from braid.app.api.framework.openapi import OWN, Interface
from braid.app.api.framework.operations import Resource
from braid.app.api.framework.requests import MAX_BODY_BYTES
from braid.app.auth.body_limit import set_body_limit
from braid.app.auth.identity import signed_in
from braid.app.auth.quotas import Rate, rate_of
from braid.app.site import site
from braid.app.web.gate.request_bodies import ASKED_AGAIN
from braid.core.ledger.outages import log_failure

logger = logging.getLogger(__name__)


def mount_interface(routes: Blueprint, resources: Sequence[Resource], interface: Interface = OWN) -> None:
    """Serve the resources with their document; each request counts against its user's rate."""
    for resource in resources:
        resource.mount(routes)
    mount_pages(routes, resources, interface)
    routes.before_request(count_request)
    routes.after_request(add_headers)
    routes.url_value_preprocessor(partial(limit_body, interface.max_body_bytes))


def limit_body(most: int, endpoint: str | None, values: dict[str, object] | None) -> None:
    """Limit the body's size before anything reads it; uploads have their own limit."""
    if request.max_content_length is None or request.max_content_length > most or most > MAX_BODY_BYTES:
        set_body_limit(most)


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
