"""Small parts of Word documents: fields of old forms, signs of symbol fonts, and documents of other formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import replace

from docx.oxml.ns import qn
from lxml import etree

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.document import Outline, Section, SourceFile, join_path
from braid.core.ingest.readers.office.package import DOCUMENT_APART
from braid.core.ingest.readers.parts.symbols import has_codes, signs

_VAL = qn("w:val")
_FONTS = f"{qn('w:rPr')}/{qn('w:rFonts')}"
_is_embedded: ContextVar[bool] = ContextVar("is_embedded", default=False)
_SUFFIXES: Mapping[str, str] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "message/rfc822": "mht",
    "multipart/related": "mht",
    "text/plain": "txt",
    "application/rtf": "rtf",
    "text/rtf": "rtf",
}
_HEX = re.compile("[0-9A-Fa-f]{2,4}")


def add_embedded(file: SourceFile, content_type: str, content: bytes, outline: Outline) -> None:
    """Add a document of another format that is embedded as text (``w:altChunk``), as report generators write it.

    A Word document within another one is read, but no third within that, so that none can hold itself.
    """
    kind = content_type.partition(";")[0].strip().lower()
    suffix = "docx" if kind == DOCUMENT_APART else _SUFFIXES.get(kind)
    if suffix is None or not content or (suffix == "docx" and _is_embedded.get()):
        return
    token = _is_embedded.set(True)
    try:
        parsed = read_document(f"part.{suffix}", content, max_bytes=file.max_bytes)
    except UnreadableDocumentError:
        return
    finally:
        _is_embedded.reset(token)

    def below(path: str) -> list[Section]:
        return [
            replace(section, heading_path=join_path(path, section.heading_path), line=None, line_end=None)
            for section in parsed.sections
        ]

    outline.add_records(below)


def chosen(field: etree._Element) -> str:
    """Return what a field of an old form shows: a box that is ticked or not, or the entry that is chosen of a list."""
    box, entries = field.find(qn("w:checkBox")), field.find(qn("w:ddList"))
    if box is not None:
        ticked = box.find(qn("w:checked"))
        ticked = box.find(qn("w:default")) if ticked is None else ticked
        return "☒ " if ticked is not None and (ticked.get(_VAL) or "1") not in ("0", "false") else "☐ "
    if entries is not None:
        names = [each.get(_VAL) or "" for each in entries.iterfind(qn("w:listEntry"))]
        result = entries.find(qn("w:result"))
        at = (result.get(_VAL) or "0") if result is not None else "0"
        return names[int(at)] if at.isascii() and at.isdigit() and int(at) < len(names) else ""
    return ""


def in_its_font(text: etree._Element) -> str:
    """Return the text of a run as its font shows it, which matters where it has codes of a symbol font."""
    found = text.text or ""
    if found.isascii() or not has_codes(found):
        return found
    style = next((run.find(_FONTS) for run in text.iterancestors(qn("w:r"))), None)
    return signs(found, style.get(qn("w:ascii")) or "" if style is not None else "")


def symbol(element: etree._Element) -> str:
    """Return a sign of a symbol font as the character that looks like it; empty for an ornament."""
    code, font = element.get(qn("w:char")) or "", element.get(qn("w:font")) or ""
    if _HEX.fullmatch(code) is None:
        return ""
    text = chr(int(code, 16))
    if (shown := signs(text, font, letters=True)) != text or text <= "\uf000" or text > "\uf0ff":
        return shown
    return signs(text, "wingdings")
