"""Health, readiness and metrics, and who may ask for them."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask

from braid.core.braid import Braid
from tests.web import make_app, sign_in


def test_health_is_open_and_figures_are_not(app: Flask, new_user: Callable[[], str]) -> None:
    client = app.test_client()
    assert client.get("/healthz").json == {"status": "ok"}
    ready = dict.fromkeys(("ledger", "disk", "registry", "indexes", "owner", "models", "site"), "ok")
    assert client.get("/readyz").json == {"status": "ready", **ready}
    assert client.get("/metrics").status_code == 401, "a program would follow a redirect, and find a form"
    assert sign_in(app, new_user()).get("/metrics").status_code == 403


def test_metrics_count_routes_and_hold_no_names(app: Flask, new_user: Callable[[], str]) -> None:
    name = new_user()
    sign_in(app, name).get("/search?q=unmentionable")
    text = sign_in(app).get("/metrics").text
    assert 'braid_requests_total{method="GET",route="/search",status="200"} 1.0' in text
    assert 'braid_waiting_passages{leg="dense"} 0.0' in text
    assert name not in text
    assert "unmentionable" not in text


def test_not_ready_without_indexes(braid: Braid) -> None:
    app = make_app(braid)
    assert app.test_client().get("/readyz").status_code == 200
    braid.close()
    answer = app.test_client().get("/readyz")
    assert answer.status_code == 503
    assert answer.json is not None
    assert (answer.json["status"], answer.json["ledger"], answer.json["indexes"]) == ("not ready", "ok", "failed")
    assert answer.json["reasons"]["indexes"] == "the indexes are closed"
