"""Dify's conditions on metadata as filters of Braid's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from braid.app.api.framework.requests import Lenient
from braid.core.errors import InvalidInputError
from braid.core.json_form import DATE
from braid.core.metadata.values import read_date

LAST = "\U0010ffff"
"""Behind every text that begins with the text before it."""
MILLISECONDS_FROM = 1e11
"""A number of seconds from here on would be a year behind 5138: it is milliseconds."""
Filter = dict[str, Any]


class ConditionGiven(Lenient):
    """A condition on one field, or on any of several."""

    name: str | list[str] = Field(examples=["year"])
    comparison_operator: str = Field(examples=["≥"])
    value: Any = Field(None, description="A text, a number, or a list; none for `empty` and `not empty`")


class MetadataConditionGiven(Lenient):
    """Conditions of which all must hold, or with `or` one."""

    logical_operator: str | None = None
    conditions: list[ConditionGiven] | None = None


def metadata_filter(given: MetadataConditionGiven | None) -> Filter:
    """Return the filter that the conditions mean; an empty one for none. Raises InvalidInputError."""
    if given is None or not given.conditions:
        return {}
    join = {"": "$and", "and": "$and", "or": "$or"}.get((given.logical_operator or "").strip().lower())
    if join is None:
        raise InvalidInputError(
            f"metadata_condition.logical_operator is {str(given.logical_operator)[:60]!r}; write and, or or",
            field="metadata_condition",
        )
    return {join: [_filter(each, place) for place, each in enumerate(given.conditions)]}


def _filter(condition: ConditionGiven, place: int) -> Filter:
    """Return the filter of a condition. A negation says that none of the names has such a value."""
    names = [condition.name] if isinstance(condition.name, str) else condition.name
    if not names:
        raise _wrong(place, "name", "has no name; give the name of a field")
    operator = condition.comparison_operator.strip().lower()
    operator = ALIASES.get(operator, operator)
    positive = NEGATIONS.get(operator, operator)
    if positive not in MEANINGS:
        raise _wrong(
            place,
            "comparison_operator",
            f"is {condition.comparison_operator[:60]!r}, which Braid does not search by; use one of "
            f"{', '.join([*MEANINGS, *NEGATIONS])}",
        )
    try:
        parts = [MEANINGS[positive](name, condition.value) for name in names]
    except ValueError as error:
        raise _wrong(place, "value", f"is {str(condition.value)[:60]!r} with {operator!r}; {error}") from None
    joined = parts[0] if len(parts) == 1 else {"$or": parts}
    return joined if positive == operator else {"$not": joined}


def _wrong(place: int, part: str, problem: str) -> InvalidInputError:
    return InvalidInputError(f"metadata_condition.conditions.{place}.{part} {problem}", field="metadata_condition")


# ---------------------------------------------------------------- the operators: each raises ValueError for its value


def _contains(name: str, value: object) -> Filter:
    return {name: {"$contains": _text(value)}}


def _starts_with(name: str, value: object) -> Filter:
    text = _text(value)
    return {name: {"$gte": text, "$lt": text + LAST}}


def _is(name: str, value: object) -> Filter:
    return {name: {"$in": _readings(value)}}


def _in(name: str, value: object) -> Filter:
    values = value.split(",") if isinstance(value, str) else value
    if not isinstance(values, list) or not values:
        raise ValueError("give a list, or a text with commas")
    return {name: {"$in": [each for one in values for each in _readings(one.strip() if isinstance(one, str) else one)]}}


def _not_empty(name: str, value: object) -> Filter:
    return {"$and": [{name: {"$exists": True}}, {"$not": {name: ""}}]}


def _number_is(name: str, value: object) -> Filter:
    return {name: _number(value)}


def _compared(operator: str) -> Callable[[str, object], Filter]:
    def compare(name: str, value: object) -> Filter:
        try:
            operand: object = _number(value)
        except ValueError:
            operand = _date(value)
        return {name: {operator: operand}}

    return compare


def _dated(operator: str) -> Callable[[str, object], Filter]:
    return lambda name, value: {name: {operator: _date(value)}}


MEANINGS: Mapping[str, Callable[[str, object], Filter]] = {
    "contains": _contains,
    "start with": _starts_with,
    "is": _is,
    "in": _in,
    "not empty": _not_empty,
    "=": _number_is,
    ">": _compared("$gt"),
    "<": _compared("$lt"),
    "≥": _compared("$gte"),
    "≤": _compared("$lte"),
    "before": _dated("$lt"),
    "after": _dated("$gt"),
}
NEGATIONS: Mapping[str, str] = {
    "not contains": "contains",
    "is not": "is",
    "not in": "in",
    "empty": "not empty",
    "≠": "=",
}
ALIASES: Mapping[str, str] = {
    "null": "empty",
    "not null": "not empty",
    "==": "=",
    "!=": "≠",
    ">=": "≥",
    "<=": "≤",
}
"""Operators of older versions, and how some clients write them."""


# ---------------------------------------------------------------- the values


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        raise ValueError("give a text")
    return str(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("give a number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError("give a number") from None
    if not abs(number) < float("inf"):
        raise ValueError("give a finite number")
    return int(number) if number.is_integer() else number


def _date(value: object) -> Filter:
    """Return a day or moment: in ISO 8601, or in seconds since the epoch, as Dify has them."""
    try:
        seconds = _number(value)
        moment = datetime.fromtimestamp(seconds / 1000 if abs(seconds) >= MILLISECONDS_FROM else seconds, UTC)
        return {DATE: moment.isoformat()}
    except (ValueError, OverflowError, OSError):
        text = value.strip() if isinstance(value, str) else ""
        if read_date(text) is None:
            raise ValueError("give a number, or a date as 2026-01-31") from None
        return {DATE: text}


def _readings(value: object) -> list[Any]:
    """Return all values that a text may mean: Dify sends numbers, dates, true and false as texts, too."""
    if isinstance(value, bool) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return [value]
    text = _text(value)
    found: list[Any] = [text]
    try:
        found.append(_number(text))
    except ValueError:
        found += [{DATE: text}] if read_date(text) is not None else []
    return found + [word == "true" for word in ("true", "false") if text.lower() == word]
