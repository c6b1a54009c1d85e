"""MCP at a Flask route, for a host app, which speaks WSGI: each call in an event loop of its own, without a session.

The server with its tools is the same as beside the pages of the server (`braid.app.mcp.http`).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import anyio
import httpx
from flask import Blueprint, Response, current_app, request
from werkzeug.exceptions import Forbidden, GatewayTimeout
from werkzeug.exceptions import NotImplemented as NotInstalled

from braid.app.auth.access import rule, takes_uploads
from braid.app.auth.challenge import NoToken
from braid.app.auth.identity import identity
from braid.app.mcp.calls import ASSISTANT, IDENTITY, MAX_REQUEST_BYTES, PAGES, Kind, kind_for
from braid.app.mounted import mount, url_for
from braid.app.site import site
from braid.app.user.assistants import NONE_OPEN, assistant_of
from braid.core.extras import MissingExtraError, is_installed

if TYPE_CHECKING:
    from mcp.server import MCPServer

CALL_S = 120.0
"""Seconds that a call may take; a tool waits at most 60."""

SERVERS = "braid.mcp_servers"
"""Key of the servers of the app's mounts in Flask's extensions."""

_beginning = threading.Lock()
mcp_route = Blueprint("mcp", __name__)


@mcp_route.post("/mcp")
@rule("user", "read", limited=True)
@takes_uploads(lambda _settings: MAX_REQUEST_BYTES)
def call() -> Response:
    """Answer one message of an MCP client, which sends an API token."""
    return _call(kind_for(identity(), is_connector=False))


@mcp_route.post("/mcp/connector")
@rule("user", "read", limited=True)
def call_connector() -> Response:
    """Answer one message of a chat assistant's connector, which sends an API token."""
    return _call("connector")


@mcp_route.post("/mcp/assistants/<int:assistant_id>")
@rule("user", "read", limited=True)
def call_assistant(assistant_id: int) -> Response:
    """Answer one message of a connector that reads the datasets of one assistant."""
    if not assistant_of(assistant_id).dataset_ids:
        raise Forbidden(NONE_OPEN)
    return _call("connector", assistant_id)


def _call(kind: Kind, assistant_id: int | None = None) -> Response:
    if not identity().by_token:
        raise NoToken("send an API token with the scope read: Authorization: Bearer braid_…")
    if not is_installed("mcp"):
        raise NotInstalled(str(MissingExtraError("the MCP server", "mcp", "mcp")))
    headers = [field for field in request.headers if field[0] != "Content-Length"]  # that of the text as it was sent
    sent = httpx.Request("POST", "http://host/mcp", headers=headers, content=request.get_data())
    pages = url_for("braid.datasets.index", _external=True).rstrip("/")
    try:
        return anyio.run(_answer, _server(kind), sent, {IDENTITY: identity(), PAGES: pages, ASSISTANT: assistant_id})
    except TimeoutError:
        raise GatewayTimeout(f"the call took longer than {CALL_S:.0f} s") from None


def _server(kind: Kind) -> MCPServer[Any]:
    """Return the server of this kind, which is made for the first call."""
    from braid.app.mcp.server import server_for  # takes half a second

    with _beginning:  # calls that come meanwhile wait, so that none makes another
        made: dict[tuple[str, Kind], MCPServer[Any]] = current_app.extensions.setdefault(SERVERS, {})
        if (mount(), kind) not in made:
            made[mount(), kind] = server_for(site(), kind)
        return made[mount(), kind]


async def _answer(server: MCPServer[Any], call: httpx.Request, caller: dict[str, Any]) -> Response:
    from braid.app.mcp.server import app_of

    with _beginning:  # the server knows only its latest session manager, which runs once
        app = app_of(server, None)
        sessions = server.session_manager

    async def called(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, **caller}, receive, send)

    with anyio.fail_after(CALL_S):
        async with sessions.run():
            answer = await httpx.ASGITransport(called).handle_async_request(call)
            answer.headers.pop("Content-Length", None)  # Flask counts, and may compress it
            return Response(await answer.aread(), answer.status_code, answer.headers.multi_items())
