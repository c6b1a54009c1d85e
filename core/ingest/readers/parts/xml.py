"""XML from anywhere: checked before a parser sees it, for entities and for encodings in which they cannot be seen."""

from __future__ import annotations

import codecs
import re
import zipfile
from collections.abc import Callable
from typing import cast

from lxml import etree

from braid.core.ingest.readers.document import SourceFile

_ENCODING = re.compile(rb"""<\?xml[^>]{0,300}?encoding\s{0,9}=\s{0,9}["']([^"']*)""")
_DECLARATION = re.compile(r"\A\s{0,99}<\?xml[^>]{0,300}\?>")
_ASCII_BASED = (b"utf-8", b"utf8", b"us-ascii", b"ascii", b"iso-8859-1", b"iso-8859-15", b"windows-1252")
_WITH_MARK = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DOCTYPE = re.compile(
    rb"""<!DOCTYPE\s{1,9}[\w:.-]{1,100}(?:\s{1,9}(?:PUBLIC|SYSTEM))?"""
    rb"""(?:\s{1,9}(?:"[^"<>\[\]]{0,300}"|'[^'<>\[\]]{0,300}')){0,2}\s{0,9}>"""
)
"""A document type that defines nothing itself, as OpenOffice and old books have it. What it names is never fetched."""
_DEFINITIONS = re.compile(rb"!(?:ENTITY|ATTLIST|ELEMENT|NOTATION|DOCTYPE)")
"""Definitions, looked for without their ``<``: every part is full of it, and ``!`` is found at once."""


class UnsafeXMLError(ValueError):
    """Why XML is not parsed: the template of a reason, whose one part is the name of the file."""


def checked_xml(content: bytes) -> bytes:
    """Return XML that any parser may see, in UTF-8 where it was in UTF-16.

    Raises UnsafeXMLError for a part that defines entities or a type of its own, and for an encoding in which that
    cannot be seen.
    """
    if content.startswith(_WITH_MARK):
        text = content.decode("utf-16", "replace")
        content = _DECLARATION.sub("", text.lstrip("\ufeff"), count=1).encode("utf-8", "replace")
    if not _shows_ascii(content[:1000]):
        raise UnsafeXMLError(
            "%(name)s has a part in another encoding than UTF-8, as no office program does; export it again"
        )
    for found in _DEFINITIONS.finditer(content):
        start = found.start() - 1
        if content[max(start, 0) : start + 1] == b"<" and _DOCTYPE.match(content, start) is None:
            raise UnsafeXMLError(
                "%(name)s defines XML entities or a document type, as no office program does; export it again"
            )
    return content


def parse_xml(file: SourceFile, content: bytes, *, recover: bool = False) -> etree._Element:
    """Return the root of an XML document. Entities stay as they are, no DTD is loaded, and nothing is fetched.

    With ``recover`` what is no XML is passed over; None where nothing is left.

    Raises UnreadableDocumentError for what `checked_xml` refuses, lxml's errors for what is damaged.
    """
    try:
        content = checked_xml(content)
    except UnsafeXMLError as error:
        raise file.unreadable(str(error)) from error
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=recover)
    return etree.fromstring(content, parser)


def finder(path: str, **namespaces: str) -> Callable[[etree._Element], list[etree._Element]]:
    """Return what finds the elements of an XPath below another one."""
    return cast("Callable[[etree._Element], list[etree._Element]]", etree.XPath(path, namespaces=namespaces))


def part(file: SourceFile, archive: zipfile.ZipFile, name: str) -> etree._Element:
    """Return the root of an XML file of an archive, as `parse_xml` does. Raises KeyError for one that is missing."""
    return parse_xml(file, archive.read(name))


def local(element: etree._Element) -> str:
    """Return the name of an element without its namespace; empty for comments."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: etree._Element, name: str) -> str:
    """Return an attribute by its name without a namespace; empty when it is missing."""
    suffix = f"}}{name}"
    return next((str(value) for key, value in element.items() if key == name or str(key).endswith(suffix)), "")


def _shows_ascii(start: bytes) -> bool:
    """Whether an XML file has ASCII as ASCII: no UTF-16 without a mark, UTF-32, EBCDIC or UTF-7."""
    head = start.removeprefix(codecs.BOM_UTF8).lstrip()[:200]
    if head and not head.startswith(b"<"):
        return False
    declared = _ENCODING.match(head)
    return b"\0" not in head[:4] and (declared is None or declared[1].lower() in _ASCII_BASED)
