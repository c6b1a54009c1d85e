"""A chat model that says what it is told to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from braid.core.chat.types import (
    Event,
    StageStarted,
    Turn,
)
from braid.core.models.chat import ChatModels

Put = Callable[..., str]

HISTORY = (
    Turn("user", "Tell me about the Byzantine Empire"),
    Turn("assistant", "It was the eastern Roman empire [1]."),
)


class ScriptedModel:
    """Answers what it is told, in order, and keeps what it was sent; an exception in the script is raised."""

    def __init__(self, name: str, *answers: str | Sequence[str | Exception] | Exception) -> None:
        self.name = name
        self.sent: list[list[tuple[str, str]]] = []
        self._answers = list(answers)

    def complete(self, messages: Sequence[tuple[str, str]], *, timeout_s: float | None = None) -> str:
        return "".join(self.stream(messages))

    def stream(self, messages: Sequence[tuple[str, str]]) -> Iterator[str]:
        self.sent.append(list(messages))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        for piece in [answer] if isinstance(answer, str) else answer:
            if isinstance(piece, Exception):
                raise piece
            yield piece


def models(search: ScriptedModel | None = None, summary: ScriptedModel | None = None) -> ChatModels:
    return ChatModels(search, summary)  # type: ignore[arg-type]


def kinds(events: Sequence[Event]) -> list[str]:
    return [event.type if not isinstance(event, StageStarted) else event.stage for event in events]
