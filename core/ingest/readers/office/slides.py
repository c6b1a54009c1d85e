"""PowerPoint presentations: a section per slide, with tables, charts, groups, speaker notes and comments. Boxes are
read from the top, and column by column where they stand in columns.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pptx
from lxml import etree
from pptx.exc import PythonPptxError
from pptx.opc.package import Part
from pptx.oxml.ns import qn
from pptx.shapes.base import BaseShape
from pptx.shapes.group import GroupShape
from pptx.shapes.picture import Picture
from pptx.slide import Slide
from pptx.table import _Cell

from braid.core.ingest.readers.archive import PACKAGE_ERRORS
from braid.core.ingest.readers.document import ParsedDocument, Section, SourceFile, first_title, one_line, struck
from braid.core.ingest.readers.merged import Cell, laid_out
from braid.core.ingest.readers.office.drawing import chart_lines, is_description, paragraphs
from braid.core.ingest.readers.office.numbering import labelled, whole
from braid.core.ingest.readers.office.package import embedded, open_xml
from braid.core.ingest.readers.parts.equation import equation
from braid.core.ingest.readers.parts.numerals import numeral
from braid.core.ingest.readers.parts.raised import RAISE, mark_raised
from braid.core.ingest.readers.parts.symbols import has_codes, signs
from braid.core.ingest.readers.parts.xml import local, parse_xml
from braid.core.ingest.readers.table_rows import bars
from braid.core.metadata.gaps import ATTACHMENTS_UNREAD

ERRORS = (*PACKAGE_ERRORS, PythonPptxError)

_DIAGRAM, _DIAGRAM_DATA = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds", qn("r:dm")
_PARAGRAPH, _TEXT, _RUN, _RUN_STYLE, _FIELD = qn("a:p"), qn("a:t"), qn("a:r"), qn("a:rPr"), qn("a:fld")
_FONTS = (qn("a:sym"), qn("a:latin"))
_OFF = ("0", "false")
_PROPERTIES = qn("p:cNvPr")
_STYLE, _NUMBERING = qn("a:pPr"), qn("a:buAutoNum")
_FORMS = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"} | {
    "circleNum": "decimalEnclosedCircle",
    "ea1": "japaneseCounting",
}
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per slide that has text; its title is the heading. Boxes come as they are read, from the top.

    Hidden slides are left out, and named.
    """
    content = open_xml(file)
    presentation = pptx.Presentation(io.BytesIO(content))
    sections: list[Section] = []
    of_slide = ""
    seen: set[str] = set()  # names of parts: each is read once, however many slides name it
    hidden: list[str] = []
    for number, slide in enumerate(presentation.slides, start=1):
        if slide._element.get("show") in _OFF:
            hidden.append(str(number))
            continue
        heading = slide.shapes.title
        title = one_line(heading.text_frame.text) if heading is not None else ""
        of_slide = of_slide or title
        text = "\n".join(_slide_lines(file, slide, heading, seen)) or title
        sections.append(Section(text, title, page=number))
    properties = presentation.core_properties
    title = first_title(properties.title, of_slide)
    metadata = {"author": properties.author, "slides": str(len(sections)), "hidden_slides": ", ".join(hidden)}
    metadata[ATTACHMENTS_UNREAD] = embedded(content)
    return ParsedDocument(title, "pptx", tuple(sections), metadata)


def _slide_lines(file: SourceFile, slide: Slide, title: BaseShape | None, seen: set[str]) -> Iterator[str]:
    title_id = title.shape_id if title is not None else None
    yield from _lines(file, seen, [shape for shape in slide.shapes if shape.shape_id != title_id])
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and notes.text.strip():
        yield "\n" + _lines_of(notes.text)
    for relation in slide.part.rels.values():
        if not relation.is_external and relation.reltype.endswith("/comments") and _is_new(relation.target_part, seen):
            yield from _comments(file, relation.target_part.blob)


def _lines(file: SourceFile, seen: set[str], shapes: Sequence[BaseShape]) -> Iterator[str]:
    placed: list[tuple[ShapeBox, list[str]]] = []
    for shape in shapes:
        if text := "\n".join(_shape_lines(file, seen, shape)):
            box = _box(shape)
            if box is None and placed:
                placed[-1][1].append(text)
            else:
                placed.append((box or ShapeBox(0, 0, 0, 0), [text]))
    for place in in_reading_order([box for box, _ in placed]):
        yield from placed[place][1]


