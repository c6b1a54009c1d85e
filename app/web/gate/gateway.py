"""The way from uvicorn to Flask: a request has a thread while it computes, and none while it waits for its client.

Its body is read before, its answer is sent piece by piece as the client takes it, and what yields a `Pause` among its
pieces, such as a stream of events, goes on in a thread when the pause is over.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from a2wsgi.wsgi import build_environ
from werkzeug.exceptions import ClientDisconnected, HTTPException

from braid.app.web.errors import refusal
from braid.app.web.event_stream import MAY_PAUSE, STEP_ASIDE, WHEN_GONE
from braid.app.web.gate.request_bodies import ASKED_AGAIN, Body, BodyWanted, Room
from braid.app.web.gate.threads import Threads, caller_of
from braid.core.chat.turns.bell import Pause
from braid.core.errors import TooManyError

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

PIECE_BYTES = 256 * 1024
"""Size of a piece, in bytes, in which a long answer is sent."""


class Gateway:
    """An ASGI app that has a WSGI app answer in ``threads``. Requests that would wait long for one are refused.

    Callers behind so many trusted ``proxies`` are told apart by the addresses that these give.
    """

    def __init__(self, app: WSGIApplication, room: Room, threads: Threads, *, proxies: int = 0) -> None:
        self._app = app
        self._room = room
        self._threads = threads
        self._proxies = proxies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        if scope["type"] != "http":
            return
        body = Body(scope, receive, self._room)
        try:
            await body.read_short()
            await self._answer(scope, body, send)
        except ClientDisconnected:
            return  # nobody waits for an answer
        except TooManyError as error:
            await refusal(429, str(error))(scope, receive, send)
        except HTTPException as error:  # of the body, or of the threads, before anything is sent
            await refusal(error.code or 500, error.description or "")(scope, receive, send)
        finally:
            body.close()

    async def _answer(self, scope: Any, body: Body, send: Any) -> None:
        try:
            await self._request(scope, body).answer(send)
        except BodyWanted as wanted:
            await body.read(wanted.user_id, wanted.most)
            await self._request(scope, body, asked_again=True).answer(send)

    def _request(self, scope: Any, body: Body, *, asked_again: bool = False) -> _Request:
        environ = cast("dict[str, Any]", build_environ(scope, cast(Any, body)))
        body.given_to(environ)
        if asked_again:
            environ[ASKED_AGAIN] = True
        return _Request(self._app, environ, body, self._threads, caller_of(scope, self._proxies))


@dataclass(frozen=True, slots=True)
class _Piece:
    """What the app gave until it paused, ended, or had given `PIECE_BYTES`."""

    content: bytes
    pause: Pause | None = None
    is_last: bool = False


class _Request:
    """One request to the app, whose answer is taken piece by piece. All of it runs in one context."""

    def __init__(
        self, app: WSGIApplication, environ: dict[str, Any], body: Body, threads: Threads, caller: Hashable
    ) -> None:
        own = {MAY_PAUSE: True, WHEN_GONE: self._when_gone, STEP_ASIDE: self._step_aside}
        self._app = app
        self._environ = environ | own
        self._body = body
        self._threads = threads
        self._caller = caller
        self._goes_on = ASKED_AGAIN in environ
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._leave: Callable[[], object] = bool
        self._head: dict[str, Any] = {}
        self._answer: Iterable[bytes] | None = None
        self._pieces: Iterator[bytes | Pause] | None = None
        self._gone: asyncio.Future[None] | None = None

    async def answer(self, send: Any) -> None:
        """Send what the app answers, until it ends or the client has gone. Raises BodyWanted before anything else."""
        try:
            piece = await self._next()
            await send(self._head)
            while not piece.is_last:
                if piece.content:
                    await send({"type": "http.response.body", "body": piece.content, "more_body": True})
                gone = self._watched()
                if piece.pause is not None:
                    await self._wait(piece.pause, gone)
                if gone.done():
                    return
                piece = await self._next()
            await send({"type": "http.response.body", "body": piece.content})
        finally:
            if self._gone is not None:
                self._gone.cancel()
            if self._answer is not None:
                await self._threads.run_soon(lambda: self._context.run(self._close))

    async def _next(self) -> _Piece:
        goes_on, self._goes_on = self._goes_on, True
        return await self._threads.run(self._caller, self._take_with, goes_on=goes_on)

    async def _wait(self, pause: Pause, gone: asyncio.Future[Any]) -> None:
        rung = asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(rung.set)

        call_off = pause.when_over(wake)
        over: asyncio.Future[Any] = asyncio.ensure_future(rung.wait())
        try:
            await asyncio.wait((over, gone), timeout=max(0.0, pause.seconds), return_when=asyncio.FIRST_COMPLETED)
        finally:
            call_off()
            over.cancel()

    def _watched(self) -> asyncio.Future[None]:
        if self._gone is None:
            is_read = self._body.is_whole
            self._gone = asyncio.ensure_future(self._body.gone()) if is_read else self._loop.create_future()
        return self._gone

    # ------------------------------------------------------------ in a thread

    def _take_with(self, leave: Callable[[], object]) -> _Piece:
        self._leave = leave
        return self._context.run(self._take)

    def _take(self) -> _Piece:
        if self._pieces is None:
            self._answer = self._app(self._environ, self._start)
            self._pieces = iter(self._answer)
        taken, size = list[bytes](), 0
        try:
            for piece in self._pieces:
                if isinstance(piece, Pause):
                    return _Piece(b"".join(taken), piece)
                taken.append(piece)
                size += len(piece)
                if size >= PIECE_BYTES:
                    return _Piece(b"".join(taken))
        except BaseException:
            self._close()
            raise
        self._close()
        return _Piece(b"".join(taken), is_last=True)

    def _close(self) -> None:
        answer, self._answer = self._answer, None
        close = getattr(answer, "close", None)
        if close is not None:
            close()

    def _start(self, status: str, headers: list[tuple[str, str]], _error: object = None) -> Callable[[bytes], object]:
        encoded = [(name.strip().lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in headers]
        self._head = {"type": "http.response.start", "status": int(status[:3]), "headers": encoded}
        return _write

    def _when_gone(self, tell: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(lambda: self._watched().add_done_callback(lambda _: tell()))

    def _step_aside(self) -> None:
        self._leave()


def _write(_content: bytes) -> None:
    raise NotImplementedError("this server takes an answer as an iterable only")
