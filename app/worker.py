"""A worker of a fleet: it indexes and runs jobs, and serves nothing but what tells of its health."""

from __future__ import annotations

import logging
import signal
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from braid.app import server
from braid.app.factory import create_app
from braid.app.opening import open_braid
from braid.app.site import EXTENSION, Site
from braid.core.errors import InvalidInputError

if TYPE_CHECKING:
    from braid.app.web.gate.request_bodies import ASGI
    from braid.config.settings import Settings

TOLD = ("/healthz", "/readyz", "/metrics")

log = logging.getLogger(__name__)


def work(settings: Settings, *, port: int | None) -> None:
    """Index and run jobs until SIGTERM or SIGINT; with ``port``, answer there how that goes.

    Raises InvalidInputError outside of a fleet, where one process does everything.
    """
    settings = replace(settings, work=True, port=settings.port if port is None else port)
    if not (settings.milvus_url and settings.database_url.startswith("postgresql")):
        raise InvalidInputError(
            "a worker needs the ledger in PostgreSQL (database_url) and the indexes in Milvus (milvus_url), which "
            "others share; on one machine `serve` does everything",
            field="milvus_url",
        )
    if port is not None:
        server.serve(settings, only=told_alone)
        return
    server.set_up_logging(settings.log_level)
    with open_braid(settings, migrate=True) as braid:
        here: Site = create_app(settings, braid).extensions[EXTENSION]
        ended = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.set())
        here.start_jobs()
        print("Braid works", flush=True)
        ended.wait()
        here.close()


def told_alone(app: ASGI) -> ASGI:
    """Answer the probes and the metrics; there is no page."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] not in TOLD:
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return answer
