"""Filters of the search form: kinds of files, beginning of the source, dates, metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, cast

from flask_babel import lazy_gettext as _l
from werkzeug.datastructures import MultiDict

from braid.app.pages.search.conditions import SHOWN_ROWS, Condition, Keys, read_conditions
from braid.core.errors import InvalidInputError
from braid.core.types import ChunkKind, Filters

KINDS: Mapping[str, tuple[str, frozenset[str]]] = {
    "pdf": ("PDF", frozenset({"pdf"})),
    "word": (_l("Word processing"), frozenset({"docx", "doc", "odt", "hwpx", "hwp", "rtf"})),
    "slides": (_l("Slides"), frozenset({"pptx", "ppt", "odp"})),
    "table": (_l("Tables"), frozenset({"xlsx", "xls", "ods", "csv", "tsv"})),
    "text": (_l("Notes and plain text"), frozenset({"md", "txt", "srt", "vtt"})),
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
        if kind not in KINDS:
            raise InvalidInputError(f"kind is {kind[:40]!r}; choose from {', '.join(KINDS)}", field="file_types")
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
        raise InvalidInputError(f"{field} is {day[:40]!r}; write a day as 2026-01-31", field=field) from None
