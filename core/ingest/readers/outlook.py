"""Outlook messages (msg): the header lines and the body, then each attachment that can be read.

The streams are those of [MS-OXMSG]; the compressed body is that of [MS-OXRTFCP].
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import olefile  # type: ignore[import-untyped]
from lxml import etree

from braid.core.errors import Reason
from braid.core.ingest.readers.document import Outline, ParsedDocument, Section, SourceFile, join_path
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.html import add_html, parse_html
from braid.core.ingest.readers.mail import ENCRYPTED, MAX_ATTACHMENTS, attached
from braid.core.ingest.readers.office.rtf import read as read_rtf
from braid.core.metadata.gaps import ATTACHMENTS_UNREAD

ERRORS = (etree.LxmlError, OSError, struct.error, ArithmeticError, ValueError, LookupError, TypeError)

MAX_STREAMS = 20_000
MAX_BODY_BYTES = 50_000_000
_MAX_DEPTH = 5
_SUBJECT, _FROM, _TO, _CC = "0037", "0C1A", "0E04", "0E03"
_SENDER_ADDRESSES, _ADDRESSES, _SHOWN = ("5D01", "0C1F"), ("39FE", "3003"), "3001"
"""Where addresses are, of the sender and of each recipient, which may be those of Exchange; and a recipient's name."""
_KIND, _BY_TO, _BY_CC = 0x0C150003, 1, 2
_CLASS, _SEALED_CLASS = "001A", "IPM.NOTE.SMIME"
_BODY, _HTML, _RTF = "1000", "1013", "1009"
_LONG_NAME, _NAME, _DATA = "3707", "3704", "3701"
_SUBMITTED, _DELIVERED = 0x00390040, 0x0E060040
_DICTIONARY = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n"
    b"\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)


@dataclass(frozen=True, slots=True)
class _Message:
    """A message in the file: the folder of its streams."""

    ole: olefile.OleFileIO
    names: frozenset[tuple[str, ...]]
    folder: tuple[str, ...] = ()

    def text(self, tag: str) -> str:
        """Return a property that is a text; empty when it is missing."""
        wide, narrow = (self.content(tag, kind) for kind in ("001F", "001E"))
        return wide.decode("utf-16-le", "replace").rstrip("\0") if wide else decode(narrow).rstrip("\0")

    def content(self, tag: str, kind: str = "0102") -> bytes:
        """Return the bytes of a property."""
        name = (*self.folder, f"__substg1.0_{tag}{kind}")
        return self.ole.openstream(list(name)).read() if name in self.names else b""

    def within(self, *folder: str) -> _Message:
        """Return what is in a folder of the message: an attachment, or a message that is attached."""
        return _Message(self.ole, self.names, (*self.folder, *folder))

    def parts(self, kind: str) -> list[_Message]:
        """Return the folders of one kind in order: ``attach`` or ``recip``."""
        depth = len(self.folder)
        found = {name[depth] for name in self.names if len(name) > depth + 1 and name[:depth] == self.folder}
        return [self.within(name) for name in sorted(found) if name.startswith(f"__{kind}_version1.0_")]

    def address(self, tags: Iterable[str]) -> str:
        """Return the first of these properties that is an address of the internet."""
        return next((text for text in map(self.text, tags) if "@" in text), "")

    @property
    def kind(self) -> int:
        """How a recipient is written to: `_BY_TO` or `_BY_CC`; 0 where that is not said."""
        return self._numbers(8).get(_KIND, 0) & 0xF

    def _numbers(self, start: int) -> dict[int, int]:
        """Return the properties that are numbers, which are behind so many bytes of a head."""
        name = (*self.folder, "__properties_version1.0")
        content = self.ole.openstream(list(name)).read() if name in self.names else b""
        entries = (content[at : at + 16] for at in range(start, len(content) - 15, 16))
        return {tag: value for tag, _, value in map(struct.Struct("<LLQ").unpack, entries)}

    @property
    def date(self) -> str:
        """When the message was sent, as UTC."""
        dates = self._numbers(24 if self.folder else 32)
        ticks = dates.get(_SUBMITTED) or dates.get(_DELIVERED) or 0
        return (
            f"{datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10):%Y-%m-%d %H:%M} UTC"
            if ticks
            else ""
        )


def read(file: SourceFile) -> ParsedDocument:
    """Return the body, and the attachments under their file names; unreadable ones are named in the metadata."""
    with olefile.OleFileIO(file.content) as ole:
        names = frozenset(tuple(name) for name in ole.listdir(streams=True, storages=False))
        if len(names) > MAX_STREAMS:
            raise file.too_large(
                "%(name)s has more than %(most)s parts; save the mails in it one by one", most=MAX_STREAMS
            )
        message = _Message(ole, names)
        attachments: list[str] = []
        problems: list[str] = []
        sections = tuple(_sections(file, message, "", attachments, problems))
        metadata = {name.lower(): value for name, value in _header(message)}
        metadata |= {"attachments": ", ".join(attachments), ATTACHMENTS_UNREAD: "; ".join(problems)}
        return ParsedDocument(message.text(_SUBJECT), "msg", sections, metadata)


