"""OpenDocument (LibreOffice, OpenOffice): texts by headings, presentations by slides, spreadsheets by rows.

A file is a package, or one XML file with all of it: fodt, fods, fodp.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

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
from braid.core.ingest.readers.office.drawing import is_description
from braid.core.ingest.readers.office.numbering import labelled
from braid.core.ingest.readers.office.open_styles import Styles, is_shown_by
from braid.core.ingest.readers.office.package import refuse_encrypted
from braid.core.ingest.readers.parts.raised import RAISE, mark_raised
from braid.core.ingest.readers.parts.xml import attribute, local, parse_xml
from braid.core.ingest.readers.rows import HiddenCounts, Row, row_of
from braid.core.ingest.readers.table_rows import add_table, in_cell, records
from braid.core.metadata.gaps import FORMULAS_WITHOUT_VALUE

ERRORS = PACKAGE_ERRORS

MAX_REPEATED = 1_000
"""Most times that a cell or row which has text is repeated; empty ones fill a sheet to its end, and are left out."""
MAX_COLUMNS = 16_384
MAX_CELLS = 2_000_000
"""Of a sheet."""
_SKIPPED = frozenset(
    {"tracked-changes", "annotation", "annotation-end", "hidden-text", "hidden-paragraph", "ruby-text", "note", "notes"}
    | {"sequence-decls", "variable-decls", "user-field-decls", "forms", "event-listeners", "desc", "title", "thumbnail"}
)
_DRAWN = frozenset({"text-box", "custom-shape", "rect", "ellipse", "circle", "polygon", "path", "line", "connector"})
_APART = [f"{{*}}{name}" for name in ("note", "annotation", "frame", *_DRAWN)]
_STYLED = ("span", "p", "h")
_DIGITS = re.compile(r"[-+(]?(?!0\d)[\d.,'’\s]+\)?")
"""A number that is shown as digits alone, without zeros before it."""
_OBJECT = re.compile(r"[^/]{1,200}/content\.xml")
_PARTS = ("content.xml", "styles.xml", "meta.xml")
_KINDS = {"text": "odt", "spreadsheet": "ods", "presentation": "odp"}
_BREAKS = {"line-break": "\n", "tab": "\t"}
_MAX_SPACES = 100
_HIDDEN = ("collapse", "filter")


def read(file: SourceFile) -> ParsedDocument:
    """Return the text as it is shown; deleted and hidden text is left out. Nothing is calculated or run."""
    if file.content.startswith(b"PK"):
        parts: dict[str, bytes] = {}
        with open_archive(file, looked_at=_PARTS, look=parts.__setitem__) as archive:
            refuse_encrypted(file, archive)
        roots = [parse_xml(file, parts[name]) for name in ("content.xml", "meta.xml") if name in parts]
        if roots and "styles.xml" in parts and is_shown_by(parts["styles.xml"], roots[0]):
            roots.append(parse_xml(file, parts["styles.xml"]))
        charts = [parse_xml(file, content) for name, content in parts.items() if _OBJECT.fullmatch(name)]
    else:
        roots = [parse_xml(file, file.content)]
        charts = list(roots[0].iterfind(".//{*}object/{*}document"))
    content = next((body for root in roots if (body := root.find("{*}body")) is not None and len(body)), None)
    if content is None:
        raise file.unreadable("%(name)s has no text in it; check that it is the right file", code="no_text")
    kind, body = _KINDS.get(local(content[0]), file.file_type), content[0]
    metadata = _metadata(roots)
    title = metadata.pop("title", "")
    styles = Styles(roots)
    drawn = _charts(charts, styles)
    if kind == "ods":
        parsed = _workbook(file, body, styles, title, metadata)
    elif kind == "odp":
        sections, of_slide = _slides(body, styles)
        about = metadata | {"slides": str(len(sections))}
        parsed = ParsedDocument(first_title(title, of_slide), file.file_type, sections, about)
    else:
        outline = Outline()
        notes, comments = list[str](), list[str]()
        own_title = _add(body, outline, styles, notes, comments)
        outline.add_apart("Footnotes", notes)
        outline.add_apart("Comments", comments)
        sections = outline.sections()
        title = first_title(title, own_title, outline.first_heading)
        parsed = ParsedDocument(title, file.file_type, sections, metadata)
    return replace(parsed, sections=(*parsed.sections, *drawn))


def _metadata(roots: Iterable[etree._Element]) -> dict[str, str]:
    names = {"title": "title", "creator": "author", "language": "language"}
    found: dict[str, str] = {}
    for each in (each for root in roots for meta in root.iterfind("{*}meta") for each in meta):
        if local(each) in names and each.text:
            found.setdefault(names[local(each)], each.text)
    return found


def _charts(roots: Iterable[etree._Element], styles: Styles) -> Iterator[Section]:
    """Yield the titles and the values of charts, which OpenDocument keeps as tables within them."""
    for root in roots:
        chart = root.find("{*}body/{*}chart/{*}chart")
        if chart is None:
            continue
        outline = Outline()
        texts = (_text(block) for each in chart.iter("{*}title", "{*}subtitle") for block in _blocks(each))
        kind = attribute(chart, "class").rpartition(":")[2]
        named = f"{kind.capitalize()} chart" if kind.isalpha() else ""
        title = " – ".join(dict.fromkeys(filter(None, (named, *texts))))
        outline.add(title)
        for table in chart.iter("{*}table"):
            _add_table(table, outline, styles, title)
        yield from outline.sections()


# ------------------------------------------------------------ texts


def _add(parent: etree._Element, outline: Outline, styles: Styles, notes: list[str], comments: list[str]) -> str:
    """Add the blocks under an element, and return the title among them."""
    title = ""
    for block in _blocks(parent):
        within = _within(block)
        if "note" in within:
            notes += (_text(body) for note in block.iter("{*}note") for body in note.iter("{*}note-body"))
        if "annotation" in within:
            comments += filter(None, map(_comment, block.iter("{*}annotation")))
        if local(block) == "table":
            _add_table(block, outline, styles)
            continue
        text = _text(block, styles)
        label = styles.label(block)
        if local(block) == "h":
            level = max(1, min(_number(block, "outline-level", 1), 9))
            outline.heading(level, labelled("" if label in (None, "-") else str(label), text))
        else:
            if attribute(block, "style-name").lower() == "title":
                title = title or one_line(text)
            outline.add(labelled(label or "", text), tight=label is not None)
        for box in _boxes(block) if within & _DRAWN else ():
            title = _add(box, outline, styles, notes, []) or title
        for told in _described(block) if "frame" in within else ():
            outline.add(told)
    return title


def _within(block: etree._Element) -> set[str]:
    """Return the names of what is in a block, and not of its text: seldom any."""
    return set(map(local, block.iter(*_APART))) if len(block) else set()


def _described(block: etree._Element) -> Iterator[str]:
    """Yield what authors say of the pictures in a paragraph."""
    for frame in block.iter("{*}frame"):
        if frame.find("{*}image") is None:
            continue
        texts = (one_line("".join(map(str, each.itertext()))) for each in frame.iterchildren("{*}title", "{*}desc"))
        yield from dict.fromkeys(text for text in texts if is_description(text))


def _comment(annotation: etree._Element) -> str:
    return one_line(" ".join(_text(block) for block in _blocks(annotation)))


def _boxes(parent: etree._Element) -> Iterator[etree._Element]:
    """Yield the outermost text boxes and shapes with text in a paragraph."""
    for child in parent.iterchildren(tag=etree.Element):
        if local(child) in _DRAWN:
            yield child
        elif local(child) not in _SKIPPED:
            yield from _boxes(child)


def _blocks(parent: etree._Element) -> Iterator[etree._Element]:
    """Yield headings, paragraphs and tables in order, also in sections, lists, frames and indexes."""
    for child in parent.iterchildren(tag=etree.Element):
        name = local(child)
        if name in ("p", "h", "table"):
            yield child
        elif name not in _SKIPPED and attribute(child, "display") != "none":
            yield from _blocks(child)


def _text(block: etree._Element, styles: Styles | None = None) -> str:
    """Return the text of a paragraph as it is shown. With ``styles``, text boxes in it are left to the caller, and
    struck out text is between ``~~``.
    """
    if not len(block) and (styles is None or not styles.struck):  # nearly always
        return (block.text or "").strip()
    parts: list[str] = []
    walker = etree.iterwalk(block, events=("start", "end", "comment", "pi"))
    for event, element in walker:
        name = local(element)
        style = attribute(element, "style-name") if styles is not None and name in _STYLED else None
        is_struck = styles is not None and style in styles.struck
        mark = RAISE if styles is not None and name == "span" and style in styles.raised else ""
        mark += STRIKE if is_struck else ""
        if event == "start":
            if element is not block and (name in _SKIPPED or (styles is not None and name in _DRAWN)):
                walker.skip_subtree()
                continue
            parts.append(mark[::-1])
            spaces = min(_number(element, "c", 1), _MAX_SPACES) if name == "s" else 0
            parts += " " * spaces, _BREAKS.get(name, ""), element.text or ""
        else:
            parts.append(mark if event == "end" else "")
            if element is not block:
                parts.append("\n" if event == "end" and name in ("p", "h") else "")
                parts.append(element.tail or "")
    return mark_struck(mark_raised("".join(parts))).strip()


def _number(element: etree._Element, name: str, default: int) -> int:
    value = attribute(element, name)
    return int(value) if value.isascii() and value.isdigit() else default


def _add_table(table: etree._Element, outline: Outline, styles: Styles, caption: str = "") -> None:
    """Add a table, whose cells may cover several rows and columns."""
    rows = ([cell for cell in _cells_of(row) if local(cell) == "table-cell"] for row in _rows_of(table))
    add_table(outline, laid_out([[_spanning(cell, styles) for cell in row] for row in rows]), caption)


def _spanning(cell: etree._Element, styles: Styles) -> Cell:
    text = _cell_text(cell, styles)
    columns, rows = (_number(cell, f"number-{name}-spanned", 1) for name in ("columns", "rows"))
    return Cell(text, max(1, columns), max(1, rows))


def _cell_text(cell: etree._Element, styles: Styles) -> str:
    """Return the text of a cell on one line, with the rows of a table in it."""
    texts = list(_cell_texts(cell, styles))
    return in_cell([text] for text in texts) if any(map(_is_table, _blocks(cell))) else one_line(" ".join(texts))


def _is_table(block: etree._Element) -> bool:
    return local(block) == "table"


def _cell_texts(cell: etree._Element, styles: Styles) -> Iterator[str]:
    """Yield the paragraphs of a cell with their numbers, and those of tables and text boxes in it."""
    for block in _blocks(cell):
        if _is_table(block):
            yield from (in_cell([[_cell_text(each, styles) for each in _cells_of(row)]]) for row in _rows_of(block))
            continue
        label = styles.label(block)
        yield labelled("" if label in (None, "-") else str(label), _text(block, styles))
        within = _within(block)
        yield from _described(block) if "frame" in within else ()
        for box in _boxes(block) if within & _DRAWN else ():
            yield from _cell_texts(box, styles)


def _rows_of(parent: etree._Element) -> Iterator[etree._Element]:
    for child in parent.iterchildren(tag=etree.Element):
        if local(child) == "table-row":
            yield child
        elif local(child) in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _rows_of(child)


def _cells_of(row: etree._Element) -> Iterable[etree._Element]:
    return (cell for cell in row.iterchildren(tag=etree.Element) if local(cell) in ("table-cell", "covered-table-cell"))


# ------------------------------------------------------------ presentations


def _slides(body: etree._Element, styles: Styles) -> tuple[tuple[Section, ...], str]:
    """Return a section per slide, its notes at its end, and the first slide's title."""
    sections = []
    for number, slide in enumerate(body.iterchildren("{*}page"), start=1):
        titles = [_plain(frame, styles) for frame in slide.iter("{*}frame") if attribute(frame, "class") == "title"]
        title = one_line(next(iter(titles), ""))
        others = (child for child in slide if attribute(child, "class") != "title" and local(child) != "notes")
        lines = [_plain(child, styles) for child in others]
        notes = "\n".join(_plain(frame, styles) for frame in slide.iterfind("{*}notes/{*}frame"))
        text = "\n".join(line for line in lines if line.strip())
        sections.append(Section("\n\n".join(filter(str.strip, (text, notes))) or title, title, page=number))
    return tuple(sections), next((section.heading_path for section in sections if section.heading_path), "")


