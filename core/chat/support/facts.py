"""Facts: the numbers and moments of a text, as values that can be compared between texts and languages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

TOLERANCE = 1e-6
CONVERTED = 0.03
"""Relative difference of the same amount in two units: 6 miles, 10 km."""
DAYS_OF_MONTHS = 0.04
"""Relative difference of the same time in months and in days."""
FEW = 10
ROUNDED_FROM = 1_000.0
"""Values from which 12,300 may be said of 12,345."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a text. ``start`` and ``end`` are its characters, with its unit."""

    start: int
    end: int
    values: tuple[float, ...]
    """What it may be: 1.234 is 1234 as well."""
    dimension: str = ""
    """What it measures, such as ``length`` or ``EUR``; ``count`` with a counter (人, 명), empty for a bare number."""
    factor: float = 1.0
    """Value of its unit in the base unit of the dimension."""
    offset: float = 0.0
    places: int = 0
    """Decimals that are written."""
    about: bool = False
    """Whether it is said to be rounded."""
    bound: int = 0
    """1 for *at least*, -1 for *at most*."""
    bounded: tuple[int, int] = (0, 0)
    """Its characters with those words."""

    @property
    def is_small(self) -> bool:
        """Whether it is a bare 0, 1 or 2, which stand anywhere, and count only in the place of another number."""
        return not self.dimension and self.values[0] in (0.0, 1.0, 2.0)

    @property
    def is_few(self) -> bool:
        """Whether it is a bare number up to ten, which often counts what is listed: *the three largest*."""
        return not self.dimension and self.values[0] <= FEW

    def bases(self) -> tuple[float, ...]:
        """Return the possible values in the base unit of the dimension."""
        return tuple(value * self.factor + self.offset for value in self.values)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, a time of day, or a part of one: ``y``, ``m``, ``d``, hour ``H``, minute ``M``, weekday ``w``."""

    start: int
    end: int
    readings: tuple[frozenset[tuple[str, int]], ...]
    """What it may be: 4/1/2025 is a day of April or of January."""

    @property
    def parts(self) -> frozenset[str]:
        """The names of the parts that it has."""
        return frozenset(name for name, _ in self.readings[0])


Fact = Number | Moment


def same(said: Fact, there: Fact) -> bool:
    """Return whether what is said is what is there, or a part of it: April 2025 of 1 April 2025."""
    match said, there:
        case Number(), Number():
            return _same_number(said, there)
        case Moment(), Moment():
            return any(reading <= other for reading in said.readings for other in there.readings)
        case Number(), Moment():
            return _is_part(said, there)
        case Moment(), Number():
            return there.dimension != "decade" and _is_part(there, said)
    return False


def comparable(said: Fact, there: Fact) -> bool:
    """Return whether both could be said in the same place, so that one is there instead of the other."""
    match said, there:
        case Number(), Number():
            return _kind(said) == _kind(there) and not any(
                _is_rounded(b, a, there) for a in said.bases() for b in there.bases()
            )
        case Moment(), Moment():
            return all(_clash(reading, other) for reading in said.readings for other in there.readings)
        case Number(), Moment():
            return not said.dimension and there.parts == {"y"}
        case Moment(), Number():
            return not there.dimension and said.parts == {"y"}
    return False


def is_found(said: Fact, there: Iterable[Fact]) -> bool:
    """Return whether a fact is there, or each part of a date is: its year in a title, its day in the text."""
    facts = list(there)
    if any(same(said, each) for each in facts):
        return True
    if not isinstance(said, Moment):
        return False
    known = {item for each in facts if isinstance(each, Moment) for reading in each.readings for item in reading}
    days = [each for each in facts if isinstance(each, Moment)]
    return any(
        reading <= known and any(_without(reading, "y", "w") <= other for day in days for other in day.readings)
        for reading in said.readings
    )


def is_calculated(said: Fact, there: Sequence[Fact]) -> bool:
    """Return whether a fact is a sum or a difference of two there, of the first few, or a year so many years away."""
    if isinstance(said, Moment):
        years = [value for each in there if isinstance(each, Moment) for value in _years(each)]
        spans = [value for each in there if isinstance(each, Number) for value in each.values if value < 200]
        return any(year in _years(said) for start in years for span in spans for year in (start + span, start - span))
    ends = [year for each in there if isinstance(each, Moment) for year in _years(each)][:20]
    if said.dimension == "time" and any(abs(a - b) in said.values for a in ends for b in ends if a != b):
        return True
    values = [base for each in there[:20] for base in _bases(each)][:30]
    mine = said.bases()
    sums = {round(a + b, 6) for n, a in enumerate(values) for b in values[n + 1 :]}
    differences = {round(abs(a - b), 6) for n, a in enumerate(values) for b in values[n + 1 :]}
    shares = {round(100 * a / b, 0) for a in values for b in values if b and a < b}
    if said.about and any(_round_to(sum(values), _digits(base)) == base for base in mine if base):
        return True
    return any(round(base, 6) in sums | differences for base in mine) or (
        said.dimension == "share" and any(round(base, 0) in shares for base in mine)
    )


def _kind(number: Number) -> str:
    return "" if number.dimension in ("", "count") else number.dimension


def _same_number(said: Number, there: Number) -> bool:
    if said.dimension and there.dimension and _kind(said) != _kind(there):
        counted = {said.dimension, there.dimension} == {"count", "ordinal"}
        return counted and bool(set(said.values) & set(there.values))
    if said.bound and not there.bound and any(_keeps(said.bound, a, b) for a in said.values for b in there.values):
        return True
    convertible = bool(_kind(said)) and _kind(said) == _kind(there)
    mine, others = (said.bases(), there.bases()) if convertible else (said.values, there.values)
    if any(_near(a, b, TOLERANCE) for a in mine for b in others):
        return True
    if convertible and said.factor != there.factor:
        tolerance = DAYS_OF_MONTHS if said.dimension == "time" else CONVERTED
        if any(_near(a, b, tolerance) or _is_whole_of(a, b, said) for a in mine for b in others):
            return True
    return any(_is_rounded(a, b, said) for a in mine for b in others)


def _keeps(bound: int, said: float, there: float) -> bool:
    """Return whether an exact number keeps a bound that is not far away: 160 is more than 100."""
    low, high = sorted((said, there))
    return (there - said) * bound >= 0 and high <= 3 * low


def _is_whole_of(said: float, there: float, number: Number) -> bool:
    """Return whether a converted amount is rounded to the whole units that are said: three km of two miles."""
    there = (there - number.offset) / (number.factor or 1.0)
    return abs(there) < 1e9 and round(there) == round((said - number.offset) / (number.factor or 1.0))


def _is_rounded(said: float, there: float, number: Number) -> bool:
    """Return whether a number is another with fewer digits: 12.3 of 12.34, 12,000 of 12,345."""
    scale = number.factor or 1.0
    said, there = (said - number.offset) / scale, (there - number.offset) / scale
    if number.about and said == int(said) and abs(said) < 1e15 and _round_to(there, _digits(said)) == said:
        return True
    if there != int(there) and abs(said) >= 10 and round(there, number.places) == said:
        return True
    if abs(said) >= ROUNDED_FROM and said == int(said) and abs(said) < 1e15:
        return 2 <= _digits(said) < _digits(there) and _round_to(there, _digits(said)) == said
    return False


def _digits(value: float) -> int:
    """Return the number of significant digits of a whole number."""
    return len(str(abs(int(value))).strip("0")) if abs(value) < 1e15 else 15


def _round_to(value: float, digits: int) -> float:
    size = len(str(abs(int(value)))) if abs(value) < 1e15 else 15
    return float(round(value, digits - size))


def _clash(one: frozenset[tuple[str, int]], other: frozenset[tuple[str, int]]) -> bool:
    """Return whether two readings have another value for the same part."""
    known = dict(other)
    return any(known.get(name, value) != value for name, value in one)


def _near(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


def _is_part(number: Number, moment: Moment) -> bool:
    """Return whether a bare number is a part of a moment: 10日 of 4月10日, 2025 of a year; the 1980s have 1984."""
    if number.dimension == "decade":
        return any(value in [10 * (year // 10) for year in _years(moment)] for value in number.values)
    names = ("d",) if number.dimension == "time" else ("y", "m", "d", "H", "M")
    if number.dimension not in ("", "time"):
        return False
    return any(name in names and value in number.values for reading in moment.readings for name, value in reading)


def _without(reading: frozenset[tuple[str, int]], *names: str) -> frozenset[tuple[str, int]]:
    return frozenset(item for item in reading if item[0] not in names)


def _years(moment: Moment) -> list[int]:
    return [value for reading in moment.readings for name, value in reading if name == "y"]


def _bases(fact: Fact) -> tuple[float, ...]:
    return fact.bases() if isinstance(fact, Number) else tuple(map(float, _years(fact)))
