"""A running turn as server-sent events: progress, the answer as it grows, and its HTML at the end.

``turn`` (addresses to follow and to stop it, and the side bar) → ``stage``, ``query``, ``search``, ``lookup`` (progress
in words) →
``text`` (what is new of the answer's HTML, see `AnswerSoFar`) and ``checked`` (what is said of its sentences below it,
as HTML, whenever it changes) → ``answer`` (the stored exchange, as HTML), or ``error`` (problem details).
An event's ``id`` numbers the change of the turn that it shows: who comes back with it is told what came after it. A
comment keeps the connection open. Closing the connection does not end the turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from flask import render_template
from flask_babel import gettext as _
from flask_babel import ngettext

from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.chat.checked import checked_of
from braid.app.site import site
from braid.app.web.event_stream import event, when_gone
from braid.app.web.live_turns import error_event
from braid.app.web.turn_progress import RENDER_EVERY_S, AnswerSoFar, stage_text
from braid.app.words.searches import lookup_text
from braid.app.words.values import dataset_name
from braid.core.chat.lookups.lookup import Lookup
from braid.core.chat.marks import shown
from braid.core.chat.turns.bell import Pause
from braid.core.chat.turns.rows import MAX_TURN_S, StoredTurn
from braid.core.chat.turns.running import RunningTurn
from braid.core.chat.types import Event, QueryWritten, Searched, StageStarted
from braid.core.errors import NotFoundError
from braid.core.json_form import to_json
from braid.core.types import SearchResult

Values = dict[str, object]
LOOK_S = 0.5
"""Seconds between two looks at a turn that runs in another process."""


def follow(
    turn: StoredTurn, running: RunningTurn[Event] | None, *, first: Values, last: Callable[[], Values], after: int = 0
) -> Iterator[str | Pause]:
    """Yield the events of a turn as text, from the change ``after`` on; of one that has ended only the last event, and
    of one that runs in another process its text as far as it is stored.

    ``first`` are values of the first event besides the addresses, ``last`` returns those of the last one.
    """
    gone: list[bool] = []
    when_gone(lambda: gone.append(True))
    yield event("turn", {**addresses(turn), **first})
    try:
        yield from _progress(running, after, gone) if running is not None else _progress_elsewhere(turn, gone)
        values = last()
        if running is not None and running.error and values["state"] == "running":  # the end could not be stored
            raise running.error
        yield event("answer", {**addresses(turn), **values})
    except Exception as error:  # the edge: the response has begun, so that Flask cannot answer
        yield error_event(error)


def addresses(turn: StoredTurn) -> Values:
    """Return the addresses of a turn that a page's script needs."""
    conversation_id, answer_id = turn.conversation_id, turn.answer_id
    return {
        "follow": url_for("braid.chat.events", conversation_id=conversation_id, message_id=answer_id),
        "stop": url_for("braid.chat.stop", conversation_id=conversation_id, message_id=answer_id),
        "conversation": url_for("braid.chat.conversation", conversation_id=conversation_id),
        "messages": url_for("braid.chat.ask", conversation_id=conversation_id),
        "files": url_for("braid.chat.files", conversation_id=conversation_id),
    }


def _progress(running: RunningTurn[Event], after: int, gone: list[bool]) -> Iterator[str | Pause]:
    answer, user_id, conversations = _Shown(), identity().account.id, site().conversations
    for news in running.follow(after, RENDER_EVERY_S):
        if gone:
            return
        if isinstance(news, Pause):
            yield news
            continue
        try:  # the model may be silent since the user lost what it writes from
            conversations.require_readable(user_id, running.found)
        except NotFoundError as error:
            running.fail(error)
            return
        text, support = running.so_far
        parts = [*map(_describe, news.events), *answer.parts(text, to_json(support))]
        yield "".join(f"id: {news.number}\n{part}" for part in parts if part)


def _progress_elsewhere(turn: StoredTurn, gone: list[bool]) -> Iterator[str | Pause]:
    """Yield the text of a turn as its process stores it, every second; nothing for a turn that has ended."""
    user_id, here = identity().account.id, site()
    shown, sent, until = "", _Shown(), time.monotonic() + MAX_TURN_S
    while not gone and time.monotonic() < until:
        here.turn_store.interrupt_abandoned()
        answer = here.conversations.messages(user_id, turn.conversation_id, ids=[turn.answer_id])[0]
        if answer.state != "running" or here.turn_store.is_written_here(answer.settings):
            return
        if answer.text != shown:
            shown = answer.text
            yield "".join(sent.parts(answer.marked_text, answer.settings.get("support") or ()))
        yield Pause(LOOK_S)


class _Shown:
    """What a page has of an answer: its text, and what is said of its sentences."""

    def __init__(self) -> None:
        self._text, self._remarks = AnswerSoFar(), ""
        self._seen: tuple[str, list[Mapping[str, Any]]] = "", []

    def parts(self, text: str, support: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """Yield the events that show this marked text, and what the check of its sentences found, as JSON, where they
        differ from those before.
        """
        if self._seen == (seen := (text, list(support))):
            return
        self._seen = seen
        checked = checked_of(support, shown(text)[1])
        yield self._text.event(text, checked.spans)
        remarks = render_template("braid/_checked.html", exchange={"checked": checked}, running=True).strip()
        if remarks != self._remarks:
            self._remarks = remarks
            yield event("checked", {"html": remarks})


def _describe(step: Event) -> str:
    """Return a step in words; of other events nothing."""
    match step:
        case StageStarted():
            return event("stage", {"stage": step.stage, "text": stage_text(step.stage)})
        case QueryWritten():
            query = (step.question if step.generator == "feedback" else step.query)[:200]
            text = _("Searching for: %(query)s", query=query)
            return event("query", {"query": step.query, "generator": step.generator, "text": text})
        case Searched():
            return event("search", {"passages": len(step.result.hits), "text": _describe_result(step.result)})
        case Lookup():
            return event("lookup", {"text": lookup_text(to_json(step))})
        case _:
            return ""


def _describe_result(result: SearchResult) -> str:
    names = {
        dataset.id: dataset_name(dataset.name) for dataset in site().braid.ledger.datasets_in(set(result.collections))
    }
    where = dict.fromkeys(names.get(hit.passage.dataset_id, "") for hit in result.hits)
    found: str = ngettext("%(num)s passage", "%(num)s passages", len(result.hits))
    return str(_("%(found)s from %(names)s", found=found, names=_(", ").join(where))) if where else found
