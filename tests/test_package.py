"""The package: everything that runs is in the wheel, and it runs from there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
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


@pytest.fixture(scope="module")
def host_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which the wheel is installed, over the requirements of this one."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True, timeout=100)
    (site_packages(python) / "requirements.pth").write_text(sysconfig.get_path("purelib"))
    return python


def site_packages(python: Path) -> Path:
    """Where packages are installed for this Python."""
    return python.parent.parent / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def run(python: Path, *arguments: str, folder: Path) -> str:
    """What a command prints that must succeed."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), *arguments]
    done = subprocess.run(command, cwd=folder, env=inherited, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_one_package_of_ours_is_installed(host_python: Path) -> None:
    installed = {path.name for path in site_packages(host_python).iterdir() if path.suffix != ".pth"}
    assert {name for name in installed if not name.endswith(".dist-info")} == {"braid"}


def test_the_command_runs_from_it(host_python: Path, tmp_path: Path) -> None:
    braid = str(host_python.parent / "braid")
    for arguments in (["-m", "braid", "dataset", "add", "Notes"], [braid, "dataset", "list"]):
        printed = run(host_python, *arguments, "--data-dir", str(tmp_path / "data"), folder=tmp_path)
    assert "Notes" in printed


HOST = """
import sys
from pathlib import Path

import config
import core.shelves
from app import app
from braid import Braid, HostUser, ingest_bytes, register_braid
from braid.core.accounts.credentials import ApiTokens

with Braid(Path("data")) as braid:
    site = register_braid(app, lambda: HostUser("ann"), braid=braid, url_prefix="/braid")
    visitor = app.test_client()
    assert visitor.get("/").text == config.NAME + core.shelves.CONTENT
    assert visitor.get("/braid/search").status_code == 200
    user = braid.ledger.user_named("ann")
    dataset = braid.ledger.add_dataset(user.id, "Notes")
    ingest_bytes(braid, dataset.id, "printer.md", b"# Printer\\n\\nError E-4711 means that the paper tray is empty.\\n")
    assert braid.indexer.wait(60)
    _, token = ApiTokens(braid.ledger).add(user.id, "host", ["read", "write"])
    headers = {"Authorization": f"Bearer {token}"}
    found = visitor.post("/braid/api/v1/search", json={"query": "Why does the printer stop?"}, headers=headers).json
    assert found["hits"][0]["passage"]["title"] == "Printer", found
    answer = visitor.post("/braid/api/v1/chat", json={"message": "What does E-4711 mean?"}, headers=headers).json
    assert "paper tray is empty" in answer["text"], answer
    site.close()
ours = [name for name in sys.modules if name.split(".")[0] in ("app", "core", "config")]
assert sorted(ours) == ["app", "config", "core", "core.shelves"], ours
print("ok")
"""


def test_a_host_keeps_its_own_app_core_and_config(host_python: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import config, core.shelves\nfrom flask import Flask\napp = Flask(__name__)\napp.secret_key = 'secret'\n"
        "app.get('/')(lambda: config.NAME + core.shelves.CONTENT)\n"
    )
    (tmp_path / "config.py").write_text("NAME = 'shop'\n")
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").touch()
    (tmp_path / "core" / "shelves.py").write_text("CONTENT = 'books'\n")
    (tmp_path / "host.py").write_text(HOST)
    assert run(host_python, "host.py", folder=tmp_path) == "ok\n"
