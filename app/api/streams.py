"""Streams answers as server-sent events, and ends turns whose caller has gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flask import Response, request

from braid.app.web.errors import on_braid_error, on_unexpected
from braid.app.web.event_stream import HEARTBEAT_S, event
from braid.app.web.live_turns import Beginning, live_stream
from braid.core.chat.live_turn import LiveTurn
from braid.core.chat.turn_recorder import TurnRecorder
from braid.core.chat.turns.bell import Pause
from braid.core.chat.types import ChatRequest, ChatResult, Event, event_json
from braid.core.errors import BraidError

EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True)
class StreamForm:
    """How a stream is written: an event, and an error that ends it, each as lines; an empty text is left out."""

    event: Callable[[Event], str]
    error: Callable[[Exception], str]
    beginning: Beginning | None = None
    """What the status waits for, so that an error before has one of its own."""


def wants_stream() -> bool:
    """Return whether the caller asks for events rather than JSON."""
    return request.accept_mimetypes.best_match(("application/json", EVENT_STREAM)) == EVENT_STREAM


def _event(happened: Event) -> str:
    return event(happened.type, event_json(happened))


def _problem(error: Exception) -> str:
    answer = on_braid_error(error)[0] if isinstance(error, BraidError) else on_unexpected(error)[0]
    text = answer.get_data(as_text=True) if isinstance(answer, Response) else answer
    return event("error", json.loads(text))


OWN = StreamForm(_event, _problem)


def stream_response(
    asked: ChatRequest, events: Iterator[Event], keep: Callable[[ChatResult], object], form: StreamForm = OWN
) -> Response:
    """Stream the events as they happen. A caller that disconnects ends the turn; the answer so far is kept.

    Raises TooManyError before anything is sent, and what the turn raises before the stream begins if the form waits.
    """
    return live_stream(events, lambda turn: _lines(asked, turn, keep, form), form.beginning)


def _lines(
    asked: ChatRequest, turn: LiveTurn[Event], keep: Callable[[ChatResult], object], form: StreamForm
) -> Iterator[str | Pause]:
    recorder = TurnRecorder(asked)
    not_kept = True
    try:
        for happened in turn.events(HEARTBEAT_S):
            if isinstance(happened, Pause):
                yield happened
                continue
            recorder.feed(happened)
            if isinstance(happened, ChatResult):
                not_kept = False
                keep(happened)
            yield form.event(happened)
    except Exception as error:  # the edge: the status has been sent, so the stream reports the error
        not_kept = False
        yield form.error(error)
    finally:
        if not_kept:
            keep(recorder.result())
