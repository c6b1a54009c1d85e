"""Sentences of a text in any script, and blocks of lines of a program."""

from __future__ import annotations

import re

_CLOSING = "」』）】〕〉》”’\"')\\]"
_END = re.compile(
    rf"[。！？｡．][{_CLOSING}]*\s*"  # no space follows in Japanese and Chinese
    r"|(?<!(?<!°)\b[A-Z])(?<!\bp)(?<!\b(?:Dr|Mr|Ms|vs|al|No|cf|pp))(?<!\b(?:Mrs|Fig|e\.g|i\.e))[.!?…]"
    rf"(?!(?<=\b[ap]\.m\.)\s(?:[a-z\d]|[A-Z]{{2,4}}\b)|(?<=\d\.)\s\d{{1,2}}\.(?!\d))[{_CLOSING}]*(?:\s+|$)"
    r"|\n\s*\n"
    r"|\n(?=[ \t]*(?:[-*+•・|#]|\d+[.)])\s?)"  # before a list item, a table row, a heading
)
_OPENED, _CLOSED = frozenset("([［（「『【〔〈《“"), frozenset(")]］）」』】〕〉》”")
MOST_BRACKETED = 120
"""Longest text in brackets or quotation marks whose own sentences end none."""
_GOES_ON = re.compile(
    rf"[。！？｡．][{_CLOSING}]+(?=と|って|[のをはがにでへもや]|から|まで|など|より)"  # 「…？」と聞かれたら
    rf"|[.!?…][{_CLOSING}]+[ \t]+(?=[a-zà-öø-ÿ])"  # "Why?" he asked
)
_BLOCK = re.compile(r"\n[ \t]*\n")
SHORT_CHARS = 12
"""Shortest sentence; a shorter piece (a number in a list, an interjection) is joined to the next."""


def sentences(text: str, *, least: int = SHORT_CHARS) -> list[str]:
    """Split a text into sentences of ``least`` characters or more; joined they are the text. What is said in brackets
    or quotation marks belongs to the sentence around it.
    """
    return _split(text, _END, least)


def code_blocks(text: str) -> list[str]:
    """Split a program at blank lines; joined the parts are the text."""
    return _split(text, _BLOCK, SHORT_CHARS)


def _split(text: str, end: re.Pattern[str], least: int) -> list[str]:
    found: list[str] = []
    start = 0
    for match in end.finditer(text):
        if len(text[start : match.end()].strip()) >= least and not _is_within(text, start, match):
            found.append(text[start : match.end()])
            start = match.end()
    if rest := text[start:]:
        if rest.strip() or not found:
            found.append(rest)
        else:
            found[-1] += rest
    return found


def _is_within(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether the end of a sentence that began at ``start`` stands in brackets, or in a quote that goes on."""
    if match[0].startswith("\n") or match.end() - start > 10 * MOST_BRACKETED:
        return False
    if _GOES_ON.match(text, match.start()):
        return True
    depth = 0
    for sign in reversed(text[max(start, match.end() - MOST_BRACKETED) : match.end()]):
        if sign in _CLOSED:
            depth += 1
        elif sign in _OPENED:
            if not depth:
                return True
            depth -= 1
    return False
