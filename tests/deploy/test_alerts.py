"""Every alert fires in the series that are made for it, and in those of a site that is well it does not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.named import DEPLOY

RULES = DEPLOY / "braid-alerts.yml"
CASES: dict[str, dict[str, dict[str, Any]]] = yaml.load(
    Path(__file__).with_name("alerts.yml").read_text(),
    yaml.BaseLoader,  # 0x10 is ten values more, and not sixteen
)
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed: apt-get install prometheus")


def _severities() -> dict[str, str]:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule["labels"]["severity"] for rule in group["rules"]}


def _promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    assert PROMTOOL is not None
    return subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True)


def _firing(alert: str, **labels: str) -> str:
    given = {"alertname": alert, "alertstate": "firing", **labels}
    return "ALERTS{" + ",".join(f'{name}="{value}"' for name, value in given.items()) + "}"


def _test(alert: str, kind: str) -> dict[str, Any]:
    """Return a case in promtool's form."""
    case = CASES[alert][kind]
    labels = {**case.get("labels", {}), "severity": _severities()[alert]}
    expected = [{"labels": _firing(alert, **labels), "value": 1}] if kind == "fires" else []
    return {
        "name": f"{alert} {kind}",
        "interval": case.get("every", "1m"),
        "input_series": [{"series": name, "values": values} for name, values in case["series"].items()],
        "promql_expr_test": [{"expr": _firing(alert), "eval_time": case["at"], "exp_samples": expected}],
    }


def _written(folder: Path, *tests: dict[str, Any], alert: str) -> Path:
    """Write cases of one alert, beside its rule alone: with all rules, Prometheus takes thirty times as long."""
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    rules = [rule for rule in group["rules"] if rule["alert"] == alert]
    (folder / f"{alert}-rule.yml").write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": rules}]}))
    (every,) = {test["interval"] for test in tests}
    form = {"rule_files": [f"{alert}-rule.yml"], "evaluation_interval": every, "tests": list(tests)}
    file = folder / f"{alert}.yml"
    file.write_text(yaml.safe_dump(form))
    return file


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    assert set(CASES) == set(_severities())
    for alert, cases in CASES.items():
        assert set(cases) == {"fires", "silent"}, alert


@needs_promtool
def test_prometheus_can_read_the_rules() -> None:
    done = _promtool("check", "rules", RULES)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_alerts_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    files = [_written(tmp_path, *[_test(alert, kind) for kind in ("fires", "silent")], alert=alert) for alert in CASES]
    done = _promtool("test", "rules", *files)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_a_case_that_is_wrong_is_noticed(tmp_path: Path) -> None:
    wrong = {**_test("BraidDown", "silent"), "input_series": _test("BraidDown", "fires")["input_series"]}
    assert _promtool("test", "rules", _written(tmp_path, wrong, alert="BraidDown")).returncode != 0
