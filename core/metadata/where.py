"""Filters on metadata as people write them, and the conditions that they mean.

A filter is an object: ``{"tenant": "x", "year": {"$gte": 2024}, "tags": {"$contains": "a"}}``. All of its parts must
hold. Values are compared with their type: the text "2024" is not the number 2024, and neither is greater. What a
negation (``$ne``, ``$nin``, ``$not``, ``$exists: false``) selects includes documents without such a key.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Literal

from braid.core.errors import InvalidInputError
from braid.core.json_form import DATE
from braid.core.metadata.values import (
    COMPARED_CHARS,
    MAX_KEY_CHARS,
    MAX_WHOLE_NUMBER,
    Kind,
    read_date,
    scalar,
    seconds,
    shown,
    storable,
)

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$contains", "$exists", "$not")
JOINS = ("$and", "$or", "$not")
MAX_CONDITIONS = 100
MAX_DEPTH = 8
MAX_VALUES = 1_000
DAY_S = 86_400
_LOWEST, _HIGHEST = -sys.float_info.max, sys.float_info.max
FIELD = "filters.metadata"

DOCUMENT_FACTS: Mapping[str, Kind] = {
    "file_type": "text",
    "source": "text",
    "title": "text",
    "date": "date",
    "document_id": "number",
    "dataset_id": "number",
    "user_id": "number",
    "collection": "text",
}
"""What Braid itself knows of a document: a filter finds it where the document has no value of its own under the key."""
PASSAGE_FACTS: Mapping[str, Kind] = {
    "id": "text",
    "chunk_id": "text",
    "page": "number",
    "page_end": "number",
    "line": "number",
    "line_end": "number",
    "position": "number",
    "heading_path": "text",
    "chunk_kind": "text",
    "confidence": "number",
}
"""What Braid itself knows of a passage. A filter with such a key selects passages, any other one whole documents."""
FACTS: Mapping[str, Kind] = {**DOCUMENT_FACTS, **PASSAGE_FACTS}
_SHOWN_KINDS: Mapping[Kind, str] = {
    "text": 'a text, such as "a"',
    "number": "a number, such as 3",
    "flag": "true or false",
    "date": 'a date, such as {"$date": "2026-01-31"}',
}

Test = Literal["any", "between", "equal", "greater", "at_least", "less", "at_most", "part", "one_of"]


@dataclass(frozen=True, slots=True)
class Condition:
    """Says that a document has a value of this kind under the key, for which the test holds.

    ``any`` needs no value and no kind; ``between`` has the lowest and the highest number, ``one_of`` any number of
    texts, the other tests one text.
    """

    key: str
    test: Test
    kind: Kind | None = None
    values: tuple[str, ...] | tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part holds."""

    parts: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Where


Where = Condition | All | Either | Not
Value = str | bool | int | float | date


def conditions_of(where: Where | None) -> Iterator[Condition]:
    """Yield the conditions of which a filter is made."""
    if isinstance(where, Condition):
        yield where
    elif where is not None:
        for part in (where.part,) if isinstance(where, Not) else where.parts:
            yield from conditions_of(part)


def vain_keys(where: Where | None, *, whole_documents: bool) -> dict[str, str]:
    """Return the keys of Braid's own facts by which a filter can select nothing: those that are only compared with what
    they never are, each with what to write instead. With ``whole_documents``, facts of passages are among them.
    """
    kinds: dict[str, set[Kind | None]] = {}
    for condition in conditions_of(where):
        if condition.key in FACTS and condition.kind != "item":
            kinds.setdefault(condition.key, set()).add(condition.kind)
    known = ", ".join(DOCUMENT_FACTS)
    found = {}
    for key, asked in kinds.items():
        if whole_documents and key in PASSAGE_FACTS:
            found[key] = (
                f"{key!r} is a passage's, and this is about whole documents; filter by keys that documents were stored "
                f"with, or by {known}"
            )
        elif not asked & {None, FACTS[key]}:
            compared = next(kind for kind in _SHOWN_KINDS if kind in asked)
            found[key] = f"{key!r} is compared with {_SHOWN_KINDS[compared]}; give {_SHOWN_KINDS[FACTS[key]]}"
    return found


