"""Entries of shared_dbs.json: their validation and their text form."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from braid.core.errors import InvalidInputError, RegistryError
from braid.core.metadata.values import shown
from braid.core.types import MAX_NAME_CHARS, MIN_ID, Dataset, plain_number

MAX_FILE_BYTES = 1_000_000
MAX_DESCRIPTION_CHARS = 2_000
MAX_COLLECTION_CHARS = 128  # it names a folder
LINE_PATTERN = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"
"""One line that is not blank; the patterns are in the API's schema, too."""
TEXT_PATTERN = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
COLLECTION_PATTERN = r"^shared_[a-zA-Z0-9._-]*[a-zA-Z0-9]$"


@dataclass(frozen=True, slots=True)
class SharedDataset:
    """An entry of shared_dbs.json. ``allowed_groups`` empty means everyone may read it."""

    id: int
    name: str
    collection_name: str
    description: str = ""
    allowed_groups: tuple[str, ...] = ()
    enabled: bool = True
    embedding_model: str = ""
    """Model of the whole collection; empty means the one in the settings."""


def decode(content: bytes) -> str:
    """Decode a file's bytes. Raises RegistryError when they are not UTF-8."""
    require_size(len(content))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise RegistryError(
            f"line {line}, column {column}: byte {content[error.start]:#04x} is not UTF-8; save it as UTF-8"
        ) from error


def validate(text: str, *, retired_ids: Collection[int] = ()) -> tuple[SharedDataset, ...]:
    """Parse the entries of a text. Raises RegistryError, which names the entry, the field, the value and the remedy.

    ``retired_ids`` are the ids of removed datasets; they are rejected.
    """
    require_size(len(text.encode("utf-8", "surrogatepass")))
    if text.startswith("\ufeff"):
        raise RegistryError("line 1, column 1: there is a byte order mark (BOM); save the file as UTF-8 without it")
    try:
        plain = json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        raise RegistryError(
            f"line {error.lineno}, column {error.colno}: this is not JSON ({error.msg}); fix that place"
        ) from error
    except (ValueError, RecursionError) as error:
        raise RegistryError(f"a number is too long or lists are nested too deeply; write [{_EXAMPLE}]") from error
    try:
        return parse(plain, retired_ids)
    except RegistryError as error:
        if error.entry is None:
            raise
        raise RegistryError(f"line {_line_of(text, error.entry)}: {error}", entry=error.entry) from error


def parse(plain: object, retired_ids: Collection[int] = ()) -> tuple[SharedDataset, ...]:
    """Return the entries of a list of objects. Raises RegistryError as `validate` does."""
    if not isinstance(plain, list):
        raise RegistryError(f"the file holds {_shorten(plain)}; write a list such as [{_EXAMPLE}]")
    entries = tuple(_entry(number, entry) for number, entry in enumerate(plain, start=1))
    _require_new_ids(entries, retired_ids)
    _require_one_meaning_per_collection(entries)
    return entries


def render(entries: Sequence[SharedDataset]) -> str:
    """Write the entries as the text of shared_dbs.json, without values equal to the default."""
    return json.dumps([as_plain(e) for e in entries], ensure_ascii=False, indent=2) + "\n"


def as_plain(entry: SharedDataset) -> dict[str, Any]:
    """Return the entry as in the file, without values equal to the default."""
    return {f.name: value for f in fields(entry) if (value := getattr(entry, f.name)) != f.default}


def with_group_renamed(entry: SharedDataset, name: str, new_name: str) -> SharedDataset:
    """Return the entry with a group under its new name, once, in the place of the old one."""
    groups = dict.fromkeys(new_name if each == name else each for each in entry.allowed_groups)
    return replace(entry, allowed_groups=tuple(groups))


def require_size(size: int) -> None:
    """Raise RegistryError for more than MAX_FILE_BYTES."""
    if size > MAX_FILE_BYTES:
        raise RegistryError(f"the file has more than {MAX_FILE_BYTES} bytes; shorten it")


def _line_of(text: str, number: int) -> int:
    """Return the line at which an entry of valid JSON begins; the first entry is number 1."""
    decoder, at = json.JSONDecoder(), text.index("[") + 1
    for _ in range(number - 1):
        _entry_before, at = decoder.raw_decode(text, _next_value(text, at))
    return text.count("\n", 0, _next_value(text, at)) + 1


def _next_value(text: str, at: int) -> int:
    found = _GAP.match(text, at)
    return found.end() if found else at


