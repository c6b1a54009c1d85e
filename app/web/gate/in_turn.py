"""Turns of callers: who sends many requests at once waits for the threads of the server, and takes nobody else's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import anyio

from braid.app.auth.origins import is_loopback, origin_of
from braid.app.web.gate.connections import forwarded_for
from braid.core.admission import Admission, Stay


@asynccontextmanager
async def turn_of(admission: Admission, key: Hashable, *, goes_on: bool = False) -> AsyncIterator[Stay]:
    """Wait for the key's turn, without a thread, and hold a place until the block ends, or it is left before.

    Raises TooManyError. All that use this admission are in one event loop.
    """
    admitted = anyio.Event()
    stay = admission.ask(key, admitted.set, goes_on=goes_on)
    try:
        await admitted.wait()
        yield stay
    finally:
        admission.leave(stay)


def caller_of(scope: Any, proxies: int) -> Hashable:
    """Return what callers are told apart by: a token or cookies, else an address; nothing of it is verified yet.

    It is something new where a proxy that is not known may bring everybody.
    """
    headers = dict(scope["headers"])
    if own := headers.get(b"authorization") or headers.get(b"cookie"):
        return sha256(own).digest()
    client = scope["client"][0] if scope.get("client") else ""
    origin = origin_of(forwarded_for(scope, proxies) if proxies else client)
    return object() if not origin or is_loopback(origin) else origin
