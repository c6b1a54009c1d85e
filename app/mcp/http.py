"""MCP over HTTP beside the pages: one port, the API's tokens, no foreign names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

from braid.app.auth.identity import Identity
from braid.app.auth.sign_in import identity_of_token
from braid.app.mcp.meter import SiteMeter
from braid.app.mcp.server import make_server
from braid.app.mcp.tools import Tools
from braid.app.site import Site
from braid.app.web.request_bodies import ASGI

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
MAX_REQUEST_BYTES = 12_000_000
"""A document of 5,000,000 characters in UTF-8, most of the time."""
IDENTITY = "braid.identity"


def with_mcp(pages: ASGI, site: Site) -> Starlette:
    """The pages with MCP at ``/mcp``: tokens with the scope ``write`` get the writing tools, others do not."""
    names = [*LOCAL_NAMES, *site.settings.allowed_hosts]
    security = TransportSecuritySettings(
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in names for port in ("", ":*")
        ],
    )

    def tools_of(ctx: Context[Any, Any]) -> Tools:
        found: Identity = cast(Any, ctx.request_context.request).scope[IDENTITY]
        meter = SiteMeter(site, found.account.id)
        parse = site.background.parse_now.of_user(found.account.id)
        return Tools(site.braid, found.account, site.settings, meter, is_admin=found.is_admin, parse=parse)

    servers = {read_only: make_server(tools_of, read_only=read_only) for read_only in (True, False)}
    apps = {
        read_only: server.streamable_http_app(
            streamable_http_path="/mcp",
            stateless_http=True,
            json_response=True,
            max_request_body_size=MAX_REQUEST_BYTES,
            transport_security=security,
        )
        for read_only, server in servers.items()
    }

    @asynccontextmanager
    async def running(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for server in servers.values():
                await stack.enter_async_context(server.session_manager.run())
            yield

    gate = _Gate(site, apps)
    return Starlette(routes=[Route("/mcp", endpoint=gate), Mount("/", app=pages)], lifespan=running)


class _Gate:
    """Lets requests with a token of the API through, to the server of its scope."""

    def __init__(self, site: Site, apps: dict[bool, Starlette]) -> None:
        self._site = site
        self._apps = apps

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
        app = self._apps["write" not in found.permissions]
        await app({**scope, IDENTITY: found}, receive, send)
