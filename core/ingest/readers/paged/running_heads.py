"""Running heads and page numbers: what stands in the margins of several pages alike."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from braid.core.ingest.readers.paged.layout import Layout, Row
from braid.core.metadata.printed_pages import PageNumber

MIN_PAGES = 3
"""A line that is repeated on so many pages is a running head; a number that counts the pages is one on two, and a line
of a document that has no more pages is one where it is said again.
"""
MAX_WORDS = 30
SEEN_LETTERS, LEAST_LETTERS = 16, 8
_NEAR = 6.0
"""Points that its place may differ by."""
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"(?<!\S)[ivxlc]{1,9}$")
_PAGE_NUMBER = re.compile(
    r"(?:page|seite|p\.)?[\s\-–—|·.]*(?:#|[ivxlc]+)(?:\s*(?:/|of|von|의|-)\s*#)?[\s\-–—|·.]*(?:ページ|頁|쪽|페이지)?",
    re.IGNORECASE,
)
_NUMBERING = re.compile(
    r"(?:page|seite|p\.|第)\s{0,3}\d{1,5}(?:\s{0,3}(?:/|of|von)\s{0,3}\d{1,5})?"
    r"|\d{1,5}\s{0,3}(?:(?:/|of|von)\s{0,3}\d{1,5}|ページ|頁|쪽|페이지)"
)
"""What counts the pages within a line."""


_PRINTED_BELOW = re.compile(r"(?:https?|file):\S{3,2000} \d{1,4}/\d{1,4}")
_PRINTED_ABOVE = re.compile(r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}[.,]? (?:(?:오전|오후|午前|午後) ?)?\d{1,2}:\d\d\b")
"""An address with the number of the page, and a moment, as browsers print them."""


class Running(NamedTuple):
    """What stands in the margins of pages, for each page."""

    rows: list[set[Row]]
    """Running heads and page numbers."""
    numbers: list[PageNumber | None]
    """The printed numbers, as far as they count up from page to page."""


class _Place(NamedTuple):
    """A row in a margin of a page, with a number in it that may be the page's."""

    page: int
    is_head: bool
    top: float
    row: Row
    number: PageNumber | None = None


def running_of(pages: Sequence[tuple[str, Layout]]) -> Running:
    """Return the rows of each page that are running heads or page numbers. A page is its characters and its layout.

    Pages with a text between their margins tell which rows these are; a page may have nothing else.
    """
    full = frozenset(number for number, (_, layout) in enumerate(pages) if layout.body)
    written = full.union(number for number, (_, layout) in enumerate(pages) if len(layout.head) + len(layout.foot) > 1)
    found: list[set[Row]] = [set() for _ in pages]
    places = list(_places(pages))
    alike: dict[tuple[str, bool], list[_Place]] = defaultdict(list)
    for place in places:
        alike[_pattern(pages[place.page][0], place.row), place.is_head].append(place)
    for (pattern, _), seen in alike.items():
        is_number = _PAGE_NUMBER.fullmatch(pattern)
        for place in _near_others(seen, written, 2) if is_number else _near_others(seen, full, MIN_PAGES):
            found[place.page].add(place.row)
    for place in _of_browsers(pages, places):
        found[place.page].add(place.row)
    for place in _said_again(pages, places, written) if len(pages) <= MIN_PAGES else ():
        found[place.page].add(place.row)
    numbers: list[PageNumber | None] = [None] * len(pages)
    counting: dict[tuple[str, int, bool], list[_Place]] = defaultdict(list)
    for place in (numbered for each in places for numbered in _numbered(pages[each.page][0], each)):
        if place.number is not None:
            counting[place.number.style, place.number.value - place.page, place.is_head].append(place)
    for seen in sorted(counting.values(), key=len):  # what most pages say comes last
        for place in _near_others(seen, full, MIN_PAGES):
            numbers[place.page] = place.number
            found[place.page].add(place.row)
    for page, rows in enumerate(_repeating(pages, places, full)):
        found[page] |= rows
    return Running(found, numbers)


