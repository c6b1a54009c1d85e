"""Running heads and page numbers: what stands in the margins of several pages alike."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from braid.core.ingest.readers.document import one_line
from braid.core.ingest.readers.paged.layout import Layout, Row

MIN_PAGES = 3
"""A line that is repeated on so many pages is a running head; a number that counts the pages is one on two."""
_NEAR = 6.0
"""Points that its place may differ by."""
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"(?:page|seite|p\.)?[\s\-–—|·.]*(?:#|[ivxlc]+)(?:\s*(?:/|of|von|의|-)\s*#)?[\s\-–—|·.]*(?:ページ|頁|쪽|페이지)?",
    re.IGNORECASE,
)


def running_rows(pages: Sequence[tuple[str, Layout]]) -> list[set[Row]]:
    """Return the rows of each page that are running heads or page numbers. A page is its characters and its layout."""
    places: dict[tuple[str, bool], list[tuple[int, float, Row]]] = defaultdict(list)
    for number, (text, layout) in enumerate(pages):
        for rows, is_head in ((layout.head, True), (layout.foot, False)):
            for row in rows:
                places[_pattern(text, row), is_head].append((number, row[0].top, row))
    found: list[set[Row]] = [set() for _ in pages]
    for (pattern, _), seen in places.items():
        least = 2 if _PAGE_NUMBER.fullmatch(pattern) else MIN_PAGES
        for number, top, row in seen:
            if len({other for other, place, _ in seen if abs(place - top) <= _NEAR}) >= least:
                found[number].add(row)
    return found


def is_page_number(text: str) -> bool:
    """Return whether a running head is nothing but the number of the page."""
    return _PAGE_NUMBER.fullmatch(_DIGITS.sub("#", text)) is not None


def text_of(text: str, row: Row) -> str:
    """Return the characters of a row, a space between its pieces."""
    return one_line(" ".join(text[piece.start : piece.end] for piece in row))


def _pattern(text: str, row: Row) -> str:
    """Return the text of a row that is alike on several pages: numbers count pages, chapters or days."""
    return _DIGITS.sub("#", text_of(text, row).casefold())
