"""Answers that the server gives without asking the app: a request that is too slow, or one too many."""

from __future__ import annotations

import json
from http import HTTPStatus

from starlette.responses import Response

from braid.app.web.security_headers import SECURITY_HEADERS


def refusal(status: int, detail: str, *, again: bool = True) -> Response:
    """Problem details, RFC 9457. The connection is closed after it, since the rest of the request is not read.

    ``again`` tells whether a 429 or 503 says when to try again.
    """
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    headers = {"Connection": "close", "Cache-Control": "no-store", **SECURITY_HEADERS}
    if again and status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers["Retry-After"] = "5"
    return Response(json.dumps(body), status, headers, media_type="application/problem+json")
