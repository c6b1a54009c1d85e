"""What is in deploy/: the dashboard and the alerts ask for metrics that Braid has, in expressions that can be read; the
unit is one for systemd. The proxies are in app/test_proxies.py, what is for containers, and when alerts fire, in
deploy/.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml
from flask.testing import FlaskClient

from braid.app.cli.root import cli
from braid.app.server import OVERDUE_S
from braid.core.backup.record import LastBackup, note_backup
from braid.core.braid import Braid
from braid.core.data_directory import DataDirectory
from tests.fakes import HashEmbeddings
from tests.forked_children import python_for_programs
from tests.web import make_app, sign_in
from tests.worlds import add_notes, document, write

DEPLOY = Path(__file__).parent.parent / "deploy"
METRIC = re.compile(r"\b(?:braid|process)_[a-z_]+\b")
LABELS = re.compile(r"\{([^{}]*)\}")
ADMIN_ONLY = "braid_token_expires_seconds"  # where an API token asks
IN_FLEET = {"braid_members", "braid_members_died_total"}  # core/indexes/milvus/test_fleet.py has them


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
        braid.ledger.noticed.missing_originals = 0  # as it is once files were tidied
        client: FlaskClient = sign_in(make_app(braid))
        client.get("/search?q=paper")
        return str(client.get("/metrics").text)


def test_every_metric_that_is_asked_for_exists(scraped: str) -> None:
    there = set(re.findall(r"^# TYPE (\S+)", scraped, re.MULTILINE)) | set(re.findall(r"^(\w+)", scraped, re.MULTILINE))
    there |= {f"{name}_bucket" for name in re.findall(r"^# TYPE (\S+) histogram", scraped, re.MULTILINE)}
    asked = {name for expression in _expressions() for name in METRIC.findall(expression)}
    assert len(asked) > 20
    assert asked - there == {ADMIN_ONLY, *IN_FLEET}


def test_every_metric_of_ours_is_on_the_dashboard_or_raises_an_alert(scraped: str) -> None:
    ours = {name for name in re.findall(r"^# TYPE (braid_\S+)", scraped, re.MULTILINE) if not name.endswith("_created")}
    asked = " ".join(_expressions())
    assert {name for name in ours if name not in asked} == set()


@pytest.mark.parametrize("name", ["prometheus.yml", "prometheus-fleet.yml"])
def test_the_scrape_has_a_token_and_the_rules_that_are_beside_it(name: str) -> None:
    configuration = yaml.safe_load((DEPLOY / name).read_text())
    assert [(DEPLOY / name).is_file() for name in configuration["rule_files"]] == [True]
    (job,) = configuration["scrape_configs"]
    assert job.get("metrics_path", "/metrics") == "/metrics"
    assert set(job["authorization"]) == {"credentials_file"}
    assert job["job_name"] == "braid", "as the alerts have it"


def test_expressions_and_alerts_are_whole() -> None:
    for expression in _expressions():
        for opening, closing in ("()", "[]", "{}"):
            assert expression.count(opening) == expression.count(closing), expression
        for labels in LABELS.findall(expression):
            assert all(re.fullmatch(r'\w+(=|!=|=~|!~)"[^"]*"', part.strip()) for part in labels.split(",")), expression
    for rule in _alerts():
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+[smh]", str(rule["for"]))
        assert rule["labels"] in ({"severity": "warning"}, {"severity": "critical"})
        assert set(rule["annotations"]) == {"summary", "description"}  # type: ignore[call-overload]
    assert len({rule["alert"] for rule in _alerts()}) == len(_alerts())


# ---------------------------------------------------------------- the unit for systemd

UNIT = (DEPLOY / "braid.service").read_text()
MOST_EXPOSED = 25
"""Tenths of systemd's figure of how much a service could do outside its own folders; 96 is a unit without any limit."""


