"""The directory of a zip archive, checked before `zipfile` loads it: a million entries take 200 MiB of memory.

The records are those of https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3.14 to 4.3.16.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from braid.core.errors import BraidError, Reason

MAX_ENTRIES = 20_000
"""Most entries of a document; large workbooks and books have some hundreds."""
BYTES_PER_ENTRY = 256
"""Most bytes per entry of a directory, on average: 46, and the entry's path. The stated number of entries may be wrong.
"""
ENCRYPTED = 0x1
"""The flag of an entry that has a password."""
_END = struct.Struct("<4s4H2LH")
_END_SIGNATURE = b"PK\x05\x06"
_END64 = struct.Struct("<4sQ2H2L4Q")
_END64_SIGNATURE = b"PK\x06\x06"
_LOCATOR = struct.Struct("<4sLQL")
_LOCATOR_SIGNATURE = b"PK\x06\x07"
_LONGEST_COMMENT = 1 << 16


class TooManyEntriesError(BraidError):
    """The archive contains too many files."""


@dataclass(frozen=True, slots=True)
class _Directory:
    entries: int
    size_bytes: int


def require_few_entries(file: IO[bytes], most: int) -> None:
    """Raise TooManyEntriesError for a directory of more than ``most`` entries. A missing directory is left to
    `zipfile`.
    """
    for directory in _directories(file):
        if directory.entries > most:
            raise TooManyEntriesError(
                Reason(
                    "a zip archive of %(files)s files, more than %(most)s",
                    files=format(directory.entries, ","),
                    most=format(most, ","),
                )
            )
        if directory.size_bytes > most * BYTES_PER_ENTRY:
            raise TooManyEntriesError(
                Reason(
                    "a zip archive whose list of files takes %(size)s bytes, more than %(most)s files need",
                    size=format(directory.size_bytes, ","),
                    most=format(most, ","),
                )
            )


def _directories(file: IO[bytes]) -> Iterator[_Directory]:
    """Yield every possible directory: readers differ in where they look for the record of zip64."""
    size = file.seek(0, 2)
    start = max(0, size - _LONGEST_COMMENT - _END.size)
    tail = _read(file, start, size - start)
    if tail[-_END.size :].startswith(_END_SIGNATURE) and tail.endswith(b"\0\0"):
        at = len(tail) - _END.size
    else:
        at = tail.rfind(_END_SIGNATURE)
    if at < 0 or len(tail) - at < _END.size:
        return
    *_, entries, size_bytes, _offset, _comment = _END.unpack_from(tail, at)
    before = start + at - _LOCATOR.size
    locator = _read(file, before, _LOCATOR.size)
    if not locator.startswith(_LOCATOR_SIGNATURE):
        yield _Directory(entries, size_bytes)
        return
    _, _, named, _ = _LOCATOR.unpack(locator)
    for place in {before - _END64.size, named}:
        yield _directory64(file, place) or _Directory(entries, size_bytes)


def _directory64(file: IO[bytes], place: int) -> _Directory | None:
    record = _read(file, place, _END64.size)
    if len(record) < _END64.size or not record.startswith(_END64_SIGNATURE):
        return None
    *_, entries, size_bytes, _offset = _END64.unpack(record)
    return _Directory(entries, size_bytes)


def _read(file: IO[bytes], place: int, count: int) -> bytes:
    if not 0 <= place < 1 << 62:
        return b""
    file.seek(place)
    return file.read(count)
