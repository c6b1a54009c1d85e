"""Request bodies between uvicorn and Flask: reports bodies that break off, and allows bodies of unknown length."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import ClientDisconnected

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

ASGI = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[MutableMapping[str, Any]]],
        Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ],
    Awaitable[None],
]


def refuse_broken_bodies(app: ASGI) -> ASGI:
    """Raise ClientDisconnected if a body breaks off; a2wsgi alone would take it for complete."""

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return

        async def receive_or_raise() -> Any:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected("the upload broke off; send it again")
            return message

        await app(scope, receive_or_raise, send)

    return guard


def allow_streamed_bodies(app: WSGIApplication) -> WSGIApplication:
    """Let Flask read bodies of unknown length; uvicorn knows where they end."""

    def mark(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if "CONTENT_LENGTH" not in environ:
            environ["wsgi.input_terminated"] = True
        return app(environ, start_response)

    return mark
