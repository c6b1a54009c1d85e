"""Prints tables and JSON to stdout, and everything else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from braid.app.terminal import one_line
from braid.core.json_form import to_json

if TYPE_CHECKING:
    from rich.console import Console

    from braid.core.chat.types import ChatResult
    from braid.core.types import SearchResult

AS_JSON = "braid.as_json"
"""Where a command's context has whether ``--json`` was given."""
PIPED_WIDTH = 100_000  # in a pipe nothing is cut
MOST_RULED_ROWS = 500  # rich lays out some thousand rows a second


def complain(message: str) -> None:
    """Print one line to stderr."""
    click.echo(one_line(message), err=True)


def complain_degraded(result: SearchResult | ChatResult) -> None:
    """Print what is missing from a result, and its notes, to standard error."""
    for part in result.degraded:
        complain(f"degraded: {part.leg}{f' of {part.collection}' if part.collection else ''}: {part.reason}")
    for note in result.notes:
        complain(f"note: {note}")


def wants_json() -> bool:
    """Return whether the command that runs was given ``--json``."""
    return bool(click.get_current_context().meta.get(AS_JSON))


def print_json(value: object) -> None:
    """Print a value, dataclasses included, as JSON to stdout."""
    utf8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(to_json(value), ensure_ascii=not utf8, indent=2))


def print_result(value: object, sentence: str) -> None:
    """Print what a command did: the value as JSON, or the sentence."""
    if wants_json():
        print_json(value)
    else:
        click.echo(sentence)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> None:
    """Print a table: ruled and folded on a terminal, aligned and uncut elsewhere.

    Columns named in ``right`` are flush right.
    """
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    console = make_console()
    if console.is_terminal and len(cells) <= MOST_RULED_ROWS:
        _print_ruled(console, columns, cells, right)
    else:
        _print_aligned([list(columns), *cells], [name in right for name in columns])


def print_list(
    found: object, columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()
) -> None:
    """Print what a command lists: the values that were found as JSON, or their rows as a table."""
    if wants_json():
        print_json(found)
    else:
        print_table(columns, rows, right=right)


def _print_ruled(
    console: Console, columns: Sequence[str], cells: Iterable[Sequence[str]], right: Sequence[str]
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def _print_aligned(rows: Sequence[Sequence[str]], flush_right: Sequence[bool]) -> None:
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = []
        for cell, width, is_right in zip(row, widths, flush_right, strict=True):
            blanks = " " * (width - cell_len(cell))
            padded.append(blanks + cell if is_right else cell + blanks)
        click.echo("  ".join(padded).rstrip())


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that interprets no markup and, in a pipe, cuts no lines."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPED_WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def format_date(seconds: float | None) -> str:
    """Return local date and time, to the minute; empty for None."""
    return "" if seconds is None else datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def plural(count: int, thing: str) -> str:
    """Return the count with its noun: ``1 document``, ``2 documents``."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
