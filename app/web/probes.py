"""``/healthz`` and ``/readyz`` as the server answers them: without the threads that answer everything else."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from braid.app.auth.access import answers_to
from braid.app.readiness import READING, Health, health_of, without_ledger
from braid.app.web.health import ALIVE
from braid.app.web.security_headers import SECURITY_HEADERS

if TYPE_CHECKING:
    from braid.app.site import Site
    from braid.app.web.gate.request_bodies import ASGI

PATIENCE_S = 2.0
"""Seconds that the ledger has to answer; after them it is not ready."""
NO_ANSWER = f"the database has not answered for {PATIENCE_S:g} s"
KEPT_S = 1.0
"""How long an answer is given again, so that many probes cost no more than one."""
HEADERS = {"Cache-Control": "no-store", **SECURITY_HEADERS}


def with_probes(app: ASGI, here: Site) -> ASGI:
    """Answer the two probes in the event loop; the ledger is asked in a thread of their own."""
    readiness = _Readiness(here)

    async def probed(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] not in ("/healthz", "/readyz") or not _is_ours(scope, here):
            await app(scope, receive, send)
            return
        text, status = ALIVE, 200
        if scope["path"] == "/readyz":
            found = (await readiness.current()).seen_for(_purpose(scope))
            text, status = found.text, found.status
        await Response(text, status, HEADERS, media_type="application/json")(scope, receive, send)

    return probed


def _is_ours(scope: Any, here: Site) -> bool:
    """Whether the method and the name are those that are answered; the app refuses the others."""
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    return scope["method"] in ("GET", "HEAD") and answers_to(host, here.settings)


def _purpose(scope: Any) -> str:
    return READING if f"for={READING}".encode() in scope["query_string"].split(b"&") else ""


class _Readiness:
    """Whether searches can be answered, asked at most once per `KEPT_S`, and once at a time."""

    def __init__(self, here: Site) -> None:
        self._here = here
        self._asking = ThreadPoolExecutor(max_workers=1, thread_name_prefix="braid-probe")
        self._running: asyncio.Future[Health] | None = None
        self._last: Health | None = None
        self._until = 0.0

    def _ask(self) -> Health:
        return health_of(self._here.braid, min_free_mb=self._here.settings.min_free_disk_mb)

    async def current(self) -> Health:
        """What the ledger and the indexes say, within `PATIENCE_S`."""
        if self._last is not None and time.monotonic() < self._until:
            return self._last
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().run_in_executor(self._asking, self._ask)
        try:
            found = await asyncio.wait_for(asyncio.shield(self._running), PATIENCE_S)
        except TimeoutError:
            return without_ledger(self._here.braid, NO_ANSWER, min_free_mb=self._here.settings.min_free_disk_mb)
        self._last, self._until = found, time.monotonic() + KEPT_S
        return found
