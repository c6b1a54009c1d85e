"""OpenDocument (LibreOffice, OpenOffice): texts by headings, presentations by slides, spreadsheets by rows."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator

from lxml import etree

from braid.core.ingest.readers.archive import PACKAGE_ERRORS, open_archive
from braid.core.ingest.readers.document import (
    Outline,
    ParsedDocument,
    Section,
    SourceFile,
    first_title,
    one_line,
)
from braid.core.ingest.readers.merged import Cell, laid_out
from braid.core.ingest.readers.office.package import attribute, local, part, refuse_encrypted
from braid.core.ingest.readers.table_rows import Row, add_table, records, row_of
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
_BREAKS = {"line-break": "\n", "tab": "\t"}
_MAX_SPACES = 100


def read(file: SourceFile) -> ParsedDocument:
    """Return the text as it is shown; comments, deleted and hidden text are left out. Nothing is calculated or run."""
    with open_archive(file) as archive:
        refuse_encrypted(file, archive)
        content = part(archive, "content.xml").find("{*}body")
        if content is None or not len(content):
            raise file.unreadable("has no text in it; check that it is the right file")
        metadata = _metadata(archive)
    title = metadata.pop("title", "")
    if file.file_type == "ods":
        return _workbook(file, content[0], title, metadata)
    if file.file_type == "odp":
        sections, of_slide = _slides(content[0])
        return ParsedDocument(first_title(title, of_slide), "odp", sections, metadata | {"slides": str(len(sections))})
    outline = Outline()
    notes: list[str] = []
    own_title = _add(content[0], outline, notes)
    if notes:
        outline.heading(1, "Footnotes")
        for note in notes:
            outline.add(note)
    sections = outline.sections()
    return ParsedDocument(first_title(title, own_title, outline.first_heading), "odt", sections, metadata)


def _metadata(archive: zipfile.ZipFile) -> dict[str, str]:
    if "meta.xml" not in archive.namelist():
        return {}
    root = part(archive, "meta.xml")
    names = {"title": "title", "creator": "author", "language": "language"}
    return {names[local(each)]: each.text or "" for each in root.iter(etree.Element) if local(each) in names}


# ------------------------------------------------------------ texts


def _add(parent: etree._Element, outline: Outline, notes: list[str]) -> str:
    """Add the blocks under an element, and return the title among them."""
    title = ""
    for block in _blocks(parent):
        notes += (_text(body) for note in block.iter("{*}note") for body in note.iter("{*}note-body"))
        if local(block) == "table":
            _add_table(block, outline)
        elif local(block) == "h":
            outline.heading(max(1, min(_number(block, "outline-level", 1), 9)), _text(block))
        else:
            text = _text(block)
            if attribute(block, "style-name").lower() == "title":
                title = title or one_line(text)
            is_item = any(local(ancestor) == "list-item" for ancestor in block.iterancestors())
            outline.add(f"- {text}" if is_item and text else text, tight=is_item)
    return title


def _blocks(parent: etree._Element) -> Iterator[etree._Element]:
    """Yield headings, paragraphs and tables in order, also in sections, lists, frames and indexes."""
    for child in parent.iterchildren(tag=etree.Element):
        name = local(child)
        if name in ("p", "h", "table"):
            yield child
        elif name not in _SKIPPED and attribute(child, "display") != "none":
            yield from _blocks(child)


def _text(block: etree._Element) -> str:
    """Return the text of a paragraph as it is shown, with that of text boxes in it."""
    parts: list[str] = []
    walker = etree.iterwalk(block, events=("start", "end", "comment", "pi"))
    for event, element in walker:
        if event == "start":
            if element is not block and local(element) in _SKIPPED:
                walker.skip_subtree()
                continue
            spaces = min(_number(element, "c", 1), _MAX_SPACES) if local(element) == "s" else 0
            parts += " " * spaces, _BREAKS.get(local(element), ""), element.text or ""
        elif element is not block:
            parts.append("\n" if event == "end" and local(element) in ("p", "h") else "")
            parts.append(element.tail or "")
    return "".join(parts).strip()


def _number(element: etree._Element, name: str, default: int) -> int:
    value = attribute(element, name)
    return int(value) if value.isascii() and value.isdigit() else default


def _add_table(table: etree._Element, outline: Outline) -> None:
    """Add a table, the text of merged cells in each of their places."""
    rows = ([cell for cell in _cells_of(row) if local(cell) == "table-cell"] for row in _rows_of(table))
    add_table(outline, laid_out([list(map(_spanning, row)) for row in rows]))


def _spanning(cell: etree._Element) -> Cell:
    text = one_line(" ".join(_text(block) for block in _blocks(cell)))
    columns, rows = (_number(cell, f"number-{name}-spanned", 1) for name in ("columns", "rows"))
    return Cell(text, max(1, columns), max(1, rows))


def _rows_of(parent: etree._Element) -> Iterator[etree._Element]:
    for child in parent.iterchildren(tag=etree.Element):
        if local(child) == "table-row":
            yield child
        elif local(child) in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _rows_of(child)


def _cells_of(row: etree._Element) -> Iterable[etree._Element]:
    return (cell for cell in row.iterchildren(tag=etree.Element) if local(cell) in ("table-cell", "covered-table-cell"))


# ------------------------------------------------------------ presentations


def _slides(body: etree._Element) -> tuple[tuple[Section, ...], str]:
    """Return a section per slide, its notes at its end, and the first slide's title."""
    sections = []
    for number, slide in enumerate(body.iterchildren("{*}page"), start=1):
        titles = [_plain(frame) for frame in slide.iter("{*}frame") if attribute(frame, "class") == "title"]
        title = one_line(next(iter(titles), ""))
        lines = [_plain(child) for child in slide if attribute(child, "class") != "title" and local(child) != "notes"]
        notes = "\n".join(_plain(frame) for frame in slide.iterfind("{*}notes/{*}frame"))
        text = "\n".join(line for line in lines if line.strip())
        sections.append(Section("\n\n".join(filter(str.strip, (text, notes))) or title, title, page=number))
    return tuple(sections), next((section.heading_path for section in sections if section.heading_path), "")


