"""The values of a document's metadata: texts, numbers, true and false, dates, lists of texts.

JSON has no dates: in the ledger, in exports and over HTTP one is ``{"$date": "2026-01-31"}``, or with a time in ISO
8601. Everything that takes metadata takes both forms.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice
from pathlib import PurePath
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

from braid.core.errors import InvalidInputError, Reason
from braid.core.json_form import DATE, to_json

MetadataValue = str | int | float | bool | date | list[str]
Kind = Literal["text", "number", "flag", "date", "item"]
"""The kind of a value in the ledger's table of metadata; a list has a row of kind ``item`` for each text in it."""

RESERVED_KEY = "braid"
"""The key under which LangChain documents carry what Braid itself knows of a passage."""
MAX_KEYS = 200
MAX_KEY_CHARS = 100
MAX_TEXT_CHARS = 100_000
MAX_ITEMS = 1_000
COMPARED_CHARS = 500
"""Characters of a text that filters compare."""
MAX_WHOLE_NUMBER = 2**53
"""Largest whole number that a float holds exactly, as JSON and the ledger's index have numbers."""
_REPR = reprlib.Repr()
_REPR.maxlong = _REPR.maxother = 60
KINDS = "a text, a number, true or false, a date, or a list of texts"


class _JsonForm:
    """Makes pydantic write metadata as JSON has it, and read it back with its types."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        written = core_schema.plain_serializer_function_ser_schema(to_json)
        return core_schema.no_info_plain_validator_function(read_metadata, serialization=written)


Metadata = Annotated[Mapping[str, MetadataValue], _JsonForm()]


class ValueRow(NamedTuple):
    """A value, or one text of a list, as the ledger's index has it."""

    key: str
    position: int
    """0, or the place in a list."""
    kind: Kind
    text: str | None
    number: float | None


def clean_metadata(given: object, *, field: str = "metadata") -> dict[str, Any]:
    """Return metadata in its JSON form. A key whose value is None is left out: it has none.

    Each value is taken as its `scalar`. Raises InvalidInputError, with the field ``metadata.KEY``, for a key or a value
    that cannot be stored.
    """
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{field} is {shown(given)}; give an object of keys and values", field=field)
    if len(given) > MAX_KEYS:
        raise InvalidInputError(f"{field} has {len(given)} keys; at most {MAX_KEYS} are kept", field=field)
    found = {}
    for key, value in given.items():
        if value is not None:
            found[require_key(key, field=field)] = _json_value(value, f"{field}.{key}")
    return found


def loaded_metadata(given: Mapping[Any, Any], *, field: str = "metadata") -> tuple[dict[str, Any], list[str]]:
    """Return a loader's metadata in its JSON form, and why each key that cannot be stored was left out."""
    kept: dict[str, Any] = {}
    left_out: list[str] = []
    for key, value in islice(given.items(), MAX_KEYS):
        try:
            kept |= clean_metadata({key: value}, field=field)
        except InvalidInputError as error:
            left_out.append(f"{error}")
    if len(given) > MAX_KEYS:
        left_out.append(f"{field} has {len(given)} keys; the first {MAX_KEYS} are kept")
    return kept, left_out


def scalar(value: object) -> object:
    """Return a scalar of numpy, a Decimal, a UUID, a path or a member of an enumeration as a number, a text or a date,
    and anything else as it is.
    """
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, UUID | PurePath):
        return str(value)
    if type(value).__module__ != "numpy" or not hasattr(value, "item") or getattr(value, "ndim", None) != 0:
        return value
    if getattr(getattr(value, "dtype", None), "kind", "") == "M":  # in nanoseconds its item is a number
        value = value.astype("datetime64[us]") if isinstance(value.item(), int) else value  # type: ignore[attr-defined]
    return value.item()


def plain(value: object) -> object:
    """Return a filter that has been parsed with `scalar` of each value in it."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else scalar(value)


def kept_metadata(read: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says of itself without the keys that cannot be stored, each text cut to what can be."""
    kept = {}
    for key, value in read.items():
        with suppress(InvalidInputError):
            kept[require_key(key, field="metadata")] = value[:MAX_TEXT_CHARS] if isinstance(value, str) else value
    return dict(islice(kept.items(), MAX_KEYS))


def read_metadata(stored: Mapping[str, Any]) -> dict[str, MetadataValue]:
    """Return metadata in its JSON form as Python values."""
    return {key: _read_date(value) if isinstance(value, Mapping) else value for key, value in stored.items()}


