"""``/healthz`` and ``/readyz`` (is the app alive, can it serve), and the metrics for Prometheus."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response as AsgiResponse

from braid.app.auth.access import answers_to, rule
from braid.app.auth.identity import signed_in
from braid.app.readiness import READING, Health, health_of, without_ledger
from braid.app.site import site
from braid.app.web.security_headers import SECURITY_HEADERS

if TYPE_CHECKING:
    from braid.app.site import Site
    from braid.app.web.gate.request_bodies import ASGI

ALIVE = '{"status": "ok"}'
TOKEN_ENDS = b"""# HELP braid_token_expires_seconds Seconds until the API token that asked for these metrics ends.
# TYPE braid_token_expires_seconds gauge
braid_token_expires_seconds %.0f
"""

health = Blueprint("health", __name__)


@health.get("/healthz")
@rule("anyone")
def alive() -> Response:
    """Answer ok, as long as the app runs."""
    return Response(ALIVE, mimetype="application/json")


@health.get("/readyz")
@rule("anyone")
def ready() -> Response:
    """Answer 200 as long as requests are answered, and say which parts are ill; 503 when one refuses requests.

    With ``for=reading``, 503 only when searches, answers and pages are refused.
    """
    found = health_of(site().braid, min_free_mb=site().settings.min_free_disk_mb).seen_for(request.args.get("for", ""))
    return Response(found.text, found.status, mimetype="application/json")


def _has_metrics_token() -> bool:
    """Whether the request brings one of the tokens in the settings, which open the metrics alone."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    tokens = site().settings.metrics_tokens
    return scheme.lower() == "bearer" and any(compare_digest(given.strip().encode(), key.encode()) for key in tokens)


@health.get("/metrics")
@rule("admin", or_if=_has_metrics_token)
def metrics() -> Response:
    """Return the metrics. Needs one of the `metrics_tokens`, or an administrator."""
    text = site().metrics.text()
    found = signed_in()
    if found is not None and found.expires_at is not None:
        text += TOKEN_ENDS % (found.expires_at - time.time())
    return Response(text, content_type=CONTENT_TYPE_LATEST)


# ---------------------------------------------------------------- the two probes as the server answers them


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
        await AsgiResponse(text, status, HEADERS, media_type="application/json")(scope, receive, send)

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
