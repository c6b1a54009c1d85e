"""Token budgets: estimates of a text's length in tokens, and cuts to a length."""

from __future__ import annotations

import re
from bisect import bisect_right

from braid.core.text.scripts import HAN, HANGUL, KANA
from braid.core.text.sentences import sentences

_SCRIPTS = {
    # characters of a script: tokens for each
    "A-Za-z": 1 / 3,
    r"\s": 1 / 4,
    r"\d": 1 / 2,
    "\u00c0-\u052f": 2 / 3,
    f"{KANA}{HAN}{HANGUL}\u3001\u3002": 3 / 2,
    "!-/:-@\\[-`{-~": 1.0,
}
_TOKENS_OF_OTHER = 2.0
_COUNTED = [*_SCRIPTS.values(), _TOKENS_OF_OTHER]
_FIRST_RARE = 0x10000
"""Code point of the first character whose script is looked up each time: what is remembered stays small."""
MIN_PROMPT_TOKENS = 1_000
"""Smallest prompt of an answer; a smaller one has no room for passages."""
ELLIPSIS = "…"
FEWEST_TOKENS_OF = 4
"""This many characters of any script are at least one token."""


class _Scripts(dict[int, str]):
    """Code point → the digit of its script, its place in `_COUNTED`, for `str.translate`."""

    _PATTERNS = tuple(re.compile(f"[{characters}]") for characters in _SCRIPTS)

    def __missing__(self, code: int) -> str:
        places = (place for place, script in enumerate(self._PATTERNS) if script.match(chr(code)))
        digit = str(next(places, len(self._PATTERNS)))
        if code < _FIRST_RARE:
            self[code] = digit
        return digit


_SCRIPT_OF = _Scripts()


def estimate_tokens(text: str) -> int:
    """Return at least as many tokens as a model's own tokenizer makes of the text, except for unusual texts.

    One token counts three Latin letters, two digits, four spaces, a punctuation mark, or two thirds of a Japanese or
    Korean character; any other character counts two tokens. Tokenizers of today's models make 10 to 40 % fewer of
    prose; what matters is that a prompt never exceeds its budget.
    """
    scripts = text.translate(_SCRIPT_OF)
    return int(sum(tokens * scripts.count(str(place)) for place, tokens in enumerate(_COUNTED)) + 0.999)


def cut(text: str, tokens: int) -> str:
    """Return the first whole sentences that fit, with an ellipsis when some are left out; empty when none fits."""
    if estimate_tokens(text) <= tokens:
        return text
    kept, left = "", tokens - estimate_tokens(f" {ELLIPSIS}")
    for sentence in sentences(text):
        left -= estimate_tokens(sentence)
        if left < 0:
            break
        kept += sentence
    return f"{kept.rstrip()} {ELLIPSIS}" if kept.strip() else ""


def fitting(text: str, tokens: int) -> str:
    """Return the first whole sentences that fit, or as much of the first as fits."""
    if kept := cut(text, tokens):
        return kept
    text = text[: max(0, FEWEST_TOKENS_OF * tokens)]
    sizes = range(1, len(text) + 1)
    text = text[: bisect_right(sizes, tokens, key=lambda size: estimate_tokens(text[:size] + ELLIPSIS))]
    return text + ELLIPSIS if text.strip() else ""


def both_ends(text: str, tokens: int) -> str:
    """Return the text without its middle if it does not fit: what is asked mostly comes first or last.

    >>> both_ends("Dear all, " + "it is long. " * 90 + "Which part number?", 20)
    'Dear all, it is … it is long. Which part number?'
    """
    if estimate_tokens(text) <= tokens:
        return text
    sizes = range(1, len(text) // 2 + 1)
    size = bisect_right(sizes, tokens, key=lambda half: estimate_tokens(_without_middle(text, half)))
    return _without_middle(text, size) if size else ""


def _without_middle(text: str, half: int) -> str:
    start = text[:half].rsplit(" ", 1)[0] if half > 10 else text[:half]
    return f"{start} {ELLIPSIS} {text[-half:].split(' ', 1)[-1] if half > 10 else text[-half:]}"
