"""Turns of callers: who sends many requests at once waits for the threads of the server, and takes nobody else's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import anyio

from braid.app.auth.origins import is_loopback, origin_of
from braid.app.web.connections import forwarded_for
from braid.app.web.refusals import refusal
from braid.core.admission import Admission
from braid.core.errors import TooManyError

if TYPE_CHECKING:
    from braid.app.web.request_bodies import ASGI


def in_turn(app: ASGI, admission: Admission, proxies: int) -> ASGI:
    """Let requests through as their callers are admitted; the others wait without a thread, or are refused with 429.

    A caller is whoever has this token or these cookies, else an address: nothing of it is verified yet.
    """

    async def served(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        try:
            async with turn_of(admission, _caller(scope, proxies)):
                await app(scope, receive, send)
        except TooManyError as error:
            await refusal(429, str(error))(scope, receive, send)

    return served


@asynccontextmanager
async def turn_of(admission: Admission, key: Hashable) -> AsyncIterator[None]:
    """Wait for the key's turn, without a thread, and hold a place until the block ends. Raises TooManyError.

    All that use this admission are in one event loop.
    """
    admitted = anyio.Event()
    stay = admission.ask(key, admitted.set)
    try:
        await admitted.wait()
        yield
    finally:
        admission.leave(stay)


def _caller(scope: Any, proxies: int) -> Hashable:
    """Return what callers are told apart by; something new where a proxy that is not known may bring everybody."""
    headers = dict(scope["headers"])
    if own := headers.get(b"authorization") or headers.get(b"cookie"):
        return sha256(own).digest()
    client = scope["client"][0] if scope.get("client") else ""
    origin = origin_of(forwarded_for(scope, proxies) if proxies else client)
    return object() if not origin or is_loopback(origin) else origin
