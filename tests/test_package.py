"""The package: everything that runs is in the wheel, and it runs from there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("core", "app", "config")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, since building leaves folders behind."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for package in ("braid", *PACKAGES):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, source / package, symlinks=True, ignore=ignore)
    for name in ("pyproject.toml", "requirements.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(target)]
    subprocess.run([*command, str(source)], check=True, capture_output=True, timeout=100)
    (built,) = target.glob("*.whl")
    return built


def test_every_file_of_the_packages_is_in_it(wheel: Path) -> None:
    here = {
        f"braid/{path.relative_to(ROOT / within).as_posix()}"
        for package, within in (("braid", "braid"), *((package, "") for package in PACKAGES))
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == here
    assert "braid/py.typed" in packed


def test_it_asks_for_what_is_pinned(wheel: Path) -> None:
    contents = zipfile.ZipFile(wheel)
    (name,) = (name for name in contents.namelist() if name.endswith(".dist-info/METADATA"))
    asked = {line.split(": ", 1)[1] for line in contents.read(name).decode().splitlines() if "Requires-Dist" in line}
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    assert asked == {line for line in lines if line and not line.startswith("#")}


def test_the_command_runs_from_it(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as contents:
        contents.extractall(tmp_path / "site")
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["braid"]
    module, _, function = entry.partition(":")
    code = f"from {module} import {function}; {function}()"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    for arguments in (["dataset", "add", "Notes"], ["dataset", "list"]):
        command = [sys.executable, "-c", code, *arguments, "--data-dir", str(tmp_path / "data")]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
    assert "Notes" in done.stdout
