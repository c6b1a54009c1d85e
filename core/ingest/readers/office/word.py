"""Word documents: a section per heading, with tables, charts, text boxes, notes and comments."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import docx
from docx.document import Document
from docx.exceptions import PythonDocxError
from docx.opc.exceptions import OpcError
from docx.oxml.ns import qn
from lxml import etree

from braid.core.ingest.readers.archive import PACKAGE_ERRORS
from braid.core.ingest.readers.document import Outline, ParsedDocument, SourceFile, first_title, one_line, struck
from braid.core.ingest.readers.merged import Grid, MergedCells, merged
from braid.core.ingest.readers.office.drawing import chart_lines, is_description, paragraphs
from braid.core.ingest.readers.office.field_codes import MAX_CODE_CHARS, shown_by
from braid.core.ingest.readers.office.numbering import BASE, MAX_BASES, WordNumbering, labelled, whole
from braid.core.ingest.readers.office.package import embedded, open_xml
from braid.core.ingest.readers.office.word_parts import add_embedded, chosen, in_its_font, symbol
from braid.core.ingest.readers.parts.equation import equation
from braid.core.ingest.readers.parts.raised import RAISE, mark_raised
from braid.core.ingest.readers.parts.xml import parse_xml
from braid.core.ingest.readers.table_rows import CAPTION, add_table, in_cell
from braid.core.metadata.gaps import ATTACHMENTS_UNREAD

ERRORS = (*PACKAGE_ERRORS, PythonDocxError, OpcError)

_P, _TBL, _TR, _TC, _T, _R = qn("w:p"), qn("w:tbl"), qn("w:tr"), qn("w:tc"), qn("w:t"), qn("w:r")
_ALT_CHUNK, _BOX, _REL_ID = qn("w:altChunk"), qn("w:txbxContent"), qn("r:id")
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_DIAGRAM_DATA = qn("r:dm")
_DESCRIBED = qn("wp:docPr")
_FRAME, _DROP_CAP = qn("w:framePr"), qn("w:dropCap")
_WORD_ART = "{urn:schemas-microsoft-com:vml}textpath"
_PROPERTIES, _STYLE, _OUTLINE_LEVEL = qn("w:pPr"), qn("w:pStyle"), qn("w:outlineLvl")
_STYLE_OF, _STYLE_ID, _NAME = qn("w:style"), qn("w:styleId"), qn("w:name")
_VAL = qn("w:val")
_CELL_PROPERTIES, _V_MERGE, _GRID_SPAN = qn("w:tcPr"), qn("w:vMerge"), qn("w:gridSpan")
_ROW_PROPERTIES, _DELETED, _GRID_BEFORE = qn("w:trPr"), qn("w:del"), qn("w:gridBefore")
_NO_SPAN = MergedCells(-1, 0, 1, 1)
MAX_COLUMNS = 63
"""Most columns of a table in Word."""
_BREAKS = {
    qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:tab"): "\t", qn("w:ptab"): "\t", qn("w:noBreakHyphen"): "-", _P: "\n"
}  # fmt: skip
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_MOVED = qn("w:moveFrom")
_SKIPPED = frozenset({_FALLBACK, qn("w:rt"), qn("w:del"), _MOVED})
_FIELD, _FIELD_PLACE, _CODE = qn("w:fldChar"), qn("w:fldCharType"), qn("w:instrText")
_FORM_FIELD, _SYMBOL = qn("w:ffData"), qn("w:sym")
_RUN_STYLE = qn("w:rPr")
_HIDDEN, _STRIKE, _DOUBLE_STRIKE, _ALIGNED = qn("w:vanish"), qn("w:strike"), qn("w:dstrike"), qn("w:vertAlign")
_CONTROL, _PROMPT = qn("w:sdt"), f"{qn('w:sdtPr')}/{qn('w:showingPlcHdr')}"
_NOT_PLAIN = (*_SKIPPED, _CONTROL, _BOX, _MATH, _FORM_FIELD, _CODE, _HIDDEN, _STRIKE, _DOUBLE_STRIKE, _ALIGNED)
"""What a paragraph has whose text is more than its letters."""
_TOLD = (_R, _T, _SYMBOL, *_SKIPPED, _CONTROL, _BOX, _MATH, _FORM_FIELD, _FIELD, _CODE, *_BREAKS)
"""What a paragraph is looked through for, where it has one of these."""
_WRITTEN = {_MATH: equation, _FORM_FIELD: chosen, _SYMBOL: symbol}
_OFF = ("0", "false", "off", "none", "baseline", "subscript")
_HEADING_STYLE = re.compile(r"heading ([1-9])", re.IGNORECASE)
_NOTES = (
    ("/footnotes", "Footnotes", qn("w:footnote")),
    ("/endnotes", "Endnotes", qn("w:endnote")),
    ("/comments", "Comments", qn("w:comment")),
)
_MARGINS = (("/header", "", qn("w:hdr")), ("/footer", "", qn("w:ftr")))
_BODY_LEVEL = 9
"""Word's outline level of body text; 0 to 8 are headings."""


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per heading; footnotes, endnotes and comments at the end. Hidden and deleted text is left out.

    Numbers of lists and headings are those that Word shows. Headers and footers are read where nothing else is there.
    """
    content = open_xml(file)
    document = docx.Document(io.BytesIO(content))
    body = _Body(file, document)
    body.add(document.element.body)
    _add_notes(document, body.outline, _NOTES)
    sections = body.outline.sections()
    if not sections:
        margins = Outline()
        _add_notes(document, margins, _MARGINS)
        sections = margins.sections()
    properties = document.core_properties
    title = first_title(properties.title, body.title, body.outline.first_heading)
    metadata = {"author": properties.author, "language": properties.language, ATTACHMENTS_UNREAD: embedded(content)}
    return ParsedDocument(title, "docx", sections, metadata)


class _Body:
    """The document's text while it is put together."""

    def __init__(self, file: SourceFile, document: Document) -> None:
        self.outline = Outline()
        self.title = ""
        self._file = file
        self._parts = dict(document.part.related_parts)
        styles = {each.get(_STYLE_ID) or "": each for each in document.styles.element.iterchildren(_STYLE_OF)}
        self._levels = _Levels(styles)
        lists = (rel for rel in document.part.rels.values() if rel.reltype.endswith("/numbering"))
        found = next((rel.target_part.blob for rel in lists if not rel.is_external), None)
        self._numbering = WordNumbering(parse_xml(file, found) if found else None, styles)
        self._caption = ""
        self._begun: list[str] = []
        """Texts of paragraphs that go on in the next one."""

    def add(self, parent: etree._Element) -> None:
        """Add the paragraphs, tables and embedded documents under an element."""
        for block in _find(parent, _P, _TBL, _ALT_CHUNK):
            if block.tag == _TBL and self._is_layout(block):
                for cell in (cell for row in _rows_of(block) for cell in _find(row, _TC)):
                    self.add(cell)
                continue
            if block.tag == _TBL:
                self._end_begun()
                add_table(self.outline, _grid(block, self._text), self._caption)
                self._caption = ""
            elif block.tag == _ALT_CHUNK:
                part = self._parts.pop(block.get(_REL_ID) or "", None)  # each is read once, however often it is named
                if part is not None:
                    add_embedded(self._file, part.content_type, part.blob, self.outline)
            else:
                self._add_paragraph(block)
            for drawing in _drawings(block):
                self._add_drawing(drawing)
        self._end_begun()

    def _is_layout(self, table: etree._Element) -> bool:
        """Return whether a table is a frame: a cell has a heading with a text below it, or it is the only cell."""
        cells = [list(_find(cell, _P, _TBL)) for row in _rows_of(table) for cell in _find(row, _TC)]
        if len(cells) == 1:
            return len(cells[0]) > 1
        return any(map(self._has_heading, cells))

    def _has_heading(self, blocks: list[etree._Element]) -> bool:
        """Return whether a heading is followed by a text."""
        levels = [self._levels.of(block) if block.tag == _P else None for block in blocks]
        first = next((at for at, level in enumerate(levels) if level is not None), len(blocks))
        rest = zip(blocks[first:], levels[first:], strict=True)
        return any(level is None and (block.tag == _TBL or _text(block)) for block, level in rest)

    def _text(self, paragraph: etree._Element) -> str:
        return labelled(self._numbering.label(paragraph), _text(paragraph))

    def _add_paragraph(self, paragraph: etree._Element) -> None:
        text, level = self._text(paragraph), self._levels.of(paragraph)
        if _goes_on(paragraph):
            self._begun.append(text + (" " if _last_letter(paragraph).isspace() else ""))
            return
        if self._begun:
            text, self._begun = "".join([*self._begun, text]).strip(), []
        if text:
            self._caption = text if CAPTION.match(text) else ""
        if level == 0:
            self.title = self.title or one_line(text)
        if level:
            self.outline.heading(level, text)
        else:
            self.outline.add(text)

    def _end_begun(self) -> None:
        self.outline.add("".join(self._begun).strip())
        self._begun = []

    def _add_drawing(self, drawing: etree._Element) -> None:
        """Add what is drawn in a paragraph or table, after it: text boxes, charts, diagrams, WordArt, and what its
        author says of a picture.
        """
        if drawing.tag == _WORD_ART:
            self.outline.add(one_line(drawing.get("string") or ""))
            return
        if drawing.tag == _BOX:
            self.add(drawing)
            return
        if drawing.tag == _DESCRIBED:
            text = one_line(drawing.get("descr") or "")
            self.outline.add(text if is_description(text) else "")
            return
        part = self._parts.pop(drawing.get(_REL_ID if drawing.tag == _CHART else _DIAGRAM_DATA) or "", None)
        if part is None:
            return
        root = parse_xml(self._file, part.blob)
        if drawing.tag == _CHART:
            title, rows = chart_lines(root)
            self.outline.add(title)
            add_table(self.outline, rows, title, tight=True)
        else:
            self.outline.add("\n".join(paragraphs(root)))


