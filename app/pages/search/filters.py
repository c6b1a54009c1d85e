"""Filters of the search form: kinds of files, beginning of the source, dates, and conditions on metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, cast

from flask_babel import lazy_gettext as _l
from werkzeug.datastructures import MultiDict

from braid.core.errors import InvalidInputError, Reason
from braid.core.json_form import to_json
from braid.core.metadata.values import Kind, read_date
from braid.core.metadata.where import FACTS
from braid.core.metadata.written import read_value
from braid.core.options import require_choice
from braid.core.types import ChunkKind, Filters

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
    """One row of the form: a key, a comparison, and a value as typed.

    The value is taken as what the documents have under the key, since nobody who types 2024 knows whether that is
    stored as a number or as a text. ``kinds`` are those of the key's values in the user's datasets; none for an unknown
    key.
    """

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
        require_choice("comparison", comparison, COMPARISONS, field="metadata")
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


KINDS: Mapping[str, tuple[str, frozenset[str]]] = {
    "pdf": ("PDF", frozenset({"pdf"})),
    "word": (_l("Word processing"), frozenset({"docx", "doc", "odt", "hwpx", "hwp", "rtf"})),
    "slides": (_l("Slides"), frozenset({"pptx", "ppt", "odp"})),
    "table": (_l("Tables"), frozenset({"xlsx", "xls", "ods", "csv", "tsv"})),
    "text": (_l("Notes and plain text"), frozenset({"md", "txt", "srt", "vtt", "smi"})),
    "web": (_l("Web pages"), frozenset({"html"})),
    "mail": (_l("Mail"), frozenset({"eml", "msg"})),
    "book": (_l("E-books"), frozenset({"epub"})),
    "data": (_l("Data and settings"), frozenset({"json", "jsonl", "yaml", "toml", "ini"})),
    "code": (
        _l("Source code"),
        frozenset({"py", "js", "ts", "tsx", "java", "go", "rs", "c", "cpp", "sh", "sql", "ipynb"}),
    ),
}
"""Checkboxes of the form: name and file types per kind."""
PARTS: Mapping[ChunkKind, str] = {
    "function": _l("Functions"),
    "class": _l("Classes"),
    "method": _l("Methods of classes"),
    "module": _l("Other code"),
}
"""Checkboxes of the form: name per part of a program."""


@dataclass(frozen=True, slots=True)
class ChosenFilters:
    """Chosen filters. Days are as typed, ``YYYY-MM-DD``, in the server's time zone."""

    kinds: tuple[str, ...] = ()
    source_prefix: str = ""
    first_day: str = ""
    last_day: str = ""
    conditions: tuple[Condition, ...] = ()
    parts: tuple[ChunkKind, ...] = ()

    def __bool__(self) -> bool:
        return self != ChosenFilters()

    @property
    def rows(self) -> tuple[Condition, ...]:
        """The conditions, and an empty one while there may be another."""
        return self.conditions if len(self.conditions) >= SHOWN_ROWS else (*self.conditions, Condition())

    def filters(self) -> Filters:
        """Return the filters for the search. Raises InvalidInputError if the first day is after the last one."""
        return Filters(
            file_types=frozenset().union(*(KINDS[kind][1] for kind in self.kinds)),
            source_prefix=self.source_prefix,
            date_from=_moment("date_from", self.first_day, time.min),
            date_to=_moment("date_to", self.last_day, time.max),
            metadata=self._metadata(),
            chunk_kinds=frozenset(self.parts),
        )

    def _metadata(self) -> dict[str, Any]:
        parts = [condition.where() for condition in self.conditions]
        return {"$and": parts} if len(parts) > 1 else parts[0] if parts else {}

    def query_arguments(self) -> dict[str, str | list[str]]:
        """Return query arguments for the same filters."""
        carried: dict[str, str | list[str]] = {}
        if self.kinds:
            carried["kind"] = list(self.kinds)
        if self.parts:
            carried["part"] = list(self.parts)
        texts = {"source": self.source_prefix, "from": self.first_day, "to": self.last_day}
        if self.conditions:
            carried["mkey"] = [condition.key for condition in self.conditions]
            carried["mis"] = [condition.comparison for condition in self.conditions]
            carried["mvalue"] = [condition.value for condition in self.conditions]
        return carried | {name: value for name, value in texts.items() if value}


def read_filters(args: MultiDict[str, str], keys: Callable[[], Keys]) -> ChosenFilters:
    """Read the filters from a request's arguments; ``keys`` are asked where one is on metadata.

    Raises InvalidInputError with the field's name.
    """
    kinds = tuple(dict.fromkeys(args.getlist("kind")))
    for kind in kinds:
        require_choice("kind", kind, KINDS, field="file_types")
    parts = cast(tuple[ChunkKind, ...], tuple(dict.fromkeys(args.getlist("part"))))  # checked by the filters
    conditions = read_conditions(args, keys()) if any(args.getlist("mkey")) else ()
    source = args.get("source", "").strip()
    chosen = ChosenFilters(kinds, source, args.get("from", ""), args.get("to", ""), conditions, parts)
    chosen.filters()
    return chosen


def _moment(field: str, day: str, at: time) -> float | None:
    if not day:
        return None
    try:
        return datetime.combine(date.fromisoformat(day), at).timestamp()
    except (ValueError, OverflowError, OSError):
        why = Reason("%(field)s is %(given)s; write a day as 2026-01-31", field=field, given=repr(day[:40]))
        raise InvalidInputError(why, field=field) from None
