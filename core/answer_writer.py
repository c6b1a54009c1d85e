"""Answers written by a model, piece by piece: citations checked, thoughts left out, "not found" understood."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from core.citations import CitationFilter
from core.errors import ModelError
from core.passage_block import NOT_FOUND

THOUGHT, THOUGHT_END = "<think>", "</think>"
_OPENINGS = (THOUGHT, NOT_FOUND)
_SAYS_NOT_FOUND = re.compile(rf"{NOT_FOUND}\W")
_WRAPPING = " \t\r\n\"'`*_.「」。"


@dataclass(frozen=True, slots=True)
class Written:
    """A whole answer. ``found`` is False when the model said so; the text is empty then."""

    text: str
    found: bool
    cited: tuple[int, ...]
    removed: int


def write(pieces: Iterable[str], given: frozenset[int], show: Callable[[str], None]) -> Written:
    """Hand on what can be shown as it comes. Raises ModelError when nothing comes, or in the middle."""
    checked = CitationFilter(given)
    shown: list[str] = []

    def hand_on(text: str) -> None:
        if text:
            shown.append(text)
            show(text)

    for piece in _after_opening(pieces):
        if piece is None:
            return Written("", False, (), 0)
        hand_on(checked.feed(piece))
    hand_on(checked.flush().rstrip())
    text = "".join(shown).strip()
    if not text:
        raise ModelError("the model gave an empty answer")
    return Written(text, True, tuple(checked.cited), checked.removed)


def _after_opening(pieces: Iterable[str]) -> Iterator[str | None]:
    """The pieces behind a thought, if there is one; None when the answer is that nothing was found."""
    held: str | None = ""
    for piece in pieces:
        if held is None:
            yield piece
            continue
        held = _without_thought(held + piece)
        start = held.lstrip(_WRAPPING)
        if _SAYS_NOT_FOUND.match(start):
            yield None
            return
        if start and not start.startswith(THOUGHT) and not any(opening.startswith(start) for opening in _OPENINGS):
            yield held.lstrip()
            held = None
    if held and not held.lstrip().startswith(THOUGHT):
        yield None if held.strip(_WRAPPING) == NOT_FOUND else held.lstrip()


def _without_thought(text: str) -> str:
    start = text.lstrip()
    if start.startswith(THOUGHT) and THOUGHT_END in start:
        return start.partition(THOUGHT_END)[2].lstrip()
    return text
