"""The JSON form of Braid's values, from which every edge picks what it shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date
from typing import Any

DATE = "$date"
"""The key of a day or moment in JSON, which has none: ``{"$date": "2026-01-31"}``."""


def to_json(value: Any) -> Any:
    """Return a value as JSON has it: dataclasses as objects, collections as lists, sets sorted, dates under `DATE`.

    Other values, such as texts and numbers, stay as they are.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, date):
        return {DATE: value.isoformat()}
    if isinstance(value, Mapping):
        return {str(key): to_json(inner) for key, inner in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(to_json(inner) for inner in value)
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    return value


def pick(form: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the named fields of an object. Raises KeyError when it lacks one."""
    return {name: form[name] for name in names}