def _header(message: _Message) -> list[tuple[str, str]]:
    known = [(each.kind, each.text(_SHOWN).strip(), each.address(_ADDRESSES)) for each in message.parts("recip")]
    to = _recipients(message.text(_TO), [each[1:] for each in known if each[0] in (0, _BY_TO)])
    copied = _recipients(message.text(_CC), [each[1:] for each in known if each[0] in (0, _BY_CC)])
    sender = _addressed(message.text(_FROM), message.address(_SENDER_ADDRESSES))
    found = [("From", sender), ("To", to), ("Cc", copied), ("Date", message.date)]
    return [(name, value) for name, value in found if value]


def _recipients(names: str, known: Iterable[tuple[str, str]]) -> str:
    """Return names with their addresses. Of several people of one name each has an own one, or, where it is not known
    which of them are meant, none.
    """
    named = [name for name in map(str.strip, names.split(";")) if name]
    times = Counter(named)
    addresses: dict[str, list[str]] = {}
    for name, address in known:
        addresses.setdefault(name, []).append(address)
    for name, found in addresses.items():
        if len(found) < times[name] or (len(found) > times[name] and len(set(found)) > 1):
            found.clear()
        found.reverse()
    return "; ".join(_addressed(name, addresses[name].pop() if addresses.get(name) else "") for name in named)


def _addressed(name: str, address: str) -> str:
    return f"{name} <{address}>" if name and address and name != address else name or address


def _sections(
    file: SourceFile, message: _Message, path: str, attachments: list[str], problems: list[str], depth: int = 0
) -> Iterator[Section]:
    outline = Outline(path)
    outline.add("\n".join(f"{name}: {value}" for name, value in _header(message)))
    if message.text(_CLASS).upper() == _SEALED_CLASS:
        if not depth:
            raise file.unreadable(ENCRYPTED, code="encrypted")
        problems.append(Reason(ENCRYPTED, name=message.text(_SUBJECT) or "message"))
        return
    _add_body(file, message, outline)
    yield from outline.sections()
    for attachment in message.parts("attach"):
        name = attachment.text(_LONG_NAME) or attachment.text(_NAME)
        if len(attachments) >= MAX_ATTACHMENTS:
            problems.append(f"{name} comes after the first {MAX_ATTACHMENTS} attachments")
            continue
        enclosed = attachment.within(f"__substg1.0_{_DATA}000D")
        if any(each[: len(enclosed.folder)] == enclosed.folder for each in message.names):
            heading = join_path(path, enclosed.text(_SUBJECT) or name or "message")
            attachments.append(name or heading)
            if depth < _MAX_DEPTH:
                yield from _sections(file, enclosed, heading, attachments, problems, depth + 1)
        elif name:
            attachments.append(name)
            content = attachment.content(_DATA)
            yield from attached(file, name, content, path, problems, number=len(attachments))


def _add_body(file: SourceFile, message: _Message, outline: Outline) -> None:
    """Add the body; of several forms the plain one, then the one in HTML, then rich text."""
    if text := message.text(_BODY).strip():
        outline.add(text.replace("\r\n", "\n"))
        return
    page = message.content(_HTML) or message.text(_HTML).encode()
    root = parse_html(file, decode(page)) if page else None
    if root is not None:
        add_html(root, outline)
        return
    if packed := message.content(_RTF):
        for section in read_rtf(SourceFile(file.filename, _unpacked(file, packed), file.max_bytes)).sections:
            outline.add(section.text)


def _unpacked(file: SourceFile, packed: bytes) -> bytes:
    """Return a compressed body as rich text: a dictionary of 4,096 bytes, references of 12 and 4 bits."""
    size, raw_size, kind = struct.unpack_from("<LL4s", packed)
    if raw_size > MAX_BODY_BYTES:
        raise file.too_large(
            "%(name)s is not unpacked because it unpacks to more than %(most)s bytes; split it into smaller files",
            most=MAX_BODY_BYTES,
        )
    if kind == b"MELA":
        return packed[16 : 16 + raw_size]
    window = bytearray(_DICTIONARY.ljust(4096, b"\0"))
    at, end, out, place = 16, min(size + 4, len(packed)), bytearray(), len(_DICTIONARY)
    while at < end and len(out) < raw_size:
        control, at = packed[at], at + 1
        for bit in range(8):
            if at >= end:
                break
            if control >> bit & 1 == 0:
                found, at = bytes([packed[at]]), at + 1
            else:
                if at + 1 >= end:
                    return bytes(out)
                reference, at = packed[at] << 8 | packed[at + 1], at + 2
                start = reference >> 4
                if start == place % 4096:
                    return bytes(out)
                found = b""
                for step in range((reference & 15) + 2):
                    letter = window[(start + step) % 4096]
                    window[(place + step) % 4096] = letter
                    found += bytes([letter])
            for letter in found:
                window[place % 4096] = letter
                place += 1
            out += found
    return bytes(out[:raw_size])
