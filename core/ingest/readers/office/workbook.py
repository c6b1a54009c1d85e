"""Excel workbooks: a record per row, the sheet's name as its heading."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Iterator
from itertools import islice

import openpyxl
from openpyxl.utils.cell import column_index_from_string
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.worksheet._read_only import ReadOnlyWorksheet

from braid.core.ingest.readers.archive import PACKAGE_ERRORS, open_archive
from braid.core.ingest.readers.document import ParsedDocument, Section, SourceFile, first_title
from braid.core.ingest.readers.merged import Span, filled
from braid.core.ingest.readers.table_rows import records, row_of
from braid.core.metadata.gaps import FORMULAS_WITHOUT_VALUE

ERRORS = (*PACKAGE_ERRORS, InvalidFileException)

MAX_CELLS = 20_000_000
"""Most cells of one sheet, including empty ones before the last of a row."""
_FORMULA_WITHOUT_VALUE = re.compile(rb"<f\b[^>]*(?:/>|>[^<]*</f>)\s*(?:</c>|<v\s*/>|<v></v>)")
"""A formula without its value, as programs write it that do not calculate."""

MAX_MERGED = 20_000
"""Most merged ranges of a sheet; further ones stay as they are."""
_MERGED = re.compile(rb'<mergeCell ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')


def read(file: SourceFile) -> ParsedDocument:
    """Return a record per row. A formula is read as the value that Excel stored; nothing is calculated."""
    with open_archive(file) as archive:
        names = [name for name in archive.namelist() if name.startswith("xl/worksheets/sheet")]
        sheets = {name: archive.read(name) for name in names}
    unknown = sum(len(_FORMULA_WITHOUT_VALUE.findall(sheet)) for sheet in sheets.values())
    workbook = openpyxl.load_workbook(
        io.BytesIO(file.content), read_only=True, data_only=True, keep_links=False, keep_vba=False
    )
    sections: list[Section] = []
    for sheet in workbook.worksheets:
        if isinstance(sheet, ReadOnlyWorksheet):
            rows = filled(_rows(file, sheet), _merged(sheets.get(_path_of(sheet), b"")))
            sections.extend(records(map(row_of, rows), sheet.title))
    properties = workbook.properties
    metadata = {"author": properties.creator or "", "sheets": ", ".join(workbook.sheetnames)}
    if unknown:
        metadata[FORMULAS_WITHOUT_VALUE] = str(unknown)
    return ParsedDocument(first_title(properties.title), "xlsx", tuple(sections), metadata)


def _path_of(sheet: ReadOnlyWorksheet) -> str:
    return str(sheet._worksheet_path).lstrip("/")  # type: ignore[attr-defined]  # not in the stub


def _merged(sheet: bytes) -> Iterator[Span]:
    """Yield the merged ranges of a sheet, which openpyxl does not tell of while it reads row by row."""
    for found in islice(_MERGED.finditer(sheet), MAX_MERGED):
        first_column, first_row, last_column, last_row = (part.decode() for part in found.groups())
        row, column = int(first_row) - 1, column_index_from_string(first_column) - 1
        yield Span(row, column, int(last_row) - row, column_index_from_string(last_column) - column)


def _rows(file: SourceFile, sheet: ReadOnlyWorksheet) -> Iterator[list[str]]:
    sheet.reset_dimensions()  # the size that a file states is often wrong, and rows beyond it would be lost
    cells_read = 0
    for cells in sheet.iter_rows(values_only=True):  # type: ignore[misc]  # the stub takes it for a method of Worksheet
        cells_read += len(cells)
        if cells_read > MAX_CELLS:
            raise file.unreadable(f"has a sheet of more than {MAX_CELLS:,} cells; split it")
        yield [_text(cell) for cell in cells]


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
