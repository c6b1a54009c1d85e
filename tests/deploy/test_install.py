"""What installs packages for `make run`: uv, with what pip is told, and pip where uv cannot."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

INSTALL = runpy.run_path(str(Path(__file__).parents[2] / "deploy" / "install.py"))
Settings = Mapping[str, str] | None
settings_for_uv: Callable[[str], Settings] = INSTALL["settings_for_uv"]


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ("", {}),
        ("global.timeout='60'\n:env:.disable-pip-version-check='1'\n", {}),
        ("global.index-url='https://a.example/simple'\n", {"UV_DEFAULT_INDEX": "https://a.example/simple"}),
        (":env:.cert='/etc/ssl/ours.crt'\n", {"SSL_CERT_FILE": "/etc/ssl/ours.crt"}),
        (
            "global.extra-index-url='https://a.example https://b.example'\nuser.find-links='/one\\n/two'\n",
            {
                "UV_INDEX": "https://a.example https://b.example",
                "UV_FIND_LINKS": "/one,/two",
                "UV_INDEX_STRATEGY": "unsafe-best-match",
            },
        ),
        # uv has nothing like it, or a name for it that may change
        ("global.trusted-host='a.example'\n", None),
        ("global.index-url='https://a.example'\ninstall.only-binary=':all:'\n", None),
        (":env:.no-index='1'\n", None),
    ],
)
def test_what_pip_is_told_is_told_to_uv_or_pip_installs(listed: str, told: Settings) -> None:
    assert settings_for_uv(listed) == told


class Installers:
    """Stand in for pip and uv; those whose words are in ``failing`` fail."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.commands: list[str] = []
        self.environments: list[Mapping[str, str]] = []

    def __call__(self, command: list[str], env: Mapping[str, str] | None = None, **_: Any) -> int:
        words = " ".join(map(str, command))
        self.commands.append("uv" if "uv pip" in words else "get uv" if "--target" in words else "pip")
        self.environments.append(env or {})
        return int(self.commands[-1] in self.failing)


@pytest.mark.parametrize(
    ("listed", "failing", "commands", "status"),
    [
        ("", (), ["get uv", "uv"], 0),
        ("", ("uv",), ["get uv", "uv", "pip"], 0),
        ("", ("get uv",), ["get uv", "pip"], 0),
        ("", ("uv", "pip"), ["get uv", "uv", "pip"], 1),
        ("global.trusted-host='a.example'\n", (), ["pip"], 0),
    ],
)
def test_pip_installs_where_uv_cannot(listed: str, failing: tuple[str, ...], commands: list[str], status: int) -> None:
    run = Installers(*failing)
    assert INSTALL["install"](["-r", "requirements.txt"], {}, listed, run) == status
    assert run.commands == commands


def test_what_uv_itself_is_told_comes_before_what_pip_is_told() -> None:
    run = Installers()
    given = {"UV_DEFAULT_INDEX": "https://uv.example", "HOME": "/home/ann"}
    INSTALL["install"](["braid"], given, "global.index-url='https://pip.example'\n", run)
    assert run.environments[-1] == given
    assert sys.executable in INSTALL["PIP"]
