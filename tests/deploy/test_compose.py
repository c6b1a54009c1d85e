"""compose.yaml against the Compose specification's schema, Braid's settings and command line, and its own parts."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema

from braid.app.server import OVERDUE_S
from braid.config.settings import Settings
from tests.deploy.named import DEPLOY, check_command, check_image, check_settings, check_values

TEXT = (DEPLOY / "compose.yaml").read_text()
FILE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = FILE["services"]
OURS = ("web", "worker")
VARIABLE = re.compile(r"\$\{(\w+)(?::([?-])([^}]*))?\}")


def _seconds(duration: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([sm])", duration).groups()  # type: ignore[union-attr]
    return int(number) * {"s": 1, "m": 60}[unit]


def test_it_is_as_the_specification_has_it() -> None:
    jsonschema.validate(FILE, get_builtin_schema("vendor.compose-spec"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"services": {"web": {"images": "x"}}}, get_builtin_schema("vendor.compose-spec"))


def test_there_are_two_that_serve_two_that_work_and_what_they_need() -> None:
    assert set(SERVICES) == {*OURS, "proxy", "postgres", "milvus", "etcd", "minio"}
    for name in OURS:
        assert SERVICES[name]["deploy"]["replicas"] == 2
        check_command(SERVICES[name]["command"])
        assert set(SERVICES[name]["depends_on"]) == {"postgres", "milvus"}
    assert set(SERVICES["milvus"]["depends_on"]) == {"etcd", "minio"}
    assert SERVICES["web"]["command"][0] == "serve"
    assert SERVICES["worker"]["command"][0] == "worker"


def test_every_part_has_a_version_a_check_a_restart_and_waits_for_others() -> None:
    for name, service in SERVICES.items():
        check_image(service["image"])
        assert service["restart"] == "unless-stopped", name
        assert name in OURS or service["healthcheck"]["test"][0] == "CMD", name  # ours: in the image
        for needed, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            assert needed in SERVICES


def test_volumes_and_networks_are_named_and_only_the_proxy_is_open_to_others() -> None:
    used = set()
    for name, service in SERVICES.items():
        for volume in service.get("volumes", ()):
            source, _, target = volume.partition(":")
            assert target.startswith("/"), volume
            if source.startswith("./"):
                assert (DEPLOY / source).is_file(), volume
            else:
                used.add(source)
        assert set(service["networks"]) <= set(FILE["networks"])
        assert ("ports" in service) == (name == "proxy")
    assert used == set(FILE["volumes"])
    assert FILE["networks"]["back"] == {"internal": True}
    for name in ("postgres", "milvus", "etcd", "minio"):
        assert SERVICES[name]["networks"] == ["back"]


def test_settings_are_settings_and_have_values_that_braid_takes() -> None:
    filled = {"BRAID_SECRET_KEY": "k" * 43, "BRAID_NAME": "braid.example.org", "BRAID_METRICS_TOKENS": "t" * 43}
    for name in OURS:
        environment = {
            key: VARIABLE.sub(lambda found: filled.get(found[1], "x" * 24), value)
            for key, value in SERVICES[name]["environment"].items()
        }
        check_settings(environment)
        check_values(environment)


def test_no_secret_is_in_it_and_those_it_asks_for_are_in_the_example() -> None:
    example = set(re.findall(r"^(\w+)=$", (DEPLOY / "compose.env.example").read_text(), re.MULTILINE))
    assert {found[1] for found in VARIABLE.finditer(TEXT)} == example
    for found in VARIABLE.finditer(TEXT):
        assert found[2] == "?" or found[3] == "", f"{found[1]} has a value that everybody knows"
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|TOKEN", name):
                assert VARIABLE.search(value), name


def test_ours_write_nowhere_but_to_the_volume_and_tmp_and_end_in_their_own_time() -> None:
    for name in OURS:
        service = SERVICES[name]
        assert service["read_only"] is True
        assert [mount.partition(":")[0] for mount in service["tmpfs"]] == ["/tmp"]
        assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
        assert _seconds(service["stop_grace_period"]) > OVERDUE_S
        assert service["volumes"] == ["data:/data"]


def test_the_connections_of_all_are_fewer_than_those_of_the_database() -> None:
    processes = sum(SERVICES[name]["deploy"]["replicas"] for name in OURS)
    each = int(SERVICES["web"]["environment"]["BRAID_DATABASE_CONNECTIONS"])
    (most,) = re.findall(r"max_connections=(\d+)", " ".join(SERVICES["postgres"]["command"]))
    assert 2 * processes * each < int(most), "twice as many processes go without a change"


def test_a_worker_has_the_memory_that_its_readers_may_take() -> None:
    environment = SERVICES["worker"]["environment"]
    reading = int(environment["BRAID_JOB_WORKERS"]) + 1  # one more for other users
    needed = reading * int(environment["BRAID_PARSE_MEMORY_MB"]) + 512
    assert int(SERVICES["worker"]["mem_limit"].removesuffix("g")) * 1024 >= needed
    assert Settings().parse_memory_mb > int(environment["BRAID_PARSE_MEMORY_MB"])


def test_the_proxy_leads_to_the_processes_that_serve_and_does_not_buffer(tmp_path: Path) -> None:
    text = (DEPLOY / "compose.Caddyfile").read_text()
    assert re.search(r"dynamic a \{\s+name web\s+port 8000\s", text)
    assert not re.search(r"^\s*flush_interval", text, re.MULTILINE), "a caller who leaves is not noticed with it"
    program = shutil.which("caddy")
    if program is None:
        pytest.skip("caddy is not installed")
    command = [program, "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "compose.Caddyfile")]
    environment = {"BRAID_NAME": "localhost", "HOME": str(tmp_path), "PATH": "/usr/bin"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