def _plain(parent: etree._Element, styles: Styles) -> str:
    outline = Outline()
    _add(parent, outline, styles, [], [])
    lines: list[str] = []
    header = ""
    for section in outline.sections():
        lines += [section.header] if section.header != header and section.header else []
        lines.append(section.text)
        header = section.header
    return "\n".join(lines)


# ------------------------------------------------------------ spreadsheets


def _workbook(
    file: SourceFile, body: etree._Element, styles: Styles, title: str, metadata: dict[str, str]
) -> ParsedDocument:
    sheets = [sheet for sheet in body.iterchildren(tag=etree.Element) if local(sheet) == "table"]
    hidden = [sheet for sheet in sheets if attribute(sheet, "style-name") in styles.hidden]
    unknown: list[int] = []
    sections: list[Section] = []
    counts = HiddenCounts()
    for sheet in (sheet for sheet in sheets if sheet not in hidden):
        name = attribute(sheet, "name")
        sections += records(_sheet_rows(file, sheet, unknown), name)
        counts.add(name, *_hidden_cells(sheet))
        outline = Outline(name)
        for shapes in sheet.iterchildren("{*}shapes"):
            _add(shapes, outline, styles, [], [])
        for annotation in sheet.iter("{*}annotation"):
            if text := _comment(annotation):
                outline.add(f"Comment: {text}", tight=True)
        sections += outline.sections()
    about = metadata | {"sheets": ", ".join(attribute(sheet, "name") for sheet in sheets)}
    about |= {"hidden_sheets": ", ".join(attribute(sheet, "name") for sheet in hidden), **counts.metadata()}
    if unknown:
        about[FORMULAS_WITHOUT_VALUE] = str(len(unknown))
    return ParsedDocument(first_title(title), file.file_type, tuple(sections), about)


