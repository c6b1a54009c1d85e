"""Untrusted text in prompts: escaped, so that it stays data whatever it says."""

from __future__ import annotations

import re
import unicodedata

# Anything that a model could take for our tags, or for the marks of turns in its chat template.
_LOOK_ALIKE = re.compile(
    r"(?i:[<＜‹〈《](?=\s*+[/／]?\s*+passages?\b|\s*+[|｜]|[<＜]\s*+[/／]?\s*+sys\b"
    r"|\s*+[/／]?\s*+(?:s|system|user|assistant|sys|(?:start|end)_of_\w+|[be]os|think(?:ing)?|tool_\w+)\s*[>＞]))"
    r"|\[(?=/?(?:[A-Z_]{3,}|(?i:inst))\])"
)

_LINES = {ord("\n"): " ", ord("\t"): " "}


def as_data(text: str) -> str:
    """Escape whatever could close a delimiter or open a turn; drop invisible characters. All else stays literal."""
    visible = text
    if not text.translate(_LINES).isprintable():
        visible = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf"))
    return _LOOK_ALIKE.sub(lambda match: "(" if match[0] == "[" else "&lt;", visible)
