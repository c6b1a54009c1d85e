"""Health checks (is the app alive, can it serve) and the metrics for Prometheus."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flask import Blueprint, Response
from prometheus_client import CONTENT_TYPE_LATEST
from sqlalchemy.exc import SQLAlchemyError

from braid.app.auth.access import rule
from braid.app.site import site
from braid.core.braid import Braid

ALIVE = '{"status": "ok"}'

health = Blueprint("health", __name__)


@dataclass(frozen=True, slots=True)
class Health:
    """What a search needs, and whether it is there."""

    parts: Mapping[str, bool]

    @property
    def status(self) -> int:
        """The HTTP status: 503 when anything is missing."""
        return 200 if all(self.parts.values()) else 503

    @property
    def text(self) -> str:
        """As JSON."""
        state = "ready" if self.status == 200 else "not ready"
        return json.dumps({"status": state, **{name: "ok" if ok else "failed" for name, ok in self.parts.items()}})


@health.get("/healthz")
@rule("anyone")
def alive() -> Response:
    """Answer ok, as long as the app runs."""
    return Response(ALIVE, mimetype="application/json")


@health.get("/readyz")
@rule("anyone")
def ready() -> Response:
    """Answer ok when searches work: the ledger can be read and the indexes are open. Otherwise 503."""
    found = health_of(site().braid)
    return Response(found.text, found.status, mimetype="application/json")


@health.get("/metrics")
@rule("admin")
def metrics() -> Response:
    """Return the metrics. Needs an administrator's token."""
    return Response(site().metrics.text(), content_type=CONTENT_TYPE_LATEST)


def health_of(braid: Braid) -> Health:
    """Ask the ledger, which may take as long as the database lets it."""
    return Health({"ledger": _answers(braid.ledger.shared_ids), "indexes": not braid.closed})


def _answers(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except SQLAlchemyError:
        return False
    return True
