"""Filters as one line of text, for the command line: ``year>=2024``, ``tenant=x``, ``tags~a``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from braid.core.errors import InvalidInputError
from braid.core.json_form import to_json
from braid.core.metadata.values import read_date

OPERATORS = {
    "=": "$eq",
    "!=": "$ne",
    ">=": "$gte",
    "<=": "$lte",
    ">": "$gt",
    "<": "$lt",
    "~": "$contains",
}
HELP = "write year>=2024, tenant=x, tags~a, draft!=true, author (which must be there), !author, or a filter in JSON"
_COMPARISON = re.compile(r"(?P<key>[^\s=!<>~][^=!<>~]*+)(?P<operator>!=|>=|<=|[=<>~])(?P<value>.*)", re.DOTALL)
_KEY = re.compile(r"(?P<absent>!?)\s*+(?P<key>[^\s=!<>~][^=!<>~]*+)")
_NUMBER = re.compile(r"[-+]?\d{1,15}(\.\d+)?([eE][-+]?\d{1,3})?")


def read_written(texts: Iterable[str]) -> dict[str, Any]:
    """Return the filter that these lines mean together; no lines mean none. Raises InvalidInputError.

    A value is a number, true or false, or a date where it looks like one, and a text in double quotes or otherwise.
    """
    filters = [_read(text) for text in texts]
    return filters[0] if len(filters) == 1 else {"$and": filters} if filters else {}


def read_value(text: str) -> str | int | float | bool | date:
    """Return what a value that somebody has typed is."""
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    read = read_date(text) if len(text) >= len("2026-01-31") else None
    return text if read is None else read


def _read(text: str) -> dict[str, Any]:
    text = text.strip()
    if text.startswith("{"):
        return _read_json(text)
    if found := _COMPARISON.fullmatch(text):
        operator = OPERATORS[found["operator"]]
        value = found["value"].strip()
        read = value.strip('"') if operator == "$contains" else to_json(read_value(value))
        return {found["key"].rstrip(): {operator: read}}
    if found := _KEY.fullmatch(text):
        return {found["key"].rstrip(): {"$exists": not found["absent"]}}
    raise InvalidInputError(f"the filter {text[:60]!r} cannot be read; {HELP}", field="filters.metadata")


def _read_json(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"the filter {text[:60]!r} is no JSON ({error}); {HELP}"
        raise InvalidInputError(message, field="filters.metadata") from None
    assert isinstance(read, Mapping), "it begins with a brace"
    return dict(read)
