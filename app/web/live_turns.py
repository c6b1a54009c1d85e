"""Turns that run while a request waits for them: streamed, or as a whole; whoever disconnects ends the turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from flask import Response
from werkzeug.exceptions import ClientDisconnected

from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.web.event_stream import HEARTBEAT_S, event_stream, step_aside, when_gone
from braid.core.admission import give_way
from braid.core.chat.live_turn import LiveTurn
from braid.core.chat.turns.bell import Pause, waited
from braid.core.chat.types import ChatResult, Event

Happened = TypeVar("Happened")

BEGIN_WITHIN_S = 10.0
"""Seconds that the status waits for a text. Proxies and clients give up what does not begin for a minute."""


class Beginning(Protocol):
    """What is known of an answer that is streamed."""

    has_text: bool
    is_sent: bool
    """Whether the status is sent, so that an error can only be an event; set here."""


def live_stream(
    events: Iterator[Happened],
    lines: Callable[[LiveTurn[Happened]], Iterator[str | Pause]],
    beginning: Beginning | None = None,
) -> Response:
    """Return a stream of what ``lines`` makes of the turn; with a ``beginning``, when that has text, or after 10 s.

    Raises TooManyError when too many turns run, and what ``lines`` raises until then.
    """
    turn = _begin(events)
    try:
        made = lines(turn)
        response = event_stream(_begun(made, beginning) if beginning else made)
    except BaseException:
        site().streams.end(turn)
        raise
    response.call_on_close(partial(site().streams.end, turn))  # also if nothing of it is sent
    return response


def _begun(lines: Iterator[str | Pause], beginning: Beginning) -> Iterator[str | Pause]:
    """Wait for the first text, and return all lines; this request gives its place to others meanwhile."""
    step_aside()
    first, until = list[str](), time.monotonic() + BEGIN_WITHIN_S
    for step in lines:
        if not isinstance(step, Pause):
            first.append(step)
        if beginning.has_text or (left := until - time.monotonic()) <= 0:
            break
        if isinstance(step, Pause):
            replace(step, seconds=min(step.seconds, left)).wait()
    beginning.is_sent = True

    def go_on() -> Iterator[str | Pause]:
        yield from first
        yield from lines

    return go_on()


def live(events: Iterator[Happened]) -> Iterator[Happened]:
    """Yield the events of a turn; this request gives its place to others meanwhile. Raises TooManyError."""
    turn = _begin(events)
    try:
        step_aside()
        yield from waited(turn.events(HEARTBEAT_S))
    finally:
        site().streams.end(turn)


def result_of(events: Iterator[Event]) -> ChatResult:
    """Return the turn's result. Raises TooManyError, and ClientDisconnected when the caller has gone."""
    result = None
    for happened in live(events):
        if isinstance(happened, ChatResult):
            result = happened
    if result is None:
        raise ClientDisconnected("the turn was stopped")
    give_way()  # to write down a thousand passages takes its time, too
    return result


def _begin(events: Iterator[Happened]) -> LiveTurn[Happened]:
    turn = site().streams.begin(identity().account.id, events)
    when_gone(turn.stop)
    return turn
