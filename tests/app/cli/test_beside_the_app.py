"""The command line and MCP on stdio beside a running app: the app searches, and nobody opens its indexes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from braid.app.cli.serve import _short_lived_key
from braid.core.accounts.credentials import ApiTokens
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.app.mcp.sessions import call
from tests.fakes import HashEmbeddings
from tests.forked_children import ran_python
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


def test_the_command_line_searches_through_the_app(served: tuple[str, Braid]) -> None:
    _, braid = served
    command = ("-m", "app", "search", "E-4711", "--mode", "keyword", "--json")
    done = ran_python(*command, env=environment(braid))
    assert done.returncode == 0, done.stderr
    there, here = json.loads(done.stdout), braid.search("E-4711", user_id=1, mode="keyword")
    assert [hit["passage"]["chunk_id"] for hit in there["hits"]] == [hit.passage.chunk_id for hit in here.hits]
    assert there["hits"][0]["passage"]["source"] == "a.md"
    assert (there["degraded"], there["answered"]) == ([], ["bm25"])


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


def test_the_key_of_a_command_is_gone_afterwards(braid: Braid) -> None:
    user, tokens = braid.ledger.add_user("ann"), ApiTokens(braid.ledger)
    with _short_lived_key(braid.ledger, user.id, "read") as key:
        assert tokens.find(key) is not None
        assert len(tokens.of_user(user.id)) == 1
    assert tokens.of_user(user.id) == []
