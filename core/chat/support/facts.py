"""Facts: the numbers and moments of a text, as values that can be compared between texts and languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

TOLERANCE = 1e-6
CONVERTED = 0.04
"""Relative difference of the same amount in two units: 6 miles, 10 km."""
CONVERTED_DEGREES = 0.004
"""The same of temperatures, which are far from zero in their base unit."""
DAYS_OF_MONTHS = 0.04
"""Relative difference of the same time in months and in days."""
DAY = 86_400.0
FEW = 10
LEAST_ROUNDED = 3.0
"""Least value that a number with more decimals is rounded to: 4 of 4.4."""
ROUNDED_FROM = 1_000.0
"""Values from which 12,300 may be said of 12,345."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a text. ``start`` and ``end`` are its characters, with its unit."""

    start: int
    end: int
    values: tuple[float, ...]
    """The values that the number may have: 1.234 is 1234 as well."""
    dimension: str = ""
    """What it measures, such as ``length`` or ``EUR``; ``count`` with a counter (人, 명), empty for a bare number."""
    factor: float = 1.0
    """Value of its unit in the base unit of the dimension."""
    offset: float = 0.0
    places: int = 0
    """Decimals that are written."""
    about: bool = False
    """Whether the text says that the number is rounded."""
    bound: int = 0
    """1 for *at least*, -1 for *at most*."""
    bounded: tuple[int, int] = (0, 0)
    """The characters of the number with the words that say so."""
    per: float = 0.0
    """The seconds in which it is reached: 3,600 per hour; 0 where none are said."""

    @property
    def is_small(self) -> bool:
        """Whether this is a bare 0 or 2, or a 1: they are common, and count only in the place of another number."""
        return self.values[0] == 1.0 or (self.dimension in ("", "ordinal") and self.values[0] in (0.0, 2.0))

    @property
    def is_few(self) -> bool:
        """Whether the number is a bare one up to ten, which often counts what is listed: *the three largest*."""
        return not self.dimension and self.values[0] <= FEW

    def is_begin_of(self, version: Moment) -> bool:
        """Return whether it is the first parts of a version: 3.11 of 3.11.7."""
        parts = dict(version.readings[0])
        begins = (f"{parts['v0']}", f"{parts['v0']}.{parts['v1']}") if "v0" in parts else ()
        return f"{self.values[0]:.{self.places}f}" in begins

    def bases(self) -> tuple[float, ...]:
        """Return the possible values in the base unit of the dimension."""
        return tuple(value * self.factor + self.offset for value in self.values)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, a time of day, or a part of one: ``y``, ``m``, ``d``, hour ``H``, minute ``M``, weekday ``w``; also a
    version of three parts or more, ``v0`` and so on, which is compared like a date, part by part.
    """

    start: int
    end: int
    readings: tuple[frozenset[tuple[str, int]], ...]
    """The days that the text may mean: 4/1/2025 is a day of April or of January."""

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
            return said.is_begin_of(there) or _is_part(said, there)
        case Moment(), Number():
            return there.dimension != "decade" and len(said.parts) == 1 and _is_part(there, said)
    return False


def comparable(said: Fact, there: Fact) -> bool:
    """Return whether both could be said in the same place, so that one is there instead of the other."""
    match said, there:
        case Number(), Number():
            pairs = [(a, b) for a in said.bases() for b in there.bases()]
            is_within = bool(there.bound and not said.bound) and any(_keeps(there.bound, b, a) for a, b in pairs)
            return _are_of_a_kind(said, there) and not is_within and not any(_is_rounded(b, a, there) for a, b in pairs)
        case Moment(), Moment():
            return all(_clash(reading, other) for reading in said.readings for other in there.readings)
        case Number(), Moment():
            return _may_be_year(said) and there.parts == {"y"}
        case Moment(), Number():
            return _may_be_year(there) and said.parts == {"y"}
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


def _may_be_year(number: Number) -> bool:
    return not number.dimension and any(1_000 <= value < 10_000 for value in number.values)


def _kind(number: Number) -> str:
    return "" if number.dimension in ("", "count") else number.dimension


def _are_of_a_kind(one: Number, other: Number) -> bool:
    pairs = (one.dimension, other.dimension), (other.dimension, one.dimension)
    counted = {"count", "ordinal", "label", "page"}
    return _kind(one) == _kind(other) or any(pair in _OTHER_WORDS and not counted & set(pair) for pair in pairs)


def _same_number(said: Number, there: Number) -> bool:
    if said.dimension and there.dimension and _kind(said) != _kind(there):
        return _is_other_word(said, there) or _is_other_word(there, said)
    if said.dimension == there.dimension == "label" and said.places and there.places and said.places != there.places:
        return False  # version 2.1 is not 2.10
    if said.per and there.per and said.per != there.per:
        return any(_near(a / said.per, b / there.per, CONVERTED) for a in said.bases() for b in there.bases())
    convertible = bool(_kind(said)) and _kind(said) == _kind(there)
    mine, others = (said.bases(), there.bases()) if convertible else (said.values, there.values)
    if said.bound and not there.bound and any(_keeps(said.bound, a, b) for a in mine for b in others):
        return True
    if any(_near(a, b, TOLERANCE) for a in mine for b in others):
        return True
    if convertible and said.factor != there.factor:
        tolerance = _TOLERANCES.get(said.dimension, CONVERTED)
        if any(_near(a, b, tolerance) or _is_whole_of(a, b, said) for a in mine for b in others):
            return True
    return any(_is_rounded(a, b, said) for a in mine for b in others)


_TOLERANCES = {"time": DAYS_OF_MONTHS, "temperature": CONVERTED_DEGREES}
_OTHER_WORDS: Mapping[tuple[str, str], float] = {
    ("degree", "temperature"): 0.0,
    ("pound", "GBP"): 1.0,
    ("pound", "mass"): 0.45359,
    ("points", "share"): 1.0,
    ("kilo", "length"): 1_000.0,
    ("kilo", "mass"): 1.0,
    ("age", "time"): 31_557_600.0,
    ("count", "ordinal"): 1.0,
    ("label", "ordinal"): 1.0,
    ("label", "page"): 1.0,
    ("count", "page"): 1.0,
}
"""Dimensions that are written in one word: factors to the base unit of the second; 0 where their values are equal."""


def _is_other_word(one: Number, other: Number) -> bool:
    """Return whether a number of a unit with several meanings is one of another unit: 30 pounds, £30."""
    factor = _OTHER_WORDS.get((one.dimension, other.dimension))
    if factor is None:
        return False
    others = other.bases() if factor else other.values
    tolerance = CONVERTED if factor not in (0.0, 1.0) else TOLERANCE
    return any(_near(a * (factor or 1.0), b, tolerance) for a in one.values for b in others)


def _keeps(bound: int, said: float, there: float) -> bool:
    """Return whether an exact number keeps a bound that is not far away: 160 is more than 100."""
    low, high = sorted((said, there))
    return (there - said) * bound >= 0 and high <= 3 * low


def _is_whole_of(said: float, there: float, number: Number) -> bool:
    """Return whether a converted amount is rounded to the whole units that are said: three km of two miles."""
    there = (there - number.offset) / (number.factor or 1.0)
    said = (said - number.offset) / (number.factor or 1.0)
    return abs(there) < 1e9 and _near(said, round(said), TOLERANCE) and round(there) == round(said)


def _is_rounded(said: float, there: float, number: Number) -> bool:
    """Return whether a number is another with fewer digits: 12.3 of 12.34, 12,000 of 12,345."""
    scale = number.factor or 1.0
    said, there = (said - number.offset) / scale, (there - number.offset) / scale
    if number.about and said == int(said) and abs(said) < 1e15 and round_to(there, digits_of(said)) == said:
        return True
    if there != int(there) and abs(said) >= LEAST_ROUNDED and round(there, number.places) == said:
        return True
    if abs(said) >= ROUNDED_FROM and said == int(said) and abs(said) < 1e15:
        return 2 <= digits_of(said) < digits_of(there) and round_to(there, digits_of(said)) == said
    return False


def digits_of(value: float) -> int:
    """Return the number of significant digits of a whole number."""
    return len(str(abs(int(value))).strip("0")) if abs(value) < 1e15 else 15


def round_to(value: float, digits: int) -> float:
    """Return a value with so many significant digits."""
    size = len(str(abs(int(value)))) if abs(value) < 1e15 else 15
    return float(round(value, digits - size))


def _clash(one: frozenset[tuple[str, int]], other: frozenset[tuple[str, int]]) -> bool:
    """Return whether two readings have another value for the same part."""
    known = dict(other)
    return any(known.get(name, value) != value for name, value in one)


def _near(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


def _is_part(number: Number, moment: Moment) -> bool:
    """Return whether a bare number, or days, are part of a moment: 10日 of 4月10日; 1984 is of the 1980s."""
    if number.dimension == "decade":
        return any(value in [10 * (year // 10) for year in years_of(moment)] for value in number.values)
    names = ("d",) if number.dimension == "time" else ("y", "m", "d", "H", "M")
    if number.dimension not in ("", "time") or (number.dimension == "time" and number.factor != DAY):
        return False
    return any(name in names and value in number.values for reading in moment.readings for name, value in reading)


def _without(reading: frozenset[tuple[str, int]], *names: str) -> frozenset[tuple[str, int]]:
    return frozenset(item for item in reading if item[0] not in names)


def years_of(moment: Moment) -> list[int]:
    """Return the years that a moment may be of."""
    return [value for reading in moment.readings for name, value in reading if name == "y"]
