"""Sections to chunks: by structure first, then by size at paragraphs, sentences and lines.

Among equally good places to cut, a checksum of the text before each decides, not the distance from the beginning. So
the cuts fall in step again soon after an edit: the chunks before it, and all but a few after it, keep their text, and
with it their identity and their embedding (content-defined chunking).
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from braid.core.errors import InvalidInputError
from braid.core.ingest.readers.document import Kind, ParsedDocument, Section, one_line
from braid.core.ingest.stubs import with_stubs_joined
from braid.core.types import ChunkInput

MIN_CHUNK_CHARS = 100
_EARLY, _MIN_FILL, _MIN_TAIL, _MIN_FRESH = 0.3, 0.6, 0.2, 0.25
"""Shares of the chunk size: where the first milestone and the first other place to cut may be, what is left for the
last chunk at least, and how much of a chunk is more than overlap at least."""
_CHECKED_CHARS = 128
_MILESTONE = 8
"""Average number of places per milestone."""
_FEW = 6
"""Largest number of places with which a milestone may make a chunk short."""

_CLOSING = "」』）】〕〉》”’\"')\\]"
_PARAGRAPH = re.compile(r"\n(?:[ \t\u3000]*\n)+")
_SENTENCE = re.compile(
    rf"[。！？｡．][{_CLOSING}]*\s*"  # no space follows in Japanese and Chinese
    rf"|(?<!\b[A-Z])(?<!\b(?:Dr|Mr|Ms|vs|al|No))(?<!\b(?:Mrs|Fig|e\.g|i\.e))[.!?…][{_CLOSING}]*\s+"
    r"|\n(?=[ \t]*(?:[-*+•・|]|\d+[.)])\s?)"  # before a list item or table row
)
_LINE = re.compile(r"\n")
_CLAUSE = re.compile(r"[、，,;；:：]\s*|\s+")
_CUTS: dict[Kind, tuple[re.Pattern[str], ...]] = {
    "prose": (_PARAGRAPH, _SENTENCE, _LINE, _CLAUSE),
    "code": (_PARAGRAPH, _LINE, _CLAUSE),
    "record": (_LINE, _SENTENCE, _CLAUSE),
}
"""Patterns after whose matches a text may be cut, the best kind of place first."""
_RESUMES: dict[Kind, tuple[re.Pattern[str], ...]] = {"prose": (_PARAGRAPH, _SENTENCE), "code": (_LINE,), "record": ()}
"""Patterns after whose matches an overlap may begin."""
_BLANK_LINES = re.compile(r"\s*\n")


def chunk_sections(
    parsed: ParsedDocument, *, chunk_chars: int = 1200, overlap_chars: int = 150
) -> tuple[ChunkInput, ...]:
    """Return the chunks of a document, in order.

    A chunk has at most ``chunk_chars`` characters (a repeated table header may take it over) and comes from one
    section, or from neighbouring records under one heading; one that is too short to say something is joined to its
    neighbour. Chunks of one section overlap by whole sentences (lines
    in code) of at most ``overlap_chars`` together; records do not overlap.
    """
    if chunk_chars < MIN_CHUNK_CHARS:
        raise InvalidInputError(
            f"chunk_chars is {chunk_chars}; it must be at least {MIN_CHUNK_CHARS}", field="chunk_chars"
        )
    if not 0 <= overlap_chars <= chunk_chars // 2:
        raise InvalidInputError(
            f"overlap_chars is {overlap_chars}; it must be from 0 to half of chunk_chars ({chunk_chars // 2})",
            field="overlap_chars",
        )
    sections = parsed.sections[1:] if _says_the_title(parsed) else parsed.sections
    return tuple(with_stubs_joined(_chunks(sections, chunk_chars, overlap_chars), chunk_chars))


def _says_the_title(parsed: ParsedDocument) -> bool:
    """Return whether all that stands above the first heading is the document's title, as in Word: it would be joined to
    the passage below that heading, and it is no part of that.
    """
    first, second = (*parsed.sections, None, None)[:2]
    if first is None or second is None or first.kind != "prose" or first.page is not None or first.line is not None:
        return False
    return not first.heading_path and bool(second.heading_path) and one_line(first.text) == one_line(parsed.title)


def _chunks(sections: Iterable[Section], size: int, overlap: int) -> Iterator[tuple[ChunkInput, bool]]:
    """Yield the chunks, each with whether it is prose."""
    for _, group in groupby(enumerate(sections), key=_neighbourhood):
        members = [section for _, section in group]
        is_record = members[0].kind == "record"
        found = _pack(members, size) if is_record else _split(members[0], size, overlap)
        yield from ((chunk, members[0].kind == "prose") for chunk in found)


def _neighbourhood(numbered: tuple[int, Section]) -> object:
    """Return a key that is equal for neighbouring records that may share a chunk, and unique for other sections."""
    number, section = numbered
    return (section.heading_path, section.page, section.header) if section.kind == "record" else number


# ---------------------------------------------------------------- one section


def _split(section: Section, size: int, overlap: int) -> Iterator[ChunkInput]:
    """Yield the chunks of prose or code, each an unchanged piece of the section's text."""
    text = section.text
    newlines = [match.start() for match in _LINE.finditer(text)] if section.line is not None else []
    for start, end in _pieces(text, section.kind, size, overlap):
        blank = _BLANK_LINES.match(text, start, end)
        start = blank.end() if blank else start
        piece = text[start:end].rstrip()
        if not piece.strip():
            continue
        line = line_end = None
        if section.line is not None:
            line = section.line + bisect_left(newlines, start)
            line_end = section.line + bisect_left(newlines, start + len(piece))
        yield ChunkInput(
            piece, section.heading_path, section.page, section.page, line, line_end, chunk_kind=section.chunk_kind
        )


