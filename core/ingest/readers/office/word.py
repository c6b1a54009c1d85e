"""Word documents: a section per heading, with tables, text boxes and notes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator

import docx
from docx.document import Document
from docx.exceptions import PythonDocxError
from docx.opc.exceptions import OpcError
from docx.oxml.ns import qn
from lxml import etree

from braid.core.ingest.readers.archive import PACKAGE_ERRORS, open_archive
from braid.core.ingest.readers.document import Outline, ParsedDocument, SourceFile, first_title, one_line
from braid.core.ingest.readers.table_rows import CAPTION, add_table

ERRORS = (*PACKAGE_ERRORS, PythonDocxError, OpcError)

_CONTENT_TYPES = "[Content_Types].xml"
_MACRO_TYPE = b"application/vnd.ms-word.document.macroEnabled.main+xml"
_PLAIN_TYPE = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_P, _TBL, _TR, _TC, _T = qn("w:p"), qn("w:tbl"), qn("w:tr"), qn("w:tc"), qn("w:t")
_STYLE, _OUTLINE_LEVEL = f"{qn('w:pPr')}/{qn('w:pStyle')}", f"{qn('w:pPr')}/{qn('w:outlineLvl')}"
_VAL = qn("w:val")
_V_MERGE, _GRID_SPAN = f"{qn('w:tcPr')}/{qn('w:vMerge')}", f"{qn('w:tcPr')}/{qn('w:gridSpan')}"
MAX_COLUMNS = 63
"""Most columns of a table in Word."""
_BREAKS = {qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:tab"): "\t", qn("w:noBreakHyphen"): "-", _P: "\n"}
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SKIPPED = frozenset({_FALLBACK, qn("w:rt"), qn("w:del"), qn("w:moveFrom")})
_HEADING_STYLE = re.compile(r"heading ([1-9])", re.IGNORECASE)
_NOTES = (("/footnotes", "Footnotes", qn("w:footnote")), ("/endnotes", "Endnotes", qn("w:endnote")))
_BODY_LEVEL = 9
"""Word's outline level of body text; 0 to 8 are headings."""


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per heading; footnotes and endnotes at the end."""
    with open_archive(file) as archive:
        document = docx.Document(_without_macros(archive, file.content))
    levels = _heading_levels(document)
    outline = Outline()
    title = caption = ""
    for block in _find(document.element.body, _P, _TBL):
        if block.tag == _TBL:
            add_table(outline, _grid(block), caption)
            caption = ""
            continue
        text, level = _text(block), _level(block, levels)
        if text:
            caption = text if CAPTION.match(text) else ""
        if level == 0:
            title = title or one_line(text)
        if level:
            outline.heading(level, text)
        else:
            outline.add(text)
    _add_notes(document, outline)
    sections = outline.sections()
    properties = document.core_properties
    title = first_title(properties.title, title, outline.first_heading)
    return ParsedDocument(title, "docx", sections, {"author": properties.author, "language": properties.language})


def _without_macros(archive: zipfile.ZipFile, content: bytes) -> io.BytesIO:
    """Return the file, or a copy without its macros: python-docx opens only documents without macros."""
    types = archive.read(_CONTENT_TYPES)
    if _MACRO_TYPE not in types:
        return io.BytesIO(content)
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w") as plain:
        for name in archive.namelist():
            part = types.replace(_MACRO_TYPE, _PLAIN_TYPE) if name == _CONTENT_TYPES else archive.read(name)
            plain.writestr(name, b"" if name.endswith("vbaProject.bin") else part)
    copy.seek(0)
    return copy


def _heading_levels(document: Document) -> dict[str, int]:
    """Return style id → heading level; 0 is the style of the document's title."""
    levels: dict[str, int] = {}
    for style in document.styles.element.iterfind(qn("w:style")):
        style_id, name = style.get(qn("w:styleId")), style.find(qn("w:name"))
        outline = style.find(_OUTLINE_LEVEL)
        match = _HEADING_STYLE.fullmatch(name.get(_VAL) or "") if name is not None else None
        if match:
            levels[style_id] = int(match[1])
        elif name is not None and (name.get(_VAL) or "").lower() == "title":
            levels[style_id] = 0
        elif outline is not None and int(outline.get(_VAL)) < _BODY_LEVEL:
            levels[style_id] = int(outline.get(_VAL)) + 1
    return levels


def _level(paragraph: etree._Element, levels: dict[str, int]) -> int | None:
    """Return the heading level of a paragraph, 0 for the document's title, None for body text."""
    if (outline := paragraph.find(_OUTLINE_LEVEL)) is not None and int(outline.get(_VAL) or 9) < _BODY_LEVEL:
        return int(outline.get(_VAL) or 0) + 1
    style = paragraph.find(_STYLE)
    return levels.get(style.get(_VAL) or "") if style is not None else None


def _find(parent: etree._Element, *tags: str) -> Iterator[etree._Element]:
    """Yield the outermost elements with these tags in order, also in content controls and tracked insertions."""
    for child in parent.iterchildren(tag=etree.Element):
        if child.tag in tags:
            yield child
        elif child.tag not in _SKIPPED:
            yield from _find(child, *tags)


def _text(paragraph: etree._Element) -> str:
    """Return the text as it is shown, with that of text boxes; without deleted text and furigana."""
    parts: list[str] = []
    walker = etree.iterwalk(paragraph, events=("start",))
    for _, element in walker:
        if element.tag in _SKIPPED:
            walker.skip_subtree()
        elif element.tag == _T:
            parts.append(element.text or "")
        elif element is not paragraph:
            parts.append(_BREAKS.get(element.tag, ""))
    return "".join(parts).strip()


def _grid(table: etree._Element) -> list[list[str]]:
    """Return the texts of a table's cells, those of merged cells in each of their places."""
    rows: list[list[str]] = []
    for row in _find(table, _TR):
        cells: list[str] = []
        filled = 0
        for cell in _find(row, _TC):
            text = " ".join(one_line(_text(block)) for block in _find(cell, _P))
            merged, span = cell.find(_V_MERGE), cell.find(_GRID_SPAN)
            if merged is not None and merged.get(_VAL) in (None, "continue") and rows and len(cells) < len(rows[-1]):
                text = rows[-1][len(cells)]
            filled += bool(text)
            width = int(span.get(_VAL) or 1) if span is not None else 1
            cells += [text] * min(width, MAX_COLUMNS)
        if filled == 1 and len(cells) > 1 and len(set(cells)) == 1:  # a title over the whole table
            cells = cells[:1]
        rows.append(cells)
    return rows


def _add_notes(document: Document, outline: Outline) -> None:
    for relation in document.part.rels.values():
        for suffix, heading, tag in _NOTES:
            if relation.is_external or not relation.reltype.endswith(suffix):
                continue
            root = etree.fromstring(relation.target_part.blob, etree.XMLParser(resolve_entities=False))
            notes = ["\n".join(map(_text, _find(note, _P))).strip() for note in root.iter(tag)]
            if any(notes):
                outline.heading(1, heading)
            for note in notes:
                outline.add(note)
