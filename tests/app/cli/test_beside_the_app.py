"""The command line and MCP on stdio beside a running app: the app searches, and nobody opens its indexes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from sqlalchemy import func, select

from braid.app.owner.client import OwnerClient, short_lived_key
from braid.core.braid import Braid
from braid.core.errors import IndexUnavailableError, InvalidInputError
from braid.core.ledger.tables import ApiTokenRow
from braid.core.types import ChunkInput, DocumentInput, Filters
from tests.app.mcp.test_mcp import call
from tests.fakes import HashEmbeddings
from tests.web import make_app, serving
from tests.worlds import WAIT_S


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Braid]]:
    """A running app over one document; its address is announced as the server does."""
    with Braid(tmp_path / "data", embedding_model=HashEmbeddings(), shared_dbs=tmp_path / "shared.json") as braid:
        app = make_app(braid)
        braid.ledger.add_dataset(1, "Notes")
        chunk = ChunkInput("The tray is empty: E-4711.")
        braid.ledger.put_document(1, DocumentInput("a.md", "Printer", "md", (chunk,)))
        assert braid.indexer.wait(WAIT_S)
        with serving(app) as address:
            braid.announce(f"{address}/")
            yield f"{address}/", braid


def environment(braid: Braid) -> dict[str, str]:
    return {
        **os.environ,
        "BRAID_DATA_DIR": str(braid.data_dir),
        "BRAID_SHARED_DBS": str(braid.data_dir.parent / "shared.json"),
    }


def test_the_result_is_the_one_of_the_app(served: tuple[str, Braid]) -> None:
    url, braid = served
    arguments = {"dataset_ids": [1], "mode": "keyword", "k": 3, "filters": Filters(file_types=frozenset({"md"}))}
    with short_lived_key(braid.ledger, 1, "owner") as key, OwnerClient(url, key) as client:
        there, here = client.search("E-4711", **arguments), braid.manager.search("E-4711", user_id=1, **arguments)
        assert [hit.passage for hit in there.hits] == [hit.passage for hit in here.hits]
        assert [hit.legs for hit in there.hits] == [hit.legs for hit in here.hits]
        assert (there.query, there.collections) == (here.query, here.collections)
        explained = client.explain("E-4711", chunk_id=here.hits[0].passage.chunk_id, dataset_ids=(1,))
        assert explained.found
        assert client.search("E-4711", dataset_ids="all").hits_by_dataset == {1: 1}
        with pytest.raises(InvalidInputError, match="nonsense"):
            client.search("x", mode="nonsense")
    with braid.ledger.database.read() as connection:
        assert connection.execute(select(func.count()).select_from(ApiTokenRow)).scalar_one() == 0


def test_an_app_that_is_gone_is_named(braid: Braid) -> None:
    with OwnerClient("http://127.0.0.1:9/", "braid_x") as client, pytest.raises(IndexUnavailableError, match="answer"):
        client.search("x")


def test_the_command_line_searches_through_the_app(served: tuple[str, Braid]) -> None:
    _, braid = served
    done = subprocess.run(
        [sys.executable, "-m", "app", "search", "E-4711", "--mode", "keyword", "--json"],
        env=environment(braid),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hits"][0]["passage"]["source"] == "a.md"


def test_mcp_on_stdio_goes_through_the_app(served: tuple[str, Braid]) -> None:
    _, braid = served
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "app", "mcp", "--read-only"], env=environment(braid)
    )

    async def talk() -> None:
        async with Client(server) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert "search" in tools
            assert "put_document" not in tools
            found = await call(client, "search", query="E-4711", mode="keyword")
            assert found["results"][0]["filepath"] == "a.md"

    asyncio.run(talk())
