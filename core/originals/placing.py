"""Finds where a passage is on a page, by their characters without spaces and hyphens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MIN_CHARACTERS = 12
"""Fewer may be on a page by chance, unless they are the whole passage."""
MIN_SHARE = 0.9
"""Share of the characters of a passage that must be found on a page when the passage is found in pieces only."""
_LEFT_OUT = frozenset("\x02\ufffe\u00ad\ufffd-\u2010\u2011|")
_LINE_NUMBER = re.compile(r"^ {0,9}\d{1,4} {0,9}\r?$", re.MULTILINE)
"""A number beside a line, which no passage has."""
_PIECE = re.compile(r"[^\n.。!?！？]+[\n.。!?！？]*")


class Box(NamedTuple):
    """A rectangle on a page, from its upper left corner."""

    left: int
    top: int
    right: int
    bottom: int


def find_passage(passage: str, page: str, *, in_part: bool = False) -> list[range]:
    """Return the ranges of ``page``'s characters that are the passage.

    ``in_part`` says that the passage goes on, or began, on another page: then its part on this one is found.

    Empty where it cannot be placed: then nothing is to be marked.

    >>> [found] = find_passage("The tray holds 40 sheets.", "Printer\\r\\nThe tray holds\\r\\n40 sheets.\\r\\n")
    >>> found
    range(9, 35)
    """
    wanted, _ = _letters(passage)
    there, at = _letters(page)
    if not wanted or not there:
        return []
    whole = there.find(wanted)
    if whole >= 0:
        return [range(at[whole], at[whole + len(wanted) - 1] + 1)]
    found = (_ends(wanted, there, at) if in_part else []) or _pieces(passage, wanted, there, at)
    without = page if found else _LINE_NUMBER.sub(lambda number: " " * len(number[0]), page)
    return found if without == page else find_passage(passage, without, in_part=in_part)


def boxes_of_lines(boxes: Sequence[Sequence[int]], wanted: range) -> list[Box]:
    """Return a box per line that covers these characters; ``boxes`` are those of all characters of the page."""
    lines: list[Box] = []
    for index in wanted:
        box = Box(*boxes[index])
        if box.right <= box.left or box.bottom <= box.top:
            continue  # a line break, or a space that was made up
        last = lines[-1] if lines else None
        if last is not None and _on_one_line(last, box):
            joined = zip(last[:2], box[:2], strict=True), zip(last[2:], box[2:], strict=True)
            lines[-1] = Box(*map(min, joined[0]), *map(max, joined[1]))
        else:
            lines.append(box)
    return lines


def lines_of(text: str) -> Iterator[range]:
    """Yield the ranges of the lines of a page's text."""
    for found in re.finditer(r"[^\r\n]+", text):
        yield range(found.start(), found.end())


def _letters(text: str) -> tuple[str, list[int]]:
    """Return the characters that count, folded, and for each its place in ``text``."""
    letters, places = [], []
    for place, character in enumerate(text):
        for letter in unicodedata.normalize("NFKC", character).casefold():
            if not letter.isspace() and letter not in _LEFT_OUT:
                letters.append(letter)
                places.append(place)
    return "".join(letters), places


def _ends(wanted: str, there: str, at: list[int]) -> list[range]:
    """Return the passage's beginning at the end of the page, or its end at the beginning, or all of the page."""
    if there in wanted:
        return [range(at[0], at[-1] + 1)] if len(there) >= MIN_CHARACTERS else []
    for length in range(min(len(wanted), len(there)) - 1, MIN_CHARACTERS - 1, -1):
        if there.endswith(wanted[:length]):
            return [range(at[-length], at[-1] + 1)]
        if there.startswith(wanted[-length:]):
            return [range(at[0], at[length - 1] + 1)]
    return []


def _pieces(passage: str, wanted: str, there: str, at: list[int]) -> list[range]:
    """Return where the passage's sentences and rows are, which running heads or columns may part.

    A short one is looked for together with those after it.
    """
    found, covered, start, letters = [], 0, 0, ""
    for piece in _PIECE.findall(passage):
        letters += _letters(piece)[0]
        if len(letters) < MIN_CHARACTERS:
            continue
        place = there.find(letters, start)
        if place >= 0:
            start = place + len(letters)
            covered += len(letters)
            found.append(range(at[place], at[start - 1] + 1))
        letters = ""
    if letters and found and there.startswith(letters, start):
        covered += len(letters)
        found.append(range(at[start], at[start + len(letters) - 1] + 1))
    return found if covered >= MIN_SHARE * len(wanted) else []


def _on_one_line(line: Box, box: Box) -> bool:
    middle = (box.top + box.bottom) / 2
    height = line.bottom - line.top
    return line.top <= middle <= line.bottom and box.left >= line.left and box.left <= line.right + 3 * height
