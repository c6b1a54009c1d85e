"""Mails: the header lines and the body, then each attachment that can be read. Web archives: their pages."""

from __future__ import annotations

import base64
import email
import logging
import quopri
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import EmailPolicy
from typing import Any, cast

from lxml import etree

from braid.core.errors import N_, ReaderFaultError, Reason, UnreadableDocumentError
from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.document import (
    Outline,
    ParsedDocument,
    Section,
    SourceFile,
    first_title,
    join_path,
    one_line,
)
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.html import add_html, parse_html
from braid.core.metadata.gaps import ATTACHMENTS_UNREAD

# The standard library's header parser raises these for headers that lack a part.
ERRORS = (MessageError, AssertionError, AttributeError, LookupError, TypeError, ValueError, etree.LxmlError)

logger = logging.getLogger(__name__)

MAX_ATTACHMENTS = 50
_MAX_DEPTH = 5
_MAX_MULTIPARTS = 1_000
_MAX_HEADER_CHARS = 5_000
_MAX_PARTS = 1_000
_BOUNDARY = re.compile(rb"""boundary\s*=\s*["']?([^"'\s;]+)""", re.IGNORECASE)
_DASHED_LINE = re.compile(rb"^--(\S{1,200}?)\s*$", re.MULTILINE)
_MULTIPART = re.compile(rb"^content-type:\s*multipart/", re.IGNORECASE | re.MULTILINE)
_WORD = re.compile(r"=\?([^?\s]{1,40})\?([bBqQ])\?([^?\s]*)\?=")
_WORDS = re.compile(r"=\?([^?\s]{1,40})\?[bBqQ]\?[^?\s]*\?=(?:\s+=\?\1\?[bBqQ]\?[^?\s]*\?=)*+", re.IGNORECASE)
"""Words of one encoding that follow each other: a character may be parted between two."""
_RAW = re.compile("[\udc80-\udcff]")
"""Bytes of a header that are not ASCII, as the standard library has them: programs write them in any encoding."""
_SHOWN = ("From", "To", "Cc", "Date")
_EXPECTED = ("From", "To", "Subject", "Date", "Received", "Message-ID", "MIME-Version", "Return-Path")


class _ShortHeaders(EmailPolicy):
    """The standard policy, on the beginning of each header: parsing one takes time by the square of its length."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        if hasattr(value, "name"):
            return super().header_fetch_parse(name, value)
        value = value[:_MAX_HEADER_CHARS]
        if _RAW.search(value):
            value = " ".join(decode(value.encode("utf-8", "surrogateescape")).split())
        return super().header_fetch_parse(name, _WORDS.sub(_decoded_word, value))


def _decoded_word(found: re.Match[str]) -> str:
    """Return encoded words of a header as one, where the standard library cannot decode each as it is declared."""
    words = _WORD.findall(found[0])
    contents = []
    for _, form, encoded in words:
        raw = encoded.encode("ascii", "replace")
        with suppress(ValueError):
            contents.append(base64.b64decode(raw) if form in "bB" else quopri.decodestring(raw, header=True))
    try:
        for content in contents:
            content.decode(words[0][0])
    except (LookupError, ValueError):
        text = " ".join(decode(b"".join(contents), words[0][0]).split())
        return f"=?utf-8?B?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="
    return found[0]


_POLICY = _ShortHeaders()
_FLOWED = re.compile(r"(?<!^--) \n(?![>\n ])", re.MULTILINE)
"""A line break that only the width of a screen has made (RFC 3676); none before a quotation, or after ``-- ``."""
_SEALED = ("application/pkcs7-mime", "application/x-pkcs7-mime", "multipart/encrypted")
_APPLE = re.compile(rb"(\d{1,10})[ \t]{0,9}\r?\n")
"""The bytes of the mail that follows, as Apple Mail writes them; what is behind it is the program's own."""
_PGP = "-----BEGIN PGP MESSAGE-----"
_SIGNED = bytes.fromhex("06092a864886f70d010701a0")
"""How what is signed begins within its signature (CMS, RFC 5652); what is encrypted has no such content."""
ENCRYPTED = N_("%(name)s is an encrypted mail; save it without encryption in the mail program and add it again")
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")


