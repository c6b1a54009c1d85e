"""MCP over HTTP on the same port as the pages, with the API's tokens; refuses requests with foreign host names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

from braid.app.auth.authenticate import identity_of_token
from braid.app.mcp.meter import IDENTITY
from braid.app.site import Site
from braid.app.web.request_bodies import ASGI

if TYPE_CHECKING:
    from mcp.server import MCPServer


def with_mcp(pages: ASGI, site: Site) -> Starlette:
    """Return the pages with MCP at ``/mcp``. Tokens with the scope ``write`` get the writing tools, others do not."""
    servers = _Servers(site)

    @asynccontextmanager
    async def running(_app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(servers.run)
            yield
            tasks.cancel_scope.cancel()

    gate = _Gate(site, servers)
    return Starlette(routes=[Route("/mcp", endpoint=gate), Mount("/", app=pages)], lifespan=running)


class _Servers:
    """The MCP servers, one that only reads and one that writes, too. The first request for one has them loaded."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._wanted = anyio.Event()
        self._loaded = anyio.Event()
        self._apps: dict[bool, Starlette] = {}

    async def get(self, *, read_only: bool) -> Starlette:
        """Return a server's app, once it is loaded."""
        self._wanted.set()
        await self._loaded.wait()
        return self._apps[read_only]

    async def run(self) -> None:
        """Run the servers from the first request for one until cancelled."""
        await self._wanted.wait()
        try:
            servers = await anyio.to_thread.run_sync(self._load)
            async with AsyncExitStack() as stack:
                for server in servers:
                    await stack.enter_async_context(server.session_manager.run())
                self._loaded.set()
                await anyio.sleep_forever()
        finally:
            self._loaded.set()  # after an error, too: requests then fail instead of waiting

    def _load(self) -> list[MCPServer[Any]]:
        from braid.app.mcp.http_servers import app_of, server_for

        servers = {read_only: server_for(self._site, read_only=read_only) for read_only in (True, False)}
        hosts = self._site.settings.allowed_hosts
        self._apps = {read_only: app_of(server, hosts) for read_only, server in servers.items()}
        return list(servers.values())


class _Gate:
    """Lets requests with an API token through to the server for the token's scope, and refuses all others."""

    def __init__(self, site: Site, servers: _Servers) -> None:
        self._site = site
        self._servers = servers

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        found = None
        if scheme.lower() == "bearer":
            found = await anyio.to_thread.run_sync(identity_of_token, self._site, key.strip())
        if found is None or "read" not in found.permissions:
            refusal = Response(
                "send an API token with the scope read: Authorization: Bearer braid_…\n",
                401 if found is None else 403,
                {"WWW-Authenticate": 'Bearer realm="Braid"'},
            )
            await refusal(scope, receive, send)
            return
        app = await self._servers.get(read_only="write" not in found.permissions)
        await app({**scope, IDENTITY: found}, receive, send)
