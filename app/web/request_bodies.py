"""Bodies of requests on their way from uvicorn to Flask: one that breaks off is an error, and length may be unknown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import ClientDisconnected

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

    from braid.app.mcp.http import ASGI


def whole_bodies(app: ASGI) -> ASGI:
    """Raise ClientDisconnected where a2wsgi would take a body that breaks off for one that has ended."""

    async def checked(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return

        async def receive_checked() -> Any:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected("the upload broke off; send it again")
            return message

        await app(scope, receive_checked, send)

    return checked


def streamed_bodies(app: WSGIApplication) -> WSGIApplication:
    """Let Flask read bodies of unknown length, too: uvicorn knows where they end."""

    def marked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if "CONTENT_LENGTH" not in environ:
            environ["wsgi.input_terminated"] = True
        return app(environ, start_response)

    return marked
