"""What is in deploy/: the dashboard and the alerts ask for metrics that Braid has, in expressions that can be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from flask.testing import FlaskClient

from braid.core.backup.record import LastBackup, note_backup
from braid.core.braid import Braid
from tests.web import make_app, sign_in

DEPLOY = Path(__file__).parent.parent / "deploy"
METRIC = re.compile(r"\b(?:braid|process)_[a-z_]+\b")
LABELS = re.compile(r"\{([^{}]*)\}")
ADMIN_ONLY = "braid_token_expires_seconds"  # where an API token asks


def _alerts() -> list[dict[str, object]]:
    (group,) = yaml.safe_load((DEPLOY / "braid-alerts.yml").read_text())["groups"]
    rules: list[dict[str, object]] = group["rules"]
    return rules


def _dashboard() -> list[dict[str, object]]:
    panels: list[dict[str, object]] = json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]
    return panels


def _expressions() -> Iterator[str]:
    yield from (str(rule["expr"]) for rule in _alerts())
    yield from (target["expr"] for panel in _dashboard() for target in panel["targets"])  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The metrics after a search."""
    from tests.fakes import HashEmbeddings

    with Braid(tmp_path_factory.mktemp("metrics") / "data", embedding_model=HashEmbeddings()) as braid:
        note_backup(braid.data_dir, LastBackup(1.0, "backup.zip", 1))
        client: FlaskClient = sign_in(make_app(braid))
        client.get("/search?q=paper")
        return str(client.get("/metrics").text)


def test_every_metric_that_is_asked_for_exists(scraped: str) -> None:
    there = set(re.findall(r"^# TYPE (\S+)", scraped, re.MULTILINE)) | set(re.findall(r"^(\w+)", scraped, re.MULTILINE))
    there |= {f"{name}_bucket" for name in re.findall(r"^# TYPE (\S+) histogram", scraped, re.MULTILINE)}
    asked = {name for expression in _expressions() for name in METRIC.findall(expression)}
    assert len(asked) > 20
    assert asked - there == {ADMIN_ONLY}


def test_every_metric_of_ours_is_on_the_dashboard_or_raises_an_alert(scraped: str) -> None:
    ours = {name for name in re.findall(r"^# TYPE (braid_\S+)", scraped, re.MULTILINE) if not name.endswith("_created")}
    asked = " ".join(_expressions())
    assert {name for name in ours if name not in asked} == set()


def test_expressions_and_alerts_are_whole() -> None:
    for expression in _expressions():
        for opening, closing in ("()", "[]", "{}"):
            assert expression.count(opening) == expression.count(closing), expression
        for labels in LABELS.findall(expression):
            assert all(re.fullmatch(r'\w+(=|!=|=~)"[^"]*"', part.strip()) for part in labels.split(",")), expression
    for rule in _alerts():
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+[smh]", str(rule["for"]))
        assert rule["labels"] in ({"severity": "warning"}, {"severity": "critical"})
        assert set(rule["annotations"]) == {"summary", "description"}  # type: ignore[call-overload]
    assert len({rule["alert"] for rule in _alerts()}) == len(_alerts())
