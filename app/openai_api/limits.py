"""What OpenAI's clients expect of a turn: a failed model is an error, ``stop`` and ``max_tokens`` end the answer."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import cast

from braid.core.chat.turn_recorder import TurnRecorder
from braid.core.chat.types import AnswerText, AnswerWithdrawn, ChatRequest, ChatResult, Event
from braid.core.text.token_budget import estimate_tokens


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
