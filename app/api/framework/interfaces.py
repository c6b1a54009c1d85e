"""An interface as a whole: its operations, their document, and what each request is held to."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint, request

from braid.app.api.framework.document_pages import mount_pages
from braid.app.api.framework.openapi import OWN, Interface
from braid.app.api.framework.operations import Resource
from braid.app.api.framework.rate_headers import add_headers, count_request
from braid.app.auth.body_limit import set_body_limit

MAX_BODY_BYTES = 2 * 2**20


def mount_interface(routes: Blueprint, resources: Sequence[Resource], interface: Interface = OWN) -> None:
    """Serve the resources with their document; each request counts against its user's rate."""
    for resource in resources:
        resource.mount(routes)
    mount_pages(routes, resources, interface)
    routes.before_request(count_request)
    routes.after_request(add_headers)
    routes.url_value_preprocessor(limit_body)


def limit_body(endpoint: str | None, values: dict[str, object] | None) -> None:
    """Limit the body's size before anything reads it; uploads have their own limit."""
    if request.max_content_length is None or request.max_content_length > MAX_BODY_BYTES:
        set_body_limit(MAX_BODY_BYTES)