def _of_browsers(pages: Sequence[tuple[str, Layout]], places: Sequence[_Place]) -> Iterator[_Place]:
    """Yield the places of what a browser prints around a page of the web: an address and the page's number below it,
    and the moment and the title above.
    """
    below = {
        place.page: place for place in places if _PRINTED_BELOW.fullmatch(text_of(pages[place.page][0], place.row))
    }
    yield from below.values()
    for place in places:
        if place.is_head and place.page in below and _PRINTED_ABOVE.match(text_of(pages[place.page][0], place.row)):
            yield place


def _said_again(
    pages: Sequence[tuple[str, Layout]], places: Sequence[_Place], written: Collection[int]
) -> Iterator[_Place]:
    """Yield the places of lines that an earlier page has at the same place: the first one stays in the text, as two
    pages do not tell a running head from a title.
    """
    alike: dict[tuple[str, bool], list[_Place]] = defaultdict(list)
    for place in places:
        said = _NUMBERING.sub("#", text_of(pages[place.page][0], place.row).casefold())
        alike[said, place.is_head].append(place)
    for seen in alike.values():
        near = list(_near_others(seen, written, 2))
        yield from (place for place in near if place.page > near[0].page)


def _repeating(pages: Sequence[tuple[str, Layout]], places: Sequence[_Place], full: Collection[int]) -> list[set[Row]]:
    """Return the rows of each page that stand where others have a running head and repeat a heading of the text."""
    body = {
        letters[:length]
        for text, layout in pages
        for block in layout.body
        for row in block.rows
        for letters in [_letters(row[0].of(text))]
        for length in range(LEAST_LETTERS, len(letters) + 1)
    }
    found: list[set[Row]] = [set() for _ in pages]
    heads = [place for place in places if place.is_head]
    for place in _near_others(heads, full, max(MIN_PAGES, len(full) // 2)):
        text = pages[place.page][0]
        said = [_letters(piece.of(text)) for piece in place.row]
        if (
            place.page in full
            and all(len(each) < LEAST_LETTERS or each in body for each in said)
            and any(len(each) >= LEAST_LETTERS for each in said)
        ):
            found[place.page].add(place.row)
    return found


def _letters(text: str) -> str:
    """Return the first letters and digits of a text, by which a heading is known where it is repeated."""
    return "".join(filter(str.isalnum, text[: 4 * SEEN_LETTERS].casefold()))[:SEEN_LETTERS]


def _places(pages: Sequence[tuple[str, Layout]]) -> Iterator[_Place]:
    for page, (_, layout) in enumerate(pages):
        for rows, is_head in ((layout.head, True), (layout.foot, False)):
            yield from (_Place(page, is_head, row[0].top, row) for row in rows)


def _numbered(text: str, place: _Place) -> Iterator[_Place]:
    """Yield the place with each number that may be the page's: at the ends of the row, and before a total."""
    words = text_of(text, place.row).split()[:MAX_WORDS]
    ends = {0, len(words) - 1, *(at - 1 for at, word in enumerate(words) if at and word in ("/", "of"))}
    for at in ends:
        if words and (number := PageNumber.read(words[at].strip("-–—|·.()"))):
            yield place._replace(number=number)


def _near_others(seen: Sequence[_Place], full: Collection[int], least: int) -> Iterator[_Place]:
    """Yield the places at which so many of the ``full`` pages have such a row."""
    tops = sorted(place.top for place in seen if place.page in full)
    for place in seen:
        if bisect_right(tops, place.top + _NEAR) - bisect_left(tops, place.top - _NEAR) >= least:
            yield place


def is_page_number(text: str) -> bool:
    """Return whether a running head is nothing but the number of the page."""
    return _PAGE_NUMBER.fullmatch(_DIGITS.sub("#", text)) is not None


def text_of(text: str, row: Row) -> str:
    """Return the characters of a row, a space between its pieces."""
    return " ".join(piece.of(text) for piece in row)


def _pattern(text: str, row: Row) -> str:
    """Return the text of a row that is alike on several pages: numbers count pages, chapters or days; at the end they
    may be Roman.
    """
    return _DIGITS.sub("#", _ROMAN.sub("#", text_of(text, row).casefold()))
