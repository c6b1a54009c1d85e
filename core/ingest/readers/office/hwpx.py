"""HWPX, the open format of Hangul (한컴오피스): a section per heading, with tables and notes."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator

from lxml import etree

from braid.core.ingest.readers.archive import PACKAGE_ERRORS, open_archive
from braid.core.ingest.readers.document import Outline, ParsedDocument, SourceFile, first_title, one_line
from braid.core.ingest.readers.merged import Cell, laid_out
from braid.core.ingest.readers.office.package import attribute, local, part, refuse_encrypted
from braid.core.ingest.readers.table_rows import add_table

ERRORS = PACKAGE_ERRORS

_SECTION = re.compile(r"Contents/section(\d+)\.xml")
_OUTLINE = re.compile(r"(?:개요|outline|heading|제목)\s*([1-9])", re.IGNORECASE)
_COUNT = re.compile("[1-9][0-9]{0,3}")
_BREAKS = {"lineBreak": "\n", "tab": "\t", "nbSpace": " ", "fwSpace": " ", "hyphen": "-"}
_NOTES = ("footNote", "endNote")
_SKIPPED = frozenset({"header", "footer", "hiddenComment", "secPr", "shapeComment", "script", "dutmal", *_NOTES})
_BLOCKS = frozenset({"p", "tbl"})


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per paragraph of an outline style; headers, footers and hidden comments are left out."""
    with open_archive(file) as archive:
        refuse_encrypted(file, archive)
        numbered = ((int(match[1]), name) for name in archive.namelist() if (match := _SECTION.fullmatch(name)))
        roots = [part(archive, name) for _, name in sorted(numbered)]
        levels = _levels(archive)
        metadata = _metadata(archive)
    outline = Outline()
    notes: list[str] = []
    for root in roots:
        _add(root, outline, levels, notes)
    if notes:
        outline.heading(1, "Footnotes")
        for note in notes:
            outline.add(note)
    sections = outline.sections()
    title = first_title(metadata.pop("title", ""), outline.first_heading)
    return ParsedDocument(title, "hwpx", sections, metadata)


def _levels(archive: zipfile.ZipFile) -> dict[str, int]:
    """Return style id → heading level."""
    if "Contents/header.xml" not in archive.namelist():
        return {}
    found = {}
    for style in part(archive, "Contents/header.xml").iter("{*}style"):
        names = attribute(style, "name"), attribute(style, "engName")
        if match := next(filter(None, map(_OUTLINE.fullmatch, names)), None):
            found[attribute(style, "id")] = int(match[1])
    return found


def _metadata(archive: zipfile.ZipFile) -> dict[str, str]:
    if "Contents/content.hpf" not in archive.namelist():
        return {}
    root = part(archive, "Contents/content.hpf")
    found = {"title": next((each.text or "" for each in root.iter("{*}title")), "")}
    for meta in root.iter("{*}meta"):
        if meta.get("name") in ("creator", "language"):
            found[{"creator": "author"}.get(str(meta.get("name")), "language")] = meta.text or ""
    return found


def _add(parent: etree._Element, outline: Outline, levels: dict[str, int], notes: list[str]) -> None:
    for block in _blocks(parent):
        if local(block) == "tbl":
            _add_table(block, outline)
            continue
        notes += (_note(note) for name in _NOTES for note in block.iter(f"{{*}}{name}"))
        text = _text(block)
        if text and (level := levels.get(block.get("styleIDRef") or "")):
            outline.heading(level, text)
        else:
            outline.add(text)
        for table in _find(block, "tbl"):
            _add_table(table, outline)


def _blocks(parent: etree._Element) -> Iterator[etree._Element]:
    yield from (child for child in parent.iterchildren(tag=etree.Element) if local(child) in _BLOCKS)


def _find(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    """Yield the outermost elements of a name, but none in headers, notes and hidden comments."""
    for child in parent.iterchildren(tag=etree.Element):
        if local(child) == name:
            yield child
        elif local(child) not in _SKIPPED:
            yield from _find(child, name)


def _note(note: etree._Element) -> str:
    return "\n".join(_text(paragraph) for paragraph in _find(note, "p"))


def _text(paragraph: etree._Element) -> str:
    """Return the text of a paragraph and of text boxes in it; not that of tables and notes."""
    parts: list[str] = []
    walker = etree.iterwalk(paragraph, events=("start", "end"))
    skipped = _SKIPPED | {"tbl"}
    deleted = False
    for event, element in walker:
        name = local(element)
        if event == "end":
            if element is not paragraph:
                inside = any(local(ancestor) == "t" for ancestor in element.iterancestors())
                parts.append((element.tail or "") if inside and not deleted else "")
                parts.append("\n" if name == "p" else "")
        elif name in skipped and element is not paragraph:
            walker.skip_subtree()
        else:
            deleted = name == "deleteBegin" or (deleted and name != "deleteEnd")
            parts.append(_BREAKS.get(name, "") if not deleted else "")
            parts.append((element.text or "") if name == "t" and not deleted else "")
    return "".join(parts).strip()


def _add_table(table: etree._Element, outline: Outline) -> None:
    """Add a table, the text of merged cells in each of their places."""
    add_table(outline, laid_out([[_spanning(cell) for cell in _find(row, "tc")] for row in _find(table, "tr")]))


def _spanning(cell: etree._Element) -> Cell:
    text = one_line(" ".join(_cell(cell)))
    span = next((each for each in cell.iterchildren(tag=etree.Element) if local(each) == "cellSpan"), None)
    if span is None:
        return Cell(text)
    columns, rows = (attribute(span, name) for name in ("colSpan", "rowSpan"))
    return Cell(text, *(int(count) if _COUNT.fullmatch(count) else 1 for count in (columns, rows)))


def _cell(cell: etree._Element) -> Iterator[str]:
    for paragraph in _find(cell, "p"):
        yield _text(paragraph)
        for inner in _find(paragraph, "tbl"):
            yield from (text for row in _find(inner, "tr") for each in _find(row, "tc") for text in _cell(each))