def test_the_unit_runs_a_command_that_there_is_as_its_own_user_and_waits_for_its_end() -> None:
    lines = UNIT.splitlines()
    assert {"User=braid", "UMask=0077", "Restart=on-failure"} <= set(lines)
    (command,) = re.findall(r"^ExecStart=\S+/braid (\S+)$", UNIT, re.MULTILINE)
    assert command in cli.commands
    (stop_s,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    assert int(stop_s) > OVERDUE_S


def test_the_unit_bounds_memory_and_lets_libreoffice_leave_the_network() -> None:
    lines = set(UNIT.splitlines())
    assert {"MemoryMax=75%", "OOMPolicy=continue"} <= lines, "or the end of one reader is the end of the service"
    assert "RestrictNamespaces=user net" in lines  # the two of core/ingest/readers/office/converted.py


SYSTEMD_RUN = """#!{python}
import os, shlex, string, sys
given, at = {{}}, 1
while sys.argv[at].startswith("-"):
    name, _, value = (sys.argv[at + 1] if sys.argv[at] == "-p" else sys.argv[at]).partition("=")
    given[name], at = value, at + (2 if sys.argv[at] == "-p" else 1)
assert {{"--quiet", "--pipe", "--wait"}} < set(given) and given["--uid"] == given["--gid"] == "braid", given
lines = [*shlex.split(given["Environment"]), *open(given["EnvironmentFile"]).read().splitlines()]
os.chdir(given["WorkingDirectory"].removeprefix("-"))
line = [string.Template(each).substitute() for each in sys.argv[at:]]
os.execve(line[0], line, dict(line.split("=", 1) for line in lines))
"""
"""What `deploy/braid.sh` asks of systemd: the command with the variables that are given, and no others."""


@pytest.fixture
def python(tmp_path: Path) -> Iterator[tuple[Path, Sequence[int]]]:
    """An interpreter, and the files that it needs open."""
    with python_for_programs(tmp_path / "python") as files:
        yield tmp_path / "python", files


@pytest.mark.skipif(os.name == "nt", reason="systemd")
def test_the_cron_lines_of_the_manual_are_about_the_site_of_the_unit(
    tmp_path: Path, python: tuple[Path, Sequence[int]]
) -> None:
    program, files = python

    def there(text: str) -> str:
        for folder in ("/opt/braid", "/etc/braid", "/var/lib/braid", "/usr/local/sbin", "/srv/backups"):
            text = text.replace(folder, str(tmp_path / folder[1:]))
        return text

    script = (DEPLOY / "braid.sh").read_text()
    for line in re.findall(r"^(?:Environment|EnvironmentFile|UMask)=.*$", UNIT, re.MULTILINE):
        assert line in script, "as the unit has it"
    write(
        tmp_path,
        {
            "usr/local/sbin/braid": there(script),
            "opt/braid/.venv/bin/braid": f'#!/bin/sh\nPYTHONPATH={DEPLOY.parent} exec {program} -m app "$@"\n',
            "bin/systemd-run": SYSTEMD_RUN.format(python=sys.executable),
            "etc/braid/braid.toml": "k = 5\n",
            "etc/braid/secrets.env": "BRAID_SUMMARY_MODEL_API_KEY=a&b\n",
        },
    )
    for name in ("usr/local/sbin/braid", "opt/braid/.venv/bin/braid", "bin/systemd-run"):
        (tmp_path / name).chmod(0o755)
    data, backups = tmp_path / "var/lib/braid/data", tmp_path / "srv/backups"
    backups.mkdir(parents=True)
    manual = (DEPLOY.parent / "docs" / "operations.md").read_text()
    backup, doctor = sorted(
        re.findall(r"^ *\d+ \d+ \* \* \* root (.*)$", manual, re.MULTILINE), key=lambda line: "doctor" in line
    )

    def run(line: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
        return subprocess.run(
            ["/bin/sh", "-c", there(line).replace("\\%", "%")],
            env=env,
            pass_fds=files,
            capture_output=True,
            text=True,
        )

    old = backups / "braid-2026-01-01.zip"
    old.touch()
    os.utime(old, (0, 0))
    for line in (doctor, backup):
        missed = run(line)
        assert missed.returncode != 0
        assert str(data) in missed.stderr
        assert not data.exists(), "no site is made by looking for one"
    with DataDirectory(data, embedding_model=HashEmbeddings()) as directory:
        dataset = add_notes(directory.ledger)
        empty = run(backup)
        assert (empty.returncode, old.exists()) == (1, True), "one without documents is the reason to delete none"
        directory.ledger.put_document(dataset, document("a.md", "the tray"))
    [made] = set(backups.iterdir()) - {old}
    made.unlink()
    whole = run(backup)
    assert (whole.returncode, old.exists()) == (0, False), whole.stderr
    odd = "a$b ${c}$$"
    (backups / odd).touch()
    for folder, there_is in (("/srv/backups", True), ("/opt/braid", False)):
        asked = run(f"cd {folder} && /usr/local/sbin/braid ingest '{odd}' --dataset {dataset}")
        missing = f"there is no file or folder '{odd}'"
        assert (missing in asked.stderr) != there_is, "the folder and the letters that were typed"
        assert odd in asked.stdout + asked.stderr
    assert (run(doctor).returncode, list(tmp_path.joinpath("opt/braid").iterdir())) == (
        0,
        [tmp_path / "opt/braid/.venv"],
    )


def test_systemd_reads_the_unit_and_calls_it_hardened(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "braid.service"
    unit.write_text(UNIT.replace("/opt/braid/.venv/bin/braid", sys.executable))
    for command in (["verify", "--man=no"], ["security", "--offline=true", f"--threshold={MOST_EXPOSED}"]):
        done = subprocess.run([program, *command, str(unit)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
