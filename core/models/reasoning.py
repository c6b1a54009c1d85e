"""Thoughts of a model, ``<think>…</think>``: never part of what it says, wherever they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_TAG = re.compile(r"<\s*(?P<end>/?)\s*think(?:ing)?\s*>", re.IGNORECASE)
_TAGS = ("<think>", "</think>", "<thinking>", "</thinking>")
_MAX_TAG_CHARS = 30
"""With spaces within; what is longer is no tag."""


@dataclass(frozen=True, slots=True)
class Said:
    """The next piece of what a model says."""

    text: str = ""
    anew: bool = False
    """All before was a thought, too: its end has come, and its beginning stands in the prompt of some models."""
    cut: bool = False
    """The model stopped within a thought; nothing follows."""


def spoken(pieces: Iterable[str]) -> Iterator[Said]:
    """What is said, without thoughts, as it comes. What may be the beginning of a tag is held back until it is one."""
    held, thinking = "", False
    for piece in pieces:
        held += piece
        while tag := _TAG.search(held):
            before, held = held[: tag.start()], held[tag.end() :]
            if tag["end"] and not thinking:
                yield Said(anew=True)
            elif before and not thinking:
                yield Said(before)
            thinking = not tag["end"]
        end = _unfinished(held)
        if end and not thinking:
            yield Said(held[:end])
        held = held[end:]
    if thinking:
        yield Said(cut=True)
    elif held:
        yield Said(held)


def without_thoughts(text: str) -> str:
    """A whole text without thoughts; one that does not end takes the rest with it."""
    kept: list[str] = []
    for said in spoken([text]):
        if said.anew:
            kept.clear()
        kept.append(said.text)
    return "".join(kept)


def _unfinished(text: str) -> int:
    """Where a tag may begin that has not come to its end; the text's length when none does."""
    start = text.rfind("<")
    begun = "".join(text[start:].split()).lower()
    if start < 0 or len(text) - start > _MAX_TAG_CHARS or not any(tag.startswith(begun) for tag in _TAGS):
        return len(text)
    return start
