"""Codes of fields that show something themselves: EQ, with which Word rings letters and writes readings over them, and
SYMBOL.
"""

from __future__ import annotations

import re
import unicodedata

from braid.core.ingest.readers.parts.raised import RAISE, mark_raised
from braid.core.ingest.readers.parts.symbols import signs

MAX_DEPTH = 10
MAX_CODE_CHARS = 2_000
_SYMBOL = re.compile(r"\s*SYMBOL\s+(0x[0-9a-f]{1,4}|\d{1,5})\b(?:[^\\]{0,99}\\f\s*\"?([^\"\\]{1,40}))?", re.IGNORECASE)
_EQ = re.compile(r"\s*EQ\b", re.IGNORECASE)
_FORMAT = re.compile(r"\\\*\s*(?:\"[^\"]*\"|\w+)\s*")
_SWITCH = re.compile(r"\\([a-z]{1,2})\s*((?:\\[a-z]{2}\d*\s*\d*\s*)*)\(", re.IGNORECASE)
_RINGS = "○◯〇"
_SHAPES = _RINGS + "□△◇"
_RINGED = {
    unicodedata.normalize("NFKC", chr(code)): chr(code)
    for codes in ((0x2460, 0x2474), (0x24B6, 0x24EA), (0x3260, 0x327C), (0x3280, 0x32B1), (0x32B1, 0x32C0))
    for code in range(*codes)
}


def shown_by(code: str) -> str:
    r"""Return what a field shows whose code this is, and that has no result; empty for most.

    >>> shown_by(r"eq \o\ac(○,印)"), shown_by(r'EQ \* "Font:Arial" \o\ad(\s\up 9(さいとう),齋藤)'), shown_by("PAGE")
    ('㊞', '齋藤', '')
    >>> shown_by(r"EQ \f(a+b,2)"), shown_by(r"EQ 10\s\up8(3)"), shown_by(r'SYMBOL 109 \f "Symbol"')
    ('(a+b)/2', '10³', 'μ')
    """
    code = code[:MAX_CODE_CHARS]
    if found := _SYMBOL.match(code):
        return signs(chr(int(found[1], 16 if found[1][:2].lower() == "0x" else 10)), found[2] or "", letters=True)
    if begin := _EQ.match(code):
        return _Equation(_FORMAT.sub("", code[begin.end() :])).read()
    return ""


class _Equation:
    """The code of an equation while it is read, from the left."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._at = 0

    def read(self) -> str:
        """Return the text of the whole code."""
        return mark_raised("".join(self._arguments(0, is_whole=True))).strip()

    def _arguments(self, depth: int, *, is_whole: bool = False) -> list[str]:
        """Return the texts up to the closing parenthesis."""
        found, text = [], ""
        while self._at < len(self._code):
            if (switch := _SWITCH.match(self._code, self._at)) and depth < MAX_DEPTH:
                self._at = switch.end()
                options = switch[2].lower().split("\\")
                text += _written(switch[1].lower(), options, self._arguments(depth + 1))
                continue
            sign = self._code[self._at]
            self._at += 1
            if sign == "\\":
                sign, self._at = self._code[self._at : self._at + 1], self._at + 1
            elif not is_whole and sign == ")":
                break
            elif not is_whole and sign in ",;":
                found.append(text)
                sign, text = "", ""
            text += sign
        return [*found, text]


def _written(switch: str, options: list[str], arguments: list[str]) -> str:
    """Return what a switch makes of its arguments."""
    arguments = [each.strip(" ") for each in arguments]
    if switch == "o":
        return _over(arguments)
    if switch == "s":
        is_up = any(option.startswith("up") for option in options)
        return f"{RAISE}{''.join(arguments)}{RAISE}" if is_up else "".join(arguments)
    if switch == "f" and len(arguments) > 1:
        upper, lower = (f"({each})" if len(each) > 1 and not each.isalnum() else each for each in arguments[:2])
        return f"{upper}/{lower}"
    if switch == "r":
        return f"{arguments[0] if len(arguments) > 1 else ''}√({arguments[-1]})"
    if switch == "b":
        return f"({', '.join(arguments)})"
    return ", ".join(filter(None, arguments)) if switch in "ail" else " ".join(filter(None, arguments))


def _over(arguments: list[str]) -> str:
    """Return signs that are written over each other: a letter in a ring, or letters below their reading."""
    below = [each for each in arguments if not each.startswith(RAISE)] or arguments
    inner = "".join(each for each in below if each not in _SHAPES)
    if any(each in _RINGS for each in arguments if each):
        return _RINGED.get(inner, inner)
    return inner
