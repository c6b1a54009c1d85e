"""What installs packages for `make run`: uv, with what pip is told, and pip where uv cannot."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

INSTALL = runpy.run_path(str(Path(__file__).parents[2] / "deploy" / "install.py"))
UNKNOWN = "global.trusted-host='a.example'\n"


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ("", {}),
        ("global.timeout='60'\n:env:.disable-pip-version-check='1'\n", {}),
        ("global.index-url='https://a.example/simple'\n", {"UV_DEFAULT_INDEX": "https://a.example/simple"}),
        (":env:.cert='/etc/our certificates/ca.crt'\n", {"SSL_CERT_FILE": "/etc/our certificates/ca.crt"}),
        (
            "global.extra-index-url='https://a.example https://b.example'\ninstall.find-links='\\n/one\\n/two'\n",
            {
                "UV_INDEX": "https://a.example https://b.example",
                "UV_FIND_LINKS": "/one,/two",
                "UV_INDEX_STRATEGY": "unsafe-best-match",
            },
        ),
        # sorted, as pip lists them: variables count most, then what is said of the command; empty values do not count
        (
            ":env:.index-url='https://c.example'\nglobal.index-url='https://a.example'\ninstall.index-url='https://b.example'",
            {"UV_DEFAULT_INDEX": "https://c.example"},
        ),
        (
            "global.index-url='https://a.example'\ninstall.index-url='https://b.example'\nwheel.index-url='https://d.example'",
            {"UV_DEFAULT_INDEX": "https://b.example"},
        ),
        (":env:.index-url=''\nglobal.index-url='https://a.example'", {"UV_DEFAULT_INDEX": "https://a.example"}),
    ],
)
def test_what_pip_is_told_is_told_to_uv(listed: str, told: Mapping[str, str]) -> None:
    assert INSTALL["variables_of_uv"](INSTALL["settings_of_pip"](listed)) == told


class Installers:
    """Does what pip and uv are asked, or fails: each of ``failing`` ends with an error, or cannot be run at all."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.commands: list[str] = []
        self.environments: list[Mapping[str, str]] = []

    def __call__(self, command: list[str], env: Mapping[str, str] | None = None, **_: Any) -> int:
        words = " ".join(map(str, command))
        self.commands.append("uv" if "uv pip" in words else "get uv" if "--target" in words else "pip")
        self.environments.append(env or {})
        if f"no {self.commands[-1]}" in self.failing:
            raise PermissionError(13, "Permission denied")
        return int(self.commands[-1] in self.failing)


@pytest.mark.parametrize(
    ("listed", "failing", "commands", "status", "said"),
    [
        ("", (), ["get uv", "uv"], 0, ""),
        ("", ("uv",), ["get uv", "uv", "pip"], 0, "uv could not install; pip tries.\n"),
        ("", ("get uv",), ["get uv", "pip"], 0, ""),
        ("", ("no uv",), ["get uv", "uv", "pip"], 0, "uv cannot be run (Permission denied); pip installs.\n"),
        ("", ("uv", "pip"), ["get uv", "uv", "pip"], 1, "uv could not install; pip tries.\n"),
        # without the value, which may have a password
        (UNKNOWN, (), ["pip"], 0, "pip installs, not uv, which does not know what pip is told: trusted-host.\n"),
        (
            ":env:.no-index='1'\n",
            ("pip",),
            ["pip"],
            1,
            "pip installs, not uv, which does not know what pip is told: no-index.\n",
        ),
    ],
)
def test_pip_installs_where_uv_cannot(
    capsys: pytest.CaptureFixture[str],
    listed: str,
    failing: tuple[str, ...],
    commands: list[str],
    status: int,
    said: str,
) -> None:
    run = Installers(*failing)
    assert INSTALL["install"](["-r", "requirements.txt"], {}, listed, run) == status
    assert run.commands == commands
    assert capsys.readouterr().err == said


def test_what_uv_itself_is_told_comes_before_what_pip_is_told() -> None:
    run = Installers()
    given = {"UV_DEFAULT_INDEX": "https://uv.example", "HOME": "/home/ann"}
    INSTALL["install"](["braid"], given, "global.index-url='https://pip.example'\n", run)
    assert run.environments[-1] == given
    assert sys.executable in INSTALL["PIP"]
