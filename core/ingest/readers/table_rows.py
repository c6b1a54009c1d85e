"""Records: rows of a table, each of which can be understood by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice, pairwise, zip_longest
from operator import itemgetter

from braid.core.ingest.readers.document import HEADING_SEPARATOR, Outline, Section, join_path, one_line
from braid.core.ingest.readers.merged import Grid
from braid.core.ingest.readers.rows import MAX_PARTED_ROWS, Row, parted, row_of

_HEADER_WITHIN = 10
_HEAD_ROWS = 4
"""Rows after a gap that tell whether they begin a table: two lines of a caption, the names, and the first values."""
_NOWHERE = (1 << 30, -1)
_MIN_TABLE_ROWS = 2
"""Rows of several cells, its header among them, that a table has before another one can begin."""
MAX_CAPTION_CHARS = 160
MIN_LONG_ROWS, MIN_LONG_CHARS = 6, 700
"""Minimum size of a table within a text that is split into passages of its own."""
CAPTION = re.compile(r"(?:Tab(?:le|\.)|Exhibit|表|図表|표)\s*[\dA-Z]", re.IGNORECASE)
"""How a paragraph begins that is the caption of the table below it."""
MAX_HEADER_CHARS = 300
_NUMBER = re.compile(r"[-+(]?[\d.,:/%\s-]+\)?(?:[eE][-+]?\d+)?%?|true|false|null|none|nan", re.IGNORECASE)
_GROUPS_WITHIN, _MAX_GROUP_CHARS = 500, 60
"""Rows that tell whether a table names each group once; the longest name of one."""
_TOTAL = re.compile(r"(?:.{0,100}\s)?(?:(?:grand |sub-?)?totals?|[合小総累]?計|[합소총누]?계)\s?[:：]?", re.IGNORECASE)
_YEAR = re.compile(r"(?:FY ?)?(?:19|20)\d\d(?:年度?|년도?)?")


def bars(cells: Iterable[str]) -> str:
    """Return a row as a line, its cells between bars; a bar within a cell has a backslash before it."""
    return " | ".join(cell.replace("|", "\\|") for cell in cells)


def in_cell(rows: Iterable[Iterable[str]]) -> str:
    """Return a table within a cell of another one on one line: ``Date, Place; 4 March, Leith``."""
    return "; ".join(filter(None, (", ".join(filter(None, map(one_line, row))) for row in rows)))


def records(rows: Iterable[Row], heading_path: str = "", *, is_form: bool = False) -> Iterator[Section]:
    """Yield a record per row that is not empty.

    The chunks repeat the header row. If it is too long for that, each record has ``column: value`` lines instead. A
    header of two rows becomes one; lines of one cell above it are the table's caption, and so its innermost heading.
    After an empty row, a row of other names begins a new table; tables side by side are read one after the other. A
    form has no header.
    """
    if is_form:
        yield from (_record(row, bars(row.cells), heading_path) for row in rows if row.filled)
        return
    rows = iter(rows)
    first = list(islice(rows, MAX_PARTED_ROWS + 1))
    is_long = len(first) > MAX_PARTED_ROWS
    parts: Iterable[Iterable[Row]] = [chain(first, rows)] if is_long else parted(first, _names_at_top)
    for part in parts:
        for _, table in groupby(_by_table(part), key=itemgetter(0)):
            yield from _table((row for _, row in table), heading_path)


def names_of(rows: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return the names of the columns of a table; empty where it has none."""
    return _parted([row for row in map(row_of, islice(rows, _HEADER_WITHIN)) if row.filled])[1]


def is_without_names(rows: Sequence[Sequence[str]], names: Sequence[str]) -> bool:
    """Return whether rows go on below the names of a table before: they have as many columns, and neither these names
    at their top nor others, with numbers below.
    """
    if max(map(len, rows), default=0) != len(names) or list(rows[0]) == list(names):
        return False
    has_others = len(names_of(rows[:2])) > 0 and any(_NUMBER.fullmatch(cell) for cell in rows[min(1, len(rows) - 1)])
    return not has_others


def _names_at_top(first: list[Row]) -> tuple[str, ...]:
    """Return the names of the columns where the first row has them; empty where it has none."""
    above, columns, below = _parted(first)
    return columns if below and not above else ()


