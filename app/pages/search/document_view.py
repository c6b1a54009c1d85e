"""A document as a reader sees it: its stored passages joined again, cut into blocks, with the cited passage marked.

It is made of what the ledger has, so it works for every format, also where no file is kept, and no stranger's file is
parsed for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, takewhile
from typing import Literal, NamedTuple

from braid.app.pages.search.blocks import Block, Span, Style, blocks_of, code_block, table_block
from braid.core.search.overlap import repeated_chars
from braid.core.text.scripts import display_language
from braid.core.types import Passage

PASSAGES_PER_PAGE = 50
MAX_PAGE_CHARS = 80_000
"""Longest text of a page, in characters, unless the cited passage alone is longer."""
MARKDOWN = frozenset({"md", "ipynb"})
WRAPPED = frozenset({"md", "pdf", "txt"})
"""File types in which a line break inside a paragraph has no meaning."""
STRUCTURED = frozenset(
    {
        *MARKDOWN,
        *WRAPPED,
        *("html", "docx", "doc", "pptx", "ppt", "odt", "odp", "rtf", "hwpx", "hwp"),
        *("eml", "msg", "epub", "srt", "vtt", "smi", "png", "jpg", "tiff", "webp"),
    }
)
"""File types whose texts have paragraphs, lists and tables; `TABLES` have rows, and all others are lines of code."""
TABLES = frozenset({"csv", "tsv", "xlsx", "xls", "ods"})
NOT_NUMBERED = frozenset({"json", "jsonl"})
"""File types with lines that are not shown as they stand in the file."""
MAX_BLANK_LINES = 500
HEADER_LINES = 2
SEPARATOR = " > "

Range = tuple[int, int]


class Piece(NamedTuple):
    """Characters that are shown alike."""

    text: str
    style: Style
    cited: bool
    word: bool
    """Whether it is one of the words that were searched for."""


@dataclass(frozen=True, slots=True)
class Part:
    """A block with its text, or what stands before one: the number of a page, a heading."""

    kind: Literal["page", "heading", "paragraph", "item", "table", "code", "quote"]
    rows: tuple[tuple[tuple[Piece, ...], ...], ...]
    level: int = 0
    marker: str = ""
    has_header: bool = False
    line: int | None = None
    """The number of the first line, where the file has lines."""
    language: str = ""
    keeps_breaks: bool = False

    @property
    def cited(self) -> bool:
        """Whether the cited passage is in it."""
        return any(piece.cited for row in self.rows for cell in row for piece in cell)


@dataclass(frozen=True, slots=True)
class _Run:
    """Passages of one section and page, joined."""

    first: Passage
    text: str
    cited: Range | None = None
    """The characters of the cited passage."""
    origin: int = 0
    """Place where the cited passage would begin with the text that it repeats of the passage before it."""


def show_document(passages: Sequence[Passage], cited_id: str, words: Sequence[Range]) -> list[Part]:
    """Return the parts of a document's passages, in order; ``words`` are marked in the cited one."""
    parts: list[Part] = []
    before: _Run | None = None
    for run in _runs(passages, cited_id):
        parts.extend(_titles(before, run))
        parts.extend(_parts(run, words))
        before = run
    return parts


def page_of(passages: Sequence[Passage], cited_id: str) -> Sequence[Passage]:
    """Return those of neighbouring passages that a page shows: around the cited one, from where a section begins."""
    at = next((place for place, one in enumerate(passages) if one.chunk_id == cited_id), 0)
    first, last = 0, len(passages)
    if passages and passages[0].position:
        paths = [passage.heading_path for passage in passages]
        first = next((place for place in range(1, at + 1) if paths[place] != paths[place - 1]), 0)
    size = sum(len(passage.text) for passage in passages[first:last])
    while last - first > 1 and size > MAX_PAGE_CHARS:
        goes = first if at - first > last - 1 - at else last - 1
        first, last = (first + 1, last) if goes == first else (first, last - 1)
        size -= len(passages[goes].text)
    return passages[first:last]


def sections_of(headings: Sequence[tuple[str, int]], depth: int = 2) -> list[tuple[str, int]]:
    """Return (heading, position) of each section down to this depth, for a list of contents."""
    found: list[tuple[str, int]] = []
    for path, position in headings:
        outer = SEPARATOR.join(path.split(SEPARATOR)[:depth])
        if outer and (not found or found[-1][0] != outer):
            found.append((outer, position))
    return found


# ---------------------------------------------------------------- passages to runs


def _runs(passages: Sequence[Passage], cited_id: str) -> Iterator[_Run]:
    for _, group in groupby(passages, key=_section):
        run: _Run | None = None
        before: Passage | None = None
        for passage in group:
            if run is None or before is None:
                run, start, origin = _Run(passage, passage.text), 0, 0
            else:
                text, start, origin = _join(run.text, before, passage)
                run = replace(run, text=text)
            if passage.chunk_id == cited_id:
                run = replace(run, cited=(start, len(run.text)), origin=origin)
            before = passage
        if run is not None:
            yield run


