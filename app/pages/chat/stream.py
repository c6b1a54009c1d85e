"""A chat turn as server-sent events: progress while it runs, the answer as it grows, and its HTML at the end.

``turn`` (the address that stops it) → ``stage``, ``query``, ``search`` (progress in words) → ``text`` (the answer so
far, as HTML) → ``answer`` (the stored exchange, as HTML), or ``error`` (problem details). A comment keeps the
connection open.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from flask import Response, url_for
from flask_babel import gettext as _
from flask_babel import ngettext

from braid.app.site import site
from braid.app.web.dataset_names import dataset_name
from braid.app.web.errors import on_braid_error, on_unexpected
from braid.app.web.event_stream import event, when_gone
from braid.app.web.turn_progress import progress, stage_text
from braid.core.chat.live_turn import LiveTurn
from braid.core.chat.turn_recorder import TurnRecorder
from braid.core.chat.turns.rows import StoredTurn
from braid.core.chat.types import (
    ChatRequest,
    ChatResult,
    Event,
    QueryWritten,
    Searched,
    StageStarted,
)
from braid.core.errors import BraidError
from braid.core.types import SearchResult


@dataclass(frozen=True, slots=True)
class StreamedTurn:
    """A turn to run, whose request has been checked."""

    request: ChatRequest
    events: Iterator[Event]
    store: Callable[[ChatResult], StoredTurn]
    render: Callable[[StoredTurn], dict[str, object]]
    """Returns the values of the last event."""

    def finish(self) -> ChatResult:
        """Run the turn to its end."""
        recorder = TurnRecorder(self.request)
        for happened in self.events:
            recorder.feed(happened)
        return recorder.result()


def stream_turn(turn: StreamedTurn) -> Iterator[str]:
    """Yield the events of the turn as text. The answer so far is stored even if the connection is closed."""
    user_id, name = turn.request.user_id or 0, uuid.uuid4().hex
    recorder, live = TurnRecorder(turn.request), LiveTurn(turn.events)
    turns = site().turns
    turns.add(user_id, name, live)
    when_gone(live.stop)
    unstored = True
    try:
        yield event("turn", {"stop": url_for("braid.chat.stop", name=name)})
        yield from progress(live, partial(_describe, recorder))
        unstored = False
        yield event("answer", turn.render(turn.store(recorder.result())))
    except BraidError as error:
        unstored = False
        yield _problem(on_braid_error(error))
    except Exception as error:  # the edge: the response has begun, so that Flask cannot answer
        unstored = False
        yield _problem(on_unexpected(error))
    finally:
        turns.remove(user_id, name)
        live.stop()
        if unstored:  # the connection was closed while the answer was being written
            turn.store(recorder.result())


def _describe(recorder: TurnRecorder, happened: Event) -> Iterator[str]:
    """Record the event, and yield the progress in words."""
    recorder.feed(happened)
    if isinstance(happened, StageStarted):
        yield event("stage", {"stage": happened.stage, "text": stage_text(happened.stage)})
    elif isinstance(happened, QueryWritten):
        text = _("Searching for: %(query)s", query=happened.query[:200])
        yield event("query", {"query": happened.query, "generator": happened.generator, "text": text})
    elif isinstance(happened, Searched):
        yield event("search", {"passages": len(happened.result.hits), "text": _describe_result(happened.result)})


def _describe_result(result: SearchResult) -> str:
    names = {
        dataset.id: dataset_name(dataset.name) for dataset in site().braid.ledger.datasets_in(set(result.collections))
    }
    where = dict.fromkeys(names.get(hit.passage.dataset_id, "") for hit in result.hits)
    found: str = ngettext("%(num)s passage", "%(num)s passages", len(result.hits))
    return str(_("%(found)s from %(names)s", found=found, names=_(", ").join(where))) if where else found


def _problem(answer: tuple[Response | str, int]) -> str:
    response, status = answer
    details = json.loads(response.get_data()) if isinstance(response, Response) else {"status": status}
    return event("error", details)
