"""A card of a source: its passage in a few lines of plain text, without the signs of tables and Markdown, and the
reasons for its rank, in the page's language.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flask_babel import gettext as _

from braid.app.pages.search.blocks import Block, blocks_of, table_block
from braid.app.pages.search.document_view import MARKDOWN, STRUCTURED, TABLES
from braid.core.types import Leg, LegScore

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


@dataclass(frozen=True, slots=True)
class Reason:
    """One leg's part in a hit, as the page shows it. ``percent`` is its share of the score, 0–100."""

    leg: Leg
    name: str
    rank: str
    score: str
    share: str
    percent: int
    query: str


class Reasoning:
    """Makes reasons for one page.

    The words are translated once: a page of eight answers has over a hundred reasons.
    """

    def __init__(self) -> None:
        self._names = {"dense": _("Meaning"), "bm25": _("Keywords")}
        self._scores = {"dense": _("cosine %(score)s"), "bm25": _("BM25 %(score)s")}
        self._rank = _("rank %(rank)s")
        self._share = _("contribution %(percent)s%%")

    def reasons(self, legs: Sequence[LegScore]) -> tuple[Reason, ...]:
        """Return the reasons for one hit."""
        total = sum(part.share for part in legs)
        return tuple(self._reason(part, total) for part in legs)

    def _reason(self, part: LegScore, total: float) -> Reason:
        percent = round(100 * part.share / total) if total > 0 else 0
        percent = min(max(percent, 0), 100)
        score = f"{part.score:.3f}" if part.leg == "dense" else f"{part.score:.1f}"
        return Reason(
            leg=part.leg,
            name=self._names[part.leg],
            rank=self._rank % {"rank": part.rank},
            score=self._scores[part.leg] % {"score": score},
            share=self._share % {"percent": percent},
            percent=percent,
            query=part.query,
        )
