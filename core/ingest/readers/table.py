"""CSV and TSV tables: a record per row."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from braid.core.ingest.readers.document import ParsedDocument, SourceFile
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.rows import Row, row_of
from braid.core.ingest.readers.table_rows import records

ERRORS = (csv.Error,)

_DELIMITERS = ",;\t|^"
_STATED = re.compile(r"sep=([^\w\s\"]|\t)[ \t]*\n", re.IGNORECASE)
"""The first line of a table that tells Excel what parts its cells."""
_SAMPLE_CHARS = 20_000
_SAMPLE_ROWS = 30
csv.field_size_limit(1 << 30)  # the library's own limit, 128 KB, is less than one article in a cell


def read(file: SourceFile) -> ParsedDocument:
    """Return a record per row, the header row repeated."""
    text, line = decode(file.content), 0
    if match := _STATED.match(text):
        delimiter, text, line = match[1], text[match.end() :], 1
    else:
        delimiter = "\t" if file.file_type == "tsv" else _delimiter(text[:_SAMPLE_CHARS])
    sections = tuple(records(_rows(text, delimiter, line)))
    return ParsedDocument(file.stem, file.file_type, sections)


def _rows(text: str, delimiter: str, before: int) -> Iterator[Row]:
    """Yield the rows of a table with ``before`` lines of its file above it."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    line_end = before
    for cells in reader:
        line, line_end = line_end + 1, before + reader.line_num
        yield row_of(cells, line, line_end)


def _delimiter(sample: str) -> str:
    """Return the character that parts most rows into the same number of cells; the comma when none does."""

    def agreement(delimiter: str) -> tuple[float, int]:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        widths = Counter(len(cells) for cells in islice(reader, _SAMPLE_ROWS) if cells)
        width, rows = widths.most_common(1)[0] if widths else (0, 0)
        return (rows / widths.total() if width > 1 else 0.0, width)

    return max((each for each in _DELIMITERS if each == "," or each in sample), key=agreement)
