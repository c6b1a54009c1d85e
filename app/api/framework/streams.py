"""The form in which the API streams answers: each event of a turn as JSON, an error as problem details."""

from __future__ import annotations

from flask import request

from braid.app.web.event_stream import event
from braid.app.web.live_turns import StreamForm, error_event
from braid.core.chat.types import Event, event_json

EVENT_STREAM = "text/event-stream"


def wants_stream() -> bool:
    """Return whether the caller asks for events rather than JSON."""
    return request.accept_mimetypes.best_match(("application/json", EVENT_STREAM)) == EVENT_STREAM


def _event(happened: Event) -> str:
    return event(happened.type, event_json(happened))


OWN = StreamForm(_event, error_event)
