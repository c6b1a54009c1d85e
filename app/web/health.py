"""Health checks (is the app alive, can it serve) and the metrics for Prometheus."""

from __future__ import annotations

import json
from collections.abc import Callable

from flask import Blueprint, Response
from prometheus_client import CONTENT_TYPE_LATEST
from sqlalchemy.exc import SQLAlchemyError

from braid.app.auth.access import rule
from braid.app.site import site

health = Blueprint("health", __name__)


@health.get("/healthz")
@rule("anyone")
def alive() -> Response:
    """Answer ok, as long as the app runs."""
    return Response('{"status": "ok"}', mimetype="application/json")


@health.get("/readyz")
@rule("anyone")
def ready() -> Response:
    """Answer ok when searches work: the ledger can be read and the indexes are open. Otherwise 503."""
    parts = health_parts()
    state = "ready" if all(parts.values()) else "not ready"
    text = json.dumps({"status": state, **{name: "ok" if ok else "failed" for name, ok in parts.items()}})
    return Response(text, 200 if all(parts.values()) else 503, mimetype="application/json")


@health.get("/metrics")
@rule("admin")
def metrics() -> Response:
    """Return the metrics. Needs an administrator's token."""
    return Response(site().metrics.text(), content_type=CONTENT_TYPE_LATEST)


def health_parts() -> dict[str, bool]:
    """Return whether each part that a search needs works: ``ledger`` and ``indexes``."""
    braid = site().braid
    return {"ledger": _answers(braid.ledger.shared_ids), "indexes": not braid.closed}


def _answers(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except SQLAlchemyError:
        return False
    return True
