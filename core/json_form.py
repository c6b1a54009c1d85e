"""The JSON form of Braid's values, from which every edge picks what it shows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

DATE = "$date"
"""The key of a day or moment in JSON, which has none: ``{"$date": "2026-01-31"}``."""


_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""An escape in a JSON text; its group is half of a surrogate pair without the other half."""


def without_half_pairs(text: bytes) -> bytes:
    """Return a JSON text with U+FFFD for each half of a surrogate pair, which JSON allows and parsers refuse."""
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], text) if b"\\u" in text else text


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
