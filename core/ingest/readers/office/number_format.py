"""Number formats of Excel: percent, leading zeros, currencies and words around a number, as a cell shows them.

After ECMA-376, part 1, 18.8.31. Of a format that says only how many digits to show, the stored value is better.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

_TOKEN = re.compile(
    r'"([^"]*)"?|\\(.)|_.|\*.|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|(General)|([#0?][#0?,. ]*)|(E[+-]\d*)|(.)',
    re.IGNORECASE | re.DOTALL,
)
_MAX_FORMAT_CHARS = 300
_MAX_DIGITS = 30
_CONDITION = re.compile(r"\[(?:[<>=])")

Shown = Callable[[float], str]


def number_format(code: str) -> Shown | None:
    """Return how a format shows a number; None where the plain value is as good: digits alone, dates, fractions.

    >>> [number_format(code)(value) for code, value in (("0.00%", 0.0425), ("0000000", 12345), ('"CH-"0', 1234))]
    ['4.25%', '0012345', 'CH-1234']
    """
    if len(code) > _MAX_FORMAT_CHARS or _CONDITION.search(code):
        return None
    sections = list(map(_section, _sections(code)[:3]))
    if not sections or None in sections:
        return None
    positive, *others = (section for section in sections if section is not None)
    if not positive.says_more:
        return None
    negative = others[0] if others else None
    zero = others[1] if len(others) > 1 else None

    def shown(value: float) -> str:
        if value < 0 and negative is not None:
            return negative.write(-value)
        if value == 0 and zero is not None:
            return zero.write(value)
        return f"-{positive.write(-value)}" if value < 0 else positive.write(value)

    return shown


def _sections(code: str) -> list[str]:
    """Part a format at its semicolons, but not at those within quotes."""
    parts, start, is_quoted, at = [], 0, False, 0
    while at < len(code):
        if code[at] == "\\":
            at += 1
        elif code[at] == '"':
            is_quoted = not is_quoted
        elif code[at] == ";" and not is_quoted:
            parts.append(code[start:at])
            start = at + 1
        at += 1
    return [*parts, code[start:]]


class _Section:
    """One part of a format: what is before the number, the number, and what is after it."""

    def __init__(self, before: str, digits: str, after: str, percent: int) -> None:
        self._before, self._digits, self._after = before, digits, after
        self._percent = percent

    @property
    def says_more(self) -> bool:
        """Whether it shows more than digits."""
        whole = self._digits.partition(".")[0]
        return bool((self._before + self._after).strip("() -+")) or whole.count("0") > 1

    def write(self, value: float) -> str:
        """Return a number that is not negative as it is shown."""
        return f"{self._before}{self._number(value)}{self._after}".strip()

    def _number(self, value: float) -> str:
        if not self._digits:
            return ""
        if self._digits == "General":
            return f"{value:.15g}"
        whole, _, fraction = self._digits.rstrip(", ").partition(".")
        thousands = len(self._digits.rstrip(" ")) - len(self._digits.rstrip(", "))
        try:
            number = Decimal(repr(value)) * Decimal(100) ** self._percent / Decimal(1000) ** thousands
            fraction = re.sub("[^0#?]", "", fraction)[:_MAX_DIGITS]
            number = number.quantize(Decimal(1).scaleb(-len(fraction)), ROUND_HALF_UP)
        except InvalidOperation:
            return f"{value:.15g}"
        left, _, right = f"{number:f}".partition(".")
        optional = len(fraction) - len(fraction.rstrip("#?"))
        kept = len(fraction) - optional
        right = right[:kept] + right[kept:].rstrip("0")
        left = left.lstrip("0").rjust(min(whole.count("0"), _MAX_DIGITS), "0")
        left = _by_thousands(left) if "," in whole else _spread(whole, left)
        return left + (f".{right}" if right else "")


def _by_thousands(digits: str) -> str:
    first = len(digits) % 3
    return ",".join(filter(None, (digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3)))))


def _spread(pattern: str, digits: str) -> str:
    """Put the spaces of a pattern such as ``000 000`` between the digits."""
    if " " not in pattern.strip():
        return digits
    found, left = [], list(digits)
    for place in reversed(pattern.strip()):
        if place == " ":
            found.append(" " if left else "")
        elif left:
            found.append(left.pop())
    return "".join(left) + "".join(reversed(found))


def _section(code: str) -> _Section | None:
    """Return a part of a format; None for one that is no plain number: a date, a fraction, a power of ten."""
    before, after = list[str](), list[str]()
    digits, percent = "", 0
    for match in _TOKEN.finditer(code):
        quoted, escaped, currency, general, places, power, other = match.groups()
        literal = quoted or escaped or currency or ""
        if general or places:
            if digits:  # as in 000-00-0000, or ?/?
                return _split(code)
            digits = "General" if general else places
            if not general and (spaces := len(places) - len(places.rstrip(" "))):
                digits, literal = places.rstrip(" "), " " * spaces
        elif power or (other and other.isalpha()) or other in ("/", "@"):
            return None
        elif other == "%":
            percent, literal = percent + 1, "%"
        elif other:
            literal = other
        (after if digits else before).append(literal)
    return _Section("".join(before), digits, "".join(after), percent)


class _Digits(_Section):
    """A pattern of digits with other characters between them, as of telephone numbers: ``000-0000``."""

    def __init__(self, code: str) -> None:
        super().__init__("", code, "", 0)

    @property
    def says_more(self) -> bool:
        return True

    def write(self, value: float) -> str:
        try:
            digits = list(f"{Decimal(repr(value)).quantize(Decimal(1), ROUND_HALF_UP):f}")
        except InvalidOperation:
            return f"{value:.15g}"
        found: list[str] = []
        first = re.search("[0#?]", self._digits)
        for at in range(len(self._digits) - 1, -1, -1):
            place = self._digits[at]
            if place not in "0#?":
                found.append(place if digits or "0" in self._digits[:at] else "")
            elif digits:
                found.append(digits.pop())
                if first is not None and at == first.start():
                    found += reversed(digits)
                    digits = []
            elif place == "0":
                found.append("0")
        return "".join(reversed(found)).strip()


def _split(code: str) -> _Section | None:
    plain = re.sub(r'\\(.)|"([^"]*)"|_.|\*.|\[[^\]]*\]', lambda match: match[1] or match[2] or "", code)
    return _Digits(plain) if re.fullmatch(r"[0#? ().+-]+", plain) and "." not in plain else None