def _by_table(rows: Iterable[Row]) -> Iterator[tuple[int, Row]]:
    """Yield each row that is not empty with the number of its table."""
    rows = iter(rows)
    number = wide_rows = 0
    extent = _NOWHERE
    is_after_gap = False
    for row in rows:
        if not any(row.cells):
            is_after_gap = True
            continue
        head, is_followed_by_gap = [row], False
        if is_after_gap and wide_rows >= _MIN_TABLE_ROWS:
            for following in islice(rows, _HEAD_ROWS - 1):
                if not following.filled:
                    is_followed_by_gap = True
                    break
                head.append(following)
            if _begins_table(head, extent):
                number, wide_rows, extent = number + 1, 0, _NOWHERE
        for each in head:
            yield number, each
            first, end = _extent(each)
            if first < end:
                wide_rows, extent = wide_rows + 1, (min(first, extent[0]), max(end, extent[1]))
        is_after_gap = is_followed_by_gap


def _begins_table(head: list[Row], extent: tuple[int, int]) -> bool:
    """Whether rows after a gap are those of another table than the one with the given first and last column.

    They are where they begin with names, and have numbers below, or other columns than the table before.
    """
    at = next((at for at, row in enumerate(head) if row.filled > 1), None)
    if at is None or at + 1 == len(head):
        return False
    names, below = head[at], head[at + 1]
    if not _are_names(names, [below]) or len(set(names.cells)) < names.filled:
        return False
    pairs = zip(names.cells, below.cells, strict=False)
    if _extent(names) != _extent(below):
        return False
    return _extent(names) != extent or any(name and _NUMBER.fullmatch(value) for name, value in pairs)


def _extent(row: Row) -> tuple[int, int]:
    """Return the first and the last column that has a text."""
    first = 0 if row.cells[0] else next(at for at, cell in enumerate(row.cells) if cell)
    return first, len(row.cells) - 1  # the last one is not empty


def _table(rows: Iterator[Row], heading_path: str) -> Iterator[Section]:
    first = list(islice(rows, _HEADER_WITHIN))
    above, columns, below = _parted(first)
    if columns and above and all(row.filled == 1 for row in above):
        caption = " – ".join(next(filter(None, row.cells)) for row in above)
        if len(caption) <= MAX_CAPTION_CHARS:
            heading_path, above = join_path(heading_path, caption), []
    header = bars(columns)
    for row in above:
        yield _record(row, bars(row.cells), heading_path)
    if columns and not below:
        yield _record(first[-1], header, heading_path)
    if not columns:
        yield from (_record(row, bars(row.cells), heading_path) for row in chain(below, rows))
        return
    for row, path in _under_groups(_filled(chain(below, rows), len(columns)), heading_path):
        if len(header) <= MAX_HEADER_CHARS:
            yield _record(row, bars(row.cells), path, header)
        else:
            yield _record(row, _label(columns, row.cells), path)


def _filled(rows: Iterable[Row], columns: int) -> Iterator[Row]:
    """Yield rows with the names of their groups, where a table has each in the first row of its group alone, as pivot
    tables do: no name twice, and empty cells between two of them. Totals have none.

    An empty cell may as well mean that there is nothing. So names are words, and the table has a total, or each name
    has rows without one below it.
    """
    rows = iter(rows)
    first = list(islice(rows, _GROUPS_WITHIN))
    names = [row.cells[0] for row in first if row.filled > 1 and not _is_total(row)]
    filled = [name for name in names if name]
    last = max((at for at, name in enumerate(names) if name), default=0)
    is_grouped = bool(names and names[0]) and "" in names[:last] and len(set(filled)) == len(filled)
    if any(map(_is_total, first)):
        is_grouped &= not any(map(_NUMBER.fullmatch, filled))
    else:
        is_grouped &= not any(map(str.isdigit, "".join(filled))) and not any(map(all, pairwise([*names, "end"])))
    if not is_grouped:
        yield from chain(first, rows)
        return
    above: tuple[str, ...] = ()
    for row in chain(first, rows):
        start, end = _extent(row)
        if 0 < start <= min(columns / 2, len(above)) and start < end and not _is_total(row):
            row = replace(row, cells=above[:start] + row.cells[start:])
        if row.cells[0]:
            above = row.cells
        yield row


