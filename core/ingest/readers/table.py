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
_BEGINS, _WHOLE = (
    re.compile(rf"(?:^|[{_DELIMITERS}])'{rest}", re.MULTILINE)
    for rest in ("", rf"(?:[^'\n]|'')*+'(?=[{_DELIMITERS}\r]|$)")
)
"""Where a cell in single quotes begins, and such a cell."""
_ESCAPED = re.compile(rf'\\"(?![{_DELIMITERS}\r\n]|\Z)')
_COLONS = re.compile(r"[^:\n]*:[^\s:][^:\n]*(?::[^\s:][^:\n]*)+")
_LEAST_QUOTED = _LEAST_WITH_COLONS = 2
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
    if _ESCAPED.search(text, 0, _SAMPLE_CHARS):
        text = text.replace('\\"', '""')
    sections = tuple(records(_rows(text, delimiter, _quote(text[:_SAMPLE_CHARS]), line)))
    return ParsedDocument(file.stem, file.file_type, sections)


def _rows(text: str, delimiter: str, quote: str, before: int) -> Iterator[Row]:
    """Yield the rows of a table with ``before`` lines of its file above it."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    line_end = before
    for cells in reader:
        line, line_end = line_end + 1, before + reader.line_num
        yield row_of(cells, line, line_end)


def _delimiter(sample: str) -> str:
    """Return the character that parts most rows into the same number of cells; the comma when none does."""
    quote = _quote(sample)

    def agreement(delimiter: str) -> tuple[float, int]:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quotechar=quote)
        widths = Counter(len(cells) for cells in islice(reader, _SAMPLE_ROWS) if cells)
        width, rows = widths.most_common(1)[0] if widths else (0, 0)
        return (rows / widths.total() if width > 1 else 0.0, width)

    best = max((each for each in _DELIMITERS if each == "," or each in sample), key=agreement)
    return ":" if agreement(best)[1] < 2 and _has_colons(sample) else best


def _quote(sample: str) -> str:
    """Return the quote around cells: the single one where there is no double one, and each cell that begins with it
    ends with it.
    """
    if "'" not in sample or '"' in sample:
        return '"'
    begun = len(_BEGINS.findall(sample))
    return "'" if begun >= _LEAST_QUOTED and begun == len(_WHOLE.findall(sample)) else '"'


def _has_colons(sample: str) -> bool:
    """Return whether colons part the cells: as many in each line, and no times, addresses or sentences."""
    lines = [line for line in sample.split("\n")[:_SAMPLE_ROWS] if line.strip()]
    if len(lines) < _LEAST_WITH_COLONS or "://" in sample or len({line.count(":") for line in lines}) != 1:
        return False
    cells = [cell for line in lines for cell in line.split(":")]
    return all(_COLONS.fullmatch(line) for line in lines) and any(len(each) > 2 and each.isalpha() for each in cells)
