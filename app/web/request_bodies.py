"""Request bodies between uvicorn and Flask: they have deadlines, and one that breaks off is an error."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import ClientDisconnected, HTTPException, RequestTimeout

from braid.app.auth.access import MAX_FORM_BYTES
from braid.app.web.refusals import refusal

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment
    from flask import Flask

ASGI = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[MutableMapping[str, Any]]],
        Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ],
    Awaitable[None],
]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long bodies may take."""

    silent_s: float = 30.0
    """Without a byte."""
    whole_s: float = 15.0
    """For a body that is read before a thread is taken, with one second more for each ``bytes_per_s`` that came."""
    bytes_per_s: int = 4096


class _Body:
    """The body of one request. `receive` raises RequestTimeout after ``silent_s`` without a byte of it."""

    def __init__(self, receive: Any, patience: Patience) -> None:
        self._receive = receive
        self._patience = patience
        self._first: list[Any] = []
        self._more = True
        self._is_late = False

    async def receive(self) -> Any:
        """The next message: what `read_whole` has read, the rest, then the end of the connection."""
        if self._first:
            return self._first.pop(0)
        return await self._next(self._patience.silent_s)

    async def read_whole(self) -> None:
        """Read up to the limit of a form, so that `receive` need not wait. Raises RequestTimeout."""
        started, parts, size = time.monotonic(), [], 0
        while self._more and size <= MAX_FORM_BYTES:
            until = started + self._patience.whole_s + size / self._patience.bytes_per_s
            message = await self._next(min(self._patience.silent_s, until - time.monotonic()))
            if message["type"] == "http.disconnect":
                raise ClientDisconnected("the body broke off; send it again")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
        self._first = [{"type": "http.request", "body": b"".join(parts), "more_body": self._more}]

    async def _next(self, seconds: float) -> Any:
        if not self._more:
            return await self._receive()
        try:
            async with asyncio.timeout(0 if self._is_late else seconds):
                message = await self._receive()
        except TimeoutError:
            self._is_late = True  # whoever asks again, such as a page of an error, does not wait again
            raise RequestTimeout("the body came too slowly; send it again") from None
        self._more = message["type"] == "http.request" and message.get("more_body", False)
        return message


def timely_bodies(app: ASGI, pages: Flask, patience: Patience | None = None) -> ASGI:
    """Read the bodies of ``pages`` before a thread waits for them, uploads excepted, and refuse slow ones with 408.

    Behind it, ClientDisconnected is raised where a2wsgi would take a body that breaks off for one that has ended.
    """
    patience = patience or Patience()

    async def timely(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        body = _Body(receive, patience)
        try:
            if not _is_upload(pages, scope) and not _is_too_long(scope):
                await body.read_whole()
        except RequestTimeout as error:
            await refusal(408, error.description or "")(scope, receive, send)
            return
        except ClientDisconnected:
            return  # nobody waits for an answer

        async def receive_checked() -> Any:
            message = await body.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected("the upload broke off; send it again")
            return message

        await app(scope, receive_checked, send)

    return timely


def _is_upload(pages: Flask, scope: Any) -> bool:
    """Whether the route states that it takes uploads, which may be too large for the memory."""
    try:
        endpoint, _ = pages.url_map.bind("localhost").match(scope["path"], scope["method"])
    except HTTPException:  # no such address, or not with this method
        return False
    return hasattr(pages.view_functions.get(endpoint), "braid_max_bytes")


def _is_too_long(scope: Any) -> bool:
    """Whether Flask refuses the body by its declared length, without reading it."""
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(declared) > MAX_FORM_BYTES


def allow_streamed_bodies(app: WSGIApplication) -> WSGIApplication:
    """Let Flask read bodies of unknown length; uvicorn knows where they end."""

    def mark(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if "CONTENT_LENGTH" not in environ:
            environ["wsgi.input_terminated"] = True
        return app(environ, start_response)

    return mark