def _plain(parent: etree._Element) -> str:
    outline = Outline()
    _add(parent, outline, [])
    lines: list[str] = []
    header = ""
    for section in outline.sections():
        lines += [section.header] if section.header != header and section.header else []
        lines.append(section.text)
        header = section.header
    return "\n".join(lines)


# ------------------------------------------------------------ spreadsheets


def _workbook(file: SourceFile, body: etree._Element, title: str, metadata: dict[str, str]) -> ParsedDocument:
    sheets = [sheet for sheet in body.iterchildren(tag=etree.Element) if local(sheet) == "table"]
    unknown: list[int] = []
    sections = [
        section for sheet in sheets for section in records(_sheet_rows(file, sheet, unknown), attribute(sheet, "name"))
    ]
    about = metadata | {"sheets": ", ".join(attribute(sheet, "name") for sheet in sheets)}
    if unknown:
        about[FORMULAS_WITHOUT_VALUE] = str(len(unknown))
    return ParsedDocument(first_title(title), "ods", tuple(sections), about)


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
                raise file.unreadable(f"has a sheet of more than {MAX_CELLS:,} cells; split it")
        row = row_of(cells)
        for _ in range(min(_number(element, "number-rows-repeated", 1), MAX_REPEATED) if row.filled else 1):
            read_cells += len(row.cells)
            if read_cells > MAX_CELLS:
                raise file.unreadable(f"has a sheet of more than {MAX_CELLS:,} cells; split it")
            yield row


def _value(cell: etree._Element) -> str:
    """Return a cell as a person would write it: dates and plain numbers by their value, others as they are shown."""
    kind, value = attribute(cell, "value-type"), attribute(cell, "value")
    if kind == "date":
        return attribute(cell, "date-value").removesuffix("T00:00:00").replace("T", " ")
    if kind == "float" and value:
        return value.removesuffix(".0")
    return one_line(" ".join(_text(block) for block in _blocks(cell))) or value