class _Levels:
    """The heading levels of paragraphs: 0 for the document's title, None for body text."""

    def __init__(self, styles: Mapping[str, etree._Element]) -> None:
        self._styles = styles
        self._of_styles: dict[str, int | None] = {}
        """Heading levels of the styles that the text has named so far: a document has many more styles."""

    def of(self, paragraph: etree._Element) -> int | None:
        """Return the level of a paragraph."""
        outline = _property(paragraph, _OUTLINE_LEVEL)
        if outline is not None and (level := whole(outline.get(_VAL), _BODY_LEVEL)) < _BODY_LEVEL:
            return level + 1
        style = _property(paragraph, _STYLE)
        if style is None:
            return None
        style_id = style.get(_VAL) or ""
        if style_id not in self._of_styles:
            self._of_styles[style_id] = self._of_style(style_id)
        return self._of_styles[style_id]

    def _of_style(self, style_id: str) -> int | None:
        """Return the level of a style: its own, or else that of the style on which it is based."""
        style = self._styles.get(style_id)
        for _ in range(MAX_BASES):
            if style is None:
                break
            outline = _property(style, _OUTLINE_LEVEL)
            name = next((each.get(_VAL) or "" for each in style.iterchildren(_NAME)), "")
            if match := _HEADING_STYLE.fullmatch(name):
                return int(match[1])
            if name.lower() == "title":
                return 0
            if outline is not None:
                level = whole(outline.get(_VAL), _BODY_LEVEL)
                return level + 1 if level < _BODY_LEVEL else None
            base = next(style.iterchildren(BASE), None)
            style = self._styles.get(base.get(_VAL) or "") if base is not None else None
        return None


