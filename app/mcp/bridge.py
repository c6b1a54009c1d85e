"""Bridge between an MCP client on stdio and the app's MCP over HTTP; passes messages through unchanged."""

from __future__ import annotations

from typing import Any

import anyio
from mcp import stdio_server
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


async def pass_on(url: str, key: str) -> None:
    """Pass messages between stdin and stdout and the server at ``url`` until stdin ends."""
    async with (
        create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http,
        streamable_http_client(url, http_client=http) as (from_app, to_app),
        stdio_server() as (from_client, to_client),
        anyio.create_task_group() as tasks,
    ):

        async def answers() -> None:
            await _each(from_app, to_client)

        tasks.start_soon(answers)
        await _each(from_client, to_app)
        tasks.cancel_scope.cancel()


async def _each(source: Any, target: Any) -> None:
    async for message in source:
        if not isinstance(message, Exception):  # not a valid message, so the client expects no answer
            await target.send(message)
