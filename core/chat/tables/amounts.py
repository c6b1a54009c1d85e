"""Numbers in cells: read as people write them in English, Japanese and Korean, and written in the same way."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

PLACEHOLDERS = frozenset(
    (
        *("", "-", "--", "–", "—", "―", "n/a", "na", "none", "null", "nil", "tbd", "?", "…", "..."),
        *("未定", "なし", "不明", "該当なし", "없음", "미정", "해당 없음"),
    )
)
"""Cells that say that there is no value."""
_TENS = {"十": 10, "百": 100, "千": 1_000, "십": 10, "백": 100, "천": 1_000}
_MYRIADS = {"万": 10**4, "億": 10**8, "兆": 10**12, "만": 10**4, "억": 10**8, "조": 10**12}
_DIGITS = r"\d[\d.,'\u2009\u202f\u00a0 ]*(?<=\d)|\d"
_LARGE = (
    r"(?:\d[\d,.]*[千百十천백십]?\s?[万億兆만억조]\s?)+(?:\d[\d,]*)?(?:[千百十천백십](?![가-힣])|[천백십](?=[원명개]))?"
)
_CELL = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+−▲△]?)\s*+(?P<prefix>[^\d\s()+−▲△.,-]{{1,4}}(?:\s(?=\d))?)?\s*+(?P<sign2>[-−▲△]?)"
    rf"(?P<digits>{_LARGE}|{_DIGITS})\s*+(?P<unit>[^\d()]{{0,20}}?)(?P<close>\))?"
)
_GROUPED = re.compile(r"\d{1,3}(?:([.,'\u2009\u202f\u00a0 ])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
_PART = re.compile(r"(\d[\d,.]*)?([千百十천백십])?\s?([万億兆만억조])?")
_CURRENCY = re.compile(r"[€$£¥₩]|\b(?:EUR|USD|GBP|JPY|KRW|CHF)\b|円|원")
MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Amount:
    """A number as it was written: its digits, not yet with a decimal mark, and what stands around them."""

    digits: str
    prefix: str = ""
    unit: str = ""
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Style:
    """How a column writes its numbers."""

    decimal: str = "."
    """The decimal mark: a point or a comma."""
    thousands: str = ""
    places: int = 0
    """Most decimals of a cell."""
    prefix: str = ""
    unit: str = ""

    def write(self, value: float, *, more_places: int = 0, grouped: bool = False) -> str:
        """Write a number as the column does, an average with up to ``more_places`` further decimals.

        With ``grouped`` thousands are separated, also where the cells, which may all be small, do not.
        """
        text = f"{abs(value):,.{self.places + more_places}f}"
        whole, _, rest = text.partition(".")
        rest = rest[: self.places] + rest[self.places :].rstrip("0")
        mark = ("." if self.decimal == "," else ",") if grouped and not self.thousands else self.thousands
        number = whole.replace(",", mark) + (self.decimal + rest if rest else "")
        return f"{'-' if value < 0 else ''}{self.prefix}{number}{self.unit}"


def amount(cell: str) -> Amount | None:
    """Return the number that a cell is, None for any other text: ``61,000 EUR``, ``¥12,000``, ``▲3.5 %``."""
    text = unicodedata.normalize("NFKC", cell).strip()
    found = _CELL.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    digits = found["digits"]
    if re.fullmatch(r"0\d+", digits) or sum(map(str.isdigit, digits)) > MAX_DIGITS:
        return None  # an identifier
    prefix, unit = found["prefix"] or "", text[found.end("digits") : found.end("unit")]
    if any(map(str.isalpha, prefix)) and not _CURRENCY.search(prefix):
        return None  # A 3, v2
    negative = bool(found["open"]) or (found["sign"] or found["sign2"]) not in ("", "+")
    return Amount(digits, prefix, unit, negative)


def style_of(amounts: Sequence[Amount]) -> Style | None:
    """Return how a column writes its numbers, None where they have several units or marks and cannot be added."""
    units = {(each.prefix.strip(), each.unit.strip().lower()) for each in amounts}
    if len(units) != 1:
        return None
    digits = [each.digits for each in amounts if not _is_large(each.digits)]
    decimal = _decimal(digits, is_money=bool(_CURRENCY.search(amounts[0].prefix + amounts[0].unit)))
    if decimal is None:
        return None
    groups = Counter(mark for text in digits if (mark := _group_mark(text, decimal)))
    places = max((len(text.rpartition(decimal)[2]) for text in digits if decimal in text), default=0)
    thousands = groups.most_common(1)[0][0] if groups else ("," if len(digits) < len(amounts) else "")
    return Style(decimal, thousands, places, amounts[0].prefix, amounts[0].unit)


def value_of(given: Amount, decimal: str = ".") -> float | None:
    """Return the number; None if it is written with another decimal mark."""
    text = given.digits
    value = _large(text) if _is_large(text) else _plain(text, decimal)
    return None if value is None else -value if given.negative else value


def _is_large(digits: str) -> bool:
    return any(mark in digits for mark in _MYRIADS)


def _large(text: str) -> float | None:
    """Read ``1億2千万``, ``1,200万``, ``3만 5천``."""
    total = part = 0.0
    for number, ten, myriad in _PART.findall(text.replace(" ", "")):
        try:
            value = float(number.replace(",", "")) if number else 1.0 if ten else 0.0
        except ValueError:
            return None
        part += value * _TENS.get(ten, 1)
        if myriad:
            total, part = total + part * _MYRIADS[myriad], 0.0
    return total + part


def _plain(text: str, decimal: str) -> float | None:
    if text.count(decimal) > 1:
        return None
    whole, _, rest = text.partition(decimal)
    if not re.fullmatch(r"\d+|\d{1,3}(?:[.,'\u2009\u202f\u00a0 ]\d{3})+", whole) or (rest and not rest.isdigit()):
        return None
    return float(re.sub(r"\D", "", whole) + (f".{rest}" if rest else ""))


def _decimal(digits: Sequence[str], *, is_money: bool) -> str | None:
    """Return the decimal mark; None where some cells have the one and some the other.

    ``1.234`` alone says nothing: it is more than a thousand in a column of money, or beside ``12,5``.
    """
    votes = {vote for text in digits if (vote := _decimal_of(text))}
    if len(votes) > 1:
        return None
    if votes:
        return votes.pop()
    return "," if is_money and any("." in text for text in digits) and not any("," in text for text in digits) else "."


def _decimal_of(text: str) -> str:
    """Return the mark that can only be the decimal one in this number; empty where nothing tells."""
    marks = sorted((mark for mark in ".," if mark in text), key=text.rindex)
    if len(marks) != 1:
        return marks[-1] if marks else ""
    mark, (before, _, after) = marks[0], text.partition(marks[0])
    if mark in after:
        return "," if mark == "." else "."
    return mark if len(after) != 3 or before == "0" or len(before) > 3 else ""


def _group_mark(text: str, decimal: str) -> str:
    found = _GROUPED.fullmatch(text)
    return found[1] if found and found[1] != decimal else ""
