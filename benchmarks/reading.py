"""How much of made-up pages in two columns is read right and in order, by Braid and by PDFium's own order of the text.

Texts in three languages under a title, with running heads, page numbers, words parted by hyphens, and a wide paragraph
between the columns; drawn column by column, as typesetting programs do, or line by line across both. The share is that
of the longest common subsequence of words (of characters in Japanese) in the longer of the two: the text as it was
written, and as it was read.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import NamedTuple

import pypdfium2  # type: ignore[import-untyped]
from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from benchmarks.cited_pages import FONTS, SETS
from benchmarks.common import EVAL, arguments, need, show
from braid.core.evaluation.beir import read_set
from braid.core.ingest.readers import read_document

SIZE, LEADING, GUTTER, MARGIN, WIDTH, HEIGHT = 10, 12.5, 18, 56, 595, 842
COLUMN = (WIDTH - 2 * MARGIN - GUTTER) / 2
BAND = 22
"""Lines of a column above the wide paragraph, and below it."""
PAGES = 6
CASES = (("en", True), ("ja", True), ("ko", True), ("ko", False))
"""Language, and whether lines are broken within words, with a hyphen in English."""
TOGETHER = {"en": 1, "ja": 1, "ko": 5}
"""Texts of a paragraph."""
_TOKEN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\s\u3040-\u30ff\u4e00-\u9fff]+")
_LETTERS = re.compile(r"[A-Za-z]{8,}")
_MARKED_HYPHEN = re.compile("[\x02\ufffe]")


class Line(NamedTuple):
    """A line as it is drawn."""

    text: str
    hyphen: str
    after: str
    """What the text has between this line and the next one: nothing, a space, or a new paragraph."""

    @property
    def drawn(self) -> str:
        """With its hyphen."""
        return self.text + self.hyphen


def main() -> None:
    """Draw the pages, read them in both ways, and count."""
    args = arguments(__doc__ or "")
    rows = []
    for language, within in CASES:
        for by_line in (False, True):
            file, written = _file(language, within=within, by_line=by_line)
            document = read_document("a.pdf", file, max_bytes=10**8)
            ours = "\n".join(section.text for section in document.sections)
            shares = [share_in_order(written, read) for read in (_drawn_order(file), ours)]
            name = f"{language}, broken {'within' if within else 'between'} words" if language == "ko" else language
            drawn = "line by line" if by_line else "by column"
            rows.append([name, drawn, len(_TOKEN.findall(written)), *(f"{share:.1%}" for share in shares)])
    columns = ["language", "drawn", "words", "PDFium's order", "Braid"]
    show({"rows": rows}, [("Words right and in order", columns, rows)], as_json=args.json)


def share_in_order(written: str, read: str) -> float:
    """Return the share of words that are right and in order.

    >>> share_in_order("one two three four", "one three four")
    0.75
    """
    first, second = _TOKEN.findall(written), _TOKEN.findall(read)
    places: dict[str, int] = {}
    for number, token in enumerate(first):
        places[token] = places.get(token, 0) | 1 << number
    every = (1 << len(first)) - 1
    free = every
    for token in second:  # Hyyrö 2004, "Bit-parallel LCS-length computation revisited"
        matched = free & places.get(token, 0)
        free = (free + matched | free - matched) & every
    return (every ^ free).bit_count() / max(len(first), len(second), 1)


def _drawn_order(file: bytes) -> str:
    document = pypdfium2.PdfDocument(file)
    texts = [str(page.get_textpage().get_text_bounded()) for page in document]
    document.close()
    return _MARKED_HYPHEN.sub("", "\n".join(texts))


def _file(language: str, *, within: bool, by_line: bool) -> tuple[bytes, str]:
    """Return a PDF, and its text as it was written, without running heads."""
    if language != "en":
        pdfmetrics.registerFont(UnicodeCIDFont(FONTS[language]))
    need(EVAL / SETS[language])
    documents = iter(read_set(EVAL / SETS[language]).documents)
    texts = iter(lambda: " ".join(" ".join(each.text for each in islice(documents, TOGETHER[language])).split()), "")
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(WIDTH, HEIGHT))
    narrow = _lines(texts, language, COLUMN, within=within)
    written: list[str] = []
    for number in range(1, PAGES + 1):
        canvas.setFont("Helvetica", 8)
        canvas.drawString(MARGIN, HEIGHT - 36, "A running head of the journal")
        canvas.drawCentredString(WIDTH / 2, 28, f"- {number} -")
        top = HEIGHT - 90.0
        for band in range(2):
            columns = [list(islice(narrow, BAND)) for _ in range(2)]
            _draw(canvas, language, columns, top, by_line=by_line)
            written += [_joined(column) for column in columns]
            top -= (BAND + 1) * LEADING
            if band == 0:
                wide = list(islice(_lines(texts, language, 2 * COLUMN + GUTTER, within=within), 4))
                _draw(canvas, language, [wide], top, by_line=False)
                written.append(_joined(wide))
                top -= 5 * LEADING
        canvas.showPage()
    canvas.save()
    return stream.getvalue(), "\n".join(written)


def _draw(canvas: Canvas, language: str, columns: list[list[Line]], top: float, *, by_line: bool) -> None:
    placed = [
        [(MARGIN + across * (COLUMN + GUTTER), top - down * LEADING, line) for down, line in enumerate(column)]
        for across, column in enumerate(columns)
    ]
    width = COLUMN if len(columns) > 1 else 2 * COLUMN + GUTTER
    in_order = zip_longest(*placed) if by_line else placed
    for x, y, line in (each for group in in_order for each in group if each is not None):
        canvas.setFont(FONTS[language], SIZE)
        spaces = line.drawn.count(" ")
        missing = width - pdfmetrics.stringWidth(line.drawn, FONTS[language], SIZE)
        stretched = missing / spaces if language == "en" and spaces and line.after != "\n" else 0
        canvas.drawString(x, y, line.drawn, wordSpace=stretched)


def _lines(texts: Iterator[str], language: str, width: float, *, within: bool) -> Iterator[Line]:
    """Yield the lines of paragraphs of a width in points; texts are taken as they are needed."""
    for text in texts:
        while text:
            end = _end(text, language, width, within=within)
            hyphen = "-" if language == "en" and text[end - 1].isalpha() and text[end : end + 1].isalpha() else ""
            is_space = text[end - 1].isspace() or text[end : end + 1].isspace()
            yield Line(text[:end].rstrip(), hyphen, "\n" if end == len(text) else " " if is_space else "")
            text = text[end:].lstrip()


def _end(text: str, language: str, width: float, *, within: bool) -> int:
    """Return where the first line ends."""
    end = 1
    while end < len(text) and pdfmetrics.stringWidth(text[: end + 1], FONTS[language], SIZE) <= width:
        end += 1
    if end == len(text) or language == "ja" or (language == "ko" and within):
        return end
    space = text.rfind(" ", 0, end + 1)
    word = _LETTERS.match(text, space + 1)
    if language == "en" and word is not None and end - space > 4 and word.end() - end > 2:
        return end - 1
    return space if space > 0 else end


def _joined(lines: list[Line]) -> str:
    return "".join(line.text + line.after for line in lines)


if __name__ == "__main__":
    main()
