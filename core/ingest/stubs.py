"""Stubs: passages too short to say something, such as "See also", joined to their neighbours.

Nearly every question is a little near to a stub, so that stubs would crowd the passages that answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from braid.core.ingest.readers.document import HEADING_SEPARATOR
from braid.core.text.contents import section_number
from braid.core.types import ChunkInput

STUB_CHARS = 80
"""A passage of fewer characters that has no whole sentence and no table is a stub. Wide characters, such as kana, count
twice.
"""
_SENTENCE_END = re.compile(r"[.!?。！？｡．][」』）】〕〉》”’\"')\]]*(?:\s|$)|(?<=[다요죠음함])\s*$", re.MULTILINE)


def with_stubs_joined(chunks: Iterable[tuple[ChunkInput, bool]], size: int) -> list[ChunkInput]:
    """Return the chunks of a document, each stub joined to a neighbour on its page, in at most ``size`` characters.

    A chunk comes with whether it is prose: rows of tables and parts of programs stay as they are. A stub goes to what
    stands below its heading, else to the chunk before it, else to that behind it; among stubs alone it stays. Its
    heading is a line of the joined text, unless the heading path has it.
    """
    left = list(chunks)
    if not any(is_prose and _is_stub(chunk) for chunk, is_prose in left):  # nearly always
        return [chunk for chunk, _ in left]
    below = _joined_forward(left, size, lambda stub, behind: _is_below(behind, stub))
    found: list[tuple[ChunkInput, bool]] = []
    for chunk, is_prose in below:
        before = found[-1][0] if found and found[-1][1] and is_prose else None
        joined = _joined(before, chunk, size) if before and _is_stub(chunk) and not _is_stub(before) else None
        if joined:
            found[-1] = joined, True
        else:
            found.append((chunk, is_prose))
    return [chunk for chunk, _ in _joined_forward(found, size, lambda _stub, _behind: True)]


def _joined_forward(
    chunks: Sequence[tuple[ChunkInput, bool]], size: int, belongs: Callable[[ChunkInput, ChunkInput], bool]
) -> list[tuple[ChunkInput, bool]]:
    """Return the chunks, those stubs that belong to what is behind them joined to it."""
    found: list[tuple[ChunkInput, bool]] = []
    for chunk, is_prose in reversed(chunks):
        behind = found[-1][0] if found and found[-1][1] and is_prose and _is_stub(chunk) else None
        belongs_there = behind is not None and not _is_stub(behind) and belongs(chunk, behind)
        joined = _joined(chunk, behind, size) if behind and belongs_there else None
        if joined:
            found[-1] = joined, True
        else:
            found.append((chunk, is_prose))
    return found[::-1]


def _is_stub(chunk: ChunkInput) -> bool:
    text = chunk.text.strip()
    if len(text) >= STUB_CHARS or chunk.chunk_kind or " | " in text:
        return False
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide < STUB_CHARS and _SENTENCE_END.search(section_number(text)[1]) is None


def _is_below(chunk: ChunkInput, above: ChunkInput) -> bool:
    return not above.heading_path or chunk.heading_path.startswith(above.heading_path + HEADING_SEPARATOR)


def _joined(before: ChunkInput, after: ChunkInput, size: int) -> ChunkInput | None:
    """Return two neighbours as one; None for those of two pages, and where that would be too long."""
    if before.page != after.page or before.page_end != after.page_end or before.chunk_kind or after.chunk_kind:
        return None
    path = (after if _is_stub(before) else before).heading_path
    text = f"{_with_heading(before, path)}\n\n{_with_heading(after, path)}"
    return replace(before, text=text, heading_path=path, line_end=after.line_end) if len(text) <= size else None


def _with_heading(chunk: ChunkInput, path: str) -> str:
    """Return the text behind its heading, unless the path or the text has that."""
    heading = chunk.heading_path.rpartition(HEADING_SEPARATOR)[2]
    if f"{path}{HEADING_SEPARATOR}".startswith(f"{chunk.heading_path}{HEADING_SEPARATOR}") or heading in chunk.text:
        return chunk.text
    return f"{heading}\n\n{chunk.text}"
