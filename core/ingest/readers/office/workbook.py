"""Excel workbooks: a record per row, the sheet's name as its heading; then text boxes, charts and comments."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections.abc import Generator, Iterator
from itertools import islice
from operator import itemgetter
from typing import Any

import openpyxl
from lxml import etree
from openpyxl.cell.text import Text
from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE
from openpyxl.utils.cell import column_index_from_string
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.workbook import Workbook
from openpyxl.worksheet._read_only import ReadOnlyWorksheet
from openpyxl.worksheet._reader import COL_TAG, INLINE_STRING, ROW_TAG, WorkSheetParser
from openpyxl.xml.functions import iterparse

from braid.core.ingest.readers.archive import PACKAGE_ERRORS
from braid.core.ingest.readers.document import (
    Outline,
    ParsedDocument,
    Section,
    SourceFile,
    first_title,
    one_line,
    struck,
)
from braid.core.ingest.readers.merged import Grid, MergedCells, merged
from braid.core.ingest.readers.office.drawing import chart_lines, paragraphs
from braid.core.ingest.readers.office.number_format import Shown, number_format
from braid.core.ingest.readers.office.package import embedded, open_xml, related
from braid.core.ingest.readers.office.plain_workbook import plain_workbook
from braid.core.ingest.readers.parts.raised import raised
from braid.core.ingest.readers.parts.xml import local, part
from braid.core.ingest.readers.rows import HiddenCounts, row_of
from braid.core.ingest.readers.table_rows import add_table, records
from braid.core.metadata.gaps import ATTACHMENTS_UNREAD, FORMULAS_WITHOUT_VALUE

ERRORS = (*PACKAGE_ERRORS, InvalidFileException)

MAX_CELLS = 20_000_000
"""Most cells of one sheet, including empty ones before the last of a row."""
_A_FORMULA = rb"<f\b[^<>]*+(?:(?<=/)>|>[^<]*+</f>)\s*+"
"""Goes over no other tag's beginning, so that each part of a sheet is looked at once."""
_FORMULA_WITHOUT_VALUE = re.compile(_A_FORMULA + rb"(?:</c>|<v\s*/>|<v></v>)")
"""A formula without its value, as programs write it that do not calculate."""

_FORMULA = re.compile(rb"<f\b")
_FORMULA_OF_ZERO = re.compile(rb"(" + _A_FORMULA + rb")<v>0</v>")
_TO_CALCULATE = re.compile(rb"""<calcPr\b[^>]{0,300}\bfullCalcOnLoad=["'](?:1|true)["']""")
"""How programs that do not calculate tell Excel to do so once it opens the workbook."""

MAX_MERGED = 20_000
"""Most merged ranges of a sheet; further ones stay as they are."""
_MERGED = re.compile(rb'<(?:\w{1,20}:)?mergeCell ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_CHART_SHEET = re.compile(r"xl/chartsheets/[^/]{1,100}\.xml")
MAX_ROW = 1_048_576
"""Of a sheet, as Excel has them."""
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
"""A character that XML cannot have, or ends of lines as other programs than Excel write them."""
_TRUE = ("1", "true")
_CELL = re.compile("([A-Z]{1,3})([0-9]{1,7})")
_COMMENTS = ("comments", "threadedComment")
_SUPERSCRIPT = b"superscript"
_THREADED = "[Threaded comment]"
"""How a comment begins that Excel writes for older programs, beside the real one."""


def read(file: SourceFile) -> ParsedDocument:
    """Return a record per row. A formula is read as the value that Excel stored; nothing is calculated.

    Numbers are as Excel shows them where that says more than digits. Hidden sheets are left out, and named; hidden rows
    and columns, which a filter or a closed group hides, are read, and counted.
    """
    content = open_xml(file)
    try:
        workbook = _opened(content)
    except (ValueError, TypeError, KeyError):  # what openpyxl raises for a look that it does not know
        workbook = _opened(plain_workbook(content))
    sections: list[Section] = []
    unknown = 0
    hidden = [sheet.title for sheet in workbook.worksheets if sheet.sheet_state != "visible"]
    formats = _Formats(workbook)
    seen: set[str] = set()
    counts = HiddenCounts()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        shared = _raised_texts(archive)
        is_to_calculate = any(
            _TO_CALCULATE.search(archive.read(name)) for name in archive.namelist() if name.lower() == "xl/workbook.xml"
        )
        for sheet in workbook.worksheets:
            if not isinstance(sheet, ReadOnlyWorksheet) or sheet.title in hidden:
                continue
            path = _path_of(sheet)
            source = archive.read(path) if path in archive.NameToInfo else b""
            for place, text in shared.items():
                sheet._shared_strings[place] = text  # type: ignore[attr-defined]  # not in the stub
            changed = _without_zeros(source) if is_to_calculate else b""
            source = changed or source
            unknown += len(_FORMULA_WITHOUT_VALUE.findall(source))
            spans = list(_merged(source))
            rows = _rows(file, sheet, changed, formats, counts)
            grid = merged(rows, spans) if spans else Grid([])
            sections.extend(records(map(row_of, grid.rows if spans else rows), sheet.title, is_form=grid.is_form))
            sections.extend(_drawn(file, archive, path, sheet.title, seen))
        for path in filter(_CHART_SHEET.fullmatch, archive.namelist()):
            sections.extend(_drawn(file, archive, path, "", seen))
    properties = workbook.properties
    metadata = {"author": properties.creator or "", "sheets": ", ".join(workbook.sheetnames)}
    metadata[ATTACHMENTS_UNREAD] = embedded(content)
    metadata |= {"hidden_sheets": ", ".join(hidden), **counts.metadata()}
    if unknown:
        metadata[FORMULAS_WITHOUT_VALUE] = str(unknown)
    return ParsedDocument(first_title(properties.title), "xlsx", tuple(sections), metadata)


def _opened(content: bytes) -> Workbook:
    return openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False, keep_vba=False)


