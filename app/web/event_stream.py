"""Server-sent events: writes them, keeps the connection alive, and notices when the browser has gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from a2wsgi.wsgi import Body
from flask import Response, request, stream_with_context

HEARTBEAT_S = 15.0
HEARTBEAT = ": still here\n\n"


def event(kind: str, values: Mapping[str, Any]) -> str:
    """Return one event with its values as JSON, which has no line breaks of its own."""
    return f"event: {kind}\ndata: {json.dumps(values, ensure_ascii=False)}\n\n"


def event_stream(events: Iterator[str]) -> Response:
    """Return a response that sends each event at once. Closing the response closes the iterator."""
    response = Response(stream_with_context(events), mimetype="text/event-stream")
    response.headers["X-Accel-Buffering"] = "no"  # nginx would collect the events
    response.headers["Cache-Control"] = "no-store, no-transform"
    return response


def when_gone(tell: Callable[[], None]) -> None:
    """Call ``tell`` when the browser of this request has gone or has received the whole answer.

    The request's body must have been read. uvicorn silently drops what is sent to a closed connection, so writing does
    not show it. Under another server writing fails, and the events are closed.
    """
    body = request.environ.get("wsgi.input")
    if isinstance(body, Body):
        asyncio.run_coroutine_threadsafe(_wait_until_gone(body), body.loop).add_done_callback(lambda _: tell())


async def _wait_until_gone(body: Body) -> None:
    while (await body.receive())["type"] != "http.disconnect":  # raises instead behind `timely_bodies`
        pass