def _hidden_cells(sheet: etree._Element) -> tuple[int, int]:
    """Return how many rows and columns are hidden, by hand, a filter or a closed group, and have something in them."""
    hidden = (row for row in _rows_of(sheet) if attribute(row, "visibility") in _HIDDEN)
    rows = sum(any(map(_value, _cells_of(row))) for row in hidden)
    columns: set[int] = set()
    place = 0
    for column in sheet.iter("{*}table-column"):
        end = min(place + _number(column, "number-columns-repeated", 1), MAX_COLUMNS)
        if attribute(column, "visibility") in _HIDDEN:
            columns.update(range(place, end))
        place = end
    return rows, len(columns & _filled_columns(sheet)) if columns else 0


def _filled_columns(sheet: etree._Element) -> set[int]:
    filled: set[int] = set()
    for row in _rows_of(sheet):
        place = 0
        for cell in _cells_of(row):
            count = _number(cell, "number-columns-repeated", 1)
            if _value(cell):
                filled.update(range(place, place + min(count, MAX_REPEATED)))
            place += count
    return filled


def _sheet_rows(file: SourceFile, sheet: etree._Element, unknown: list[int]) -> Iterator[Row]:
    read_cells = 0
    for element in _rows_of(sheet):
        cells: list[str] = []
        for cell in _cells_of(element):
            text = _value(cell)
            if not text and attribute(cell, "formula"):
                unknown.append(1)
            repeated = _number(cell, "number-columns-repeated", 1)
            cells += [text] * min(repeated, MAX_REPEATED)
            if len(cells) > MAX_COLUMNS + MAX_REPEATED:
                raise file.too_large("%(name)s has a sheet of more than %(most)s cells; split it", most=MAX_CELLS)
        row = row_of(cells)
        for _ in range(min(_number(element, "number-rows-repeated", 1), MAX_REPEATED) if row.filled else 1):
            read_cells += len(row.cells)
            if read_cells > MAX_CELLS:
                raise file.too_large("%(name)s has a sheet of more than %(most)s cells; split it", most=MAX_CELLS)
            yield row


def _value(cell: etree._Element) -> str:
    """Return a cell as a person would write it: dates and plain numbers by their value, others as they are shown."""
    kind, value = attribute(cell, "value-type"), attribute(cell, "value")
    if kind == "date":
        return attribute(cell, "date-value").removesuffix("T00:00:00").replace("T", " ")
    shown = one_line(" ".join(_text(block) for block in _blocks(cell)))
    if kind == "float" and value and (not shown or _DIGITS.fullmatch(shown)):
        return value.removesuffix(".0")
    return shown or value
