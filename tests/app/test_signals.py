"""SIGTERM while the server is still being loaded ends it as later: with status 0. What it waits for is told."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from braid.app import server
from braid.core.processes.frames import receive
from tests.worlds import WAIT_S, eventually

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")

STOPPED_WHEN_LOADING = """
import os, signal, sys

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Stop())
sys.argv = ["app", {command!r}]
from braid.app.__main__ import main
main("python -m app")
"""


@pytest.mark.parametrize(
    ("module", "command", "status"),
    [
        ("braid.app.cli.root", "serve", 0),
        ("braid.app.server", "serve", 0),
        ("alembic", "serve", 0),  # the ledger is being made
        ("braid.app.cli.root", "worker", 0),
        ("braid.app.cli.root", "doctor", -15),
    ],
)
def test_sigterm_during_the_start(tmp_path: Path, module: str, command: str, status: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STOPPED_WHEN_LOADING.format(module=module, command=command)],
        env={**os.environ, "BRAID_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == status, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Braid is ready" not in ended.stdout


def test_what_a_stop_still_waits_for_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    statuses: list[int] = []
    monkeypatch.setattr(os, "_exit", statuses.append)
    end, beginning = os.pipe()
    with open(end, "rb") as stream, open(beginning, "wb"):
        waiting = threading.Thread(target=receive, args=(stream,))
        waiting.start()
        eventually(lambda: (server._end_overdue(), "braid.core.processes.frames:" in caplog.text)[1])
    waiting.join(WAIT_S)
    assert set(statuses) == {1}
