"""YAML and TOML: a section per top-level key or table, its lines as they are. Nothing is expanded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from braid.core.ingest.readers.document import MAX_HEADING_CHARS, ParsedDocument, Section, SourceFile
from braid.core.ingest.readers.encoding import decode

ERRORS: tuple[type[Exception], ...] = ()

_KEYS = {
    "yaml": re.compile(r"""(?:["']?)([^\s#"'\-\[{&*!|>%@`][^:"'#]{0,200}?)(?:["']?)\s*:(?:\s|$)"""),
    "toml": re.compile(r"\[{1,2}\s*+([^\]\s][^\]\n]{0,199}?)\s*\]{1,2}\s*(?:#.*)?$"),
}
_COMMENT = re.compile(r"#|$")


def read(file: SourceFile) -> ParsedDocument:
    """Return the sections in order; comments go with what they stand above."""
    lines = decode(file.content).split("\n")
    return ParsedDocument(file.stem, file.file_type, tuple(_sections(lines, _KEYS[file.file_type].match)))


def _sections(lines: list[str], find_key: Callable[[str], re.Match[str] | None]) -> Iterator[Section]:
    start, path = 0, ""
    for number, line in enumerate(lines):
        if (match := find_key(line)) is None:
            continue
        first = number
        while first > start and lines[first - 1].startswith("#"):
            first -= 1
        yield from _section(lines, start, first, path)
        start, path = first, match[1][:MAX_HEADING_CHARS]
    yield from _section(lines, start, len(lines), path)


def _section(lines: list[str], start: int, end: int, path: str) -> Iterator[Section]:
    text = "\n".join(lines[start:end])
    if text.strip():
        yield Section(text, path, line=start + 1)
