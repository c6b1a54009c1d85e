"""Lines of tables of contents: what a reader turns pages by, and no answer to a question."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_LINE_CHARS = 200
"""A longer line is no line of a table of contents."""
LEAST_LINES = 3
LEAST_NUMBERED = 5
"""Fewest headings in a row, without the numbers of pages, that make a table of contents."""
MOST_BETWEEN = 2
"""Lines between two others of a table of contents that may be headings without a number, or the rest of a long one."""
MOST_WITH_DIGITS = 0.25
"""Largest share of numbered headings with other digits: more are those of a list of values."""
_LEADERS = ".…·・_ \u3000"
_LEAST_DOTS = 3
"""With the number of a page behind them; one more without."""
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
MOST_LAST_CHARS = 9
_LAST = re.compile(r"(?<![^\s.…·・_])(?<!\d\.)(\d{1,4}|[ivxlc]{1,7})$", re.IGNORECASE)
"""The number of a page at the end of a line; no decimals of an amount."""
_NUMBER = re.compile(
    r"[ \t]{0,20}(?:[-*+•・] )?(?:(?:chapter|part|appendix|section) )?"
    r"(?:第 ?(\d{1,3}) ?[章節部編]|제 ?(\d{1,3}) ?[장절부편]|(\d{1,3}) ?장\.|(\d{1,3}|[A-Z])((?:\.\d{1,3}){0,5}))\.?"
    r"[ \t\u3000]{1,9}(?=\D)",
    re.IGNORECASE,
)
_ENDS = frozenset(".!。！｡．;；:：")
_MOST_BARS = 2
"""Bars in a line: more are between the cells of another table."""
_CLOSING = "」』）】〕〉》”’\"')] \t"


def has_leader(line: str) -> bool:
    """Return whether a line ends in dots, or in dots and the number of a page.

    >>> [has_leader(line) for line in ("2. Changing the shaft seal ........ 7", "Wait ...")]
    [True, False]
    """
    return _Mark(line).has_leader


def section_number(line: str) -> tuple[tuple[int, ...], str]:
    """Return the number that a line begins with as headings do, and the text behind it; without one, no number.

    >>> section_number("2.1. Changing the seal"), section_number("Chapter 3"), section_number("Read this.")
    (((2, 1), 'Changing the seal'), ((3,), ''), ((), 'Read this.'))
    """
    line = line.strip().replace("\xa0", " ")
    found = _NUMBER.match(f"{line[:MOST_LINE_CHARS]} \x00")  # a title may be on the next line
    return (_section(found), line[found.end() :]) if found else ((), line)


def without_page(line: str) -> str:
    """Return a line of a table of contents without the number of the page, and the dots before it.

    >>> without_page("Changing the shaft seal ........ 7"), without_page("Dates")
    ('Changing the shaft seal', 'Dates')
    """
    line = line.rstrip()
    last = _LAST.search(line[-MOST_LAST_CHARS:])
    text = line[: len(line) - len(last[1])] if last and last[1].isdigit() else line
    return text.rstrip(_LEADERS) if last or has_leader(line) else line


def bare(text: str) -> str:
    """Return the letters and digits of a text, by which a heading is known wherever it is repeated."""
    return "".join(filter(str.isalnum, text)).casefold()


def contents_lines(lines: Sequence[str]) -> list[range]:
    """Return the ranges of lines that are tables of contents, empty lines among them.

    These are three lines or more that end in the numbers of pages, none of which is smaller than the one before, behind
    dots or a section's number; or five headings or more whose section numbers count up, with no text between. Prices
    of a menu go up and down.

    >>> contents_lines(["Contents", "1 Safety ..... 3", "1.1 Fire ..... 4", "2 Use ..... 9", "", "Read this first."])
    [range(0, 4)]
    >>> contents_lines(["Tea ..... 3", "Coffee ..... 4", "Water ..... 2"])
    []
    """
    filled = [at for at, line in enumerate(lines) if line.strip()]
    marks = [_Mark(lines[at]) for at in filled]
    found: list[range] = []
    start = 0
    while start < len(marks):
        end = _end(marks, start)
        if end - start >= LEAST_LINES and _is_contents(marks[start:end]):
            first = start - (start > 0 and marks[start - 1].may_be_heading)
            found.append(range(filled[first], filled[end - 1] + 1))
        start = max(end, start + 1)
    return found


class _Mark:
    """What a line has of a table of contents."""

    __slots__ = ("has_digits", "has_leader", "may_be_heading", "number", "page")

    def __init__(self, line: str) -> None:
        line = line.rstrip()
        is_short = len(line) <= MOST_LINE_CHARS and line.count(" | ") <= _MOST_BARS
        last = _LAST.search(line[-MOST_LAST_CHARS:])
        page = _page(last[1]) if last else None
        bare = line[: len(line) - len(last[1])] if last else line
        leader = bare[len(bare.rstrip(_LEADERS)) :]
        dots = len(leader) - leader.count(" ") - leader.count("\u3000") + leader.count("…")
        self.has_leader = dots >= _LEAST_DOTS + (page is None) or (page is not None and bare.endswith("\t"))
        number = _NUMBER.match(line) if is_short else None
        ends = line.rstrip(_CLOSING)[-1:] in _ENDS
        self.number = _section(number) if number and (self.has_leader or not ends) else ()
        self.page = page if is_short and (self.has_leader or (self.number and page is not None and page >= 0)) else None
        rest = (bare if self.page is not None else line)[number.end() if number else 0 :]
        self.has_digits = any(map(str.isdigit, rest))
        self.may_be_heading = is_short and not ends

    @property
    def is_strong(self) -> bool:
        """Whether the line has the number of a page, or of a section, or dots."""
        return self.page is not None or bool(self.number) or self.has_leader


def _page(text: str) -> int:
    """Return the number of a page; one in Roman numerals is below all others."""
    if text.isdigit():
        return int(text)
    values = [_ROMAN[letter] for letter in text.lower()]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True)) - 10_000


def _section(number: re.Match[str]) -> tuple[int, ...]:
    """Return a section's number; letters of appendices are above all numbers."""
    if chapter := next(filter(None, number.groups()[:3]), None):
        return (int(chapter),)
    first = int(number[4]) if number[4].isdigit() else 1_000 + ord(number[4].upper())
    return (first, *(int(part) for part in number[5].split(".")[1:]))


