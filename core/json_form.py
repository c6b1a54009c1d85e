"""The JSON form of Braid's values, from which every edge picks what it shows, and the JSON text that is stored."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from braid.core.errors import PART, Reason

DATE = "$date"
"""The key of a day or moment in JSON, which has none: ``{"$date": "2026-01-31"}``."""
REASON = "$reason"
"""The key of a reason's template in stored JSON, beside ``parts``."""
MAX_REASON_CHARS = 20_000
"""A longer reason that was stored, or sent by another process, is cut and has no parts."""
STORED_REASON = f'{{"{REASON}": "'
"""How a reason begins that is stored as text."""

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


def json_line(value: Any) -> bytes:
    """Return a value in its JSON form as one line of a file."""
    return json.dumps(to_json(value), ensure_ascii=False).encode() + b"\n"


def stored_json(value: Any) -> str:
    """Return a JSON value as text in which each `Reason` keeps its template and its parts."""
    return json.dumps(_with_parts(value))


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text with its reasons. Raises ValueError for what is not JSON."""
    return json.loads(text, object_hook=_read_object)


def stored_reason(text: str) -> str:
    """Return a text as a column keeps it: a `Reason` with its template and parts, any other as it is."""
    return stored_json(text) if isinstance(text, Reason) else text


def read_reason(text: str) -> str:
    """Return what `stored_reason` kept."""
    if not text.startswith(STORED_REASON):
        return text
    try:
        return str(read_json(text))
    except ValueError:
        return text


def _with_parts(value: Any) -> Any:
    if isinstance(value, Reason):
        return {REASON: value.template, **({"parts": _with_parts(value.parts)} if value.parts else {})}
    if isinstance(value, Mapping):
        return {key: _with_parts(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_parts(inner) for inner in value]
    return value


def _read_object(value: dict[str, Any]) -> Any:
    template, parts = value.get(REASON), value.get("parts", {})
    if not isinstance(template, str) or not isinstance(parts, dict):
        return value
    if len(template) > MAX_REASON_CHARS:
        return template[:MAX_REASON_CHARS]
    texts, named = {name: str(part) for name, part in parts.items()}, PART.findall(template)
    if any(name not in texts for name in named):
        return value
    if len(template) + sum(len(texts[name]) for name in named) > MAX_REASON_CHARS:
        return template
    return Reason(template, **parts)