def _under_groups(rows: Iterable[Row], heading_path: str) -> Iterator[tuple[Row, str]]:
    """Yield rows with the path of their headings: in a table that begins with a name alone in its first cell and no
    two of which are adjacent, such a name is that of the rows below it, up to the next one or the total of all.

    One alone may as well be a record of which nothing more is known: the table has a total.
    """
    rows = iter(rows)
    first = list(islice(rows, _GROUPS_WITHIN))
    alone = [row.filled == 1 and bool(row.cells[0]) for row in first]
    is_grouped = any(alone[:1]) and not any(map(all, pairwise(alone))) and any(map(_is_total, first))
    path, group = heading_path, None
    for row in chain(first, rows):
        if is_grouped and row.filled == 1 and row.cells[0] and len(row.cells[0]) <= _MAX_GROUP_CHARS:
            if group is not None:
                yield group, heading_path
            group = row
            continue
        if group is not None:
            path, group = join_path(heading_path, group.cells[0]), None
        elif _is_total(row) and not row.cells[0].startswith(path.rpartition(HEADING_SEPARATOR)[2]):
            path = heading_path
        yield row, path
    if group is not None:
        yield group, heading_path


def _is_total(row: Row) -> bool:
    return _TOTAL.fullmatch(row.cells[_extent(row)[0]]) is not None


def add_table(
    outline: Outline, grid: Grid | Iterable[Iterable[str]], caption: str = "", *, tight: bool = False
) -> None:
    """Add a table of a text: its rows as lines of it, or as records that repeat the header if it is a long one.

    The caption is the innermost heading of the records. ``tight`` as in `Outline.add`, for the first line.
    """
    is_form = isinstance(grid, Grid) and grid.is_form
    rows = [row for row in map(row_of, grid.rows if isinstance(grid, Grid) else grid) if row.filled]
    if rows and not is_form and names_of(row.cells for row in rows) == rows[0].cells:
        rows = [rows[0], *_filled(rows[1:], len(rows[0].cells))]
    lines = [bars(row.cells) for row in rows]
    if (
        len(rows) >= MIN_LONG_ROWS
        and sum(map(len, lines)) >= MIN_LONG_CHARS
        and any(len(row.cells) > 1 for row in rows)
    ):
        named = one_line(caption)[:MAX_CAPTION_CHARS]
        outline.add_records(lambda path: records(rows, join_path(path, named), is_form=is_form))
        return
    for number, line in enumerate(lines):
        outline.add(line, tight=tight or number > 0)


def _parted(first: list[Row]) -> tuple[list[Row], tuple[str, ...], list[Row]]:
    """Part the first rows into those above the header, the names of the columns, and the rows below."""
    width = max((row.filled for row in first), default=0)
    position = next((at for at, row in enumerate(first) if row.filled >= max(1, 0.6 * width)), None)
    if position is None:
        return [], (), first
    row, below = first[position], first[position + 1 :]
    if _are_names(row, below[:1]) and len(set(row.cells)) == len(row.cells):
        return first[:position], row.cells, below
    if below and _are_names(row, ()) and _are_names(below[0], ()):
        names = _of_two_rows(row.cells, below[0].cells)
        if len(set(row.cells)) < len(row.cells) and len(set(names)) == len(names):
            return first[:position], names, below[1:]
    return [], (), first


def _are_names(row: Row, below: Iterable[Row]) -> bool:
    """Whether a row has names of columns and not values. Years may be names where the row below has no years there."""
    years = [at for at, cell in enumerate(row.cells) if _YEAR.fullmatch(cell)]
    if any(_NUMBER.fullmatch(cell) for at, cell in enumerate(row.cells) if at not in years):
        return False
    is_value = any(_YEAR.fullmatch(other.cells[at]) for other in below for at in years if at < len(other.cells))
    return not years or (1 < len(years) < len(row.cells) and not is_value)


def _of_two_rows(upper: tuple[str, ...], lower: tuple[str, ...]) -> tuple[str, ...]:
    """Join the two rows of a header: ``2026`` above ``Q1`` is ``2026 Q1``."""
    pairs = zip_longest(upper, lower, fillvalue="")
    return tuple(above if above == below else " ".join(filter(None, (above, below))) for above, below in pairs)


def _record(row: Row, text: str, heading_path: str, header: str = "") -> Section:
    return Section(text, heading_path, None, row.line, row.line_end, "record", header)


def _label(columns: tuple[str, ...], cells: tuple[str, ...]) -> str:
    names = chain(columns, iter(lambda: "", None))
    return "\n".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell)
