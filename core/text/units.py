"""Quantities in texts: one spelling per unit, and values that can be compared across units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from braid.core.text.normalization import normalize

UNITS: Mapping[str, tuple[str, float, float, str]] = {
    # spelling: dimension, factor and offset to the dimension's base unit, other spellings
    "µm": ("length", 1e-6, 0.0, "um μm micron microns micrometer micrometers micrometre micrometres マイクロメートル"),
    "nm": ("length", 1e-9, 0.0, "nanometer nanometers nanometre nanometres ナノメートル 나노미터"),
    "mm": ("length", 1e-3, 0.0, "millimeter millimeters millimetre millimetres ミリメートル 밀리미터"),
    "cm": ("length", 1e-2, 0.0, "centimeter centimeters centimetre centimetres センチメートル センチ 센티미터"),
    "m": ("length", 1.0, 0.0, "meter meters metre metres メートル 미터"),
    "km": ("length", 1e3, 0.0, "kilometer kilometers kilometre kilometres キロメートル 킬로미터"),
    "µg": ("mass", 1e-9, 0.0, "ug μg mcg microgram micrograms マイクログラム"),
    "mg": ("mass", 1e-6, 0.0, "milligram milligrams ミリグラム 밀리그램"),
    "g": ("mass", 1e-3, 0.0, "gram grams グラム 그램"),
    "kg": ("mass", 1.0, 0.0, "kilogram kilograms キログラム 킬로그램"),
    "µL": ("volume", 1e-9, 0.0, "ul μl microliter microliters microlitre microlitres マイクロリットル"),
    "mL": ("volume", 1e-6, 0.0, "ml milliliter milliliters millilitre millilitres cc ミリリットル 밀리리터"),
    "L": ("volume", 1e-3, 0.0, "l liter liters litre litres リットル 리터"),
    "ms": ("time", 1e-3, 0.0, "millisecond milliseconds ミリ秒 밀리초"),
    "s": ("time", 1.0, 0.0, "sec secs second seconds 秒 秒間 초"),
    "min": ("time", 60.0, 0.0, "mins minute minutes 分 分間 분"),
    "h": ("time", 3600.0, 0.0, "hr hrs hour hours 時間 시간"),
    "d": ("time", 86400.0, 0.0, "day days 日間 일간"),
    "°C": ("temperature", 1.0, 273.15, "℃ degc celsius degrees-celsius degree-celsius 度C 섭씨"),
    "°F": ("temperature", 5 / 9, 459.67 * 5 / 9, "℉ degf fahrenheit degrees-fahrenheit"),
    "K": ("temperature", 1.0, 0.0, "kelvin kelvins ケルビン 켈빈"),
    "mM": ("concentration", 1.0, 0.0, "mmol/l millimolar"),
    "µM": ("concentration", 1e-3, 0.0, "um/l μM µmol/l umol/l micromolar"),
    "M": ("concentration", 1e3, 0.0, "mol/l molar"),
    "mg/mL": ("density", 1.0, 0.0, "mg/ml g/l g/L"),
    "µg/mL": ("density", 1e-3, 0.0, "ug/ml μg/ml mg/l mg/L"),
    "Pa": ("pressure", 1.0, 0.0, "pascal pascals パスカル"),
    "kPa": ("pressure", 1e3, 0.0, "kilopascal kilopascals"),
    "MPa": ("pressure", 1e6, 0.0, "megapascal megapascals"),
    "bar": ("pressure", 1e5, 0.0, "bars バール"),
    "atm": ("pressure", 101325.0, 0.0, "atmosphere atmospheres 気圧 기압"),
    "rpm": ("rotation", 1.0, 0.0, "r/min rev/min"),
    "%": ("share", 1.0, 0.0, "percent per-cent パーセント 퍼센트"),
}
"""Units by their usual spelling."""
_CANONICAL = {written: unit for unit, (*_, others) in UNITS.items() for written in (unit, *others.split())}
# Only words are read in any case: mPa is not MPa.
_CANONICAL_LOWER = {name: unit for name, unit in _CANONICAL.items() if len(name) > 2 and name.islower()}


def _alternatives(names: Iterable[str]) -> str:
    longest_first = sorted(names, key=len, reverse=True)
    return "|".join(re.escape(normalize(name)).replace(r"\-", r"[\s-]") for name in longest_first)


_NAMES = _alternatives(_CANONICAL)
_NAMES_IN_ANY_CASE = _alternatives(_CANONICAL_LOWER)
_NUMBER = r"(?<![\w.])[-−]?\d+(?:,\d{3}){0,20}(?:\.\d+)?"
_DECADE = r"(?<=\d\d\d\d)s\b"  # the 1990s
_QUANTITY = re.compile(rf"({_NUMBER})(?!{_DECADE})\s*({_NAMES}|(?i:{_NAMES_IN_ANY_CASE}))(?![A-Za-z0-9/])")
RELATIVE_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit. ``base`` is its value in the dimension's base unit."""

    text: str
    dimension: str
    base: float

    def equals(self, other: Quantity) -> bool:
        """Return whether both are the same amount, whatever their units."""
        near = RELATIVE_TOLERANCE * max(abs(self.base), abs(other.base))
        return self.dimension == other.dimension and abs(self.base - other.base) <= near


def unify_units(text: str) -> str:
    """Write each quantity's unit in one way: ``25 degrees Celsius`` → ``25 °C``."""
    # NFKC turns ℃ into °C and µ into μ.
    return _QUANTITY.sub(lambda match: f"{match[1]} {_unit(match[2])}", normalize(text))


def quantities(text: str) -> list[Quantity]:
    """Return the text's quantities in order."""
    return [_quantity(match) for match in _QUANTITY.finditer(normalize(text))]


def _unit(written: str) -> str:
    joined = re.sub(r"\s", "-", written)
    for name in (written, joined, written.replace("μ", "µ")):
        if name in _CANONICAL:
            return _CANONICAL[name]
    return _CANONICAL_LOWER.get(joined.lower(), written)


def _quantity(match: re.Match[str]) -> Quantity:
    unit = _unit(match[2])
    dimension, factor, offset, _ = UNITS.get(unit, ("", 1.0, 0.0, ""))
    number = float(match[1].replace(",", "").replace("−", "-"))
    return Quantity(f"{match[1]} {unit}", dimension, number * factor + offset)
