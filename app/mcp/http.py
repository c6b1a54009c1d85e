"""MCP over HTTP on the same port as the pages, with the API's tokens; refuses requests with foreign host names."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import anyio
import anyio.to_thread
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route
from werkzeug.exceptions import ClientDisconnected, HTTPException

from braid.app.auth.access import answers_to
from braid.app.auth.authenticate import identity_of_token
from braid.app.auth.challenge import challenge
from braid.app.auth.identity import Identity
from braid.app.mcp.calls import ASSISTANT, IDENTITY, MAX_REQUEST_BYTES, PAGES, Kind, kind_for
from braid.app.site import Site
from braid.app.user.assistants import NONE_OPEN, assistant_of
from braid.app.web.errors import refusal
from braid.app.web.gate.request_bodies import ASGI, Body, Room
from braid.app.web.gate.threads import turn_of
from braid.core.admission import Admission
from braid.core.errors import NotFoundError, TooManyError
from braid.core.extras import MissingExtraError, is_installed
from braid.core.ledger.outages import log_failure, outage_of

if TYPE_CHECKING:
    from mcp.server import MCPServer

PATH, CONNECTOR_PATH = "/mcp", "/mcp/connector"
ASSISTANT_PATH = "/mcp/assistants/{assistant_id:int}"
CALLS_AT_ONCE = 12
"""How many calls of one user run at a time."""
THREADS = 40
"""How many calls run at a time: each takes a thread, of which anyio has as many."""
THREADS_FOR_TOKENS = 4
"""Further threads, which look up whose token a call has: the calls of some users keep those of others not from that."""
CALLS_PRESENT = 128
"""How many calls of one user run or wait; more are refused."""

logger = logging.getLogger(__name__)


def with_mcp(pages: ASGI, site: Site, room: Room) -> Starlette:
    """Return the pages with MCP at ``/mcp``; at ``/mcp/connector`` in the form that connectors of chat assistants ask
    for, and at ``/mcp/assistants/7`` in that form within the datasets of one of Braid's own assistants. Tokens with the
    scope ``write`` get the writing tools, others do not. Bodies are read into ``room``.

    Where its packages are not installed, the answer there is 501 and says how to install them.
    """
    servers = _Servers(site)

    @asynccontextmanager
    async def running(_app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(servers.run)
            yield
            tasks.cancel_scope.cancel()

    gate: ASGI = _Gate(site, servers, room)
    if not is_installed("mcp"):
        gate = Response(f"{MissingExtraError('the MCP server', 'mcp', 'mcp')}\n", 501, media_type="text/plain")
    routes = [Route(path, endpoint=gate) for path in (PATH, CONNECTOR_PATH, ASSISTANT_PATH)]
    return Starlette(routes=[*routes, Mount("/", app=pages)], lifespan=running)


class _Servers:
    """The MCP servers, one of each kind. The first request for one has them loaded."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._wanted = anyio.Event()
        self._loaded = anyio.Event()
        self._apps: dict[Kind, ASGI] = {}

    async def get(self, kind: Kind) -> ASGI:
        """Return a server's app, once it is loaded."""
        self._wanted.set()
        await self._loaded.wait()
        return self._apps[kind]

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
        from braid.app.mcp.server import app_of, server_for

        kinds: tuple[Kind, ...] = get_args(Kind)
        servers = {kind: server_for(self._site, kind) for kind in kinds}
        hosts = self._site.settings.allowed_hosts
        self._apps = {kind: app_of(server, hosts) for kind, server in servers.items()}
        return list(servers.values())


class _Gate:
    """Lets requests with an API token through to the server for the token's scope, and refuses all others.

    A user's calls, which are POST requests, take turns, once they are there as a whole.
    """

    def __init__(self, site: Site, servers: _Servers, room: Room) -> None:
        self._site = site
        self._servers = servers
        self._room = room
        self._tokens = anyio.CapacityLimiter(THREADS_FOR_TOKENS)
        self._admission = Admission(THREADS, of_one=CALLS_AT_ONCE, waiting_of_one=CALLS_PRESENT - CALLS_AT_ONCE)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        found = None
        if scheme.lower() == "bearer":
            try:
                found = await anyio.to_thread.run_sync(identity_of_token, self._site, key.strip(), limiter=self._tokens)
            except SQLAlchemyError as error:
                log_failure(logger, "an MCP request", error)
                outage = outage_of(error)
                again = outage is None or not outage.lasts
                await refusal(503 if outage else 500, outage.text if outage else "", again=again)(scope, receive, send)
                return
        if found is None or "read" not in found.permissions:
            await self._refuse(scope, found, is_bearer=scheme.lower() == "bearer")(scope, receive, send)
            return
        body = Body(scope, receive, self._room)
        try:
            await body.read_short()
            if not body.is_whole:
                await body.read(found.account.id, MAX_REQUEST_BYTES)
            await self._call(scope, body.receive, send, found)
        except ClientDisconnected:
            return  # nobody waits for an answer
        except TooManyError as error:
            await refusal(429, str(error))(scope, receive, send)
        except HTTPException as error:  # of the body
            await refusal(error.code or 500, error.description or "")(scope, receive, send)
        finally:
            body.close()

    def _refuse(self, scope: Any, found: Identity | None, *, is_bearer: bool) -> Response:
        """Return a refusal that says where to ask for access, under names that the app answers to."""
        settings = self._site.settings
        base = _address(scope, settings.trusted_proxies)
        error, asked = ("insufficient_scope", "read") if found else ("invalid_token" if is_bearer else "", "")
        told = 'Bearer realm="Braid"'
        if answers_to(base.partition("://")[2], settings):
            told = challenge(base + settings.url_prefix, scope["path"], error, asked)
        text = "send an API token with the scope read: Authorization: Bearer braid_…\n"
        return Response(text, 403 if found else 401, {"WWW-Authenticate": told})

    async def _call(self, scope: Any, receive: Any, send: Any, found: Identity) -> None:
        number = scope.get("path_params", {}).get("assistant_id")
        if number is not None:
            lookup = partial(assistant_of, number, self._site, found)
            try:  # before the protocol, so that a client is told by the status
                is_open = bool((await anyio.to_thread.run_sync(lookup, limiter=self._tokens)).dataset_ids)
            except NotFoundError as error:
                await refusal(404, str(error))(scope, receive, send)
                return
            if not is_open:
                await refusal(403, NONE_OPEN)(scope, receive, send)
                return
        app = await self._servers.get(kind_for(found, is_connector=scope["path"] != PATH))
        shared = turn_of(self._admission, found.account.id) if scope["method"] == "POST" else nullcontext()
        async with shared:
            settings = self._site.settings
            pages = f"{_address(scope, settings.trusted_proxies)}{settings.url_prefix}/datasets"
            caller = {"path": PATH, IDENTITY: found, PAGES: pages, ASSISTANT: number}
            await app({**scope, **caller}, receive, send)


def _address(scope: Any, proxies: int) -> str:
    """Return the address of this server as the caller has it, or as the outermost of the trusted proxies gives it."""

    def given(name: str) -> str:
        values = b",".join(value for key, value in scope["headers"] if key == name.encode()).decode("latin-1")
        parts = [part.strip() for part in values.split(",") if part.strip()]
        return parts[-proxies] if proxies and len(parts) >= proxies else ""

    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    return f"{given('x-forwarded-proto') or scope['scheme']}://{given('x-forwarded-host') or host}"
