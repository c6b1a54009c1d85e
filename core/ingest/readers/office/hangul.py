"""Hangul documents (hwp) since version 5: a section per heading, with tables, notes and comments.

The records are those of 한글 문서 파일 형식 5.0, revision 1.3, which Hancom has published.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

import olefile  # type: ignore[import-untyped]

from braid.core.ingest.readers.archive import MAX_UNPACKED_FACTOR
from braid.core.ingest.readers.document import (
    STRIKE,
    Outline,
    ParsedDocument,
    SourceFile,
    first_title,
    mark_struck,
    one_line,
)

ERRORS = (OSError, zlib.error, struct.error, ValueError, LookupError, TypeError)

_SECTION = re.compile(r"Section(\d+)")
_OUTLINE = re.compile(r"(?:개요|outline|heading|제목)\s*([1-9])", re.IGNORECASE)
_COMPRESSED, _PASSWORD, _DISTRIBUTED = 1, 2, 4
_LETTERS, _STYLE, _PARAGRAPH, _TEXT, _SHAPES, _CONTROL, _LIST, _MEMOS = 21, 26, 66, 67, 68, 71, 72, 93
_TABLE, _NOTES, _COMMENT, _SKIPPED = b" lbt", (b"  nf", b"  ne"), b"tmct", (b"daeh", b"toof")
_EQUATION, _EQUATION_TEXT, _OVER = b"deqe", 88, b"tudt"
_BLANK = " \t\n\r\f\v\u00a0\u3000"
"""What a paragraph is stripped of; `str.strip` takes `STRIKE` for a space, too."""
_PLACE = "\ufffc"
"""Where an equation, or a text with another one over it (덧말), is in a paragraph."""
_LETTERS_FLAGS, _STRUCK, _UNDERLINE, _THROUGH = 46, 7 << 18, 3 << 2, 2 << 2
"""Where the flags of a kind of letters are; those that tell that they are struck out; those of the kind of underline,
and the kind that goes through the letters.
"""
MAX_INLINE_RECORDS = 2_000
"""Records after a paragraph in which its equations are looked for."""
_SINGLE = {0: "", 10: "\n", 13: "", 24: "-", ord(STRIKE): STRIKE, 30: " ", 31: " "}


class Record(NamedTuple):
    """A record of a stream: its kind, its depth, and its bytes."""

    tag: int
    level: int
    content: bytes


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per paragraph of an outline style, then notes and comments; headers and footers are left out."""
    with olefile.OleFileIO(file.content) as ole:
        flags = struct.unpack_from("<L", ole.openstream("FileHeader").read(), 36)[0]
        if flags & (_PASSWORD | _DISTRIBUTED):
            raise file.unreadable(
                "%(name)s is encrypted with a password; remove the password and add it again", code="encrypted"
            )
        about = list(_records(file, ole, "DocInfo", flags))
        text, struck = _Text(_levels(about)), _struck_letters(about)
        found = ((_SECTION.fullmatch(name[1]), name) for name in ole.listdir() if name[0] == "BodyText")
        for _, name in sorted((int(match[1]), name) for match, name in found if match):
            for record in _with_inline(list(_records(file, ole, "/".join(name), flags)), struck):
                text.take(record)
            text.leave(0)
    text.outline.add_apart("Footnotes", text.notes)
    text.outline.add_apart("Comments", text.comments)
    sections = text.outline.sections()
    return ParsedDocument(first_title(text.outline.first_heading), "hwp", sections)


def _records(file: SourceFile, ole: olefile.OleFileIO, name: str, flags: int) -> Iterator[Record]:
    content = ole.openstream(name).read()
    if flags & _COMPRESSED:
        most = MAX_UNPACKED_FACTOR * file.max_bytes
        unpacking = zlib.decompressobj(-15)
        content = unpacking.decompress(content, most)
        if unpacking.unconsumed_tail:
            raise file.too_large(
                "%(name)s is not unpacked because it unpacks to more than %(most)s bytes; split it into smaller files",
                most=most,
            )
    at = 0
    while at + 4 <= len(content):
        header = struct.unpack_from("<L", content, at)[0]
        size, at = header >> 20, at + 4
        if size == 0xFFF:
            size, at = struct.unpack_from("<L", content, at)[0], at + 4
        yield Record(header & 0x3FF, header >> 10 & 0x3FF, content[at : at + size])
        at += size


def _levels(records: Iterable[Record]) -> list[int]:
    """Return the heading level of each style, 0 for body text."""
    levels = []
    for record in records:
        if record.tag == _STYLE:
            length = struct.unpack_from("<H", record.content)[0]
            match = _OUTLINE.fullmatch(record.content[2 : 2 + 2 * length].decode("utf-16-le", "replace"))
            levels.append(int(match[1]) if match else 0)
    return levels


def _struck_letters(records: Iterable[Record]) -> frozenset[int]:
    """Return the numbers of those kinds of letters that are struck out."""
    kinds = (record.content for record in records if record.tag == _LETTERS)
    flags = (int.from_bytes(content[_LETTERS_FLAGS : _LETTERS_FLAGS + 4], "little") for content in kinds)
    return frozenset(number for number, each in enumerate(flags) if each & _STRUCK or each & _UNDERLINE == _THROUGH)


