"""The Dockerfile by the rules that hadolint has, and against what is in the repository."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import NamedTuple

from tests.deploy.named import DEPLOY, ROOT, check_command, check_image, check_settings, check_values

TEXT = (DEPLOY / "Dockerfile").read_text()


class Step(NamedTuple):
    """An instruction, its lines put together."""

    word: str
    rest: str


def _stages() -> list[list[Step]]:
    lines = [line for line in TEXT.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    steps = [Step(*line.split(" ", 1)) for line in joined.splitlines()]
    starts = [number for number, step in enumerate(steps) if step.word == "FROM"]
    return [steps[start:end] for start, end in zip(starts, [*starts[1:], len(steps)], strict=True)]


BUILD, LAST = _stages()


def _of(stage: list[Step], word: str) -> list[str]:
    return [step.rest for step in stage if step.word == word]


def test_both_stages_begin_with_one_slim_image_of_a_version() -> None:
    assert {step.word for step in BUILD + LAST} <= {
        *(
            "FROM",
            "ARG",
            "ENV",
            "RUN",
            "COPY",
            "WORKDIR",
            "VOLUME",
            "USER",
            "EXPOSE",
            "HEALTHCHECK",
            "ENTRYPOINT",
            "CMD",
        )
    }
    images = {stage[0].rest.split(" AS ")[0] for stage in (BUILD, LAST)}
    (image,) = images
    check_image(image)
    assert "-slim-" in image


def test_what_is_installed_has_a_version_and_leaves_no_lists_behind() -> None:
    for command in (command for run in _of(BUILD + LAST, "RUN") for command in run.split("&&")):
        words = command.split()
        if "apt-get" in words and "install" in words:
            assert {"--yes", "--no-install-recommends"} <= set(words)
            packages = re.findall(
                r"\b[a-z][a-z0-9-]+(?:=\S+)?", re.sub(r"--\S+|apt-get install|\$\{[A-Z]+:\+", "", command)
            )
            assert len(packages) == 10
            assert [package for package in packages if "=" not in package] == []
        if "pip" in words and words[-1] != "pip" and "install" in words and "-r" not in words:
            named = [word for word in words[words.index("install") + 1 :] if re.match(r"[a-z]", word)]
            assert [word for word in named if "==" not in word] in ([], ["/wheels", "braid-search"], ["braid-search"])
        if "apt-get" in words and "update" in words:
            assert "rm -rf /var/lib/apt/lists/*" in " ".join(_of(LAST, "RUN"))
    assert "sudo" not in TEXT
    assert "apt " not in TEXT.replace("apt-get ", "")
    assert not re.search(r"^ADD|curl|wget", TEXT, re.MULTILINE)


def test_the_requirements_are_those_that_are_pinned() -> None:
    (installs,) = [run for run in _of(BUILD, "RUN") if " -r " in run]
    assert re.findall(r"-r (\S+)", installs) == ["requirements.txt", "requirements-scale.txt"]
    tools = dict(re.findall(r"\b(setuptools)==(\S+)", TEXT))
    assert f"setuptools=={tools['setuptools']}" in (ROOT / "requirements-dev.txt").read_text().splitlines()


def test_the_last_stage_has_no_tools_to_build_with_and_another_user() -> None:
    runs = " ".join(_of(LAST, "RUN"))
    assert "pip uninstall --yes" in runs
    assert all(tool in runs.partition("uninstall")[2] for tool in ("setuptools", "wheel", "pip"))
    assert not re.search(r"\b(gcc|g\+\+|make|build-essential|git)\b", runs)
    assert _of(LAST, "COPY") == ["--from=build /opt/braid /opt/braid"]
    (user,) = _of(LAST, "USER")
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user), "a number, so that runAsNonRoot can be checked"
    assert user.split(":")[0] in runs
    words = [step.word for step in LAST]
    assert words.index("USER") > words.index("RUN")


def test_all_that_it_writes_to_is_a_volume_or_tmp() -> None:
    (volume,) = _of(LAST, "VOLUME")
    environment = dict(re.findall(r"([A-Z_]+)=(\S+)", " ".join(_of(LAST, "ENV"))))
    for name in ("BRAID_DATA_DIR", "BRAID_SHARED_DBS"):
        assert environment[name].startswith(volume)
    assert _of(LAST, "WORKDIR") == [volume], "braid.toml and prompts.toml are looked for there"
    assert environment["HOME"] == "/tmp"
    check_settings(environment)
    check_values(environment)
    assert not re.search(r"(?i)password|secret|token|api_?key", TEXT), "an image has no secrets"


def test_it_starts_without_a_shell_and_asks_for_its_health_with_python_on_the_port() -> None:
    (entry,), (command,), (check,), (port,) = (
        _of(LAST, word) for word in ("ENTRYPOINT", "CMD", "HEALTHCHECK", "EXPOSE")
    )
    assert json.loads(entry) == ["tini", "--", "braid"]
    check_command(json.loads(command))
    program, option, code = json.loads(check.partition("CMD ")[2])
    assert (program, option) == ("python", "-c")
    ast.parse(code)
    assert f"'127.0.0.1', {port}," in code
    assert "'/healthz'" in code
    assert f"BRAID_PORT={port}" in TEXT


def test_the_health_check_tells_a_server_that_answers_from_one_that_does_not() -> None:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    code = json.loads(_of(LAST, "HEALTHCHECK")[0].partition("CMD ")[2])[2]
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        well = code.replace("8000", str(server.server_port))
        states = [
            subprocess.run([sys.executable, "-S", "-c", each], capture_output=True).returncode
            for each in (well, well.replace("/healthz", "/gone"))
        ]
        server.shutdown()
    assert states == [0, 1]


def _left_out(path: str) -> bool:
    """Whether .dockerignore leaves a file out: the last line that matches it, or a folder above it, decides."""
    found = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            form = re.escape(line.removeprefix("!")).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
            if re.match(rf"{form}(/|$)", path):
                found = not line.startswith("!")
    return found


def test_what_is_copied_is_there_and_what_is_of_this_directory_alone_is_left_out() -> None:
    copied = [word for copy in _of(BUILD, "COPY") for word in copy.split()[:-1]]
    for name in copied:
        assert (ROOT / name).exists(), name
        assert not _left_out(f"{name}/x.py" if (ROOT / name).is_dir() else name), name
    for name in ("data/ledger.db", "braid.toml", ".git/config", "deploy/.env", "tests/x.py", "core/__pycache__/x.pyc"):
        assert _left_out(name), name
    packages = {path.name for path in (ROOT / "braid").iterdir() if path.is_symlink()}
    assert {"braid", *packages} <= set(copied)
