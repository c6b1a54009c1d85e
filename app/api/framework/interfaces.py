"""An interface as a whole: its operations, their document, and what each request is held to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from flask import Blueprint, request

from braid.app.api.framework.document_pages import mount_pages
from braid.app.api.framework.openapi import OWN, Interface
from braid.app.api.framework.operations import Resource
from braid.app.api.framework.rate_headers import add_headers, count_request
from braid.app.api.framework.requests import MAX_BODY_BYTES
from braid.app.auth.body_limit import set_body_limit


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
