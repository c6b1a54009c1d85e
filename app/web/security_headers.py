"""The headers that every answer has, whoever gives it, and which pages others may show in a frame."""

from __future__ import annotations

from flask import request

from braid.app.mounted import blueprints_here, endpoint_here
from braid.app.site import site

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


EMBED = "braid.embed"
BLUEPRINTS = (EMBED, "braid.chat")
PASSAGE = ("braid.search.document", "braid.search.page")
"""The pages that a citation of the chat leads to."""


def may_be_framed() -> bool:
    """Return whether this request is for a page that the allowed origins may frame."""
    is_meant = endpoint_here() in PASSAGE or not set(BLUEPRINTS).isdisjoint(blueprints_here())
    return is_meant and bool(site().settings.frame_ancestors)


def is_framed() -> bool:
    """Return whether the page is to be shown without the head that leads to other pages.

    Browsers say what a page is for where the connection is secure or to this computer. What leads on from an embedded
    page is known by that.
    """
    is_inside = EMBED in blueprints_here() or request.headers.get("Sec-Fetch-Dest") == "iframe"
    return is_inside and may_be_framed()


def frame_origins() -> str:
    """Return the origins that may frame the page, with spaces, for its script."""
    return " ".join(site().settings.frame_ancestors)


def security_headers() -> dict[str, str]:
    """Return the security headers of the answer to this request."""
    if not may_be_framed():
        return SECURITY_HEADERS
    sources = " ".join("'self'" if origin == "self" else origin for origin in site().settings.frame_ancestors)
    policy = SECURITY_HEADERS["Content-Security-Policy"]
    headers = SECURITY_HEADERS | {
        "Content-Security-Policy": policy.replace("frame-ancestors 'none'", f"frame-ancestors {sources}")
    }
    del headers["X-Frame-Options"]  # it knows no origins
    return headers