def _with_strikes(record: Record, shapes: Record | None, struck: frozenset[int]) -> Record:
    """Return the text of a paragraph with a mark where struck out letters begin and end."""
    if shapes is None or shapes.tag != _SHAPES or not struck:
        return record
    pairs = struct.iter_unpack("<LL", shapes.content[: len(shapes.content) // 8 * 8])
    is_struck, parts, start = False, [], 0
    for place, kind in pairs:
        if (kind in struck) != is_struck and 2 * place >= start:
            parts.append(record.content[start : 2 * place])
            is_struck, start = not is_struck, 2 * place
    parts.append(record.content[start:])
    marked = STRIKE.encode("utf-16-le").join(parts)
    return record._replace(content=marked + STRIKE.encode("utf-16-le") * is_struck)


def _with_inline(records: list[Record], struck: frozenset[int]) -> Iterator[Record]:
    """Yield the records, the text of paragraphs with what is in them in records of their own: equations and 덧말."""
    for at, record in enumerate(records):
        if record.tag == _TEXT:
            record = _with_strikes(record, next(iter(records[at + 1 : at + 2]), None), struck)
        if record.tag != _TEXT or not (_EQUATION in record.content or _OVER in record.content):
            yield record
            continue
        found: list[str] = []
        for each in records[at + 1 : at + 1 + MAX_INLINE_RECORDS]:
            if each.level < record.level:
                break
            if each.tag == _EQUATION_TEXT and each.level == record.level + 1:
                found.append(" ".join(_counted(each.content[4:]).replace("`", " ").replace("~", " ").split()))
            elif each.tag == _CONTROL and each.level == record.level and each.content[:4] == _OVER:
                found.append(_counted(each.content[4:]))
        pieces = _characters(record.content).split(_PLACE)
        text = "".join(piece + inline for piece, inline in zip_longest(pieces, found[: len(pieces) - 1], fillvalue=""))
        yield record._replace(content=text.replace("\t", " ").encode("utf-16-le", "replace"))


def _counted(content: bytes) -> str:
    """Return a text that has its length before it."""
    length = int.from_bytes(content[:2], "little")
    return content[2 : 2 + 2 * length].decode("utf-16-le", "replace")


class _Text:
    """The text that is being put together while the records are read."""

    def __init__(self, levels: list[int]) -> None:
        self.outline = Outline()
        self.notes: list[str] = []
        self.comments: list[str] = []
        self._apart = self.notes
        self._levels = levels
        self._style = 0
        self._skipped: int | None = None
        self._table: int | None = None
        self._note: int | None = None
        self._cells: dict[tuple[int, int], list[str]] = {}
        self._cell = (0, 0)

    def take(self, record: Record) -> None:
        """Take the next record."""
        self.leave(record.level)
        if self._skipped is not None:
            return
        if record.tag == _CONTROL:
            self._enter(record)
        elif record.tag == _MEMOS:
            self._note, self._apart = record.level - 1, self.comments
        elif record.tag == _LIST and self._table is not None and record.level == self._table + 1:
            column, row = struct.unpack_from("<HH", record.content, 8)
            self._cell = row, column
        elif record.tag == _PARAGRAPH and len(record.content) > 10:
            self._style = record.content[10]
        elif record.tag == _TEXT:
            self._add(_characters(record.content).replace(_PLACE, ""))

    def leave(self, level: int) -> None:
        """End the table, note or left out part that a record of this level is not in."""
        if self._skipped is not None and level <= self._skipped:
            self._skipped = None
        if self._note is not None and level <= self._note:
            self._note = None
        if self._table is not None and level <= self._table:
            self._table = None
            for number, row in enumerate(sorted({row for row, _ in self._cells})):
                places = sorted(place for place in self._cells if place[0] == row)
                cells = [one_line(" ".join(self._cells[place])) for place in places]
                self.outline.add(" | ".join(cells), tight=number > 0)
            self._cells = {}

    def _enter(self, record: Record) -> None:
        kind = record.content[:4]
        if kind in _SKIPPED:
            self._skipped = record.level
        elif kind in _NOTES or kind == _COMMENT:
            self._note, self._apart = record.level, self.comments if kind == _COMMENT else self.notes
        elif kind == _TABLE and self._table is None:
            self._table = record.level

    def _add(self, text: str) -> None:
        level = self._levels[self._style] if self._style < len(self._levels) else 0
        text = mark_struck(text)
        if self._note is not None:
            self._apart += [text] if text else []
        elif self._table is not None:
            self._cells.setdefault(self._cell, []).append(text)
        elif level and text:
            self.outline.heading(level, text)
        else:
            self.outline.add(text)


def _characters(content: bytes) -> str:
    """Return the text of a paragraph: a control takes the place of eight characters."""
    codes = struct.unpack(f"<{len(content) // 2}H", content[: len(content) // 2 * 2])
    units: list[bytes] = []
    at = 0
    while at < len(codes):
        code = codes[at]
        if code > 31:
            units.append(code.to_bytes(2, "little"))
        else:
            is_single = code in _SINGLE or code > 24
            if content[2 * at + 2 : 2 * at + 6] in (_EQUATION, _OVER) and not is_single:
                units.append(_PLACE.encode("utf-16-le"))
            units.append(("\t" if code == 9 else _SINGLE.get(code, "")).encode("utf-16-le"))
            at += 0 if is_single else 7
        at += 1
    return b"".join(units).decode("utf-16-le", "replace").strip(_BLANK)
