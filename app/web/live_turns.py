"""Turns as answers to requests: streamed, or as a whole. One that is for its request alone ends with it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from flask import Response
from werkzeug.exceptions import ClientDisconnected

from braid.app.site import site
from braid.app.web.errors import answer, failure_of
from braid.app.web.event_stream import event, event_stream, step_aside, when_gone
from braid.core.admission import give_way
from braid.core.chat.turns.bell import Pause, waited
from braid.core.chat.turns.running import Begin, News, RunningTurn
from braid.core.chat.types import ChatRequest, ChatResult

Happened = TypeVar("Happened")

BEGIN_WITHIN_S = 10.0
"""Seconds that the status waits for a text. Proxies and clients give up what does not begin for a minute."""


class Beginning(Protocol):
    """What is known of an answer that is streamed."""

    has_text: bool
    is_sent: bool
    """Whether the status is sent, so that an error can only be an event; set here."""


@dataclass(frozen=True, slots=True)
class StreamForm(Generic[Happened]):
    """How a stream is written: an event, and an error that ends it, each as lines; an empty text is left out."""

    event: Callable[[Happened], str]
    error: Callable[[Exception], str]
    so_far: Callable[[str], str] | None = None
    """Writes the whole answer so far, a marked text, beside the events; then they are sent ``every_s`` seconds."""
    every_s: float = 0.0
    beginning: Beginning | None = None
    """What the status waits for, so that an error before has one of its own."""


def run_turn(
    asked: ChatRequest, events: Iterator[Happened], begin: Begin | None = None, *, counted: str = "chat"
) -> RunningTurn[Happened]:
    """Run a turn, which ``begin`` stores, if any. Raises TooManyError.

    It is ``counted`` as this use of Braid, and its search with the others; with an empty text, not at all.
    """
    here = site()

    def done(result: ChatResult) -> None:
        if counted:
            here.metrics.count_search(result.search, result.degraded)

    turn = here.turns.start(asked, events, begin=begin, done=done)
    if counted and asked.user_id is not None:
        here.usage.count(asked.user_id, counted)
    return turn


def stream_of(turn: RunningTurn[Happened], form: StreamForm[Happened]) -> Response:
    """Return a stream of a turn, which ends with it; with a ``beginning``, when that has text, or after 10 s.

    Raises what the turn raises until then.
    """
    lines = _lines(turn, form)
    try:
        response = event_stream(_begun(lines, form.beginning) if form.beginning else lines)
    except BaseException:
        turn.end("interrupted")
        raise
    response.call_on_close(partial(turn.end, "interrupted"))  # also if nothing of it is sent
    return response


def result_of(turn: RunningTurn[Any]) -> ChatResult:
    """Return the turn's result; this request gives its place to others meanwhile.

    Raises what the turn raises, and ClientDisconnected when the caller has gone.
    """
    last = last_of(turn)
    if not isinstance(last, ChatResult):
        raise ClientDisconnected("the turn was stopped")
    give_way()  # to write down a thousand passages takes its time, too
    return last


def last_of(turn: RunningTurn[Happened]) -> Happened | None:
    """Return the last event of a turn; its request gives its place to others meanwhile. Raises what the turn raises."""
    step_aside()
    last = None
    for news in waited(_followed(turn)):
        last = news.events[-1] if news.events else last
    return last


def error_event(error: Exception) -> str:
    """Return an error as the event that ends a stream: problem details. The status has been sent by then."""
    return event("error", json.loads(answer(failure_of(error)).get_data()))


def _lines(turn: RunningTurn[Happened], form: StreamForm[Happened]) -> Iterator[str | Pause]:
    shown = ""
    try:
        for news in _followed(turn, form.every_s):
            if isinstance(news, Pause):
                yield news
                continue
            lines = [form.event(happened) for happened in news.events]
            if form.so_far is not None and (text := turn.so_far[0]) != shown:
                shown, has_result = text, bool(news.events) and isinstance(news.events[-1], ChatResult)
                lines.insert(len(lines) - has_result, form.so_far(text))
            yield "".join(lines)
    except Exception as error:  # the edge: the status has been sent, so the stream reports the error
        yield form.error(error)


def _followed(turn: RunningTurn[Happened], every_s: float = 0.0) -> Iterator[News[Happened] | Pause]:
    """Follow a turn that is for this request alone: it ends when the caller has gone. Raises what the turn raises."""
    gone: list[bool] = []

    def leave() -> None:
        gone.append(True)
        turn.wake()

    when_gone(leave)
    try:
        for news in turn.follow(every_s=every_s):
            if gone:
                return
            yield news
        if turn.error is not None:
            raise turn.error
    finally:
        turn.end("interrupted")


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