def _property(element: etree._Element, name: str, group: str = _PROPERTIES) -> etree._Element | None:
    for properties in element.iterchildren(group):
        return next(properties.iterchildren(name), None)
    return None


def _goes_on(paragraph: etree._Element) -> bool:
    """Return whether a paragraph is a drop cap, or its end has been deleted, so that the next one is a part of it."""
    frame, mark = _property(paragraph, _FRAME), _property(paragraph, _RUN_STYLE)
    is_drop_cap = frame is not None and frame.get(_DROP_CAP) in ("drop", "margin")
    return is_drop_cap or (mark is not None and next(mark.iterchildren(_DELETED, _MOVED), None) is not None)


def _last_letter(paragraph: etree._Element) -> str:
    last = next(paragraph.iterchildren(reversed=True), None)
    texts = [text.text or "" for text in last.iter(_T)] if last is not None else []
    return texts[-1][-1:] if texts else ""


def _find(parent: etree._Element, *tags: str) -> Iterator[etree._Element]:
    """Yield the outermost elements with these tags in order, also in content controls and tracked insertions."""
    for child in parent.iterchildren(tag=etree.Element):
        if child.tag in tags:
            yield child
        elif child.tag not in _SKIPPED and not _is_prompt(child):
            yield from _find(child, *tags)