def _box(shape: BaseShape) -> ShapeBox | None:
    """Return where a shape is; a placeholder that does not say so is where that of its layout is. None where nothing
    says so: it follows what is drawn before it.
    """
    element: Any = shape._element
    sides = [element.x, element.y, element.cx, element.cy]
    if None in sides and (base := getattr(shape, "_base_placeholder", None)) is not None:
        inherited = _box(base) or (None,) * len(sides)
        sides = [other if own is None else own for own, other in zip(sides, inherited, strict=True)]
    if sides[0] is None and sides[1] is None:
        return None
    return ShapeBox(*(int(side or 0) for side in sides))


def _shape_lines(file: SourceFile, seen: set[str], shape: BaseShape) -> Iterator[str]:
    if isinstance(shape, GroupShape):
        yield from _lines(file, seen, list(shape.shapes))
    elif shape.has_text_frame:
        body = shape.text_frame._txBody  # type: ignore[attr-defined]
        if text := _lines_of("\n".join(_numbered(body.iter(_PARAGRAPH)))):
            yield text
    elif shape.has_table:
        rows = [[cell for cell in row.cells if not cell.is_spanned] for row in shape.table.rows]  # type: ignore[attr-defined]
        yield from map(bars, laid_out([list(map(_cell, row)) for row in rows]).rows)
    elif shape.has_chart:
        part = shape.chart_part  # type: ignore[attr-defined]
        title, rows = chart_lines(parse_xml(file, part.blob)) if _is_new(part, seen) else ("", [])
        yield from filter(None, (title, *map(bars, rows)))
    elif isinstance(shape, Picture):
        described = one_line(next((each.get("descr") or "" for each in shape._element.iter(_PROPERTIES)), ""))
        if is_description(described):
            yield described
    else:
        yield from _diagrams(file, seen, shape)


def _diagrams(file: SourceFile, seen: set[str], shape: BaseShape) -> Iterator[str]:
    for diagram in shape._element.iter(_DIAGRAM):
        name = diagram.get(_DIAGRAM_DATA) or ""
        if name in shape.part.rels and not shape.part.rels[name].is_external:
            part = shape.part.related_part(name)
            if _is_new(part, seen):
                yield from paragraphs(parse_xml(file, part.blob))


def _is_new(part: Part, seen: set[str]) -> bool:
    name = str(part.partname)
    is_new = name not in seen
    seen.add(name)
    return is_new


def _numbered(paragraphs: Iterable[etree._Element]) -> Iterator[str]:
    """Yield the texts of paragraphs, with the numbers that PowerPoint shows before them."""
    counts: dict[int, tuple[str, int]] = {}  # by level: the form of its numbers, and the last one
    for paragraph in paragraphs:
        text, style = _paragraph(paragraph), paragraph.find(_STYLE)
        numbering = style.find(_NUMBERING) if style is not None else None
        level = whole(style.get("lvl"), 0) if style is not None else 0
        if text.strip():
            counts = {each: last for each, last in counts.items() if each <= level}
        if numbering is None or not text.strip():
            if text.strip():
                counts.pop(level, None)
            yield text
            continue
        form, begin = numbering.get("type") or "arabicPeriod", whole(numbering.get("startAt"), 1)
        last = counts.get(level)
        counts[level] = form, begin if last is None or last[0] != form else last[1] + 1
        yield labelled(_label(form, counts[level][1]), text)


def _label(form: str, number: int) -> str:
    """Return a number as PowerPoint shows it in a form such as ``romanLcParenR``: ``iv)``."""
    found = next((shown for name, shown in _FORMS.items() if form.startswith(name)), "decimal")
    text = numeral(number, found)
    if form.endswith("ParenBoth"):
        return f"({text})"
    return text + ("." if form.endswith("Period") else ")" if form.endswith("ParenR") else "")


