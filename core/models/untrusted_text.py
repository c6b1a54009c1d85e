"""Untrusted text in prompts: escaped, so that it stays data whatever it says."""

from __future__ import annotations

import re
import unicodedata

# Anything that a model could take for our tags, or for the marks of turns in its chat template.
_LOOK_ALIKE = re.compile(
    r"(?i:[<＜‹〈《](?=\s*+[/／]?\s*+passages?\b|\s*+[|｜]|[<＜]\s*+[/／]?\s*+sys\b"
    r"|\s*+[/／]?\s*+(?:s|system|user|assistant|sys|(?:start|end)_of_\w+|[be]os|think(?:ing)?|chat_history|tool_\w+)\s*[>＞]))"
    r"|\[(?=/?(?:[A-Z_]{3,}|(?i:inst))\])"
)

_LINES = {ord("\n"): " ", ord("\t"): " "}
_OF_WORDS = frozenset({"Lu", "Ll", "Lm", "Lo", "Mn", "Mc", "So", "Sk"})
_JOINERS = "\u200c\u200d"
"""What joins or parts the signs of one emoji, and the letters of Persian and of Indian scripts."""


def as_data(text: str) -> str:
    """Escape whatever could close a delimiter or open a turn; drop invisible characters but those within an emoji or a
    word. All else stays literal.
    """
    visible = text
    if not text.translate(_LINES).isprintable():
        visible = "".join(c for at, c in enumerate(text) if _is_visible(c) or (c in _JOINERS and _joins(text, at)))
    return _LOOK_ALIKE.sub(lambda match: "(" if match[0] == "[" else "&lt;", visible)


def _is_visible(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf")


def _joins(text: str, at: int) -> bool:
    """Return whether a joiner has a letter, or a sign of an emoji, on both sides, and none of ASCII."""
    around = text[at - 1 : at] + text[at + 1 : at + 2]
    return len(around) == 2 and all(c > "\xa0" and unicodedata.category(c) in _OF_WORDS for c in around)