def _is_prompt(element: etree._Element) -> bool:
    """Return whether an element is a content control that nobody has filled in, and shows what to do with it."""
    return element.tag == _CONTROL and element.find(_PROMPT) is not None


def _drawings(block: etree._Element) -> Iterator[etree._Element]:
    """Yield the outermost text boxes, charts, diagrams, descriptions and WordArt of a paragraph or table."""
    for found in block.iter(_BOX, _CHART, _DIAGRAM, _DESCRIBED, _WORD_ART):  # seldom any
        if _depth(found) == _depth(block):
            yield found


def _depth(element: etree._Element) -> int:
    """Return in how many drawings, and parts that are skipped, an element is."""
    return sum(1 for _ in element.iterancestors(_BOX, _CHART, _DIAGRAM, *_SKIPPED))


def _marks(run: etree._Element) -> list[str]:
    """Return which of `_HIDDEN`, `_STRIKE`, `_DOUBLE_STRIKE` and raised (`_ALIGNED`) a run is."""
    for style in run.iterchildren(_RUN_STYLE):
        found = style.iterchildren(_HIDDEN, _STRIKE, _DOUBLE_STRIKE, _ALIGNED)
        return [str(each.tag) for each in found if (each.get(_VAL) or "1") not in _OFF]
    return []


def _text(paragraph: etree._Element) -> str:
    """Return the text as it is shown, struck out text between ``~~``; without hidden text, furigana and text boxes."""
    if next(paragraph.iter(*_NOT_PLAIN), None) is None:  # nearly always
        return "".join(map(_plain, paragraph.iterdescendants(_T, _SYMBOL, *_BREAKS))).strip()
    parts: list[tuple[bool, str]] = []
    fields: list[_Field] = []
    is_struck = is_raised = False
    walker = etree.iterwalk(paragraph, events=("start",), tag=_TOLD)
    for _, element in walker:
        tag = element.tag
        if tag == _R:
            marks = _marks(element)
            is_struck = _STRIKE in marks or _DOUBLE_STRIKE in marks
            is_raised = _ALIGNED in marks
            if _HIDDEN in marks:
                walker.skip_subtree()
        elif tag in _SKIPPED or tag == _BOX or _is_prompt(element):
            walker.skip_subtree()
        elif tag == _T:
            text = in_its_font(element)
            parts.append((is_struck, f"{RAISE}{text}{RAISE}" if is_raised else text))
        elif tag in _WRITTEN:
            parts.append((False, _WRITTEN[tag](element)))
            walker.skip_subtree()
        elif tag == _FIELD:
            _end_code(parts, fields, element.get(_FIELD_PLACE) or "")
        elif tag == _CODE and fields and len(fields[-1].code) < MAX_CODE_CHARS:
            fields[-1].code += element.text or ""
        elif element is not paragraph and tag in _BREAKS:
            parts.append((is_struck, _BREAKS[tag]))
    joined = (
        (key, mark_raised("".join(text for _, text in group))) for key, group in groupby(parts, key=itemgetter(0))
    )
    return "".join(struck(text) if key else text for key, text in joined).strip()