def _paragraph(paragraph: etree._Element) -> str:
    """Return the text of a paragraph, struck out text between ``~~``; a line break within is a vertical tab."""
    parts = []
    walker = etree.iterwalk(paragraph, events=("start",))
    for _, element in walker:
        if element.tag in (_RUN, _FIELD):
            style, text = element.find(_RUN_STYLE), element.findtext(_TEXT) or ""
            if style is not None and not text.isascii() and has_codes(text):
                text = signs(text, next((each.get("typeface") or "" for each in style.iterchildren(*_FONTS)), ""))
            if style is not None and (style.get("baseline") or "-").lstrip("0")[:1] not in ("", "-"):
                text = f"{RAISE}{text}{RAISE}"
            is_struck = style is not None and style.get("strike") in ("sngStrike", "dblStrike")
            parts.append(struck(mark_raised(text)) if is_struck else text)
            walker.skip_subtree()
        elif element.tag == _MATH:
            parts.append(equation(element))
            walker.skip_subtree()
        elif element.tag == _FALLBACK:
            walker.skip_subtree()
        elif local(element) == "br":
            parts.append("\v")
    return mark_raised("".join(parts))


def _cell(cell: _Cell) -> Cell:
    text = " ".join(map(_paragraph, cell._tc.iter(_PARAGRAPH)))
    return Cell(one_line(text), cell.span_width, cell.span_height)


def _lines_of(text: str) -> str:
    """Return the lines that are not empty; a vertical tab is a line break within a paragraph."""
    return "\n".join(line.strip() for line in text.replace("\v", "\n").split("\n") if line.strip())


def _comments(file: SourceFile, content: bytes) -> Iterable[str]:
    """Return the comments of a slide: of PowerPoint 2019 and before in ``text``, since then in paragraphs."""
    root = parse_xml(file, content)
    old = (one_line(each.text or "") for each in root.iter("{*}text"))
    return [f"Comment: {text}" for text in (*old, *paragraphs(root)) if text]


class ShapeBox(NamedTuple):
    """Where a shape is, in any unit; the origin is at the top left."""

    left: int
    top: int
    width: int
    height: int


_OVERLAP = 0.1
"""Share of its height or width with which a box may reach into the next, and still be apart from it."""
MAX_BOXES = 500
"""Of a slide; those with more are sorted from the top without a look at columns."""


def in_reading_order(boxes: Sequence[ShapeBox]) -> list[int]:
    """Return the places of the boxes in reading order.

    They are parted where the widest gap goes through, across or down, and each part again, as in the recursive cuts of
    Nagy and Seth (1984). Boxes that no gap parts are read from the top.

    >>> in_reading_order([Box(0, 300, 90, 50), Box(0, 0, 90, 50), Box(0, 100, 90, 50)])
    [1, 2, 0]
    """
    everything = sorted(range(len(boxes)), key=lambda at: (boxes[at].top, boxes[at].left, at))
    if len(boxes) > MAX_BOXES:
        return everything
    found: list[int] = []
    waiting = [everything]
    while waiting:
        group = waiting.pop()
        parts = _parted(boxes, group) if len(group) > 1 else []
        if parts:
            waiting += reversed(parts)
        else:
            found += group
    return found


def _parted(boxes: Sequence[ShapeBox], group: list[int]) -> list[list[int]]:
    """Return the two parts of a group at its widest gap; none where no gap goes through. Across goes before down."""
    across = _widest([(boxes[at].top, boxes[at].height, at) for at in group])
    down = _widest([(boxes[at].left, boxes[at].width, at) for at in group])
    if across is None and down is None:
        return []
    if down is None or (across is not None and across[0] >= down[0]):
        before = across[1] if across is not None else set()
    else:
        before = down[1]
    return [[at for at in group if at in before], [at for at in group if at not in before]]


def _widest(intervals: list[tuple[int, int, int]]) -> tuple[float, set[int]] | None:
    """Return the widest gap between intervals (begin, length, place), and the places before it."""
    ordered = sorted(intervals)
    best: tuple[float, int] | None = None
    end = float("-inf")
    for count, (begin, length, _) in enumerate(ordered):
        gap = begin - end
        if count and gap > 0 and (best is None or gap > best[0]):
            best = gap, count
        end = max(end, begin + length * (1 - _OVERLAP))
    return None if best is None else (best[0], {place for _, _, place in ordered[: best[1]]})
