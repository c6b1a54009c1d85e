"""Writes a stored conversation as a PDF: answers as they are shown, and under each the notes of what it cites.

The fonts are those that each viewer has or replaces: Times and Courier, and those that are predefined for Japanese,
Korean and Chinese (ISO 32000-1, section 9.7.5). None is in the file, which stays small, and its text can be copied. A
character that none of them has is written as `MISSING`, and the last line says so.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape

from flask_babel import gettext as _

from braid.app.web.exported import PLAIN, DocumentWriter, Look, lines_of
from braid.core.chat.store import StoredCitation, StoredConversation, StoredMessage
from braid.core.errors import InvalidInputError
from braid.core.text.scripts import display_language

LATIN = {"": "Times-Roman", "b": "Times-Bold", "i": "Times-Italic", "bi": "Times-BoldItalic"}
CODE = {"": "Courier", "b": "Courier-Bold", "i": "Courier-Oblique", "bi": "Courier-BoldOblique"}
JAPANESE, KOREAN = ("HeiseiMin-W3", "HeiseiKakuGo-W5"), ("HYSMyeongJo-Medium", "HYGothic-Medium")
"""A font, and the one for what is bold."""
CHINESE, TAIWANESE = ("STSong-Light", "STSong-Light"), ("MSung-Light", "MSung-Light")
ENCODINGS = ((JAPANESE, "cp932"), (KOREAN, "cp949"), (CHINESE, "gbk"), (TAIWANESE, "big5"))
"""Each font with the encoding whose characters it has. Of Korean text the Korean one is looked at first."""
MISSING = "□"
SIZE_PT, LEADING_PT, INDENT_PT, MARGIN_PT = 10.5, 15.5, 18, 57
NOTE_SIZE_PT, NOTE_LEADING_PT = 8.5, 12
HEADING_SIZES_PT = (20, 14, 12.5, 11.5)
DEEPEST = 8
"""Deepest indent; what is deeper is written there, so that lines keep a width."""
MOST_COLUMNS = 8
"""Columns of a table with cells; of a wider one each row is a paragraph."""
MOST_CELL_LINES = 30
"""Lines of the tallest cell of a table with cells, as estimated: a row has to fit on a page."""
ROWS_TOGETHER = 20
"""Rows that are laid out together: a page is cut from a table in time of its length."""
PIECE_CHARS = 2_000
"""Longest paragraph: a page is cut from it in time of its length. The rest of a longer one begins another line."""
LINE_CHARS, RUN_CHARS = 80, 20
"""Characters that a line or a cell, and a run in one font, count as at least: they take as long as so many."""
MOST_COUNTED = 1_000_000
"""Characters of a document, counted so: at most ten seconds of processor time."""
_JOINED = re.compile("\u200d.|[\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]")
"""What changes the character before: parts of one emoji, selectors of a variant."""
_UNSEEN = ("Cc", "Cf")
"""Categories of characters that have no sign of their own."""


def as_pdf(conversation: StoredConversation, messages: Iterable[StoredMessage]) -> bytes:
    """Return the document as the bytes of a PDF. Raises InvalidInputError as `DocumentWriter.write` does."""
    return _PdfWriter(conversation.title).write(conversation, messages)


@dataclass(slots=True)
class _Lines:
    """A paragraph: pieces of ReportLab's markup, each complete in itself, with the characters that they count as."""

    size: float = SIZE_PT
    leading: float = LEADING_PT
    indent: int = 0
    marker: str = ""
    bold: bool = False
    pieces: list[tuple[str, int]] = field(default_factory=list)
    is_japanese: bool = False
    """Whether lines break between its characters, as of text without spaces."""

    @property
    def chars(self) -> int:
        return sum(length for _markup, length in self.pieces)