def read(file: SourceFile) -> ParsedDocument:
    """Return the body, and the attachments under their file names; unreadable ones are named in the metadata."""
    if (length := _APPLE.match(file.content)) is not None:
        end = length.end() + int(length[1])
        file = replace(file, content=file.content[length.end() : end])
    if b"\0" in file.content[:100]:  # in UTF-16, as an editor has saved it
        file = replace(file, content=decode(file.content).encode("utf-8", "replace"))
    if len(_MULTIPART.findall(file.content)) > _MAX_MULTIPARTS:
        raise file.too_large(
            "%(name)s has more than %(most)s nested parts; save the mails in it one by one", most=_MAX_MULTIPARTS
        )
    if _has_too_many_parts(file.content):
        raise file.too_large("%(name)s has more than %(most)s parts; save the mails in it one by one", most=_MAX_PARTS)
    message = cast(EmailMessage, email.message_from_bytes(file.content, _class=EmailMessage, policy=_POLICY))
    if file.file_type == "mht":
        return _web_archive(file, message)
    if not any(name in message for name in _EXPECTED):
        raise file.unreadable(
            "%(name)s is not a mail: it has no From, Subject or Date line; save it as .txt", code="other_format"
        )
    attachments: list[str] = []
    problems: list[str] = []
    sections = tuple(_sections(file, message, "", attachments, problems))
    metadata = {name.lower(): str(message.get(name, "")) for name in _SHOWN}
    metadata |= {"attachments": ", ".join(attachments), ATTACHMENTS_UNREAD: "; ".join(problems)}
    return ParsedDocument(str(message.get("Subject", "")), "eml", sections, metadata)


def _web_archive(file: SourceFile, message: EmailMessage) -> ParsedDocument:
    """Return the pages of a web archive, as browsers and Word save them: the page, and those in its frames."""
    outline = Outline()
    title = ""
    for part in message.walk():
        if part.get_content_type() not in ("text/html", "application/xhtml+xml"):
            continue
        root = parse_html(file, _text(part))
        if root is not None:
            add_html(root, outline)
            title = title or (root.findtext(".//title") or "")
    sections = outline.sections()
    title = first_title(title, str(message.get("Subject", "")), outline.first_heading)
    return ParsedDocument(title, file.file_type, sections, {"date": str(message.get("Date", ""))})


def _has_too_many_parts(content: bytes) -> bool:
    """Whether more parts begin than a mail has: the parser of the standard library takes a millisecond for each."""
    boundaries = set(_BOUNDARY.findall(content))
    lines = _DASHED_LINE.finditer(content) if boundaries else ()
    return sum(line[1] in boundaries for line in lines) > _MAX_PARTS


def _sections(
    file: SourceFile, message: EmailMessage, path: str, attachments: list[str], problems: list[str], depth: int = 0
) -> Iterator[Section]:
    body = cast("EmailMessage | None", message.get_body(("plain", "html")))
    is_sealed = message.get_content_type() in _SEALED
    signed = _signed(message) if is_sealed else None
    if (is_sealed and signed is None) or (body is not None and _text(body).lstrip().startswith(_PGP)):
        if not depth:
            raise file.unreadable(ENCRYPTED, code="encrypted")
        problems.append(Reason(ENCRYPTED, name=one_line(str(message.get("Subject", ""))) or "message"))
        return
    yield from _body(file, message, body, path)
    if signed is not None:
        yield from _sections(file, signed, path, attachments, problems, depth + 1)
        return
    for part in _others(message, body):
        name = part.get_filename() or ""
        if part.get_content_type() == "message/rfc822" and depth < _MAX_DEPTH:
            enclosed = _enclosed(part)
            heading = join_path(path, str(enclosed.get("Subject", "")) or name or "message")
            attachments.append(name or heading)
            yield from _sections(file, enclosed, heading, attachments, problems, depth + 1)
        elif part.get_content_type() in _SEALED and depth < _MAX_DEPTH:
            yield from _sections(file, part, path, attachments, problems, depth + 1)
        elif name:
            attachments.append(name)
            yield from _attachment(file, part, path, problems, len(attachments))
        elif part.get_content_maintype() == "multipart" and depth < _MAX_DEPTH:
            yield from _sections(file, part, path, attachments, problems, depth + 1)
        elif part.get_content_maintype() == "text":  # more of the body, behind a picture or an attachment
            outline = Outline(path)
            _add_text(file, part, outline)
            yield from outline.sections()


