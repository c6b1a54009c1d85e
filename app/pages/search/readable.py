"""A passage as a card of a source shows it: in a few lines of plain text, without the signs of tables and Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from braid.app.pages.search.blocks import Block, blocks_of, table_block
from braid.app.pages.search.document_view import MARKDOWN, STRUCTURED, TABLES

CELLS = " · "
"""Between two cells of a row."""


def readable(text: str, file_type: str) -> str:
    """Return the words of a passage: a line per row of a table, its cells set apart, and a line per paragraph and item.

    Lines of program code stay as they are. What the signs of Markdown stood around stays, addresses of links go.

    >>> readable("| day | fee |\\n| --- | --- |\\n| 1 | `10` |", "md")
    'day · fee\\n1 · 10'
    """
    if file_type in TABLES:
        blocks: Iterator[Block] = iter([table_block(text)])
    elif file_type in STRUCTURED:
        blocks = blocks_of(text, is_markdown=file_type in MARKDOWN)
    else:
        return text
    return "\n".join(line for block in blocks for line in _lines(text, block))


def is_prose(file_type: str) -> bool:
    """Whether texts of this type are read as sentences and rows, and not as lines of code."""
    return file_type in STRUCTURED | TABLES


def _lines(text: str, block: Block) -> Iterator[str]:
    for row in block.rows:
        cells = ("".join(text[span.start : span.end] for span in cell) for cell in row)
        if block.kind == "code":
            yield "".join(cells)
            continue
        words = CELLS.join(cell for cell in (" ".join(cell.split()) for cell in cells) if cell)
        if words:
            yield f"{block.marker} {words}" if block.marker else words