def _path_of(sheet: ReadOnlyWorksheet) -> str:
    return str(sheet._worksheet_path).lstrip("/")  # type: ignore[attr-defined]  # not in the stub


def _merged(sheet: bytes) -> Iterator[MergedCells]:
    """Yield the merged ranges of a sheet, which openpyxl does not tell of while it reads row by row."""
    for found in islice(_MERGED.finditer(sheet), MAX_MERGED):
        first_column, first_row, last_column, last_row = (text.decode() for text in found.groups())
        row, column = int(first_row) - 1, column_index_from_string(first_column) - 1
        yield MergedCells(row, column, int(last_row) - row, column_index_from_string(last_column) - column)


def _without_zeros(sheet: bytes) -> bytes:
    """Return a sheet without the values of its formulas where each has a zero, as some programs put for all of them;
    nothing for others.
    """
    found, count = _FORMULA_OF_ZERO.subn(rb"\1", sheet)
    return found if count and count == len(_FORMULA.findall(sheet)) else b""


def _rows(
    file: SourceFile, sheet: ReadOnlyWorksheet, changed: bytes, formats: _Formats, counts: HiddenCounts
) -> Iterator[list[str]]:
    """Yield the rows of a sheet, as it has been ``changed`` if it has. openpyxl's own `iter_rows` makes an object of
    each cell, which takes a sixth longer.
    """
    cells_read = last = widest = hidden = 0
    with io.BytesIO(changed) if changed else sheet._get_source() as opened:  # type: ignore[attr-defined]  # not in the stub
        parser = formats.parser(sheet, opened)
        for number, cells in parser.parse():
            if number > MAX_ROW:
                raise ValueError(f"row {number} of a sheet")
            yield from ([] for _ in range(last + 1, number))
            last = number
            width = cells[-1]["column"] if cells else 0
            cells_read += width
            if cells_read > MAX_CELLS:
                raise file.too_large("%(name)s has a sheet of more than %(most)s cells; split it", most=MAX_CELLS)
            row = [""] * width
            for cell in cells:
                if (value := cell["value"]) is not None and 0 < cell["column"] <= width:
                    row[cell["column"] - 1] = formats.text(value, cell["style_id"])
            if any(row):
                hidden += parser.row_dimensions.pop(str(number), {}).get("hidden") in _TRUE
                widest = max(widest, width)
            yield row
    columns = [each for each in parser.column_dimensions.values() if each.get("hidden") in _TRUE]
    of_columns = sum(max(0, min(int(each["max"]), widest) - int(each["min"]) + 1) for each in columns)
    counts.add(sheet.title, hidden, of_columns)


def _raise(text: Any) -> bool:
    """Write the raised runs of a text in raised characters; return whether it has any."""
    runs = [run for run in text.iterfind("{*}r") if run.find("{*}rPr/{*}vertAlign[@val='superscript']") is not None]
    for run in runs:
        for piece in run.iterfind("{*}t"):
            piece.text = raised(piece.text or "")
    return bool(runs)


def _raised_texts(archive: zipfile.ZipFile) -> dict[int, str]:
    """Return the texts that the sheets share and that have raised runs, by their places."""
    name = next((name for name in archive.namelist() if name.lower().endswith("/sharedstrings.xml")), None)
    content = archive.read(name) if name is not None else b""
    if _SUPERSCRIPT not in content:
        return {}
    texts = enumerate(each for _, each in iterparse(io.BytesIO(content)) if local(each) == "si")
    from_tree: Any = Text.from_tree
    return {place: from_tree(each).content for place, each in texts if _raise(each)}