def _signed(message: EmailMessage) -> EmailMessage | None:
    """Return the mail that a mail holds within its signature; None where it is encrypted instead."""
    payload = message.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    at = content.find(_SIGNED)
    if at < 0:
        return None
    at += len(_SIGNED) - 1
    parts: list[bytes] = []
    while at < len(content) - 1:
        tag, size, at = content[at], content[at + 1], at + 2
        if size > 0x80:
            size, at = int.from_bytes(content[at : at + size - 0x80]), at + size - 0x80
        if tag == 0x04:  # a part of the content
            parts.append(content[at : at + size])
            at += size
        elif tag not in (0x24, 0xA0):  # what holds the parts
            break
    inner = b"".join(parts)
    if _is_excessive(inner):
        return None
    return cast(EmailMessage, email.message_from_bytes(inner, _class=EmailMessage, policy=_POLICY))


def _others(message: EmailMessage, body: EmailMessage | None) -> Iterator[EmailMessage]:
    """Yield the parts of a mail beside its body, also where that is within another part, as in signed mails."""
    if message.get_content_type() in ("multipart/alternative", "multipart/related") or not message.is_multipart():
        yield from message.iter_attachments()
        return
    before: EmailMessage | None = None
    for part in cast(Iterator[EmailMessage], message.iter_parts()):
        is_other_form = before is not None and before is body and part.get_content_type() == "text/html"
        before = part
        if part is body or part.get_content_type() in _SIGNATURES or (is_other_form and not part.is_attachment()):
            continue
        if part.get_content_maintype() == "multipart" and any(each is body for each in part.walk()):
            yield from _others(part, body)
        else:
            yield part


def _enclosed(part: EmailMessage) -> EmailMessage:
    """Return a mail within a mail. Some programs encode it, which no standard allows, and the parser does not undo."""
    enclosed = cast(EmailMessage, part.get_content())
    encoding = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    if encoding not in ("base64", "quoted-printable") or any(name in enclosed for name in _EXPECTED):
        return enclosed
    holder = EmailMessage(policy=_POLICY)
    holder["Content-Transfer-Encoding"] = encoding
    holder.set_payload(enclosed.get_payload())
    content = holder.get_payload(decode=True)
    if not isinstance(content, bytes) or _is_excessive(content):
        return enclosed
    return cast(EmailMessage, email.message_from_bytes(content, _class=EmailMessage, policy=_POLICY))


def _is_excessive(content: bytes) -> bool:
    return len(_MULTIPART.findall(content)) > _MAX_MULTIPARTS or _has_too_many_parts(content)


def _body(file: SourceFile, message: EmailMessage, body: EmailMessage | None, path: str) -> Iterator[Section]:
    """Yield the header lines with the body; of a body in two forms the plain one."""
    outline = Outline(path)
    outline.add("\n".join(f"{name}: {message[name]}" for name in _SHOWN if message[name]))
    if body is not None:
        _add_text(file, body, outline)
    yield from outline.sections()


def _add_text(file: SourceFile, part: EmailMessage, outline: Outline) -> None:
    text = _text(part)
    root = parse_html(file, text) if part.get_content_type() == "text/html" else None
    if root is not None:
        add_html(root, outline)
    else:
        outline.add(text.strip("\n"))


def _text(part: EmailMessage) -> str:
    """Return the text of a part, in the encoding that it declares, or in its real one."""
    payload = part.get_payload(decode=True)
    text = decode(payload if isinstance(payload, bytes) else b"", part.get_content_charset("") or "")
    if str(part.get_param("format", "")).lower() != "flowed":
        return text
    space = "" if str(part.get_param("delsp", "")).lower() == "yes" else " "
    return _FLOWED.sub(space, text)


def _attachment(file: SourceFile, part: EmailMessage, path: str, problems: list[str], number: int) -> Iterator[Section]:
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset("") or ""
    if charset and part.get_content_maintype() == "text":  # the mail says it, and the file may not
        content = decode(content, charset).encode("utf-8", "replace")
    yield from attached(file, part.get_filename() or "", content, path, problems, number=number)


def attached(
    file: SourceFile, name: str, content: bytes, path: str, problems: list[str], *, number: int
) -> Iterator[Section]:
    """Yield the sections of an attachment under its name; one that cannot be read is added to ``problems``."""
    if number > MAX_ATTACHMENTS:
        problems.append(f"{name} comes after the first {MAX_ATTACHMENTS} attachments")
        return
    try:
        parsed = read_document(name, content, max_bytes=file.max_bytes)
    except UnreadableDocumentError as error:
        if isinstance(error, ReaderFaultError):
            logger.warning("event=attachment_fault fault=%s", error.fault)
        problems.append(str(error))
        return
    for section in parsed.sections:
        heading = join_path(path, name, section.heading_path)
        yield replace(section, heading_path=heading, line=None, line_end=None)
