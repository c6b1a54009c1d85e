"""Raised text: exponents and the signs of notes, which would else be read as digits of the number before them."""

from __future__ import annotations

from braid.core.ingest.readers.document import mark_between

RAISE = "\x1c"
"""Stands before and after text that is raised, until `mark_raised`."""
MAX_CHARS = 12
"""Of a raised text; a longer one is a line that somebody has set so."""
_SIGNS = str.maketrans("0123456789+-−–=()nikxyjmptz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿⁱᵏˣʸʲᵐᵖᵗᶻ")


def raised(text: str) -> str:
    """Return a raised text in the characters that Unicode has for it, or else as ``^(2.5)``.

    Words stay as they are (1st, TM), and so does what is in brackets.

    >>> [raised(text) for text in ("6", "-3", "2,3", "n+1", "2.5", "2a", "st", "a", "[4]", "注1)")]
    ['⁶', '⁻³', '²,³', 'ⁿ⁺¹', '^(2.5)', '^(2a)', 'st', 'a', '[4]', '注1)']
    """
    inner = text.strip()
    if not inner or len(inner) > MAX_CHARS or inner.startswith("[") or any(map(_is_foreign, inner)):
        return text
    if not any(each.isdigit() or each in "+-−" for each in inner) and len(inner) > 1:
        return text
    shown = inner.translate(_SIGNS)
    if any(each.isascii() and (each.isalpha() or each in "./") for each in shown):
        shown = f"^({inner})" if len(inner) > 1 else inner
    return text.replace(inner, shown, 1)


def _is_foreign(character: str) -> bool:
    return character.isalpha() and not character.isascii()


def mark_raised(text: str) -> str:
    """Return the text with what is between two `RAISE` as `raised`; two that meet vanish.

    >>> mark_raised(f"5×10{RAISE}1{RAISE}{RAISE}2{RAISE} cells")
    '5×10¹² cells'
    """
    return mark_between(RAISE, text, raised)
