"""Blocks of a stored text: its paragraphs, lists, tables, quotations and code, as ranges of its characters.

The text is a stranger's. Nothing of it is ever markup: blocks are built here, and a template writes them, escaped. Each
pattern looks a bounded number of characters ahead, so that the time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from braid.core.text.scripts import HAN, HIRAGANA, KANA

Style = Literal["", "strong", "em", "code"]


class Span(NamedTuple):
    """Characters of the text that are shown, in one style."""

    start: int
    end: int
    style: Style = ""


Cell = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text. What its markup consists of, such as the bars of a table, is in no span."""

    kind: Literal["heading", "paragraph", "item", "table", "code", "quote"]
    rows: tuple[tuple[Cell, ...], ...] = ()
    """The rows of a table, the lines of code; else one row of one cell."""
    level: int = 0
    """Level of a heading, from 1, or depth of an item within other lists, from 0."""
    marker: str = ""
    """What stands before an item: ``•``, ``3.``"""
    has_header: bool = False
    """Whether the first row of a table names its columns."""


class _Line(NamedTuple):
    start: int
    end: int
    text: str


_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_HEADING = re.compile(r"#{1,6}[ \t]+(?=\S)")
_ITEM = re.compile(r"([ \t]{0,20})([-*+•・]|\d{1,4}[.)])[ \t]+(?=\S)")
_QUOTE = re.compile(r"[ \t]{0,3}>[ \t]?")
_RULE = re.compile(r"\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+){0,500}+\|?[ \t]*+")
_BREAK = re.compile(r"[ \t]*(?:(?:-[ \t]*){3,200}|(?:\*[ \t]*){3,200}|(?:_[ \t]*){3,200})")
_BAR = re.compile(r"(?<!\\)\|")
_INLINE = re.compile(
    r"(?P<code>`{1,3})(?P<in_code>[^`\n]{1,500})(?P=code)"
    r"|(?P<strong>\*\*|__)(?=\S)(?P<in_strong>[^*_\n]{1,500})(?P=strong)"
    r"|(?<![\w*])\*(?=[^\s*])(?P<in_em>[^*\n]{1,500})\*(?![\w*])"
    r"|!?\[(?P<in_link>[^\[\]\n]{1,300})\]\([^()\s]{1,500}\)"
)
_STYLES: dict[str, Style] = {"in_code": "code", "in_strong": "strong", "in_em": "em", "in_link": ""}
_WIDE = re.compile(f"[{HAN}{HIRAGANA}{KANA}、。「」（）！？・ー]")


def code_block(text: str) -> Block:
    """Return the text as lines of code."""
    return Block("code", tuple((((Span(line.start, line.end)),),) for line in _lines(text)))


def table_block(text: str) -> Block:
    """Return a table of a row per line, its cells between bars; a first row as wide as any names the columns."""
    rows = tuple(tuple(_cells(line)) for line in _lines(text) if line.text.strip())
    return Block("table", rows, has_header=len(rows) > 1 and len(rows[0]) == max(map(len, rows)))


def blocks_of(text: str, *, is_markdown: bool = False) -> Iterator[Block]:
    """Yield the blocks of prose, in which fences are around code. In Markdown, headings and emphasis count, too.

    >>> [block.kind for block in blocks_of("Fees:\\n\\n- one\\n- two\\n\\nday | fee\\n1 | 10")]
    ['paragraph', 'item', 'item', 'table']
    """
    lines, at = list(_lines(text)), 0
    while at < len(lines):
        at = yield from _block(text, lines, at, is_markdown)


