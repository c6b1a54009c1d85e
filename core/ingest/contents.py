"""Tables of contents of a document: sections of their own, so that no passage is half contents and half text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from braid.core.ingest.readers.document import ParsedDocument, Section
from braid.core.text.contents import contents_lines


def with_contents_apart(parsed: ParsedDocument) -> ParsedDocument:
    """Return the document with each table of contents as a section of the kind ``contents``."""
    return replace(parsed, sections=tuple(part for section in parsed.sections for part in _parts(section)))


def _parts(section: Section) -> Iterator[Section]:
    found: list[range] = []
    if section.kind == "prose" and not section.chunk_kind:
        lines = section.text.split("\n")
        found = contents_lines(lines)
    if not found:
        yield section
        return
    start = 0
    for each in found:
        yield from part_of(section, lines, range(start, each.start))
        yield from part_of(section, lines, each, is_contents=True)
        start = each.stop
    yield from part_of(section, lines, range(start, len(lines)))


def part_of(section: Section, lines: list[str], which: range, *, is_contents: bool = False) -> Iterator[Section]:
    """Yield these lines of a section as one of their own, unless they are empty."""
    text = "\n".join(lines[which.start : which.stop])
    if text.strip():
        line = None if section.line is None else section.line + which.start
        kept = replace(section, text=text, line=line)
        yield replace(kept, kind="code", chunk_kind="contents") if is_contents else kept  # cut at lines