def _pieces(text: str, kind: Kind, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of every piece. The end of a piece alone decides where the next one starts."""
    start = fresh = 0
    while len(text) - start > size:
        early, lowest = (max(start + int(fill * size), fresh + int(_MIN_FRESH * size)) for fill in (_EARLY, _MIN_FILL))
        highest = min(start + size, len(text) - int(_MIN_TAIL * size))
        end, whole = _cut(text, kind, early, lowest, highest)
        yield start, end
        start, fresh = _resume(text, kind, end, overlap, whole), end
    yield start, len(text)


def _cut(text: str, kind: Kind, early: int, lowest: int, highest: int) -> tuple[int, bool]:
    """Return (the best place to cut, whether a sentence or line ends there)."""
    for pattern in _CUTS[kind]:
        first = early if pattern is _PARAGRAPH else lowest
        places = [match.end() for match in pattern.finditer(text, first, highest)]
        checksums = {place: _checksum(text[max(0, place - _CHECKED_CHARS) : place]) for place in places}
        if (best := _best_place(checksums, lowest)) is not None:
            return best, pattern is not _CLAUSE
    while highest > lowest and _joins_previous(text[highest]):
        highest -= 1
    return highest, False


def _best_place(checksums: Mapping[int, int], lowest: int) -> int | None:
    """Return the last milestone, also before ``lowest``; without one the place from there on with the highest checksum.

    Milestones let the cuts fall in step where paragraphs are so long that there is hardly a choice.
    """
    milestones = [place for place, checksum in checksums.items() if checksum % _MILESTONE == 0]
    if milestones and (milestones[-1] >= lowest or len(checksums) <= _FEW):
        return milestones[-1]
    places = [place for place in checksums if place >= lowest]
    return max(places, key=lambda place: (checksums[place], place), default=None)


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "replace"))


def _joins_previous(char: str) -> bool:
    """Return whether a character belongs to the one before it: an accent, a variant of an emoji."""
    return unicodedata.category(char)[0] == "M" or char == "\u200d"


def _resume(text: str, kind: Kind, end: int, overlap: int, whole: bool) -> int:
    """Return where the next piece starts: with as many whole sentences before ``end`` as the overlap holds.

    After a cut within a sentence it starts at a word at least.
    """
    patterns = _RESUMES[kind] if whole else (*_RESUMES[kind], _CLAUSE)
    for pattern in patterns:
        first = next(pattern.finditer(text, max(0, end - overlap), end), None)
        if first is not None and first.end() < end:
            return first.end()
    return end if whole else end - overlap


# ---------------------------------------------------------------- records


def _pack(records: Sequence[Section], size: int) -> Iterator[ChunkInput]:
    """Yield chunks of as many neighbouring records as fit, under their header."""
    header = records[0].header
    room = max(size - len(header) - 1, size // 2)
    start = 0
    while start < len(records):
        end = _pack_end(records, start, room)
        if end == start:
            yield from _split_record(records[start], room)
            end += 1
        else:
            gap = "\n\n" if any("\n" in record.text for record in records[start:end]) else "\n"
            yield _record_chunk(records[start:end], gap.join(record.text for record in records[start:end]))
        start = end


def _pack_end(records: Sequence[Section], start: int, room: int) -> int:
    """Return the record after the last one that goes into the chunk; ``start`` when not even one does."""
    used, end, lowest = 0, start, start + 1
    checksums: dict[int, int] = {}
    for end in range(start, len(records)):
        used += len(records[end].text) + 2
        if used - 2 > room:
            break
        if used < _MIN_FILL * room:
            lowest = end + 2
        if used >= _EARLY * room:
            checksums[end + 1] = _checksum(records[end].text)
    else:
        return len(records)
    best = _best_place(checksums, lowest)
    return end if best is None else best


def _split_record(record: Section, room: int) -> Iterator[ChunkInput]:
    for start, end in _pieces(record.text, "record", room, 0):
        if piece := record.text[start:end].strip():
            yield _record_chunk((record,), piece)


def _record_chunk(records: Sequence[Section], text: str) -> ChunkInput:
    first, last = records[0], records[-1]
    text = f"{first.header}\n{text}" if first.header else text
    line_end = last.line if last.line_end is None else last.line_end
    return ChunkInput(text, first.heading_path, first.page, first.page, first.line, line_end)