class _PdfWriter(DocumentWriter[_Lines]):
    """A document that is laid out at the end."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._parts: list[_Lines | list[list[_Lines]]] = []
        """Paragraphs, and tables of them."""
        self._notes: list[StoredCitation] = []
        self._answers = 0
        self._counted = 0
        self._lacks = False
        """Whether some character is in none of the fonts."""

    def heading(self, level: int) -> _Lines:
        size = HEADING_SIZES_PT[min(level, len(HEADING_SIZES_PT) - 1)]
        return self._add(_Lines(size, size * 1.4, bold=True))

    def paragraph(self, indent: int = 0, marker: str = "") -> _Lines:
        return self._add(_Lines(indent=min(indent, DEEPEST), marker=marker))

    def _add(self, lines: _Lines) -> _Lines:
        self._parts.append(lines)
        self._count(LINE_CHARS)
        return lines

    def cells(self, rows: int, columns: int) -> list[list[_Lines]]:
        table = [[_Lines(NOTE_SIZE_PT, NOTE_LEADING_PT) for _column in range(columns)] for _row in range(rows)]
        self._parts.append(table)
        self._count(rows * columns * LINE_CHARS)
        return table

    def text(self, paragraph: _Lines, text: str, look: Look = PLAIN) -> None:
        language, bold = display_language(text), look.bold or paragraph.bold
        paragraph.is_japanese |= language == "ja"
        latin = (CODE if look.code else LATIN)["b" * bold + "i" * look.italic]
        fonts = ((latin, "cp1252"), *_east_asian(language, bold=bold))
        opened, closed = ("<strike>", "</strike>") if look.strike else ("", "")
        for number, line in enumerate(unicodedata.normalize("NFC", text).split("\n")):
            if number:
                self.line_break(paragraph)
            for start in range(0, len(line), PIECE_CHARS):
                for shown, chars in self._in_fonts(line[start : start + PIECE_CHARS], fonts, keep_spaces=look.code):
                    self._put(paragraph, f"{opened}{shown}{closed}", max(chars, RUN_CHARS))

    def _put(self, paragraph: _Lines, markup: str, counted: int) -> None:
        paragraph.pieces.append((markup, counted))
        self._count(counted)

    def _count(self, counted: int) -> None:
        self._counted += counted
        if self._counted > MOST_COUNTED:
            raise InvalidInputError(
                "the conversation has too many lines, cells or changes of font for a PDF; export it as Word, Markdown "
                "or JSON instead",
                field="format",
            )

    def _in_fonts(
        self, text: str, fonts: tuple[tuple[str, str], ...], *, keep_spaces: bool
    ) -> Iterator[tuple[str, int]]:
        """Yield the text as markup, each run in the first of the fonts that has it, with its number of characters."""
        for font, run in groupby(_JOINED.sub("", text), lambda character: _font_for(character, fonts)):
            shown = "".join(run)
            if not font:
                shown = MISSING * sum(unicodedata.category(each) not in _UNSEEN for each in shown)
                self._lacks |= bool(shown)
                font = JAPANESE[0]
            elif keep_spaces:
                shown = shown.replace("\t", "    ").replace(" ", "\u00a0")
            yield f'<font name="{font}">{escape(shown)}</font>', len(shown)

    def line_break(self, paragraph: _Lines) -> None:
        self._put(paragraph, "<br/>", LINE_CHARS)

    def note(self, paragraph: _Lines, citation: StoredCitation, *, again: bool) -> None:
        number = citation.number
        mark = f'<super><font name="Times-Roman"><a href="#{self._anchor(number)}">[{number}]</a></font></super>'
        self._put(paragraph, mark, RUN_CHARS)
        if not again:
            self._notes.append(citation)

    def cite_unmarked(self, numbers: Sequence[int]) -> None:
        """Add the notes to the list under the answer, where they need no mark."""
        self._notes += [self._cited[number] for number in numbers]

    def _anchor(self, number: int) -> str:
        return f"note-{self._answers}-{number}"

    def end_answer(self) -> None:
        for citation in sorted(self._notes, key=lambda each: each.number):
            where, *said = lines_of(citation)
            lines = self._add(_Lines(NOTE_SIZE_PT, NOTE_LEADING_PT, indent=1, marker=f"[{citation.number}]"))
            lines.pieces.append((f'<a name="{self._anchor(citation.number)}"/>', 0))
            self.text(lines, where, Look(italic=True))
            for line in said:
                self.text(self._add(_Lines(NOTE_SIZE_PT, NOTE_LEADING_PT, indent=1)), line)
        self._notes.clear()
        self._answers += 1

    def made(self) -> bytes:
        from reportlab.lib.pagesizes import A4
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.cidfonts import UnicodeCIDFont
        from reportlab.platypus import SimpleDocTemplate

        for font in {font for fonts, _encoding in ENCODINGS for font in fonts}:
            pdfmetrics.registerFont(UnicodeCIDFont(font))
        if self._lacks:
            told = _("%(sign)s: a character that this PDF has no font for. Word and Markdown have it.", sign=MISSING)
            self.text(self._add(_Lines(NOTE_SIZE_PT, NOTE_LEADING_PT)), told)
        file = BytesIO()
        margins = dict.fromkeys(("leftMargin", "rightMargin", "topMargin", "bottomMargin"), MARGIN_PT)
        document = SimpleDocTemplate(file, pagesize=A4, title=self._title, author="Braid", **margins)
        story = [each for part in self._parts for each in self._flowables(part, document.width)]
        document.build(story, onFirstPage=_number_page, onLaterPages=_number_page)
        return file.getvalue()

    def _flowables(self, part: _Lines | list[list[_Lines]], width: float) -> Iterator[Any]:
        if isinstance(part, _Lines):
            yield from _paragraphs(part)
            return
        columns = max(map(len, part))
        if columns <= MOST_COLUMNS and _tallest(part, width / columns) <= MOST_CELL_LINES:
            from reportlab.platypus import Spacer, Table

            lines = [("GRID", (0, 0), (-1, -1), 0.5, "#999999"), ("VALIGN", (0, 0), (-1, -1), "TOP")]
            for start in range(0, len(part), ROWS_TOGETHER):
                rows = [[list(_paragraphs(cell)) for cell in row] for row in part[start : start + ROWS_TOGETHER]]
                yield Table(rows, colWidths=[width / columns] * columns, style=lines)
            yield Spacer(width, 8)
            return
        for row in part:
            joined = _Lines(NOTE_SIZE_PT, NOTE_LEADING_PT, is_japanese=any(cell.is_japanese for cell in row))
            for number, cell in enumerate(row):
                joined.pieces += [(" | ", 3)] * bool(number) + cell.pieces
            yield from _paragraphs(joined)


def _paragraphs(lines: _Lines) -> Iterator[Any]:
    """Yield ReportLab's paragraphs of a paragraph, none of them longer than a few times `PIECE_CHARS`."""
    from reportlab.platypus import Paragraph

    begun, chars, marker = list[str](), 0, lines.marker
    for markup, length in [*lines.pieces, ("", PIECE_CHARS)]:
        if begun and chars + length > PIECE_CHARS:
            yield Paragraph("".join(begun), _style(lines), bulletText=marker or None)
            begun, chars, marker = [], 0, ""
        begun.append(markup)
        chars += length


