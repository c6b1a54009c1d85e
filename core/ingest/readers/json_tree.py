"""JSON, with comments or without, and JSON Lines: values as ``path: value`` lines, objects of a list as records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from braid.core.ingest.readers.document import ParsedDocument, Section, SourceFile, join_path
from braid.core.ingest.readers.encoding import decode

ERRORS: tuple[type[Exception], ...] = ()

_SMALL_CHARS = 800
"""Characters below which a value stays with its neighbours instead of having a heading of its own."""
_MAX_HEADING_DEPTH = 4
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|(//[^\n]*|/\*(?:.*?\*/|.*\Z))|(,)(?=\s*+[}\]])', re.DOTALL)
"""A string, a comment, or a comma before the end of a list or object."""
_SPACE = re.compile(r"\s*")
_SEEN = re.compile(r"[^\n]")


def read(file: SourceFile) -> ParsedDocument:
    """Return records under the path of their keys. Positions in lists are left out: insertions change them."""
    text = decode(file.content)
    if file.file_type == "jsonl":
        return ParsedDocument(file.stem, "jsonl", tuple(_lines(file, text)))
    if file.file_type == "jsonc":
        text = _without_comments(text)
    try:
        root = _parse(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and (values := _values(text)):
            return ParsedDocument(file.stem, "json", tuple(values))
        if error.msg == "Extra data" and "\n" in text.strip():
            return ParsedDocument(file.stem, "json", tuple(_lines(file, text)))
        if (plain := _without_comments(text)) == text:
            raise _invalid(file, error, error.lineno) from error
        try:
            root = _parse(plain)
        except json.JSONDecodeError:
            raise _invalid(file, error, error.lineno) from error
    title = root.get("title") if isinstance(root, dict) else None
    return ParsedDocument(title if isinstance(title, str) else file.stem, file.file_type, tuple(_sections(root, "", 0)))


def _without_comments(text: str) -> str:
    """Return JSON with spaces in place of comments and of commas that end a list, so that lines and columns stay."""
    for _ in range(2):  # a comment may be between a comma and the end of its list
        text = _TOKEN.sub(lambda found: _SEEN.sub(" ", found[0]) if found[1] or found[2] else found[0], text)
    return text


def _parse(text: str) -> object:
    """Parse JSON; numbers are kept as they are written."""
    return json.loads(text, parse_int=str, parse_float=str)


def _lines(file: SourceFile, text: str) -> Iterator[Section]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = _parse(line)
        except json.JSONDecodeError as error:
            raise _invalid(file, error, number) from error
        yield Section("\n".join(_leaves(value, "")), line=number, line_end=number, kind="record")


def _values(text: str) -> list[Section]:
    """Return a record per value of JSON values that follow each other, on any lines; none if one is no JSON."""
    decoder = json.JSONDecoder(parse_int=str, parse_float=str)
    sections: list[Section] = []
    at, line = _SPACE.match(text).end(), 1  # type: ignore[union-attr]  # matches always
    line += text.count("\n", 0, at)
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            return []
        last = line + text.count("\n", at, end)
        sections.append(Section("\n".join(_leaves(value, "")), line=line, line_end=last, kind="record"))
        following = _SPACE.match(text, end).end()  # type: ignore[union-attr]
        line, at = last + text.count("\n", end, following), following
    return sections


def _invalid(file: SourceFile, error: json.JSONDecodeError, line: int) -> Exception:
    is_cut_off = error.pos >= len(error.doc.rstrip())
    return file.unreadable(
        "%(name)s is not valid JSON: %(error)s at line %(line)s, column %(column)s; correct it and add it again",
        error=error.msg,
        line=line,
        column=error.colno,
        code="cut_off" if is_cut_off else "other_format",
    )


def _sections(value: object, path: str, depth: int) -> Iterator[Section]:
    if isinstance(value, list):
        for element in value:
            yield from _part(element, "", path, depth)
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _part(child, key, path, depth)
    else:
        yield Section(_scalar(value), path, kind="record")


def _part(value: object, key: str, path: str, depth: int) -> Iterator[Section]:
    """Yield one record for a small value, else the parts of the value under a heading of their own."""
    text = "\n".join(_leaves(value, key))
    objects = isinstance(value, list) and any(isinstance(element, dict | list) for element in value)
    large = objects or len(text) > _SMALL_CHARS
    if large and key and isinstance(value, dict | list) and depth < _MAX_HEADING_DEPTH:
        yield from _sections(value, join_path(path, key), depth + 1)
    elif text:
        yield Section(text, path, kind="record")


def _leaves(value: object, path: str) -> Iterator[str]:
    """Yield ``path: value`` for everything in a value, in order."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _leaves(child, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and any(isinstance(element, dict | list) for element in value):
        for element in value:
            yield from _leaves(element, path)
    else:
        text = ", ".join(map(_scalar, value)) if isinstance(value, list) else _scalar(value)
        if text:
            yield f"{path}: {text}" if path else text


def _scalar(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
