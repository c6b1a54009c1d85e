"""The threads that answer requests: so many at once, callers in turn, and further ones for requests that wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, TypeVar

import anyio
from werkzeug.exceptions import ServiceUnavailable

from braid.app.auth.identity import is_loopback, origin_of
from braid.app.web.gate.connections import forwarded_for
from braid.core.admission import Admission, Stay

T = TypeVar("T")


class Threads:
    """``at_once`` threads in which requests are at work, beside ``aside`` for those that have stepped aside to wait.

    A caller has at most ``of_one`` of the first, and as many as ``waiting_of_one`` requests that wait for one.
    """

    def __init__(
        self, at_once: int, *, aside: int, of_one: int | None = None, waiting_of_one: int | None = None
    ) -> None:
        self._callers = Admission(at_once, of_one=of_one, waiting_of_one=waiting_of_one)
        self._pool = ThreadPoolExecutor(at_once + aside, thread_name_prefix="WSGI")
        self._most = 2 * at_once
        self._present = 0

    async def run(self, caller: Hashable, work: Callable[[Callable[[], object]], T], *, goes_on: bool) -> T:
        """Return what ``work`` returns, in the caller's turn. It is given a function by which it steps aside.

        Raises ServiceUnavailable when twice as many requests as are at work at once are at work or wait for it, and
        TooManyError when too many of the caller's wait, unless the request ``goes_on`` after it was at work before.
        """
        if self._present >= self._most and not goes_on:
            raise ServiceUnavailable("too many requests are being answered; try again soon")
        loop, is_present = asyncio.get_running_loop(), True
        self._present += 1

        def leave() -> None:
            nonlocal is_present
            self._present -= is_present
            is_present = False
            self._callers.leave(stay)

        try:
            async with turn_of(self._callers, caller, goes_on=goes_on) as stay:
                return await loop.run_in_executor(self._pool, work, lambda: loop.call_soon_threadsafe(leave))
        finally:
            self._present -= is_present

    async def run_soon(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns, which is short and waits for no turn."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


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
