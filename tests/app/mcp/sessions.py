"""An app that serves MCP, with notes, and sessions with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from flask import Flask
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from tests.web import bearer, serving, site_of
from tests.worlds import WAIT_S

NOTES = {
    "notes/printer.md": "# Printer\n\nThe printer shows error E-4711 when the tray is empty.",
    "notes/printer.ja.md": "# プリンター\n\n用紙がないと、プリンターにエラーコードが表示されます。",
    "notes/printer.ko.md": "# 프린터\n\n용지가 없으면 프린터에 오류 코드가 나타납니다.",
}


READING = {
    "search",
    "find_exact",
    "check",
    "explain",
    "read_document",
    "fetch",
    "get_documents",
    "get_documents_by_prefix",
    "list_datasets",
}


@dataclass(frozen=True)
class Served:
    """A running app with MCP."""

    url: str
    app: Flask
    braid: Braid
    admin: Account

    @asynccontextmanager
    async def client(self, *scopes: str, account: Account | None = None) -> AsyncIterator[Client]:
        headers = bearer(self.app, account or self.admin, *(scopes or ("read", "write")))
        async with (
            create_mcp_http_client(headers=headers) as http,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=http)) as client,
        ):
            yield client


@contextmanager
def serving_notes(app: Flask, braid: Braid) -> Iterator[Served]:
    admin = site_of(app).accounts.all()[0]
    braid.ledger.add_dataset(admin.id, "Notes")
    with serving(app) as url:
        yield Served(url, app, braid, admin)


def run(session: AbstractAsyncContextManager[Client], talk: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        async with session as client:
            await talk(client)

    asyncio.run(whole())


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    answer: dict[str, Any] = json.loads(result.content[0].text)
    assert result.is_error is (answer.get("status") == "error"), answer
    return answer


async def fill(client: Client, braid: Braid) -> None:
    for path, text in NOTES.items():
        stored = await call(client, "put_document", text=text, filepath=path)
        assert stored["status"] == "success"
    assert await asyncio.to_thread(braid.indexer.wait, WAIT_S)


ACCEPT = {"Accept": "application/json, text/event-stream"}
