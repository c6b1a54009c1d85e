"""The server of the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from braid.app import server
from braid.config.settings import Settings
from braid.core.errors import InvalidInputError, NotOwnerError
from tests.served import ROOT
from tests.worlds import AT_LAST_S, WAIT_S


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "example.org"])
def test_another_host_needs_the_names_that_it_is_known_by(host: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=f"host is '{host}'.*BRAID_ALLOWED_HOSTS="):
        server.serve(Settings(host=host, data_dir=tmp_path / "data"))
    assert not (tmp_path / "data").exists()


@pytest.fixture
def port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


PATIENT = f"""
from braid.app import server
from braid.app.__main__ import main
server.OVERDUE_S = {AT_LAST_S:.0f}  # what embeds gives way to neighbours, and is waited for
main("python -m app")
"""


def start(data_dir: Path, port: int) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
    environment |= {"BRAID_SHARED_DBS": str(data_dir / "shared_dbs.json"), "BRAID_PORT": str(port)}
    command = [sys.executable, "-c", PATIENT, "serve", "--data-dir", str(data_dir)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


class Visitor:
    """A browser that keeps cookies and follows redirects."""

    def __init__(self) -> None:
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def send(self, url: str, **form: str) -> tuple[int, str]:
        """GET, or POST with a form."""
        data = urllib.parse.urlencode(form).encode() if form else None
        try:
            with self._opener.open(url, data, timeout=WAIT_S) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def set_up(self, url: str) -> None:
        """Make the administrator, as at the first visit, to which every page leads."""
        _, page = self.send(url)
        token = re.search(r'name="csrf_token" value="([^"]+)"', page)
        assert token is not None
        assert self.send(url + "setup", csrf_token=token[1], name="admin", password="correct horse")[0] == 200


def test_port_in_use_is_said(tmp_path: Path, port: int) -> None:
    settings = Settings(data_dir=tmp_path / "data", shared_dbs=tmp_path / "shared_dbs.json", port=port)
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        with pytest.raises(InvalidInputError, match=f"port {port} .* another program uses it; choose another"):
            server.serve(settings)
    assert not (tmp_path / "data" / "owner.json").exists()


def test_serve_answers_refuses_a_second_owner_and_stops_in_order(tmp_path: Path, port: int) -> None:
    url = f"http://127.0.0.1:{port}/"
    with start(tmp_path / "data", port) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == f"Braid is ready: {url}\n"
        visitor = Visitor()
        assert json.loads(visitor.send(url + "healthz")[1]) == {"status": "ok"}
        visitor.set_up(url)
        assert visitor.send(url + "search?mode=keyword&q=" + "%E3%81%82" * 10_000)[0] == 200
        assert visitor.send(url + "search?q=" + "%E3%81%82" * 11_000)[0] == 400
        with pytest.raises(NotOwnerError, match=f"process {running.pid} at {url}"):
            server.serve(Settings(data_dir=tmp_path / "data", port=port))
        running.send_signal(signal.SIGTERM)
        try:
            _, log = running.communicate(timeout=WAIT_S)
        finally:
            running.kill()  # where it has not ended
    assert running.returncode == 0, log
    assert re.search(r"event=started version=\S+ database=sqlite embedding_model=\S+ url=http", log)
    assert "%E3" not in log
    assert "ああ" not in log
    assert not (tmp_path / "data" / "owner.json").exists()
