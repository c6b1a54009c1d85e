"""HWPX, the open format of Hangul (한컴오피스): a section per heading, with tables, notes and comments."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

from braid.core.ingest.readers.archive import PACKAGE_ERRORS, open_archive
from braid.core.ingest.readers.document import (
    STRIKE,
    Outline,
    ParsedDocument,
    Section,
    SourceFile,
    first_title,
    mark_struck,
    one_line,
)
from braid.core.ingest.readers.merged import Cell, laid_out
from braid.core.ingest.readers.office.numbering import Counter, Level, labelled
from braid.core.ingest.readers.office.package import refuse_encrypted
from braid.core.ingest.readers.parts.xml import attribute, local, part
from braid.core.ingest.readers.table_rows import add_table

ERRORS = PACKAGE_ERRORS

_HEADER = "Contents/header.xml"
_SECTION = re.compile(r"Contents/section(\d+)\.xml")
_OUTLINE = re.compile(r"(?:개요|outline|heading|제목)\s*([1-9])", re.IGNORECASE)
_COUNT = re.compile("[1-9][0-9]{0,3}")
_BREAKS = {"lineBreak": "\n", "tab": "\t", "nbSpace": " ", "fwSpace": " ", "hyphen": "-"}
_NOTES, _COMMENT = ("footNote", "endNote"), "hiddenComment"
_NOT_STRUCK = ("", "NONE", "3D")
"""Shapes of a line through letters that are none."""
_TEXTS = frozenset({"t", "mainText", "script", "text"})
"""Elements with text: also what furigana are over (덧말), an equation as it was typed, and the text of a field."""
_SHOWN = {"compose": "composeText", "textart": "text", "btn": "caption", "comboBox": "selectedValue"}
"""Attributes with text: of letters over each other, of word art, and of fields of forms."""
_BOXES = ("checkBtn", "radioBtn")
_EQUATION_SPACES = str.maketrans("`~", "  ")
_SKIPPED = frozenset({"header", "footer", _COMMENT, "secPr", "shapeComment", "subText", *_NOTES})
_APART = frozenset({"tbl", "drawText"})
"""What is not in a paragraph, but after it: tables and text boxes."""
_HEAD_PLACE = re.compile(r"\^([1-9])")
_BLOCKS = frozenset({"p", "tbl"})


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per paragraph of an outline style, then notes and comments; headers and footers are left out."""
    with open_archive(file) as archive:
        refuse_encrypted(file, archive)
        numbered = ((int(match[1]), name) for name in archive.namelist() if (match := _SECTION.fullmatch(name)))
        roots = [part(file, archive, name) for _, name in sorted(numbered)]
        header = part(file, archive, _HEADER) if _HEADER in archive.NameToInfo else None
        levels, heads = _levels(header), _Heads(header)
        metadata = _metadata(file, archive)
    outline = Outline()
    apart = _Apart([], [])
    for root in roots:
        heads.outline = next((attribute(each, "outlineShapeIDRef") for each in root.iter("{*}secPr")), heads.outline)
        _add(root, outline, levels, heads, apart)
    outline.add_apart("Footnotes", apart.notes)
    outline.add_apart("Comments", apart.comments)
    sections = outline.sections()
    if not sections:
        sections = _margins(roots)
    title = metadata.pop("title", "")
    title = first_title("" if title.strip().isdecimal() else title, outline.first_heading)
    return ParsedDocument(title, "hwpx", sections, metadata)


def _levels(header: etree._Element | None) -> dict[str, int]:
    """Return style id → heading level."""
    found: dict[str, int] = {}
    for style in header.iter("{*}style") if header is not None else ():
        names = attribute(style, "name"), attribute(style, "engName")
        if match := next(filter(None, map(_OUTLINE.fullmatch, names)), None):
            found[attribute(style, "id")] = int(match[1])
    return found


def _metadata(file: SourceFile, archive: zipfile.ZipFile) -> dict[str, str]:
    if "Contents/content.hpf" not in archive.namelist():
        return {}
    root = part(file, archive, "Contents/content.hpf")
    found = {"title": next((each.text or "" for each in root.iter("{*}title")), "")}
    for meta in root.iter("{*}meta"):
        if meta.get("name") in ("creator", "language"):
            found[{"creator": "author"}.get(str(meta.get("name")), "language")] = meta.text or ""
    return found


def _margins(roots: list[etree._Element]) -> tuple[Section, ...]:
    """Return the texts of headers and footers, of a document that has no other."""
    outline = Outline()
    for root in roots:
        for margin in root.iter("{*}header", "{*}footer"):
            for paragraph in _find(margin, "p"):
                outline.add(_text(paragraph))
    return outline.sections()


class _Apart(NamedTuple):
    """What stands after the text."""

    notes: list[str]
    comments: list[str]


class _Heads:
    """The numbers that Hangul shows before paragraphs, by the properties of paragraphs; and what is struck out."""

    def __init__(self, header: etree._Element | None) -> None:
        self.outline = ""
        """Number of the list that the headings of this section belong to."""
        self._counters: dict[str, Counter] = {}
        self._places: dict[str, tuple[str, str, int]] = {}
        """Id of a paragraph's properties → kind and number of its list, and its level from 0."""
        self.struck: frozenset[str] = frozenset()
        """Ids of the properties of letters that are struck out."""
        if header is None:
            return
        self.struck = frozenset(
            attribute(each, "id")
            for each in header.iter("{*}charPr")
            if any(attribute(line, "shape") not in _NOT_STRUCK for line in each.iter("{*}strikeout"))
        )
        for each in header.iter("{*}numbering"):
            levels = {_count(attribute(head, "level"), 1) - 1: _head(head) for head in each.iter("{*}paraHead")}
            self._counters[attribute(each, "id")] = Counter(levels)
        for each in header.iter("{*}paraPr"):
            for heading in each.iter("{*}heading"):
                place = attribute(heading, "type"), attribute(heading, "idRef"), _count(attribute(heading, "level"), 0)
                self._places[attribute(each, "id")] = place

    def label(self, paragraph: etree._Element) -> str:
        """Count a paragraph, and return the number before it; empty where there is none."""
        kind, number, level = self._places.get(paragraph.get("paraPrIDRef") or "", ("", "", 0))
        if kind == "OUTLINE":
            number = self.outline
        counter = self._counters.get(number) if kind in ("NUMBER", "OUTLINE") else None
        return counter.label(level) if counter is not None else ""


