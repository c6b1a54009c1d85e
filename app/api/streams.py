"""Answers as server-sent events."""

from __future__ import annotations

import json
import uuid
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
    """Whether the caller asks for events rather than for JSON."""
    return request.accept_mimetypes.best_match(("application/json", EVENT_STREAM)) == EVENT_STREAM


def streamed(asked: ChatRequest, events: Iterator[Event], keep: Callable[[ChatResult], None]) -> Response:
    """The events as they happen. What there is of the answer is kept, also when the caller goes away, which ends it."""
    return event_stream(_lines(asked, events, keep))


def _lines(asked: ChatRequest, events: Iterator[Event], keep: Callable[[ChatResult], None]) -> Iterator[str]:
    recorder, turn, name = TurnRecorder(asked), LiveTurn(events), uuid.uuid4().hex
    user_id, turns = asked.user_id or 0, site().turns
    turns.add(user_id, name, turn)
    when_gone(turn.stop)
    unkept = True
    try:
        for found in turn.events(HEARTBEAT_S):
            if found is not None:
                recorder.feed(found)
            if isinstance(found, ChatResult):
                unkept = False
                keep(found)
            yield HEARTBEAT if found is None else event(found.type, event_json(found))
    except BraidError as error:
        unkept = False
        yield _problem(on_braid_error(error)[0])
    except Exception as error:  # the edge: the status has been sent, so the stream says it
        unkept = False
        yield _problem(on_unexpected(error)[0])
    finally:
        turns.remove(user_id, name)
        turn.stop()
        if unkept:
            keep(recorder.result())


def _problem(answer: Response | str) -> str:
    text = answer.get_data(as_text=True) if isinstance(answer, Response) else answer
    return event("error", json.loads(text))