def _section(passage: Passage) -> tuple[object, ...]:
    is_code = passage.file_type not in STRUCTURED | TABLES
    return (passage.page,) if is_code else (passage.heading_path, passage.page)


def _join(text: str, before: Passage, passage: Passage) -> tuple[str, int, int]:
    """Return both texts as one, without what the second repeats, where the second is, and where it would begin."""
    header = _repeated_header(before, passage)
    if header or passage.file_type in TABLES:
        start = len(text) + 1
        return f"{text}\n{passage.text[header:]}", start, start - header
    shared = _repeated_lines(before, passage) or repeated_chars(before, passage)
    start = len(text) - shared
    gap = "" if shared else _gap(before, passage)
    return f"{text}{gap}{passage.text[shared:]}", start + len(gap), start + len(gap)


def _repeated_header(before: Passage, passage: Passage) -> int:
    """Return how many characters the passage repeats above its rows: the names of columns, also below a caption."""
    first, second = (one.text.split("\n", HEADER_LINES) for one in (before, passage))
    same = takewhile(lambda two: two[0] == two[1], zip(first[:HEADER_LINES], second[:HEADER_LINES], strict=False))
    header = [line for line, _ in same]
    return sum(map(len, header)) + len(header) if " | " in "".join(header) and len(header) < len(second) else 0


def _repeated_lines(before: Passage, passage: Passage) -> int:
    """Return how many characters of whole lines, by their numbers, the passage repeats."""
    if before.line_end is None or passage.line is None or passage.line > before.line_end:
        return 0
    count = before.line_end - passage.line + 1
    repeated = "\n".join(before.text.split("\n")[-count:])
    return len(repeated) if f"{passage.text}\n".startswith(f"{repeated}\n") else 0


def _gap(before: Passage, passage: Passage) -> str:
    if before.line_end is None or passage.line is None:
        return "\n\n"
    return "\n" * min(max(passage.line - before.line_end, 0), MAX_BLANK_LINES) or " "


# ---------------------------------------------------------------- runs to parts


def _titles(before: _Run | None, run: _Run) -> Iterator[Part]:
    """Yield the number of the page, and the headings, that are other ones than before."""
    passage = run.first
    if passage.page and (before is None or before.first.page != passage.page):
        yield Part("page", (), level=passage.page)
    if passage.file_type not in STRUCTURED | TABLES:
        return
    old = before.first.heading_path.split(SEPARATOR) if before else []
    new = [part for part in passage.heading_path.split(SEPARATOR) if part]
    same = next((level for level, title in enumerate(new) if level >= len(old) or old[level] != title), len(new))
    below_title = bool(new) and new[0] == passage.title
    for level, title in enumerate(new[same:], same + 1 - below_title):
        if level and title.strip() != run.text.strip().lstrip("# "):
            yield Part("heading", (((Piece(title, "", False, False),),),), level=min(level, 5))


def _parts(run: _Run, words: Sequence[Range]) -> Iterator[Part]:
    file_type, language = run.first.file_type, display_language(run.text)
    marks = _Marks(run, words)
    for block in _blocks(run):
        rows = tuple(tuple(tuple(marks.pieces(cell)) for cell in row) for row in block.rows)
        numbered = run.first.line if block.kind == "code" and file_type not in STRUCTURED | NOT_NUMBERED else None
        yield Part(
            block.kind,
            rows,
            level=block.level,
            marker=block.marker,
            has_header=block.has_header,
            line=numbered,
            language=language,
            keeps_breaks=file_type not in WRAPPED,
        )


def _blocks(run: _Run) -> Iterator[Block]:
    file_type = run.first.file_type
    if file_type in STRUCTURED:
        yield from blocks_of(run.text, is_markdown=file_type in MARKDOWN)
    elif file_type in TABLES and " | " in run.text:
        yield table_block(run.text)
    else:
        yield code_block(run.text)


class _Marks:
    """Cuts the spans of a text where the cited passage, or a word in it, begins or ends."""

    def __init__(self, run: _Run, words: Sequence[Range]) -> None:
        self._text = run.text
        self._cited = run.cited or (0, 0)
        moved = [(run.origin + start, run.origin + end) for start, end in words]
        self._words = [word for word in moved if self._cited[0] <= word[0] and word[1] <= self._cited[1]]

    def pieces(self, spans: Sequence[Span]) -> Iterator[Piece]:
        """Yield the pieces of these spans."""
        for start, end, style in spans:
            cuts = {start, end, *(place for place in self._cited if start < place < end)}
            words = [word for word in self._words if word[0] < end and word[1] > start]
            cuts.update(place for word in words for place in word if start < place < end)
            for left, right in pairwise(sorted(cuts)):
                is_cited = self._cited[0] <= left and right <= self._cited[1]
                is_word = any(word[0] <= left and right <= word[1] for word in words)
                yield Piece(self._text[left:right], style, is_cited, is_word)