def parse_where(given: object) -> Where | None:
    """Return what a filter means; None for an empty one.

    Raises InvalidInputError for an unknown operator, a value that the operator cannot compare, and a filter that is
    nested more than 8 deep or has more than 100 conditions.
    """
    if isinstance(given, Mapping) and not given:
        return None
    where = _filter(given, depth=1)
    if (count := _size(where)) > MAX_CONDITIONS:
        raise _wrong(f"the filter has {count} conditions; at most {MAX_CONDITIONS} are allowed, so use $in or fewer")
    return where


def _size(where: Where) -> int:
    if isinstance(where, Condition):
        return 1
    if isinstance(where, Not):
        return _size(where.part)
    return sum(map(_size, where.parts))


def _filter(given: object, *, depth: int) -> Where:
    if depth > MAX_DEPTH:
        raise _wrong(f"the filter is nested more than {MAX_DEPTH} deep; write it flatter")
    if not isinstance(given, Mapping):
        raise _wrong(f'{shown(given)} is no filter; write it as {{"key": value}}')
    if not given:
        raise _wrong("a part of the filter is empty; leave it out")
    return _all([_part(key, value, depth) for key, value in given.items()])


def _part(key: object, value: object, depth: int) -> Where:
    if key == "$not":
        return Not(_filter(value, depth=depth + 1))
    if key in ("$and", "$or"):
        if not isinstance(value, list | tuple) or not value:
            raise _wrong(f"{key} has {shown(value)}; give it a list of filters")
        parts = [_filter(each, depth=depth + 1) for each in value]
        return _all(parts) if key == "$and" else _any(parts)
    if not isinstance(key, str) or not key or len(key) > MAX_KEY_CHARS:
        raise _wrong(f"{shown(key)} is no key; a key is a text of 1 to {MAX_KEY_CHARS} characters")
    if key.startswith("$"):
        raise _wrong(f"{key} is no operator that joins filters; those are {', '.join(JOINS)}")
    return _of_key(storable(key), value, depth)


def _of_key(key: str, value: object, depth: int) -> Where:
    if not isinstance(value, Mapping) or value.keys() == {DATE}:
        return _equal(key, value, "$eq")
    if not value:
        raise _wrong(f"the filter of {key!r} is empty; give it a value or an operator")
    if depth >= MAX_DEPTH:
        raise _wrong(f"the filter is nested more than {MAX_DEPTH} deep; write it flatter")
    parts: list[Where] = []
    for operator, operand in value.items():
        if operator == "$not":
            parts.append(Not(_of_key(key, operand, depth + 1)))
        elif operator in _MEANINGS:
            parts.append(_MEANINGS[operator](key, operand))
        else:
            raise _wrong(f"{shown(operator)} is no operator of {key!r}; the operators are {', '.join(OPERATORS)}")
    return _all(parts)


# ---------------------------------------------------------------- the operators


def _equal(key: str, given: object, operator: str) -> Where:
    value = _value(key, given, operator)
    if isinstance(value, str):
        return Condition(key, "equal", "text", (value,))
    return _between(key, value, *_span(value))


def _one_of(key: str, given: object) -> Where:
    if not isinstance(given, list | tuple) or not given:
        raise _wrong(f"$in of {key!r} has {shown(given)}; give it a list of values")
    if len(given) > MAX_VALUES:
        raise _wrong(f"$in of {key!r} has {len(given):,} values; at most {MAX_VALUES:,} are allowed")
    values = [_value(key, each, "$in") for each in given]
    texts = tuple(dict.fromkeys(value for value in values if isinstance(value, str)))
    numbers = tuple(
        dict.fromkeys(
            float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)
        )
    )
    others = [value for value in values if isinstance(value, bool | date)]
    parts: list[Where] = [_between(key, value, *_span(value)) for value in dict.fromkeys(others)]
    parts += [Condition(key, "one_of", "text", texts)] if texts else []
    parts += [Condition(key, "one_of", "number", numbers)] if numbers else []
    return _any(parts)


def _not(meaning: Callable[[str, object], Where], key: str, given: object) -> Where:
    return Not(meaning(key, given))


