"""Conditions on the documents' metadata, as the search form has them: a key, a comparison, and a value as typed.

A value is taken as what the documents have under its key, since nobody who types 2024 into a form knows whether that
is stored as a number or as a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask_babel import lazy_gettext as _l
from werkzeug.datastructures import MultiDict

from braid.core.errors import InvalidInputError
from braid.core.json_form import to_json
from braid.core.metadata.values import Kind, read_date
from braid.core.metadata.where import FACTS
from braid.core.metadata.written import read_value

COMPARISONS: Mapping[str, str] = {
    "is": _l("is"),
    "not": _l("is not"),
    "least": _l("at least"),
    "most": _l("at most"),
    "has": _l("contains"),
    "any": _l("has a value"),
    "none": _l("has no value"),
}
"""The choices between key and value."""
SHOWN_ROWS = 5
"""Rows that the form offers; an address may have more."""
_OPERATORS = {"is": "$eq", "not": "$eq", "least": "$gte", "most": "$lte", "has": "$contains"}
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

Keys = Mapping[str, tuple[Kind, ...]]
"""The keys that there are, with the kinds of their values."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One row of the form. ``kinds`` are those of the key's values in the user's datasets; none for an unknown key."""

    key: str = ""
    comparison: str = "is"
    value: str = ""
    kinds: tuple[Kind, ...] = ()

    def where(self) -> dict[str, Any]:
        """Return the condition as a filter. Raises InvalidInputError for a value that the key cannot have."""
        if self.comparison in ("any", "none"):
            return {self.key: {"$exists": self.comparison == "any"}}
        operator = _OPERATORS[self.comparison]
        parts = [{self.key: {used: value}} for used, value in self._meanings(operator)]
        if not parts:
            message = f"{self.key} is {self.value[:40]!r}; its values are of the kind {' or '.join(self.kinds)}"
            raise InvalidInputError(message, field="metadata")
        where = {"$or": parts} if len(parts) > 1 else parts[0]
        return {"$not": where} if self.comparison == "not" else where

    def _meanings(self, operator: str) -> Iterator[tuple[str, object]]:
        """Yield an operator and its value for each kind that the value may be of."""
        if not self.kinds:
            yield operator, self.value if operator == "$contains" else to_json(read_value(self.value))
        for kind in self.kinds:
            if kind == "text":
                yield operator, self.value
            elif kind == "item":
                if operator in ("$eq", "$contains"):
                    yield "$contains", self.value
            elif operator != "$contains":
                value = _typed(kind, self.value)
                if value is not None and not (isinstance(value, bool) and operator != "$eq"):
                    yield operator, to_json(value)


def read_conditions(args: MultiDict[str, str], keys: Keys) -> tuple[Condition, ...]:
    """Read the rows that have a key. Raises InvalidInputError for an unknown comparison, or a missing value."""
    rows = zip(args.getlist("mkey"), args.getlist("mis"), args.getlist("mvalue"), strict=False)
    found = []
    for key, comparison, value in rows:
        if not key:
            continue
        if comparison not in COMPARISONS:
            message = f"the comparison is {comparison[:40]!r}; choose from {', '.join(COMPARISONS)}"
            raise InvalidInputError(message, field="metadata")
        if not value.strip() and comparison in _OPERATORS:
            raise InvalidInputError(f"{key[:40]!r} has no value to compare with; enter one", field="metadata")
        kinds = keys.get(key) or ((FACTS[key],) if key in FACTS else ())
        found.append(Condition(key, comparison, value.strip(), kinds))
    return tuple(found)


def _typed(kind: Kind, value: str) -> object:
    if kind == "number":
        read = read_value(value)
        return read if isinstance(read, int | float) and not isinstance(read, bool) else None
    if kind == "date":
        return read_date(value)
    return _FLAGS.get(value.lower()) if kind == "flag" else None