class _Cells(WorkSheetParser):
    """Reads the rows and columns of a sheet, but not how it looks and what may be entered, of which openpyxl takes
    only what it knows.
    """

    def parse(self) -> Generator[Any, None, None]:
        """Yield the number and the cells of each row."""
        for _, element in iterparse(self.source):
            if element.tag == COL_TAG:
                self.parse_column_dimensions(element)
            elif element.tag == INLINE_STRING:
                _raise(element)
            elif element.tag == ROW_TAG:
                yield self.parse_row(element)
                element.clear()


class _Formats:
    """How the cells of a workbook are shown, by the number of their style."""

    def __init__(self, workbook: Workbook) -> None:
        self._workbook: Any = workbook
        self._known: dict[int, tuple[Shown | None, bool]] = {0: (None, False)}

    def parser(self, sheet: Any, source: Any) -> _Cells:
        """Return what reads the cells of a sheet, of which only values are wanted, not formulas."""
        book = self._workbook
        return _Cells(
            source,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )

    def text(self, value: object, style: int) -> str:
        """Return a cell's value as a person would write it; struck out between ``~~``."""
        if (known := self._known.get(style)) is None:
            known = self._known[style] = self._read(style)
        shown, is_struck = known
        if shown is not None and isinstance(value, int | float) and not isinstance(value, bool):
            text = shown(value)
        else:
            text = _text(value)
        return struck(text) if is_struck else text

    def _read(self, style: int) -> tuple[Shown | None, bool]:
        styles, own = self._workbook._cell_styles, self._workbook._number_formats
        if not 0 <= style < len(styles):
            return None, False
        number, font = styles[style].numFmtId, styles[style].fontId
        at = number - BUILTIN_FORMATS_MAX_SIZE
        code = BUILTIN_FORMATS.get(number, "") if at < 0 else own[at] if at < len(own) else ""
        fonts = self._workbook._fonts
        return number_format(code or ""), bool(0 <= font < len(fonts) and fonts[font].strike)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ", "seconds")
    if isinstance(value, datetime.time):
        return value.isoformat("seconds")
    if isinstance(value, datetime.timedelta):
        seconds = round(value.total_seconds())
        return f"{'-' * (seconds < 0)}{abs(seconds) // 3600}:{abs(seconds) // 60 % 60:02}:{abs(seconds) % 60:02}"
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), str(value))


def _drawn(file: SourceFile, archive: zipfile.ZipFile, path: str, title: str, seen: set[str]) -> tuple[Section, ...]:
    """Return what is on a sheet beside its cells: text boxes, charts and comments. A part is read once: it is then in
    ``seen``, and further sheets that name it have nothing of it.
    """
    outline = Outline(title)
    comments: list[tuple[tuple[int, int], str]] = []
    for each in related(file, archive, path):
        if each.name in seen:
            continue
        seen.add(each.name)
        if each.kind == "drawing":
            outline.add("\n".join(paragraphs(part(file, archive, each.name))))
            for inner in (inner for inner in related(file, archive, each.name) if inner.name not in seen):
                seen.add(inner.name)
                if inner.kind == "chart":
                    name, rows = chart_lines(part(file, archive, inner.name))
                    outline.add(name)
                    add_table(outline, rows, name, tight=True)
                elif inner.kind == "diagramData":
                    outline.add("\n".join(paragraphs(part(file, archive, inner.name))))
        elif each.kind in _COMMENTS:
            comments += _comments(part(file, archive, each.name))
    outline.add("\n".join(text for _, text in sorted(comments, key=itemgetter(0))))
    return outline.sections()


def _comments(root: etree._Element) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the row and column of each comment, 0 where they are not to be seen, and what it says."""
    authors = [each.text or "" for each in root.iter("{*}author")]
    for comment in root.iter("{*}comment", "{*}threadedComment"):
        pieces = (each.text or "" for each in comment.iter(etree.Element) if local(each) in ("t", "text"))
        text = one_line("".join(pieces))
        if text and not text.startswith(_THREADED):
            author = comment.get("authorId") or ""
            by = authors[int(author)] if author.isdecimal() and int(author) < len(authors) else ""
            named = f" by {one_line(by)}" if by and not by.startswith("tc=") else ""
            place = comment.get("ref") or ""
            cell = _CELL.fullmatch(place)
            at = (int(cell[2]), column_index_from_string(cell[1])) if cell else (0, 0)
            yield at, f"Comment on {place}{named}: {text}"