def _compare(operator: str, key: str, given: object) -> Where:
    """Compare in order. A day is all of it: later than a day is after its end, until a day is until its end."""
    value = _value(key, given, operator)
    if isinstance(value, str):
        tests: Mapping[str, Test] = {"$gt": "greater", "$gte": "at_least", "$lt": "less", "$lte": "at_most"}
        return Condition(key, tests[operator], "text", (value,))
    if isinstance(value, bool):
        raise _wrong(f"{operator} of {key!r} has {value}; true and false have no order, so use $eq")
    begin, end = _span(value)
    low, high = {
        "$gt": (math.nextafter(end, math.inf), _HIGHEST),
        "$gte": (begin, _HIGHEST),
        "$lt": (_LOWEST, math.nextafter(begin, -math.inf)),
        "$lte": (_LOWEST, end),
    }[operator]
    return _between(key, value, low, high)


def _contains(key: str, given: object) -> Where:
    """A list contains its texts, and a text its parts."""
    value = _value(key, given, "$contains")
    if not isinstance(value, str) or not value:
        raise _wrong(f"$contains of {key!r} has {shown(given)}; give it a text that is not empty")
    return Either((Condition(key, "equal", "item", (value,)), Condition(key, "part", "text", (value,))))


def _exists(key: str, given: object) -> Where:
    given = scalar(given)
    if not isinstance(given, bool):
        raise _wrong(f"$exists of {key!r} has {shown(given)}; give it true or false")
    return Condition(key, "any") if given else Not(Condition(key, "any"))


_MEANINGS: Mapping[str, Callable[[str, object], Where]] = {
    "$eq": partial(_equal, operator="$eq"),
    "$ne": partial(_not, partial(_equal, operator="$ne")),
    "$in": _one_of,
    "$nin": partial(_not, _one_of),
    "$contains": _contains,
    "$exists": _exists,
    **{operator: partial(_compare, operator) for operator in ("$gt", "$gte", "$lt", "$lte")},
}


# ---------------------------------------------------------------- values


def _value(key: str, given: object, operator: str) -> Value:
    given = scalar(given)
    if isinstance(given, Mapping) and given.keys() == {DATE}:
        read = read_date(given[DATE]) if isinstance(given[DATE], str) else None
        if read is None:
            raise _wrong(f"{operator} of {key!r} has {shown(given[DATE])}; write a date as 2026-01-31")
        return read
    if isinstance(given, str):
        if len(given) > COMPARED_CHARS:
            raise _wrong(
                f"{operator} of {key!r} has a text of {len(given):,} characters; at most {COMPARED_CHARS} are compared"
            )
        return storable(given)
    if isinstance(given, list | tuple | set | frozenset):
        raise _wrong(
            f"{operator} of {key!r} has {shown(given)}; use $in for one of several values, $contains for a list"
        )
    if isinstance(given, bool | date):
        return given
    if isinstance(given, int) and abs(given) > MAX_WHOLE_NUMBER:
        raise _wrong(f"{operator} of {key!r} has {shown(given)}; a whole number has at most 15 digits")
    if isinstance(given, int | float) and math.isfinite(given):
        return given
    raise _wrong(f"{operator} of {key!r} has {shown(given)}; give it a text, a number, true or false, or a date")


def _span(value: bool | int | float | date) -> tuple[float, float]:
    """Return the lowest and the highest number that equal the value; a day has many, in seconds."""
    if isinstance(value, datetime):
        return seconds(value), seconds(value)
    if isinstance(value, date):
        return seconds(value), math.nextafter(seconds(value) + DAY_S, -math.inf)
    return float(value), float(value)


def _between(key: str, value: bool | int | float | date, low: float, high: float) -> Condition:
    kind: Kind = "flag" if isinstance(value, bool) else "date" if isinstance(value, date) else "number"
    return Condition(key, "between", kind, (low, high))


def _all(parts: Sequence[Where]) -> Where:
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _any(parts: Sequence[Where]) -> Where:
    return parts[0] if len(parts) == 1 else Either(tuple(parts))


def _wrong(message: str) -> InvalidInputError:
    return InvalidInputError(message, field=FIELD)