@dataclass(slots=True)
class _Field:
    """A field that has begun."""

    start: int
    """The place of its first part in the text."""
    code: str = ""
    has_result: bool = False


def _end_code(parts: list[tuple[bool, str]], fields: list[_Field], place: str) -> None:
    """Begin or end a field, or begin its result: what is in its code, as the result of another field, is no text."""
    if place == "begin":
        fields.append(_Field(len(parts)))
    elif fields and not fields[-1].has_result:  # what a field without a result shows is in its code
        del parts[fields[-1].start :]
        if place == "separate":
            fields[-1].has_result = True
            return
        parts.append((False, shown_by(fields.pop().code)))
    elif fields and place == "end":
        fields.pop()


def _plain(element: etree._Element) -> str:
    if element.tag == _T:
        return in_its_font(element)
    return _BREAKS[element.tag] if element.tag in _BREAKS else symbol(element)


def _grid(table: etree._Element, text_of: Callable[[etree._Element], str]) -> Grid:
    """Return the texts of a table's cells; cells may be merged over several columns and rows."""
    rows: list[list[str]] = []
    spans: list[MergedCells] = []
    open_spans: dict[int, MergedCells] = {}  # by their column
    rows_left = list(_rows_of(table))
    before = [_columns_before(row) for row in rows_left]
    least = min(before, default=0)
    for number, row in enumerate(rows_left):
        cells = [""] * (before[number] - least)
        going_on: dict[int, MergedCells] = {}
        for cell in _find(row, _TC):
            column = len(cells)
            text = _cell_text(cell, text_of)
            down, across = (_property(cell, name, _CELL_PROPERTIES) for name in (_V_MERGE, _GRID_SPAN))
            width = min(whole(across.get(_VAL), 1), MAX_COLUMNS) if across is not None else 1
            above = open_spans.get(column)
            if down is not None and down.get(_VAL) in (None, "continue") and above is not None:
                going_on[column] = MergedCells(above.row, column, above.rows + 1, above.columns)
                text = ""
            else:
                span = MergedCells(number, column, 1, width)
                if down is not None:
                    going_on[column] = span
                elif width > 1:
                    spans.append(span)
            cells += [text] + [""] * (width - 1)
        ended = (column for column, span in open_spans.items() if going_on.get(column, _NO_SPAN).row != span.row)
        spans += (open_spans[column] for column in ended)
        open_spans = going_on
        rows.append(cells)
    spans += open_spans.values()
    return merged(rows, spans)


def _rows_of(table: etree._Element) -> Iterator[etree._Element]:
    """Yield the rows that are not deleted."""
    return (row for row in _find(table, _TR) if _property(row, _DELETED, _ROW_PROPERTIES) is None)


def _cell_text(cell: etree._Element, text_of: Callable[[etree._Element], str]) -> str:
    """Return the text of a cell on one line, with the rows of a table in it."""
    blocks = list(_find(cell, _P, _TBL))
    if all(block.tag == _P for block in blocks):  # nearly always
        return " ".join(one_line(text_of(block)) for block in blocks)
    rows: list[list[str]] = []
    for block in blocks:
        if block.tag == _P:
            rows.append([text_of(block)])
        else:
            rows += ([_cell_text(each, text_of) for each in _find(row, _TC)] for row in _rows_of(block))
    return in_cell(rows)


def _columns_before(row: etree._Element) -> int:
    """Return how many columns of the table are on the left of a row."""
    stated = _property(row, _GRID_BEFORE, _ROW_PROPERTIES)
    return min(whole(stated.get(_VAL), 0), MAX_COLUMNS) if stated is not None else 0


def _add_notes(document: Document, outline: Outline, kinds: Iterable[tuple[str, str, str]]) -> None:
    for relation in document.part.rels.values():
        for suffix, heading, tag in kinds:
            if relation.is_external or not relation.reltype.endswith(suffix):
                continue
            root = etree.fromstring(relation.target_part.blob, etree.XMLParser(resolve_entities=False))
            outline.add_apart(heading, ("\n".join(map(_text, _find(note, _P))).strip() for note in root.iter(tag)))
