"""Several processes of `braid serve` on one port."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from braid.app.factory import create_app
from braid.app.site import EXTENSION, Site
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.ledger.owners.owner import read_note
from tests.fakes import HashEmbeddings
from tests.forked_children import in_earnest, python, ran_python
from tests.served import ROOT
from tests.worlds import WAIT_S, eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the children of a process are read from /proc")


@pytest.fixture
def port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def served(tmp_path: Path, port: int, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
    environment |= {"BRAID_SHARED_DBS": str(tmp_path / "shared_dbs.json"), "BRAID_PORT": str(port)}
    command = ("-m", "app", "serve", "--workers", "2", "--data-dir", str(tmp_path / "data"))
    with getattr(request, "param", nullcontext)():
        process = python(
            *command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
    yield process
    process.kill()
    process.communicate()


def children(pid: int) -> set[int]:
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_process_that_dies_is_replaced_and_the_port_stays_open(
    served: subprocess.Popen[str], port: int, tmp_path: Path
) -> None:
    assert served.stdout is not None
    assert served.stdout.readline() == f"Braid is ready: http://127.0.0.1:{port}/\n"

    def answers() -> int:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=WAIT_S) as response:
            return int(response.status)

    def owner() -> int:
        note = read_note(tmp_path / "data")
        return note.pid if note else 0

    eventually(lambda: len(children(served.pid)) == 2)
    first = owner()
    assert first in children(served.pid)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: not is_running(first))
    for _ in range(20):
        assert answers() == 200
    eventually(lambda: len(children(served.pid) - {first}) == 2 and owner() not in (0, first))
    assert owner() in children(served.pid)
    left = children(served.pid)
    served.send_signal(signal.SIGTERM)
    assert served.wait(WAIT_S) == 0
    assert not any(is_running(pid) for pid in left)


@pytest.mark.parametrize("served", [in_earnest], indirect=True, ids=["in earnest"])
def test_the_processes_end_with_their_parent(served: subprocess.Popen[str]) -> None:
    assert served.stdout is not None
    served.stdout.readline()
    eventually(lambda: len(children(served.pid)) == 2)
    left = children(served.pid)
    served.kill()
    eventually(lambda: not any(is_running(pid) for pid in left))


def test_why_the_first_process_does_not_start_is_said(tmp_path: Path, port: int) -> None:
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings()):
        command = ("-m", "app", "serve", "--workers", "2", "--data-dir", str(tmp_path / "data"))
        environment = {**os.environ, "BRAID_PORT": str(port), "BRAID_SHARED_DBS": str(tmp_path / "shared_dbs.json")}
        done = ran_python(*command, cwd=ROOT, env=environment)
    assert done.returncode not in (0, -signal.SIGKILL)
    assert "has the data directory" in done.stderr
    assert done.stderr.count("has the data directory") == 1


@pytest.mark.parametrize(("workers", "taken"), [(1, 6), (2, 3)])
def test_limits_are_counted_together_where_there_are_several(workers: int, taken: int, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, shared_dbs=tmp_path / "shared_dbs.json", workers=workers)
    with (
        Braid(tmp_path, embedding_model=HashEmbeddings()) as one,
        Braid(tmp_path, embedding_model=HashEmbeddings()) as two,
    ):
        sites: list[Site] = [create_app(settings, braid).extensions[EXTENSION] for braid in (one, two)]
        attempts = [site.windows.acquire_entry("ann", 3, 3600) for _ in range(4) for site in sites]
    assert attempts.count(True) == taken
