"""Numbers that are printed on a document's pages, where they are not those of the pages in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

PRINTED_PAGES = "printed_pages"
"""Key of metadata: ``3=i, 9=1`` for a file on whose third page ``i`` is printed, and ``1`` on its ninth; each counts on
to the next. ``20=`` says that nothing is printed from page 20 on.
"""
LEAST_PAGES = 3
"""Fewest pages in a row that count up, for their numbers to be believed."""
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_LEAST, _MOST = 0, 9_999
MOST_ROMAN = 399
_STORED = re.compile(r"\d{1,6}=(?:\d{1,4}|[ivxlc]{1,12}|[IVXLC]{1,12})?")
Style = Literal["1", "i", "I"]


@dataclass(frozen=True, slots=True)
class PageNumber:
    """A number as it is printed, in digits or Roman numerals, small or large."""

    style: Style
    value: int

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Read a printed number; None for any other text.

        >>> PageNumber.read("xiv"), PageNumber.read("mix")
        (PageNumber(style='i', value=14), None)
        """
        if text.isascii() and text.isdigit() and len(text) <= len(str(_MOST)):
            return cls("1", int(text))
        value = _of_roman(text.lower()) if text and set(text.lower()) <= set("ivxlc") else 0
        if not value or text not in (text.lower(), text.upper()):
            return None
        return cls("i" if text == text.lower() else "I", value)

    def after(self, pages: int) -> str:
        """Return the number that is printed so many pages later; empty where there is none."""
        value = self.value + pages
        if self.style == "1":
            return str(value) if _LEAST <= value <= _MOST else ""
        said = roman(value) if 0 < value <= MOST_ROMAN else ""
        return said if self.style == "i" else said.upper()


def printed_pages(numbers: Sequence[PageNumber | None]) -> str:
    """Return the value of `PRINTED_PAGES` for the printed numbers of all pages, None for a page without one.

    Empty where all numbers are those of the file's pages. A number stands between others that count on, or is left out.

    >>> printed_pages([None, *map(PageNumber.read, ("i", "ii", "iii", "1", "2", "3"))])
    '2=i, 5=1'
    """
    runs: list[tuple[int, int, PageNumber, int]] = []
    """First and last page, its first number, and how many numbers were read."""
    for page, number in enumerate(numbers, start=1):
        if number is None:
            continue
        if runs and number.style == runs[-1][2].style and number.value - runs[-1][2].value == page - runs[-1][0]:
            first, _, begun, count = runs[-1]
            runs[-1] = first, page, begun, count + 1
        else:
            runs.append((page, page, number, 1))
    kept = [run for run in runs if run[3] >= LEAST_PAGES]
    if all(begun == PageNumber("1", first) for first, _, begun, _ in kept):
        return ""
    said = []
    for at, (first, last, begun, _) in enumerate(kept):
        said.append(f"{first}={begun.after(0)}")
        end = kept[at + 1][0] if at + 1 < len(kept) else len(numbers) + 1
        if last + 1 < end:
            said.append(f"{last + 1}=")
    return ", ".join(said)


def printed_page(metadata: Mapping[str, object], page: int | None) -> str:
    """Return the number that is printed on a page, counted from 1; empty where there is none, or it is the same.

    >>> [printed_page({"printed_pages": "2=i, 5=1"}, page) for page in (1, 3, 6, None)]
    ['', 'ii', '2', '']
    """
    stored = metadata.get(PRINTED_PAGES)
    if page is None or not isinstance(stored, str):
        return ""
    found = ""
    for entry in stored.split(", "):
        if not _STORED.fullmatch(entry):
            return ""
        first, _, text = entry.partition("=")
        if int(first) > page:
            break
        number = PageNumber.read(text)
        found = number.after(page - int(first)) if number else ""
    return "" if found == str(page) else found


def roman(number: int) -> str:
    """Return a number from 1 on as small Roman numerals; thousands are as many ``m``."""
    parts = []
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        parts.append(letters * count)
    return "".join(parts)


def _of_roman(text: str) -> int:
    values = [next(value for value, letters in _ROMAN if letters == letter) for letter in text]
    number = sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))
    return number if 0 < number <= MOST_ROMAN and roman(number) == text else 0
