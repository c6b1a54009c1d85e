"""Headings of texts that have no others: paragraphs with a section's number, in texts and on pages of a PDF."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from braid.core.ingest.contents import part_of
from braid.core.ingest.readers.document import ParsedDocument, Section, join_cjk_lines, join_path, one_line
from braid.core.text.contents import bare, has_leader, section_number, without_page

LEAST_HEADINGS = 3
MOST_LINES, MOST_CHARS = 3, 200
"""Longest heading; a longer paragraph with a number is a text."""
REPEATED_CHARS = 12
"""Letters by which a heading is known again."""
_CHAPTER = re.compile(
    r"(?:chapter|part|appendix) ?\S|第 ?\d{1,3} ?[章部編]|제 ?\d{1,3} ?[장부편]|\d{1,3} ?장\.", re.IGNORECASE
)
_ENDS = re.compile(r"[.。．;；:：,、!！][\s」』）】\"'”’)]*$")
_HYPHEN = re.compile(r"(?<=[a-z])-\n\s*(?=[a-z])")
_BEGINS = re.compile(r"[^\W\d_]|[\"'“‘「『(（.-]")


@dataclass(frozen=True, slots=True)
class _Heading:
    section: int
    line: int
    """Where the heading begins in its section's text, from 0."""
    number: tuple[int, ...]
    title: str


def with_headings(parsed: ParsedDocument) -> ParsedDocument:
    """Return a document without headings as sections below its numbered ones, such as ``2.1 Changing the seal``.

    A heading is a short paragraph with a section's number; of all these the longest row whose numbers count up. A
    number of one level is that of an item as well: it needs a word such as *chapter*, or a line of the table of
    contents, which also completes a heading of which a line is missing. The text stays whole, but for headings that
    are repeated on top of a page: a heading is in the path of what is below it, and its line is where it was.
    """
    if any(section.heading_path for section in parsed.sections):
        return parsed
    titles = _titles(parsed.sections)
    parsed = replace(parsed, sections=tuple(_set_apart(section, titles) for section in parsed.sections))
    found = _counting_up(list(_numbered(parsed.sections, titles)))
    if len(found) < LEAST_HEADINGS:
        return parsed
    found = [_completed(each, titles) for each in found]
    known = titles | {each.number: each.title for each in found}
    return replace(parsed, sections=tuple(_below(parsed.sections, found, known)))


def _set_apart(section: Section, titles: Mapping[tuple[int, ...], str]) -> Section:
    """Return a section of a page with an empty line behind the headings of the table of contents that a text follows
    in the same line, or in the next one.
    """
    if section.page is None or section.kind != "prose" or section.chunk_kind:
        return section
    every = section.text.split("\n")
    lines = list[str]()
    for line, following in zip(every, [*every[1:], ""], strict=True):
        number, text = section_number(line)
        title = titles.get(number, "") if number else ""
        rest = text[len(title) :] if len(title) > 1 and text.startswith(title) else None
        lines.append(line.removesuffix(rest).rstrip() if rest else line)
        if rest or (rest is not None and following.strip()):
            lines += ["", rest.lstrip()] if rest else [""]
    return replace(section, text="\n".join(lines))


def _numbered(sections: Sequence[Section], titles: Mapping[tuple[int, ...], str]) -> Iterator[_Heading]:
    for at, section in enumerate(sections):
        if section.kind != "prose" or section.chunk_kind:
            continue
        lines = section.text.split("\n")
        paragraphs = list(_paragraphs(lines))
        for which, following in zip(paragraphs, [*paragraphs[1:], range(0)], strict=True):
            heading = _heading(at, lines, which, following)
            if heading is None:
                continue
            is_chapter = _CHAPTER.match(_plain(lines[which.start])) is not None
            if len(heading.number) > 1 or is_chapter or bare(titles.get(heading.number, "")) == bare(heading.title):
                yield heading


def _paragraphs(lines: Sequence[str]) -> Iterator[range]:
    start = 0
    for at in range(len(lines) + 1):
        if at == len(lines) or not lines[at].strip():
            if start < at:
                yield range(start, at)
            start = at + 1