def _block(text: str, lines: Sequence[_Line], at: int, is_markdown: bool) -> Generator[Block, None, int]:
    """Yield the block that begins at this line, if one does; return the line after it."""
    line = lines[at]
    if not line.text.strip() or (is_markdown and _BREAK.fullmatch(line.text)):
        return at + 1
    if fence := _FENCE.match(line.text):
        end = _while(lines, at + 1, lambda one: not one.text.lstrip().startswith(fence[1]))
        if is_markdown or end < len(lines):
            yield Block("code", tuple(((Span(one.start, one.end),),) for one in lines[at + 1 : end]))
            return end + 1
    if is_markdown and (sign := _HEADING.match(line.text)):
        yield Block("heading", _text(text, [line], sign.end(), is_markdown), level=sign[0].count("#"))
        return at + 1
    if _is_row(line):
        end = _while(lines, at, _is_row)
        if end - at > 1:
            yield _table(text, lines[at:end], is_markdown)
            return end
    if _QUOTE.match(line.text) and is_markdown:
        end = _while(lines, at, lambda one: bool(_QUOTE.match(one.text)))
        cut = [_Line(one.start + len(_sign(_QUOTE, one)), one.end, "") for one in lines[at:end]]
        yield Block("quote", _text(text, cut, 0, is_markdown))
        return end
    item = _ITEM.match(line.text)
    end = _while(lines, at + 1, lambda one: _goes_on(one, is_markdown))
    rows = _text(text, lines[at:end], item.end() if item else 0, is_markdown)
    if item:
        depth = len(item[1].expandtabs(4)) // 2
        yield Block("item", rows, level=min(depth, 6), marker=item[2] if item[2][0].isdigit() else "•")
    else:
        yield Block("paragraph", rows)
    return end


def _lines(text: str) -> Iterator[_Line]:
    for found in re.finditer(r"[^\n]*(?:\n|\Z)", text):
        end = found.end() - found[0].endswith("\n")
        if found.start() < len(text):
            yield _Line(found.start(), end, text[found.start() : end])


def _while(lines: Sequence[_Line], at: int, holds: Callable[[_Line], bool]) -> int:
    while at < len(lines) and holds(lines[at]):
        at += 1
    return at


def _sign(pattern: re.Pattern[str], line: _Line) -> str:
    found = pattern.match(line.text)
    return found[0] if found else ""


def _goes_on(line: _Line, is_markdown: bool) -> bool:
    """Return whether a paragraph or item goes on in this line."""
    signs = (_ITEM, _HEADING, _FENCE, _QUOTE) if is_markdown else (_ITEM, _FENCE)
    begins = _is_row(line) or any(sign.match(line.text) for sign in signs)
    return bool(line.text.strip()) and not begins


def _is_row(line: _Line) -> bool:
    return " | " in line.text or line.text.lstrip().startswith("|")


def _table(text: str, lines: Sequence[_Line], is_markdown: bool) -> Block:
    has_header = len(lines) > 1 and bool(_RULE.fullmatch(lines[1].text))
    rows = [line for line in lines if not _RULE.fullmatch(line.text)]
    return Block("table", tuple(tuple(_cells(line, text, is_markdown)) for line in rows), has_header=has_header)


def _cells(line: _Line, text: str = "", is_markdown: bool = False) -> Iterator[Cell]:
    """Yield the cells of a row of the text, without the bars at either end of it."""
    bars = [bar.start() for bar in _BAR.finditer(line.text)]
    cuts = [-1, *bars, len(line.text)]
    for number, (left, right) in enumerate(pairwise(cuts)):
        cell = line.text[left + 1 : right]
        is_end = number in (0, len(cuts) - 2)
        if is_end and bars and not cell.strip() and line.text.strip().startswith("|"):
            continue
        start = line.start + left + 1 + len(cell) - len(cell.lstrip())
        end = start + len(cell.strip())
        yield tuple(_inline(text, start, end)) if is_markdown else (Span(start, end),)


def _text(text: str, lines: Sequence[_Line], skipped: int, is_markdown: bool) -> tuple[tuple[Cell, ...], ...]:
    """Return lines as one cell; a line break between Japanese or Chinese characters is no space, and left out."""
    spans: list[Span] = []
    for number, line in enumerate(lines):
        start = line.start + (skipped if number == 0 else 0)
        end = line.end
        if number + 1 < len(lines):
            following = text[lines[number + 1].start : lines[number + 1].start + 1]
            is_wide = _WIDE.match(text[max(start, end - 1) : end]) and _WIDE.match(following)
            end = line.end if is_wide else line.end + 1
        spans.extend(_inline(text, start, end) if is_markdown else (Span(start, end),))
    return ((tuple(spans),),)


def _inline(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the spans of a line of Markdown, without the signs of emphasis, code and links."""
    for found in _INLINE.finditer(text, start, end):
        if found.start() > start:
            yield Span(start, found.start())
        name = next(name for name in _STYLES if found[name] is not None)
        yield Span(*found.span(name), _STYLES[name])
        start = found.end()
    if start < end:
        yield Span(start, end)
