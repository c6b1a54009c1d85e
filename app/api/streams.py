"""Streams answers as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from flask import Response, request

from braid.app.site import site
from braid.app.web.errors import on_braid_error, on_unexpected
from braid.app.web.event_stream import HEARTBEAT, HEARTBEAT_S, event, event_stream, when_gone
from braid.core.chat.live_turn import LiveTurn
from braid.core.chat.turn_recorder import TurnRecorder
from braid.core.chat.types import ChatRequest, ChatResult, Event, event_json
from braid.core.errors import BraidError

EVENT_STREAM = "text/event-stream"


def wants_stream() -> bool:
    """Return whether the caller asks for events rather than JSON."""
    return request.accept_mimetypes.best_match(("application/json", EVENT_STREAM)) == EVENT_STREAM


def stream_response(asked: ChatRequest, events: Iterator[Event], keep: Callable[[ChatResult], object]) -> Response:
    """Stream the events as they happen. A caller that disconnects ends the turn; the answer so far is kept."""
    return event_stream(_lines(asked, events, keep))


def _lines(asked: ChatRequest, events: Iterator[Event], keep: Callable[[ChatResult], object]) -> Iterator[str]:
    recorder, turn, turns = TurnRecorder(asked), LiveTurn(events), site().streams
    turns.add(turn)
    when_gone(turn.stop)
    not_kept = True
    try:
        for happened in turn.events(HEARTBEAT_S):
            if happened is not None:
                recorder.feed(happened)
            if isinstance(happened, ChatResult):
                not_kept = False
                keep(happened)
            yield HEARTBEAT if happened is None else event(happened.type, event_json(happened))
    except BraidError as error:
        not_kept = False
        yield _problem(on_braid_error(error)[0])
    except Exception as error:  # the edge: the status has been sent, so the stream reports the error
        not_kept = False
        yield _problem(on_unexpected(error)[0])
    finally:
        turns.remove(turn)
        turn.stop()
        if not_kept:
            keep(recorder.result())


def _problem(answer: Response | str) -> str:
    text = answer.get_data(as_text=True) if isinstance(answer, Response) else answer
    return event("error", json.loads(text))
