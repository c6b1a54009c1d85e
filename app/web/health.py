"""Health checks (is the app alive, can it serve) and the metrics for Prometheus."""

from __future__ import annotations

import time
from hmac import compare_digest

from flask import Blueprint, Response, request
from prometheus_client import CONTENT_TYPE_LATEST

from braid.app.auth.access import rule
from braid.app.auth.identity import signed_in
from braid.app.readiness import health_of
from braid.app.site import site

ALIVE = '{"status": "ok"}'
TOKEN_ENDS = b"""# HELP braid_token_expires_seconds Seconds until the API token that asked for these metrics ends.
# TYPE braid_token_expires_seconds gauge
braid_token_expires_seconds %.0f
"""

health = Blueprint("health", __name__)


@health.get("/healthz")
@rule("anyone")
def alive() -> Response:
    """Answer ok, as long as the app runs."""
    return Response(ALIVE, mimetype="application/json")


@health.get("/readyz")
@rule("anyone")
def ready() -> Response:
    """Answer 200 as long as requests are answered, and say which parts are ill; 503 when one refuses requests.

    With ``for=reading``, 503 only when searches, answers and pages are refused.
    """
    found = health_of(site().braid, min_free_mb=site().settings.min_free_disk_mb).seen_for(request.args.get("for", ""))
    return Response(found.text, found.status, mimetype="application/json")


def _has_metrics_token() -> bool:
    """Whether the request brings one of the tokens in the settings, which open the metrics alone."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    tokens = site().settings.metrics_tokens
    return scheme.lower() == "bearer" and any(compare_digest(given.strip().encode(), key.encode()) for key in tokens)


@health.get("/metrics")
@rule("admin", or_if=_has_metrics_token)
def metrics() -> Response:
    """Return the metrics. Needs one of the `metrics_tokens`, or an administrator."""
    text = site().metrics.text()
    found = signed_in()
    if found is not None and found.expires_at is not None:
        text += TOKEN_ENDS % (found.expires_at - time.time())
    return Response(text, content_type=CONTENT_TYPE_LATEST)
