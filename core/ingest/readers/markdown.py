"""Markdown: a section per heading, its source text as it is, the lines exact."""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace

from markdown_it import MarkdownIt

from braid.core.ingest.readers.document import HeadingStack, ParsedDocument, Section, SourceFile, join_path, one_line
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.table_rows import (
    CAPTION,
    MAX_CAPTION_CHARS,
    MAX_HEADER_CHARS,
    MIN_LONG_CHARS,
    MIN_LONG_ROWS,
)

ERRORS: tuple[type[Exception], ...] = ()

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_TOML_FRONT_MATTER = re.compile(r"\A\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z_][\w -]*):(?:[ \t]+(.*)|[ \t]*)")
_MAX_TITLE_SOURCE = 1_000
_ANCHOR = re.compile(r"(?<!\s)\s*+\{#[^}]{0,200}\}")
_INLINE = MarkdownIt("commonmark").enable("strikethrough")
_SPOKEN = frozenset({"text", "text_special", "code_inline", "image"})
_HTML_HEADING = re.compile(r"\s*<h([1-6])\b[^>]{0,300}>([^\0]{1,2000}?)</h\1>\s*", re.IGNORECASE)
_TAG = re.compile("<[^<>]{0,1000}>")
_TABLE_RULE = re.compile(
    r" {0,3}\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)++\|?[ \t]*+| {0,3}\|[ \t]*+:?-++:?[ \t]*+\|[ \t]*+"
)
MAX_RULE_CHARS = 2_000
Heading = tuple[int, int, int, str]
"""Its first line, the line after it, both from 0, its level, and its text."""
_CODE_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per heading; front matter becomes metadata."""
    text = decode(file.content)
    lines = text.split("\n")
    metadata: dict[str, str] = {}
    first = 0
    if match := _FRONT_MATTER.match(text) or _TOML_FRONT_MATTER.match(text):
        metadata = _front_matter(match[1]) if text.startswith("-") else _toml_front_matter(match[1])
        first = text.count("\n", 0, match.end())
    headings = list(_headings(lines, first))
    title = metadata.pop("title", "") or next((title for _, _, _, title in headings), "") or file.stem
    return ParsedDocument(title, file.file_type, tuple(sections_of(lines, first, headings, HeadingStack())), metadata)


def _front_matter(block: str) -> dict[str, str]:
    """Return the top-level fields; lists are joined by commas, deeper values are left out."""
    fields: dict[str, str] = {}
    key = ""
    for line in block.split("\n"):
        if match := _FIELD.fullmatch(line.rstrip()):
            key = match[1].strip().lower()
            fields[key] = _scalar(match[2] or "")
        elif key and (item := line.strip()).startswith("- "):
            fields[key] = ", ".join(filter(None, (fields[key], _scalar(item[2:]))))
    return {key: value for key, value in fields.items() if value}


def _toml_front_matter(block: str) -> dict[str, str]:
    """Return the top-level fields, as of front matter in YAML; none of what is no TOML."""
    try:
        values = tomllib.loads(block)
    except tomllib.TOMLDecodeError:
        return {}
    lists = {key: value if isinstance(value, list) else [value] for key, value in values.items()}
    return {
        key.lower(): ", ".join(map(str, each))
        for key, each in lists.items()
        if not any(isinstance(one, dict | list) for one in each)
    }


def _scalar(value: str) -> str:
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        return ", ".join(_scalar(item) for item in value[1:-1].split(","))
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _headings(lines: list[str], first: int) -> Iterator[Heading]:
    """Yield every heading outside code, quotes and lists."""
    parser = MarkdownIt("commonmark", {"html": True})
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse("\n".join(lines[first:]))
    for position, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = _plain(tokens[position + 1].content[:_MAX_TITLE_SOURCE])
            yield first + token.map[0], first + token.map[1], int(token.tag[1]), title
        elif (
            token.type == "html_block"
            and token.level == 0
            and token.map
            and (found := _HTML_HEADING.fullmatch(token.content))
        ):
            title = one_line(html.unescape(_TAG.sub(" ", found[2])))
            if title:
                yield first + token.map[0], first + token.map[1], int(found[1]), title


def _plain(source: str) -> str:
    """Return a heading without its markup: ``snake_case`` has none."""
    tokens = _INLINE.parseInline(source)[0].children or ()
    words = (
        token.content if token.type in _SPOKEN else " " if token.type.endswith("break") else "" for token in tokens
    )
    return _ANCHOR.sub("", "".join(words))


def sections_under(text: str, stack: HeadingStack) -> Iterator[Section]:
    """Yield the sections of a text that goes on under the headings of a stack. They have no lines."""
    lines = text.split("\n")
    for section in sections_of(lines, 0, list(_headings(lines, 0)), stack):
        yield replace(section, line=None)


def sections_of(lines: list[str], first: int, headings: list[Heading], stack: HeadingStack) -> Iterator[Section]:
    """Yield the sections of a text from a line on, with these headings of it, below those of a stack."""
    yield from _body(lines, first, headings[0][0] if headings else len(lines), stack.path)
    for number, (start, after, level, title) in enumerate(headings):
        stack.enter(level, title)
        following = headings[number + 1] if number + 1 < len(headings) else None
        body = list(_body(lines, after, following[0] if following else len(lines), stack.path))
        if not body and (following is None or following[2] <= level):
            body = [
                Section("\n".join(lines[start:after]), stack.path, line=start + 1)
            ]  # a heading with nothing under it
        yield from body


def _body(lines: list[str], start: int, end: int, path: str) -> Iterator[Section]:
    """Yield the text under a heading. A long table is a record per row, with its header at the top of every passage."""
    for first, last in _long_tables(lines, start, end):
        yield from _text(lines, start, first, path)
        above = lines[first - 1].strip() if first and CAPTION.match(lines[first - 1].strip(" *_#")) else ""
        caption = _plain(above)[:MAX_CAPTION_CHARS]
        header = "\n".join(lines[first : first + 2])
        for number in range(first + 2, last):
            yield Section(lines[number], join_path(path, caption), None, number + 1, None, "record", header)
        start = last
    yield from _text(lines, start, end, path)


def _text(lines: list[str], start: int, end: int, path: str) -> Iterator[Section]:
    text = "\n".join(lines[start:end])
    if text.strip():
        yield Section(text, path, line=start + 1)


def _is_rule(line: str) -> bool:
    return len(line) <= MAX_RULE_CHARS and _TABLE_RULE.fullmatch(line) is not None


def _long_tables(lines: list[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield (first line, line after) of the long tables outside code, 0-based."""
    number, fence = start, ""
    while number < end:
        if mark := _CODE_FENCE.match(lines[number]):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        is_header = not fence and "|" in lines[number] and number + 1 < end and _is_rule(lines[number + 1])
        last = number + 1
        if is_header:
            last = next((at for at in range(number + 2, end) if "|" not in lines[at]), end)
            size = sum(map(len, lines[number:last]))
            if last - number >= MIN_LONG_ROWS and size >= MIN_LONG_CHARS and len(lines[number]) <= MAX_HEADER_CHARS:
                yield number, last
        number = last
