"""Excel workbooks: a record per row, the sheet's name as its heading."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Iterator

import openpyxl
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.worksheet._read_only import ReadOnlyWorksheet

from braid.core.ingest.readers.archive import PACKAGE_ERRORS, open_archive
from braid.core.ingest.readers.document import ParsedDocument, Section, SourceFile, first_title
from braid.core.ingest.readers.table_rows import Row, records, row_of
from braid.core.metadata.gaps import FORMULAS_WITHOUT_VALUE

ERRORS = (*PACKAGE_ERRORS, InvalidFileException)

MAX_CELLS = 20_000_000
"""Most cells of one sheet, including empty ones before the last of a row."""
_FORMULA_WITHOUT_VALUE = re.compile(rb"<f\b[^>]*(?:/>|>[^<]*</f>)\s*(?:</c>|<v\s*/>|<v></v>)")
"""A formula without its value, as programs write it that do not calculate."""


def read(file: SourceFile) -> ParsedDocument:
    """Return a record per row. A formula is read as the value that Excel stored; nothing is calculated."""
    with open_archive(file) as archive:
        sheets = [archive.read(name) for name in archive.namelist() if name.startswith("xl/worksheets/sheet")]
    unknown = sum(len(_FORMULA_WITHOUT_VALUE.findall(sheet)) for sheet in sheets)
    workbook = openpyxl.load_workbook(
        io.BytesIO(file.content), read_only=True, data_only=True, keep_links=False, keep_vba=False
    )
    sections: list[Section] = []
    for sheet in workbook.worksheets:
        if isinstance(sheet, ReadOnlyWorksheet):
            sections.extend(records(_rows(file, sheet), sheet.title))
    properties = workbook.properties
    metadata = {"author": properties.creator or "", "sheets": ", ".join(workbook.sheetnames)}
    if unknown:
        metadata[FORMULAS_WITHOUT_VALUE] = str(unknown)
    return ParsedDocument(first_title(properties.title), "xlsx", tuple(sections), metadata)


def _rows(file: SourceFile, sheet: ReadOnlyWorksheet) -> Iterator[Row]:
    sheet.reset_dimensions()  # the size that a file states is often wrong, and rows beyond it would be lost
    cells_read = 0
    for cells in sheet.iter_rows(values_only=True):  # type: ignore[misc]  # the stub takes it for a method of Worksheet
        cells_read += len(cells)
        if cells_read > MAX_CELLS:
            raise file.unreadable(f"has a sheet of more than {MAX_CELLS:,} cells; split it")
        yield row_of(map(_text, cells))


def _text(value: object) -> str:
    """Return a cell as a person would write it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ", "seconds")
    return str(value)
