"""Turns as OpenAI's clients expect them: a failed model is an error, ``stop`` and ``max_tokens`` end the answer; what
they ask beside questions, such as a title of the conversation, is written without a search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import cast

from braid.core.chat.turn_recorder import TurnRecorder
from braid.core.chat.types import AnswerText, AnswerWithdrawn, ChatRequest, ChatResult, Event, StageStarted
from braid.core.models.chat import ChatModel
from braid.core.models.prompts import DATA_RULE
from braid.core.text.token_budget import both_ends, estimate_tokens
from braid.core.types import MAX_QUERY_CHARS, Query, SearchResult


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """Texts that end an answer, and are left out of it, and the tokens that it may have, estimated; None for any."""

    stop: tuple[str, ...] = ()
    tokens: int | None = None


def required(events: Iterator[Event]) -> Iterator[Event]:
    """Yield the events of a turn until its model fails. Raises ModelError then: clients ask again, or say so."""
    with _closing(events):
        for happened in events:
            if isinstance(happened, AnswerWithdrawn) and happened.error is not None:
                raise happened.error
            yield happened


def limited(asked: ChatRequest, events: Iterator[Event], limits: AnswerLimits) -> Iterator[Event]:
    """Yield the events of a turn, which is ended where its answer reaches a limit: its model writes no more."""
    if not limits.stop and limits.tokens is None:
        yield from events
        return
    recorder, cutter = TurnRecorder(asked), _Cutter(limits)
    with _closing(events):
        for happened in events:
            if isinstance(happened, AnswerText):
                happened = cutter.feed(happened)
            elif isinstance(happened, AnswerWithdrawn):
                cutter = _Cutter(limits)
            elif isinstance(happened, ChatResult) and (rest := cutter.rest()).text:
                recorder.feed(rest)
                yield rest
            if not isinstance(happened, ChatResult) or not cutter.reached:
                recorder.feed(happened)
                if not isinstance(happened, AnswerText) or happened.text:
                    yield happened
            if cutter.reached:
                break
    if cutter.reached:
        yield replace(recorder.result(), stopped=False, cut=cutter.reached == "length")


def _closing(events: Iterator[Event]) -> closing[Generator[Event]]:
    return closing(cast("Generator[Event]", events))


class _Cutter:
    """Cuts the pieces of one answer at the limits. What may be the beginning of a text that ends it is held back."""

    def __init__(self, limits: AnswerLimits) -> None:
        self.reached = ""
        """``stop`` or ``length`` once a limit is reached."""
        self._limits = limits
        self._left = limits.tokens
        self._held = AnswerText("", marks=())

    def feed(self, piece: AnswerText) -> AnswerText:
        """Return what may be shown once the answer goes on with this piece."""
        whole = _joined(self._held, piece)
        found = [place for stop in self._limits.stop if (place := whole.text.find(stop)) >= 0]
        if found:
            self.reached, end = "stop", min(found)
        else:
            end = len(whole.text) - _begun(whole.text, self._limits.stop)
        self._held = _part(whole, end, len(whole.text))
        return self._within_tokens(_part(whole, 0, end))

    def rest(self) -> AnswerText:
        """Return what is held back at the answer's end."""
        return self._within_tokens(self._held)

    def _within_tokens(self, piece: AnswerText) -> AnswerText:
        if self._left is None:
            return piece
        used = estimate_tokens(piece.text)
        if used <= self._left:
            self._left -= used
            return piece
        low, high = 0, len(piece.text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if estimate_tokens(piece.text[:middle]) <= self._left else (low, middle - 1)
        self.reached, self._left = "length", 0
        return _part(piece, 0, low)


def _begun(text: str, stops: Sequence[str]) -> int:
    """Return how many of the last characters may be the beginning of one of the texts."""
    sizes = (size for stop in stops for size in range(1, len(stop)) if text.endswith(stop[:size]))
    return max(sizes, default=0)


def _joined(held: AnswerText, piece: AnswerText) -> AnswerText:
    if not held.text:
        return piece
    marks = None if piece.marks is None else (*(held.marks or ()), *(len(held.text) + at for at in piece.marks))
    return replace(piece, text=held.text + piece.text, marks=marks)


def _part(piece: AnswerText, start: int, end: int) -> AnswerText:
    """Return a part of a piece; a citation that it would cut in two is left out of it."""
    if piece.marks is None:
        return replace(piece, text=piece.text[start:end])
    ends = {at: piece.text.find("]", at) + 1 for at in piece.marks}
    cut = [at for at, after in ends.items() if at < end < after]
    end = min(cut, default=end)
    start = min([at for at, after in ends.items() if at < start < after], default=start)
    marks = tuple(at - start for at in piece.marks if start <= at < end)
    return replace(piece, text=piece.text[start:end], marks=marks)


# ---------------------------------------------------------------- what chat apps ask of a model beside questions
# The tasks of `braid.app.openai_api.templates`: the chat model writes them, without a search; without one, what can be
# said without a model is.

MAX_TITLE_CHARS = 60
SYSTEM = (
    "Do the task below for a chat app and reply in the form that it asks for, with nothing else. The conversation "
    f"between <chat_history> and </chat_history> is what the task is about. {DATA_RULE}"
)
_FIRST_QUESTION = re.compile(r"^(?:user|human):[^\S\n]*+(.+)", re.IGNORECASE | re.MULTILINE)
_EMPTY = ("tags", "follow_ups", "queries")


def task_events(task: str, model: ChatModel | None, tokens: int) -> Iterator[Event]:
    """Yield the events of a turn that does the task; of a long one the model is given the beginning and the end.

    Raises ModelError when the model fails: a client asks again, or makes a title itself.
    """
    yield StageStarted("answer", model.name if model else "extractive")
    text, generator, prompt = "", "extractive", both_ends(task, tokens)
    if model is not None:
        text, generator = model.complete([("system", SYSTEM), ("user", prompt)]), model.name
    text = text or _without_model(task)
    used = estimate_tokens(SYSTEM + prompt) if model is not None else 0
    yield AnswerText(text, marks=())
    query = task[:MAX_QUERY_CHARS]
    nothing = SearchResult(Query(query), "basic", "none", (), (), ())
    yield ChatResult(query, query, "none", nothing, text, generator, prompt_tokens=used, marks=())


def _without_model(task: str) -> str:
    for name in _EMPTY:
        if f'"{name}"' in task:
            return json.dumps({name: []})
    if "<text>" in task and '"text"' in task:  # how a question could go on
        return json.dumps({"text": ""})
    found = _FIRST_QUESTION.search(task)
    title = " ".join((found[1] if found else re.split(r"[.:\n]", task, maxsplit=1)[-1]).split())
    title = title if len(title) <= MAX_TITLE_CHARS else title[: MAX_TITLE_CHARS - 1].rstrip() + "…"
    return json.dumps({"title": title}, ensure_ascii=False) if '"title"' in task else title
