"""The recipes of several processes, each over a copy of the folder that the recipe plain-python has filled."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from braid.core.accounts.credentials import ApiTokens
from braid.core.braid import Braid
from tests.modes import mostly_long
from tests.test_recipes import ROOT, block, run
from tests.web import make_app, serving
from tests.worlds import WAIT_S, eventually


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    run([sys.executable, "-c", block("plain-python", "python")], folder)
    return folder


@pytest.mark.parametrize("recipe", mostly_long(["gunicorn", "fastapi"]))
def test_a_server_with_two_workers(recipe: str, filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    shutil.copytree(filled, folder)
    (folder / "shop.py").write_text(block(recipe, "python"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = shlex.split(block(recipe, "bash").replace("8000", port))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
    environment |= {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    log = (tmp_path / "log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", *command], cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
    )
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: answers(f"{url}/find?q=printer"), pause_s=0.2)
        for _ in range(10):
            assert httpx.get(f"{url}/find?q=printer", timeout=WAIT_S).text.strip() == block(recipe, "text").strip()
        assert httpx.get(f"{url}/braid/search?q=printer", timeout=WAIT_S).status_code == 200
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        log.close()


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=WAIT_S).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.mark.long
def test_django(filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    shutil.copytree(filled, folder)
    (folder / "shop.py").write_text(block("django", "python"))
    assert run([sys.executable, "shop.py"], folder) == block("django", "text")


@pytest.mark.long
def test_remote(filled: Path, tmp_path: Path) -> None:
    shutil.copytree(filled / "data", tmp_path / "data")
    with Braid(tmp_path / "data") as there, serving(make_app(there)) as url:
        _, token = ApiTokens(there.ledger).add(1, "recipe", ["read"])
        given = {"BRAID_URL": url, "BRAID_TOKEN": token}
        printed = run([sys.executable, "-c", block("remote", "python")], tmp_path, **given)
    assert printed == block("remote", "text")