def _entry(number: int, plain: object) -> SharedDataset:
    if not isinstance(plain, dict):
        raise RegistryError(f"entry {number} is {_shorten(plain)}; write it as {_EXAMPLE}", entry=number)
    where = f"entry {number} (id {_shorten(plain['id'])})" if "id" in plain else f"entry {number}"
    for key in ("id", "name", "collection_name"):
        if key not in plain:
            raise RegistryError(f"{where}: {key} is missing; write the entry as {_EXAMPLE}", entry=number)
    for key, value in plain.items():
        if key not in _FIELDS:
            raise RegistryError(f"{where}: {_shorten(key)} is not a field; use {', '.join(_FIELDS)}", entry=number)
        allowed, form = _FIELDS[key]
        if not allowed(value):
            raise RegistryError(f"{where}: {key} is {_shorten(value)}; it must be {form}", entry=number)
    return SharedDataset(**{**plain, "allowed_groups": tuple(plain.get("allowed_groups", ()))})


def _require_new_ids(entries: Sequence[SharedDataset], retired_ids: Collection[int]) -> None:
    numbers: dict[int, int] = {}
    for number, entry in enumerate(entries, start=1):
        if entry.id in retired_ids:
            raise RegistryError(
                f"entry {number}: id is {entry.id}, a removed dataset's; give it one that was never used",
                entry=number,
            )
        first = numbers.setdefault(entry.id, number)
        if first != number:
            raise RegistryError(
                f"entry {number}: id is {entry.id}, as in entry {first}; give each entry its own", entry=number
            )


def _require_one_meaning_per_collection(entries: Sequence[SharedDataset]) -> None:
    first_of: dict[str, SharedDataset] = {}
    for number, entry in enumerate(entries, start=1):
        first = first_of.setdefault(entry.collection_name.lower(), entry)
        if first.collection_name != entry.collection_name:
            raise RegistryError(
                f"entry {number} (id {entry.id}): collection_name {entry.collection_name!r} differs from "
                f"{first.collection_name!r} only in upper and lower case, which some file systems do not tell apart; "
                "use one spelling",
                entry=number,
            )
        if first.embedding_model != entry.embedding_model:
            raise RegistryError(
                f"entry {number} (id {entry.id}): embedding_model is {entry.embedding_model!r}, but "
                f"{first.embedding_model!r} in entry (id {first.id}) of the same collection; make them equal "
                "or use another collection_name",
                entry=number,
            )


def _is_id(value: object) -> bool:
    return type(value) is int and MIN_ID <= value <= -1


def _matches(value: object, pattern: str, most: int) -> bool:
    if not isinstance(value, str) or len(value) > most or _SURROGATE.search(value):
        return False
    return re.fullmatch(pattern, value) is not None


def _is_line(value: object) -> bool:
    return _matches(value, LINE_PATTERN, MAX_NAME_CHARS)


_SURROGATE = re.compile(r"[\ud800-\udfff]")
_GAP = re.compile(r"[ \t\r\n,]*")
_EXAMPLE = '{"id": -1, "name": "Handbook", "collection_name": "shared_main_db"}'

_FIELDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "id": (_is_id, f"a whole number from {MIN_ID} to -1"),
    "name": (_is_line, f"one line of 1 to {MAX_NAME_CHARS} characters"),
    "collection_name": (
        lambda value: _matches(value, COLLECTION_PATTERN, MAX_COLLECTION_CHARS),
        f"shared_ and then letters, digits, '.', '_' or '-' of ASCII, a letter or digit last, at most "
        f"{MAX_COLLECTION_CHARS} characters in all",
    ),
    "description": (
        lambda value: _matches(value, TEXT_PATTERN, MAX_DESCRIPTION_CHARS),
        f"text of at most {MAX_DESCRIPTION_CHARS} characters",
    ),
    "allowed_groups": (
        lambda value: isinstance(value, list | tuple) and all(map(_is_line, value)),
        "a list of group names, or [] for everyone",
    ),
    "enabled": (lambda value: isinstance(value, bool), "true or false"),
    "embedding_model": (
        lambda value: _matches(value, TEXT_PATTERN, MAX_NAME_CHARS),
        f"the name of a model, at most {MAX_NAME_CHARS} characters, or empty",
    ),
}
"""The fields: a check of the value, and the same in words."""


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, value in pairs:
        if key in plain:
            raise RegistryError(f"{_shorten(key)} is in one entry twice; keep one")
        plain[key] = value
    return plain


def _shorten(value: object) -> str:
    short = reprlib.Repr()
    short.maxstring = short.maxother = 80
    return short.repr(value)


def id_of(dataset: object) -> int:
    """Return the id of a dataset that is given as such, as an entry of the shared ones, or by its id.

    Raises InvalidInputError for anything else.
    """
    number = dataset.id if isinstance(dataset, Dataset | SharedDataset) else plain_number(dataset)
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    message = f"dataset is {shown(number)}; give a dataset, or its id, a whole number"
    raise InvalidInputError(message, field="dataset")