def _end(marks: Sequence[_Mark], start: int) -> int:
    """Return where the table of contents that begins at a line ends; the line itself where none does."""
    if not marks[start].is_strong:
        return start
    end, page, section = start + 1, marks[start].page, marks[start].number
    for at in range(start + 1, len(marks)):
        mark = marks[at]
        if not mark.is_strong:
            if at - end >= MOST_BETWEEN or not mark.may_be_heading:
                break
            continue
        if mark.page is None and mark.number and mark.number <= section:
            break
        if mark.page is not None and page is not None and mark.page < page:
            break
        page = page if mark.page is None else mark.page
        section = mark.number or section
        end = at + 1
    return end


def _is_contents(marks: Sequence[_Mark]) -> bool:
    strong = [mark for mark in marks if mark.is_strong]
    pages = [mark.page for mark in strong if mark.page is not None]
    if 2 * len(pages) >= len(strong):
        return len(pages) >= LEAST_LINES and pages[0] != pages[-1]
    if 2 * sum(mark.has_leader for mark in strong) >= len(strong):
        return len(strong) >= LEAST_LINES
    numbered = [mark for mark in strong if mark.number]
    is_deep = len({len(mark.number) for mark in numbered}) > 1
    digits = sum(mark.has_digits for mark in numbered)
    return len(numbered) >= LEAST_NUMBERED and is_deep and digits <= MOST_WITH_DIGITS * len(numbered)
