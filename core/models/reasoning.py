"""Removes a model's reasoning, ``<think>…</think>``, wherever it is in the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_TAG = re.compile(r"<\s*+(?P<end>/?)\s*+think(?:ing)?\s*+>", re.IGNORECASE)
_TAGS = ("<think>", "</think>", "<thinking>", "</thinking>")
_MAX_TAG_CHARS = 30
"""Longest tag, spaces included."""


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """The next piece of an answer, without reasoning."""

    text: str = ""
    restart: bool = False
    """A closing tag without an opening one: some models open it in the prompt, so everything so far was reasoning."""
    cut: bool = False
    """The model stopped within its reasoning; nothing follows."""


def answer_pieces(pieces: Iterable[str]) -> Iterator[AnswerPiece]:
    """Yield the answer as it comes, without reasoning. A possible beginning of a tag is held back until it is clear."""
    held, thinking = "", False
    for piece in pieces:
        held, start = held + piece, 0
        for tag in _TAG.finditer(held):
            before, start = held[start : tag.start()], tag.end()
            if tag["end"] and not thinking:
                yield AnswerPiece(restart=True)
            elif before and not thinking:
                yield AnswerPiece(before)
            thinking = not tag["end"]
        held = held[start:]
        end = _find_unfinished_tag(held)
        if end and not thinking:
            yield AnswerPiece(held[:end])
        held = held[end:]
    if thinking:
        yield AnswerPiece(cut=True)
    elif held:
        yield AnswerPiece(held)


def without_reasoning(text: str) -> str:
    """Return a whole text without reasoning. Reasoning that has no end removes the rest."""
    kept: list[str] = []
    for piece in answer_pieces([text]):
        if piece.restart:
            kept.clear()
        kept.append(piece.text)
    return "".join(kept)


def _find_unfinished_tag(text: str) -> int:
    """Return where an incomplete tag may begin; the text's length if none does."""
    start = text.rfind("<")
    begun = "".join(text[start:].split()).lower()
    if start < 0 or len(text) - start > _MAX_TAG_CHARS or not any(tag.startswith(begun) for tag in _TAGS):
        return len(text)
    return start
