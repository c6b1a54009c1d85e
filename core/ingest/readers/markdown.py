"""Markdown: a section per heading, its source text as it is, the lines exact."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from markdown_it import MarkdownIt

from braid.core.ingest.readers.document import HeadingStack, ParsedDocument, Section, SourceFile
from braid.core.ingest.readers.encoding import decode

ERRORS: tuple[type[Exception], ...] = ()

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z_][\w -]*):(?:[ \t]+(.*)|[ \t]*)")
_MAX_TITLE_SOURCE = 1_000
_ANCHOR = re.compile(r"\s*\{#[^}]*\}")
_INLINE = MarkdownIt("commonmark").enable("strikethrough")
_SPOKEN = frozenset({"text", "text_special", "code_inline", "image"})


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per heading; front matter becomes metadata."""
    text = decode(file.content)
    lines = text.split("\n")
    metadata: dict[str, str] = {}
    first = 0
    if match := _FRONT_MATTER.match(text):
        metadata = _front_matter(match[1])
        first = text.count("\n", 0, match.end())
    headings = list(_headings(lines, first))
    title = metadata.pop("title", "") or next((title for _, _, _, title in headings), "") or file.stem
    return ParsedDocument(title, file.file_type, tuple(_sections(lines, first, headings, HeadingStack())), metadata)


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


def _scalar(value: str) -> str:
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        return ", ".join(_scalar(item) for item in value[1:-1].split(","))
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _headings(lines: list[str], first: int) -> Iterator[tuple[int, int, int, str]]:
    """Yield (first line, line after, level, title) of every heading outside code, quotes and lists; lines 0-based."""
    parser = MarkdownIt("commonmark", {"html": True})
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse("\n".join(lines[first:]))
    for position, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = _plain(tokens[position + 1].content[:_MAX_TITLE_SOURCE])
            yield first + token.map[0], first + token.map[1], int(token.tag[1]), title


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
    for section in _sections(lines, 0, list(_headings(lines, 0)), stack):
        yield replace(section, line=None)


def _sections(
    lines: list[str], first: int, headings: list[tuple[int, int, int, str]], stack: HeadingStack
) -> Iterator[Section]:
    if body := _body(lines, first, headings[0][0] if headings else len(lines), stack.path):
        yield body
    for number, (start, after, level, title) in enumerate(headings):
        stack.enter(level, title)
        following = headings[number + 1] if number + 1 < len(headings) else None
        body = _body(lines, after, following[0] if following else len(lines), stack.path)
        if body is None and (following is None or following[2] <= level):
            body = Section("\n".join(lines[start:after]), stack.path, line=start + 1)  # a heading with nothing under it
        if body:
            yield body


def _body(lines: list[str], start: int, end: int, path: str) -> Section | None:
    text = "\n".join(lines[start:end])
    return Section(text, path, line=start + 1) if text.strip() else None
