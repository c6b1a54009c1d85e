"""Reasons that were stored as English sentences, before they had templates and parts. To be removed after 0.2."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from math import inf
from pathlib import Path

from babel.messages.mofile import read_mo

from braid.app.words.page_texts import PAGE_TEXTS
from braid.core.errors import Reason
from braid.core.metadata.gaps import GAP_NOTE

MAX_SENTENCE_CHARS = 1000
"""A longer sentence is not recognized."""
LEAST_CHARS, LEAST_OF_LABEL = 12, 6
"""Characters that a template with parts has at least beside them; fewer are enough for a label, or around one."""
LABELS = ("what", "other", "advice")
"""Parts that are reasons themselves, and must be known; ``reason`` may be the words of another program."""
NUMBERS = ("count", "total", "most", "id", "number")
REWORDED = (
    (" is a zip archive, and it holds ", " is a zip archive of "),
    (" is a zip archive, and the list of its files takes ", " is a zip archive whose list of files takes "),
)
"""What was said before, and what is said now."""

_CATALOG = Path(__file__).parents[1] / "translations" / "ja" / "LC_MESSAGES" / "messages.mo"
_GAP = re.compile(
    r"pages? ha(?:s|ve) (?:no text|letters without|not been read)|no stored value|attachments that were not"
)
_PART = re.compile(r"%\((\w+)\)s")


@lru_cache(maxsize=1000)
def recognized(sentence: str) -> Reason | None:
    """Return the reason that says this, or says it of a document that is named first; None where no template fits."""
    if len(sentence) > MAX_SENTENCE_CHARS:
        return None
    for before, now in REWORDED:
        sentence = sentence.replace(before, now)
    if found := _match(sentence):
        return found
    name, colon, rest = sentence.partition(": ")
    gap = _match(rest) if colon else None
    return Reason(GAP_NOTE, name=name, gap=gap) if gap and _GAP.search(gap.template) else None


def _match(sentence: str, least: int = LEAST_CHARS) -> Reason | None:
    for template, fixed, chars in _templates():
        if chars < least or fixed[0] not in sentence:
            continue
        if all(piece in sentence for piece in fixed) and (found := _pattern(template).fullmatch(sentence)):
            parts: dict[str, str | None] = found.groupdict()
            parts |= {name: _match(part, LEAST_OF_LABEL) for name, part in parts.items() if part and name in LABELS}
            if reason := parts.get("reason"):
                parts["reason"] = _match(reason) or reason
            if None not in parts.values():
                return Reason(template, **parts)
    return None


@cache
def _templates() -> tuple[tuple[str, list[str], float], ...]:
    """Return all templates with what is fixed in them, the longest first of it, and its characters, which are always
    enough without parts and around a label: first those around another reason, then the longest.
    """
    with _CATALOG.open("rb") as file:
        texts = {message.id for message in read_mo(file) if isinstance(message.id, str) and message.id} | {*PAGE_TEXTS}
    found = [(text, [piece for piece in _PART.split(text)[::2] if piece]) for text in texts]
    usable = [each for each in found if each[0] in each[1] or sum(map(len, each[1])) >= LEAST_OF_LABEL]
    usable.sort(key=lambda each: ("%(reason)s" not in each[0], -sum(map(len, each[1])), each[0]))
    return tuple((text, sorted(fixed, key=len, reverse=True), _chars(text, fixed)) for text, fixed in usable)


def _chars(template: str, fixed: list[str]) -> float:
    if template in fixed or any(f"%({label})s" in template for label in LABELS):
        return inf
    return sum(map(len, fixed))


@cache
def _pattern(template: str) -> re.Pattern[str]:
    pieces, seen = _PART.split(template), set[str]()
    text = re.escape(pieces[0])
    for name, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        text += f"(?P={name})" if name in seen else f"(?P<{name}>{'-?[0-9,]+' if name in NUMBERS else '.+?'})"
        text += re.escape(piece)
        seen.add(name)
    return re.compile(text, re.DOTALL)