def _east_asian(language: str, *, bold: bool) -> list[tuple[str, str]]:
    """Return the fonts for East Asian text with their encodings, that of the language first."""
    fonts = [(names[bold], encoding) for names, encoding in ENCODINGS]
    return [fonts[1], fonts[0], *fonts[2:]] if language == "ko" else fonts


def _style(lines: _Lines) -> Any:
    is_heading, is_note = lines.bold, lines.size == NOTE_SIZE_PT
    after = 4 if is_heading else 1 if is_note else 6
    return _style_of(lines.size, lines.leading, lines.indent, lines.is_japanese, 10 if is_heading else 0, after)


@lru_cache(maxsize=256)
def _style_of(size: float, leading: float, indent: int, is_japanese: bool, before: int, after: int) -> Any:
    from reportlab.lib.styles import ParagraphStyle

    return ParagraphStyle(
        "text",
        fontName=LATIN[""],
        fontSize=size,
        leading=leading,
        spaceBefore=before,
        spaceAfter=after,
        leftIndent=INDENT_PT * indent,
        bulletIndent=INDENT_PT * max(indent - 1, 0),
        bulletFontName=LATIN[""],
        bulletFontSize=size,
        wordWrap="CJK" if is_japanese else None,
        splitLongWords=True,
    )


def _tallest(table: Sequence[Sequence[_Lines]], column_pt: float) -> float:
    """Return the number of lines of the longest cell, if each of its characters were as wide as the widest are."""
    return max(cell.chars * cell.size / max(column_pt - 12, 1) for row in table for cell in row)


@lru_cache(maxsize=20_000)
def _font_for(character: str, fonts: tuple[tuple[str, str], ...]) -> str:
    """Return the first of the fonts that has a character; empty if none has."""
    if unicodedata.category(character) == "Cc":
        return ""
    for font, encoding in fonts:
        try:
            character.encode(encoding)
        except UnicodeEncodeError:
            continue
        return font
    return ""


def _number_page(canvas: Any, document: Any) -> None:
    canvas.setFont(LATIN[""], NOTE_SIZE_PT)
    canvas.drawCentredString(document.pagesize[0] / 2, MARGIN_PT / 2, str(document.page))