def index_rows(stored: Mapping[str, Any]) -> list[ValueRow]:
    """Return the rows of the ledger's index for metadata in its JSON form."""
    rows: list[ValueRow] = []
    for key, value in stored.items():
        if len(key) > MAX_KEY_CHARS:  # stored by an earlier version
            continue
        if isinstance(value, bool):
            rows.append(ValueRow(key, 0, "flag", None, float(value)))
        elif isinstance(value, int | float):
            rows.append(ValueRow(key, 0, "number", None, float(value)))
        elif isinstance(value, Mapping):
            rows.append(ValueRow(key, 0, "date", None, seconds(_read_date(value))))
        elif isinstance(value, list):
            rows += [ValueRow(key, place, "item", _compared(each), None) for place, each in enumerate(value)]
            rows += [] if value else [ValueRow(key, 0, "item", None, None)]
        else:
            rows.append(ValueRow(key, 0, "text", _compared(str(value)), None))
    return rows


def require_key(key: object, *, field: str) -> str:
    """Return the key of a value. Raises InvalidInputError for one that cannot be stored."""
    key = storable(key) if isinstance(key, str) else key
    if not isinstance(key, str) or not key.strip() or len(key) > MAX_KEY_CHARS:
        problem = f"has the key {shown(key)}; a key is a text of 1 to {MAX_KEY_CHARS} characters"
    elif key.startswith("$"):
        problem = f"has the key {key!r}; keys that begin with $ are operators of filters, so choose another name"
    elif key == RESERVED_KEY:
        problem = f"has the key {key!r}, under which Braid's own facts stand; choose another name"
    else:
        return key
    raise InvalidInputError(f"{field} {problem}", field=field)


def read_date(text: str) -> date | None:
    """Return a day or moment in ISO 8601; None for another text."""
    try:
        return date.fromisoformat(text) if len(text) <= len("2026-01-31") else datetime.fromisoformat(text)
    except ValueError:
        return None


def seconds(moment: date) -> float:
    """Return the seconds since the epoch of a moment, or of the beginning of a day; in UTC where no offset is given."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)


def storable(text: str) -> str:
    """Make the text one that every database can store: no NUL, no lone surrogates. A `Reason` keeps its parts."""
    if isinstance(text, Reason):
        return Reason(text.template, **{name: storable(part) for name, part in text.parts.items()})
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def _json_value(value: object, place: str) -> Any:
    value = scalar(value)
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, int | float):
        return _number(value, place)
    if isinstance(value, str):
        return _text(value, place)
    if isinstance(value, date):
        return to_json(value)
    if isinstance(value, Mapping) and value.keys() == {DATE} and isinstance(value[DATE], str):
        if read_date(value[DATE]) is None:
            raise _wrong(value[DATE], place, "write a date as 2026-01-31 or 2026-01-31T12:00:00+09:00")
        return dict(value)
    if isinstance(value, list | tuple | set | frozenset):
        return _items(value, place)
    raise _wrong(value, place, f"a value is {KINDS}")


def _number(value: float, place: str) -> int | float:
    if isinstance(value, int) and abs(value) > MAX_WHOLE_NUMBER:
        raise _wrong(value, place, "a whole number has at most 15 digits, so store this one as a text")
    if not math.isfinite(value):
        raise _wrong(value, place, "a number is finite, so leave this one out")
    return int(value) if isinstance(value, int) else float(value)


def _text(value: str, place: str) -> str:
    if len(value) > MAX_TEXT_CHARS:
        raise _wrong(value, place, f"it has {len(value):,} characters and {MAX_TEXT_CHARS:,} are allowed")
    return storable(value)


def _items(given: list[Any] | tuple[Any, ...] | set[Any] | frozenset[Any], place: str) -> list[str]:
    if len(given) > MAX_ITEMS:
        raise InvalidInputError(f"{place} has {len(given):,} texts; at most {MAX_ITEMS:,} are kept", field=place)
    texts = [scalar(each) for each in given]
    for each in texts:
        if not isinstance(each, str):
            raise _wrong(each, place, "a list has texts alone, so make it one")
    return [
        _text(str(each), place) for each in (sorted(map(str, texts)) if isinstance(given, set | frozenset) else texts)
    ]


def _read_date(value: Mapping[str, Any]) -> date:
    read = read_date(str(value.get(DATE, "")))
    assert read is not None, "clean_metadata has checked it"
    return read


def _compared(text: str) -> str:
    """Cut a long text for the index, so that it equals no text that a filter may have and is in order beside it."""
    return text if len(text) <= COMPARED_CHARS else f"{text[:COMPARED_CHARS]}…"


def _wrong(value: object, place: str, remedy: str) -> InvalidInputError:
    return InvalidInputError(f"{place} is {shown(value)}; {remedy}", field=place)


def shown(value: object) -> str:
    """Return a value for a message, cut to 60 characters."""
    shown = repr(value[:60]) if isinstance(value, str) else _REPR.repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