def _heading(section: int, lines: Sequence[str], which: range, following: range) -> _Heading | None:
    """Return the heading that a paragraph is; that of a chapter may have its title in the paragraph that follows."""
    number, title = section_number(lines[which.start])
    more = which[1:] if title or len(which) > 1 else following
    if not number or len(more) >= MOST_LINES:
        return None
    rest = [lines[at] for at in more]
    text = _joined("\n".join([title, *rest]))
    is_title = 0 < len(text) <= MOST_CHARS and _BEGINS.match(text) and not _ENDS.search(text)
    if not is_title or any(has_leader(line) for line in (title, *rest)):
        return None
    return _Heading(section, which.start, number, text)


def _plain(line: str) -> str:
    return line.strip().replace("\xa0", " ")


def _counting_up(found: Sequence[_Heading]) -> list[_Heading]:
    """Return the longest row of headings whose numbers grow."""
    tails: list[tuple[int, ...]] = []
    last: list[int] = []
    before: list[int] = []
    for at, heading in enumerate(found):
        place = bisect_left(tails, heading.number)
        if tails[place : place + 1] == [heading.number]:  # repeated on a further page
            before.append(-1)
            continue
        before.append(last[place - 1] if place else -1)
        tails[place : place + 1] = [heading.number]
        last[place : place + 1] = [at]
    row: list[_Heading] = []
    at = last[-1] if last else -1
    while at >= 0:
        row.append(found[at])
        at = before[at]
    return row[::-1]


def _is_repeated(line: str, titles: Mapping[tuple[int, ...], str]) -> bool:
    """Return whether a line on top of a page repeats the heading of this number, or its beginning."""
    number, text = section_number(line)
    known = bare(text)[:REPEATED_CHARS]
    return len(line) <= MOST_CHARS and bool(known) and titles.get(number, "")[:REPEATED_CHARS] == known


def _titles(sections: Sequence[Section]) -> dict[tuple[int, ...], str]:
    """Return the titles that tables of contents have, by their numbers."""
    titles: dict[tuple[int, ...], str] = {}
    number: tuple[int, ...] = ()
    for section in sections:
        if section.chunk_kind == "contents":
            for line in filter(str.strip, section.text.split("\n")):
                new, text = section_number(line)
                number = new or number
                titles[number] = f"{'' if new else titles.get(number, '')}\n{without_page(text)}"[: 2 * MOST_CHARS]
    return {number: _joined(title) for number, title in titles.items()}


def _completed(heading: _Heading, titles: Mapping[tuple[int, ...], str]) -> _Heading:
    title = titles.get(heading.number, "")
    known = bare(heading.title)
    is_longer = len(title) <= MOST_CHARS and len(bare(title)) > len(known) and bare(title).startswith(known)
    return replace(heading, title=title) if is_longer else heading


def _joined(text: str) -> str:
    return one_line(join_cjk_lines(_HYPHEN.sub("", text.strip())))


def _path(number: tuple[int, ...], titles: Mapping[tuple[int, ...], str]) -> str:
    """Return the titles of a section and of those that it is in."""
    return join_path(*(titles.get(number[:depth], "") for depth in range(1, len(number) + 1)))


def _below(
    sections: Sequence[Section], found: Sequence[_Heading], known: Mapping[tuple[int, ...], str]
) -> Iterator[Section]:
    """Yield the sections, cut at the headings, with the path of those that are open."""
    path = ""
    left = list(reversed(found))
    titles = {heading.number: bare(heading.title) for heading in found}
    for at, section in enumerate(sections):
        lines = section.text.split("\n")
        is_own = bool(left) and (left[-1].section, left[-1].line) == (at, 0)
        start = int(section.page is not None and not is_own and _is_repeated(lines[0], titles))
        while left and left[-1].section == at:
            heading = left.pop()
            yield from part_of(replace(section, heading_path=path), lines, range(start, heading.line))
            path = _path(heading.number, known)
            start = heading.line
        yield from part_of(replace(section, heading_path=path), lines, range(start, len(lines)))
