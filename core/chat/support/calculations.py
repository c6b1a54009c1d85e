"""What can be calculated from the facts of a passage: sums, differences, shares, and years before or after one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from braid.core.chat.support.facts import Fact, Moment, Number, digits_of, round_to, years_of
from braid.core.lru import lazy

MAX_FACTS = 20
MAX_VALUES = 30
"""Facts, and their possible values, that are calculated with."""
LONGEST_SPAN = 200
"""Most years between two of which one is calculated."""
_PLACES = 6


class Calculations:
    """The results of one step of calculation with some facts, of the first few. Each is made when it is asked for."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = facts[:MAX_FACTS]
        self._numbers = [each for each in self._facts if isinstance(each, Number)]
        self._years = [year for each in self._facts if isinstance(each, Moment) for year in years_of(each)]

    def has(self, said: Fact) -> bool:
        """Return whether a fact is a result."""
        if isinstance(said, Moment):
            return any(year in self._later_years for year in years_of(said))
        mine = [value * said.factor for value in said.values]
        if said.dimension == "time" and any(abs(a - b) in said.values for a, b in combinations(self._years, 2)):
            return True
        total = sum(self._amounts)
        if said.about and any(round_to(total, digits_of(base)) == base for base in mine if base):
            return True
        if said.dimension == "share" and any(round(base) in self._shares for base in mine):
            return True
        return any(round(base, _PLACES) in self._results for base in mine) or any(
            round(value, _PLACES) in self._sums for value in said.values
        )

    @lazy
    def _amounts(self) -> list[float]:
        """The values without the zero point of their unit, which differences do not have, and years."""
        found = [value * each.factor for each in self._numbers for value in each.values]
        return [*found, *map(float, self._years)][:MAX_VALUES]

    @lazy
    def _results(self) -> frozenset[float]:
        pairs = list(combinations(self._amounts, 2))
        parts = [each.values[0] * each.factor / 100 for each in self._numbers if each.dimension == "share"]
        products = [value * part for value in self._amounts for part in parts]
        found = [*(a + b for a, b in pairs), *(abs(a - b) for a, b in pairs), *products]
        return frozenset(round(each, _PLACES) for each in found)

    @lazy
    def _sums(self) -> frozenset[float]:
        """Sums whatever the units: 25 days and five more."""
        values = [value for each in self._numbers for value in each.values][:MAX_VALUES]
        return frozenset(round(a + b, _PLACES) for a, b in combinations(values, 2))

    @lazy
    def _shares(self) -> frozenset[int]:
        """Percents of an amount that another, or the difference of both, is."""
        return frozenset(percent for a, b in combinations(self._amounts, 2) for percent in _percents(a, b))

    @lazy
    def _later_years(self) -> frozenset[float]:
        spans = [value for each in self._numbers for value in each.values if value < LONGEST_SPAN]
        return frozenset(year + sign * span for year in self._years for span in spans for sign in (1, -1))


def _percents(one: float, other: float) -> Iterator[int]:
    part, whole = sorted((one, other))
    if part > 0:
        yield from (round(100 * part / whole), round(100 * (whole - part) / part), round(100 * (whole - part) / whole))
