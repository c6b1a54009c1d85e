"""Pages of other origins that ask ``/v1`` from a browser, with a token: those of the setting ``api_origins`` (CORS)."""

from __future__ import annotations

from flask import Response, request

from braid.app.mounted import blueprints_here
from braid.app.site import site

KEPT_S = 600
"""Seconds for which a browser remembers what it may send."""
READABLE = "Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-Request-Id"


def answer_preflight() -> Response | None:
    """Answer a browser that asks whether a page may send a request: it asks without the token."""
    if request.method != "OPTIONS" or "braid.openai_api" not in blueprints_here() or not _is_allowed():
        return None
    response = Response(status=204)
    response.headers["Access-Control-Allow-Methods"] = "GET, POST"
    response.headers["Access-Control-Allow-Headers"] = request.headers.get("Access-Control-Request-Headers", "")
    response.headers["Access-Control-Max-Age"] = str(KEPT_S)
    return response


def allow_origin(response: Response) -> Response:
    """Let an allowed origin's page read the answer. Cookies are no part of it: credentials are never allowed."""
    if site().settings.api_origins:
        response.vary.add("Origin")
    if _is_allowed():
        response.headers["Access-Control-Allow-Origin"] = request.headers["Origin"]
        response.headers["Access-Control-Expose-Headers"] = READABLE
    return response


def _is_allowed() -> bool:
    return request.headers.get("Origin", "").lower() in map(str.lower, site().settings.api_origins)
