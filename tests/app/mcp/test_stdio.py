"""The server on stdin and stdout."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from tests.app.mcp.sessions import call, run
from tests.worlds import WAIT_S


def test_stdio_with_a_data_directory_of_its_own(tmp_path: Path) -> None:
    environment = {**os.environ, "BRAID_DATA_DIR": str(tmp_path / "data"), "BRAID_SHARED_DBS": str(tmp_path / "s.json")}
    server = StdioServerParameters(command=sys.executable, args=["-m", "app", "mcp"], env=environment, cwd=os.getcwd())

    async def talk(client: Client) -> None:
        stored = await call(client, "put_document", text="The tray is empty: E-4711.", filepath="a.md")
        assert stored["status"] == "success"
        found: dict[str, Any] = {}
        end = time.monotonic() + WAIT_S
        while not found.get("count") and time.monotonic() < end:  # each search takes a while
            found = await call(client, "search", query="E-4711", mode="keyword")
        assert found["results"][0]["filepath"] == "a.md"
        [hit] = (await call(client, "find_exact", text="is empty: E-4711"))["results"]
        assert (hit["filepath"], hit["url"]) == ("a.md", ""), "there are no pages"
        part = await call(client, "read_document", filepath="a.md", **{"from": hit["metadata"]["passage"]})
        assert part["passages"][0]["text"] == (await call(client, "fetch", id=hit["id"]))["text"]

    run(Client(server), talk)
