"""Nothing leaves the computer that nobody asked for: no name is looked up, nothing is sent, no file is left elsewhere.

What is looked at runs with the default model and nothing set, in a network of its own (tests/alone.py) and with an
empty home. The functions without ``test`` are run there, by name, each in a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.alone import ELSEWHERE, NOT_ALLOWED, Sent
from tests.modes import mostly_long
from tests.served import ROOT, Served
from tests.worlds import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has namespaces")

FILES = {
    "pump.md": b"# Pump\n\nThe pump runs at a pressure of 12 bar.\n",
    "valve.py": b'def open_valve() -> None:\n    """Open the valve XK-4711."""\n',
    "lamp.html": "<h1>ランプ</h1><p>入口のランプは夜に点灯します。</p><img src='http://pictures.example.org/a.png'>".encode(),
}
SWITCHES = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "ANONYMIZED_TELEMETRY")
"""Variables that keep dependencies from sending: Braid has to do it where nobody has set them."""


# ---------------------------------------------------------------- what is run alone


def look_up(folder: Path) -> None:
    """Send something, and leave a file."""
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"deviceId", ("events.example.org", 443))
    Path.home().joinpath(".cache").mkdir()
    Path.home().joinpath(".cache", "deviceid").touch()


def use_the_app(folder: Path) -> None:
    """Serve, upload, search, chat with a model on this computer, ask over MCP, and end."""
    from tests.model_server import model_server

    with model_server("It runs at 12 bar [1].") as model:
        summary = {"SUMMARY_MODEL": "openai:writer", "SUMMARY_MODEL_BASE_URL": model.url, "LEG_TIMEOUT_S": 60}
        with Served(folder / "data", **summary, SUMMARY_MODEL_API_KEY="none") as app:
            notes = app.new_dataset()
            headers = app.headers()
            for name, content in FILES.items():
                assert app.upload(notes, name, content, headers).status_code == 202
            app.wait_found(notes)
            form = {"csrf_token": app.token(), "name": "all", "scope": ["read", "write"], "days": "90"}
            page = app.client.post("/account/tokens", data=form).text
            (key,) = set(re.findall(r"braid_[\w-]{20,}", page))
            app.client.headers["Authorization"] = f"Bearer {key}"
            found = app.client.post("/api/v1/search", json={"query": "pressure of the pump", "dataset_ids": [notes]})
            assert found.json()["hits"], found.text
            answer = app.client.post("/api/v1/chat", json={"message": "pressure of the pump", "dataset_ids": [notes]})
            assert "12 bar" in answer.json()["text"], answer.text
            assert "pump.md" in asyncio.run(_searched_over_mcp(f"http://127.0.0.1:{app.port}/mcp", key))


async def _searched_over_mcp(url: str, key: str) -> str:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async with (
        create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        return str(await client.call_tool("search", {"query": "pressure"}))


def use_the_library(folder: Path) -> None:
    """Put, search both legs, have the copy in Chroma written, and ask a LangChain retriever."""
    from braid import Braid, ingest_bytes

    with Braid(folder / "data") as braid:
        ann = braid.ledger.add_user("ann").id
        notes = braid.ledger.add_dataset(ann, "notes").id
        for name, content in FILES.items():
            ingest_bytes(braid, notes, name, content)
        assert braid.indexer.wait(100, ("bm25", "dense", "chroma"))
        eventually(lambda: braid.search("pressure", user_id=ann, mode="semantic").hits, 100)
        assert braid.get_retriever(user_id=ann).invoke("XK-4711")


def use_the_commands(folder: Path) -> None:
    """Read a folder and search it, from a shell."""
    documents = folder / "data" / "documents"
    documents.mkdir(parents=True)
    for name, content in FILES.items():
        (documents / name).write_bytes(content)
    for arguments in ("user add ann", "dataset add notes", f"ingest {documents} --dataset 1", "search pressure"):
        command = [sys.executable, "-m", "app", "--data-dir", str(folder / "data" / "own"), *arguments.split()]
        subprocess.run(command, check=True, cwd=ROOT)


# ---------------------------------------------------------------- what is seen


def alone(run: Callable[[Path], None], folder: Path, **settings: str) -> tuple[Sent, list[str]]:
    """Run the function in a network of its own and an empty home; return what it sent, and the files that it left
    outside the data directory.
    """
    places = {"HOME": folder / "home", "TMPDIR": folder / "tmp"}
    for place in places.values():
        place.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("BRAID_", "XDG_")) and name not in SWITCHES
    }
    environment |= {name: str(place) for name, place in places.items()} | {"PYTHONDONTWRITEBYTECODE": "1"}
    report = folder / "report.json"
    program = f"from pathlib import Path; from {__name__} import {run.__name__} as run; run(Path({str(folder)!r}))"
    command = [sys.executable, "-m", "tests.alone", str(report), sys.executable, "-c", program]
    ended = subprocess.run(command, cwd=ROOT, env=environment | settings, capture_output=True, text=True, check=False)
    if ended.returncode == NOT_ALLOWED and "TESTS_NEED_NAMESPACES" not in os.environ:
        pytest.skip(ended.stderr)
    assert ended.returncode == 0, ended.stderr
    left = (path for place in places.values() for path in place.rglob("*"))
    return Sent(**json.loads(report.read_text())), sorted(str(path.relative_to(folder)) for path in left)


def test_what_is_sent_is_seen(tmp_path: Path) -> None:
    sent, left = alone(look_up, tmp_path)
    assert sent == Sent(["events.example.org"], [ELSEWHERE])
    assert left == ["home/.cache", "home/.cache/deviceid"]


@pytest.mark.parametrize("run", mostly_long([use_the_app, use_the_library, use_the_commands]))
def test_nothing_leaves(run: Callable[[Path], None], tmp_path: Path) -> None:
    assert alone(run, tmp_path) == (Sent(), [])
