"""Server-sent events: writes them, keeps the connection alive, and notices when the browser has gone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar, cast

from a2wsgi.wsgi import Body
from flask import Response, request, stream_with_context

from braid.core.admission import let_go
from braid.core.chat.turns.bell import Pause, waited

if TYPE_CHECKING:
    from collections.abc import Generator

T = TypeVar("T")

_LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
HEARTBEAT_S = 15.0
HEARTBEAT = ": still here\n\n"
MAY_PAUSE = "braid.may_pause"
"""Key of the WSGI environment: the server takes pauses among the pieces of an answer, and waits without a thread."""
WHEN_GONE = "braid.when_gone"
"""Key of the WSGI environment: the server's function that has another one called when the client has gone."""
STEP_ASIDE = "braid.step_aside"
"""Key of the WSGI environment: the server's function that frees the place of a request that is going to wait."""


def event(kind: str, values: Mapping[str, Any]) -> str:
    """Return one event with its values as JSON, which has no line breaks of its own."""
    return f"event: {kind}\ndata: {json_line(values)}\n\n"


def json_line(values: Mapping[str, Any]) -> str:
    """Return JSON that is one line for every client: some also end lines at U+0085, U+2028 and U+2029."""
    return json.dumps(values, ensure_ascii=False).translate(_LINE_ENDS)


def event_stream(events: Iterator[str | Pause]) -> Response:
    """Return a response that sends each event at once, and a comment after 15 seconds without one.

    Closing the response closes the iterator. Pauses hold a thread only where the server does not take them.
    """
    kept: Iterator[str | Pause] = _kept_alive(events)
    if MAY_PAUSE not in request.environ:
        kept = waited(kept)
    response = Response(stream_with_context(cast("Iterator[str]", kept)), mimetype="text/event-stream")
    response.headers["X-Accel-Buffering"] = "no"  # nginx would collect the events
    response.headers["Cache-Control"] = "no-store, no-transform"
    return response


def _kept_alive(events: Iterator[str | Pause]) -> Iterator[str | Pause]:
    sent_at = time.monotonic()
    with closing(cast("Generator[str | Pause]", events)):
        for step in events:
            if not step:
                continue
            if isinstance(step, Pause) and time.monotonic() - sent_at >= HEARTBEAT_S:
                sent_at = time.monotonic()
                yield HEARTBEAT
            elif not isinstance(step, Pause):
                sent_at = time.monotonic()
            yield step


def when_gone(tell: Callable[[], None]) -> None:
    """Call ``tell`` when the browser of this request has gone or has received the whole answer.

    The request's body must have been read. uvicorn silently drops what is sent to a closed connection, so writing does
    not show it. Under another server writing fails, and the events are closed.
    """
    body = request.environ.get("wsgi.input")
    if register := request.environ.get(WHEN_GONE):
        register(tell)
    elif isinstance(body, Body):
        asyncio.run_coroutine_threadsafe(_wait_until_gone(body), body.loop).add_done_callback(lambda _: tell())


async def _wait_until_gone(body: Body) -> None:
    while (await body.receive())["type"] != "http.disconnect":
        pass


def step_aside() -> None:
    """Let others have this request's place among those at work, and that on a processor: it waits for a model.

    Under another server it keeps its thread.
    """
    let_go()
    if leave := request.environ.get(STEP_ASIDE):
        leave()