def _head(element: etree._Element) -> Level:
    pattern = _HEAD_PLACE.sub(r"%\1", element.text or "")
    return Level(attribute(element, "numFormat") or "DIGIT", pattern, _count(attribute(element, "start"), 1))


def _count(text: str, default: int) -> int:
    return int(text) if _COUNT.fullmatch(text) else default


def _add(parent: etree._Element, outline: Outline, levels: dict[str, int], heads: _Heads, apart: _Apart) -> None:
    for block in _blocks(parent):
        if local(block) == "tbl":
            _add_table(block, outline)
            continue
        apart.notes.extend(_note(note) for name in _NOTES for note in block.iter(f"{{*}}{name}"))
        apart.comments.extend(filter(None, map(_note, _comments(block))))
        text = labelled(heads.label(block), _text(block, heads.struck))
        if text and (level := levels.get(block.get("styleIDRef") or "")):
            outline.heading(level, text)
        else:
            outline.add(text)
        for box in _find(block, *_APART):
            if local(box) == "tbl":
                _add_table(box, outline)
            else:
                for lines in box.iterchildren(tag=etree.Element):
                    _add(lines, outline, levels, heads, _Apart([], []))


def _blocks(parent: etree._Element) -> Iterator[etree._Element]:
    yield from (child for child in parent.iterchildren(tag=etree.Element) if local(child) in _BLOCKS)


def _find(parent: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Yield the outermost elements of these names, but none in headers, notes and hidden comments."""
    for child in parent.iterchildren(tag=etree.Element):
        if local(child) in names:
            yield child
        elif local(child) not in _SKIPPED:
            yield from _find(child, *names)


def _comments(block: etree._Element) -> Iterator[etree._Element]:
    yield from (each for each in block.iter("{*}hiddenComment", "{*}fieldBegin") if _is_comment(each))


def _is_comment(element: etree._Element) -> bool:
    return local(element) == _COMMENT or (local(element) == "fieldBegin" and attribute(element, "type") == "MEMO")


def _note(note: etree._Element) -> str:
    return "\n".join(_text(paragraph) for paragraph in _find(note, "p"))


def _text(paragraph: etree._Element, struck: frozenset[str] = frozenset()) -> str:
    """Return the text of a paragraph; not that of tables, text boxes, notes and comments in it. ``struck`` are the ids
    of letters that are struck out.
    """
    parts: list[str] = []
    walker = etree.iterwalk(paragraph, events=("start", "end"))
    deleted = False
    for event, element in walker:
        name = local(element)
        if name == "run" and struck and element.get("charPrIDRef") in struck:
            parts.append(STRIKE)
        if event == "end":
            if element is not paragraph:
                if (tail := element.tail) and not deleted and next(element.iterancestors("{*}t"), None) is not None:
                    parts.append(tail)
                parts.append("\n" if name == "p" else "")
        elif element is not paragraph and (
            name in _SKIPPED
            or name in _APART
            or (name == "script" and not _is_equation(element))
            or _is_comment(element)
        ):
            walker.skip_subtree()
        else:
            deleted = name == "deleteBegin" or (deleted and name != "deleteEnd")
            parts.append(_BREAKS.get(name, "") if not deleted else "")
            parts.append(_shown(element) if not deleted else "")
            text = (element.text or "") if name in _TEXTS and not deleted else ""
            parts.append(" ".join(text.translate(_EQUATION_SPACES).split()) if name == "script" else text)
    return mark_struck("".join(parts)).strip()


def _shown(element: etree._Element) -> str:
    """Return the text of an object within a paragraph that has it in attributes; of a box, whether it is ticked."""
    name = local(element)
    if name in _BOXES:
        tick = "☒" if attribute(element, "value") == "CHECKED" else "☐"
        return f"{tick} {attribute(element, 'caption')} "
    return attribute(element, _SHOWN[name]).replace("␍␊", " ") if name in _SHOWN else ""


def _is_equation(script: etree._Element) -> bool:
    parent = script.getparent()
    return parent is not None and local(parent) == "equation"


def _add_table(table: etree._Element, outline: Outline) -> None:
    """Add a table, whose cells may cover several rows and columns."""
    add_table(outline, laid_out([[_spanning(cell) for cell in _find(row, "tc")] for row in _find(table, "tr")]))


def _spanning(cell: etree._Element) -> Cell:
    text = one_line(" ".join(_cell(cell)))
    span = next((each for each in cell.iterchildren(tag=etree.Element) if local(each) == "cellSpan"), None)
    if span is None:
        return Cell(text)
    columns, rows = (attribute(span, name) for name in ("colSpan", "rowSpan"))
    return Cell(text, _count(columns, 1), _count(rows, 1))


def _cell(cell: etree._Element) -> Iterator[str]:
    for paragraph in _find(cell, "p"):
        yield _text(paragraph)
        for apart in _find(paragraph, *_APART):
            if local(apart) == "tbl":
                yield from (text for row in _find(apart, "tr") for each in _find(row, "tc") for text in _cell(each))
            else:
                yield from _cell(apart)
