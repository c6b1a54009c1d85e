"""Writes a stored conversation as a Word document: answers as they are shown, a footnote for each citation.

python-docx has no footnotes: their part is added here as ECMA-376 describes it (part 1, section 17.11).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

from flask_babel import gettext as _
from markdown_it.tree import SyntaxTreeNode

from braid.app.web.markdown import answer_tokens
from braid.app.words.values import point_in_time
from braid.core.chat.export import within
from braid.core.chat.store import StoredCitation, StoredConversation, StoredMessage
from braid.core.text.scripts import display_language

if TYPE_CHECKING:  # python-docx takes a while to load: it is imported with the first document
    from docx.oxml.text.paragraph import CT_P
    from docx.text.paragraph import Paragraph
    from docx.text.run import Run

FONTS = {"ja": ("ja-JP", "Yu Gothic"), "ko": ("ko-KR", "Malgun Gothic")}
"""Language tag and font of East Asian text, by `display_language`: both choose among the forms of a Han character."""
CODE_FONT = "Consolas"
INDENT_PT = 18
MAX_CHARS = 1_000_000
"""Characters of the conversations that are made as a whole, in memory: documents, and pages to print."""
MOST_NOTES = 5_000
"""Footnotes of a document; what is cited behind them keeps its number alone."""
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
EMPTY_NOTES = f"""<w:footnotes xmlns:w="{WORD}">
<w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>
<w:footnote w:type="continuationSeparator" w:id="0"><w:p><w:r><w:continuationSeparator/></w:r></w:p></w:footnote>
</w:footnotes>"""
NOTE_SETTINGS = f'<w:footnotePr xmlns:w="{WORD}"><w:footnote w:id="-1"/><w:footnote w:id="0"/></w:footnotePr>'
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKS_OF_TEXT = {"strong_open": "bold", "em_open": "italic", "s_open": "strike"}


def as_word(conversation: StoredConversation, messages: Iterable[StoredMessage]) -> bytes:
    """Return the document as the bytes of a ``.docx``.

    Raises InvalidInputError for more than `MAX_CHARS` characters: a document is made as a whole, in memory.
    """
    writer = _Writer()
    title = conversation.title or _("Untitled")
    writer.document.core_properties.title = _clean(title)
    writer.document.core_properties.author = "Braid"
    writer.text(writer.document.add_heading(level=0), title)
    for message in within(MAX_CHARS, messages):
        who = _("Question") if message.role == "user" else _("Answer")
        writer.text(writer.document.add_heading(level=1), f"{who} · {point_in_time(message.created_at)}")
        if message.role == "user":
            writer.text(writer.document.add_paragraph(), message.text)
        else:
            writer.answer(message)
    return writer.bytes()


class _Writer:
    """A document that grows, with its footnotes."""

    def __init__(self) -> None:
        from docx import Document
        from docx.enum.style import WD_STYLE_TYPE
        from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
        from docx.opc.packuri import PackURI
        from docx.opc.part import XmlPart
        from docx.oxml import parse_xml
        from docx.shared import Pt

        self.document = Document()
        styles = self.document.styles
        of_note = styles.add_style("footnote text", WD_STYLE_TYPE.PARAGRAPH)
        of_mark = styles.add_style("footnote reference", WD_STYLE_TYPE.CHARACTER)
        of_note.font.size, of_mark.font.superscript = Pt(9), True
        self._note_style, self._mark_style = of_note.style_id, of_mark.style_id
        """Ids of the styles: looking a style up by its name takes longer than all else."""
        self._notes: Any = parse_xml(EMPTY_NOTES)
        package = self.document.part.package
        part = XmlPart(PackURI("/word/footnotes.xml"), CONTENT_TYPE.WML_FOOTNOTES, self._notes, package)
        self.document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
        self.document.settings.element.find(f"{{{WORD}}}compat").addprevious(parse_xml(NOTE_SETTINGS))
        self._number_of_notes = 0
        self._cited: dict[int, StoredCitation] = {}
        self._noted: set[int] = set()

    def bytes(self) -> bytes:
        file = BytesIO()
        self.document.save(file)
        return file.getvalue()

    def text(self, paragraph: Paragraph, text: str, **marks: bool) -> Run:
        """Add text to a paragraph, in the font of its language."""
        run = paragraph.add_run(_clean(text))
        for name, value in marks.items():
            setattr(run.font, name, value or None)  # None leaves it to the style: headings are bold
        _write_in(run, display_language(text))
        return run

    def answer(self, message: StoredMessage) -> None:
        """Add an answer. What it cites without a mark in its text has its footnotes at the end."""
        self._cited, self._noted = {each.number: each for each in message.citations}, set()
        self._blocks(SyntaxTreeNode(answer_tokens(message.marked_text)).children)
        if missed := [each for each in self._cited if each not in self._noted]:
            paragraph = self.document.add_paragraph()
            for number in missed:
                self._cite(paragraph, number)

    # ------------------------------------------------------------ blocks

    def _blocks(self, nodes: Sequence[SyntaxTreeNode], indent: int = 0, marker: str = "") -> None:
        for node in nodes:
            self._block(node, indent, marker)
            marker = ""

    def _block(self, node: SyntaxTreeNode, indent: int, marker: str) -> None:
        if node.type in ("bullet_list", "ordered_list"):
            for number, item in enumerate(node.children, int(node.attrs.get("start") or 1)):
                self._blocks(item.children, indent + 1, f"{number}." if node.type == "ordered_list" else "•")
        elif node.type == "blockquote":
            self._blocks(node.children, indent + 1)
        elif node.type == "table":
            self._table(node)
        elif node.type in ("fence", "code_block"):
            paragraph = self._paragraph("", indent, marker)
            self.text(paragraph, node.content.rstrip("\n")).font.name = CODE_FONT
        elif node.type == "hr":
            self.document.add_paragraph("* * *")
        else:
            style = f"Heading {int(node.tag[1:]) - 1}" if node.type == "heading" else ""
            self._inline(self._paragraph(style, indent, marker), node.children)

    def _paragraph(self, style: str, indent: int, marker: str) -> Paragraph:
        """Add a paragraph; the marker of an item of a list hangs before its first one."""
        from docx.shared import Pt

        paragraph = self.document.add_paragraph(style=style or None)
        if indent:
            paragraph.paragraph_format.left_indent = Pt(INDENT_PT * indent)
        if marker:
            paragraph.paragraph_format.first_line_indent = Pt(-INDENT_PT)
            paragraph.paragraph_format.tab_stops.add_tab_stop(Pt(INDENT_PT * indent))
            paragraph.add_run(f"{marker}\t")
        return paragraph

    def _table(self, node: SyntaxTreeNode) -> None:
        rows = [row.children for part in node.children for row in part.children]
        table = self.document.add_table(len(rows), max(map(len, rows)), "Table Grid")
        for number, (row, cells) in enumerate(zip(table.rows, rows, strict=True)):
            for cell, written in zip(row.cells, cells, strict=False):
                self._inline(cell.paragraphs[0], written.children, bold=number == 0)
        self.document.add_paragraph()

    # ------------------------------------------------------------ text and notes

    def _inline(self, paragraph: Paragraph, nodes: Sequence[SyntaxTreeNode], bold: bool = False) -> None:
        marks, address, begun = {"bold": bold, "italic": False, "strike": False}, "", ""
        for token in [each for node in nodes if node.token for each in node.token.children or ()]:
            if token.type in _MARKS_OF_TEXT:
                marks[_MARKS_OF_TEXT[token.type]] = True
            elif (opened := token.type.replace("_close", "_open")) in _MARKS_OF_TEXT:
                marks[_MARKS_OF_TEXT[opened]] = opened == "strong_open" and bold
            elif token.type == "citation":
                self._cite(paragraph, int(token.content))
            elif token.type in ("softbreak", "hardbreak"):
                paragraph.add_run().add_break()
            elif token.type == "link_open":
                address, begun = str(token.attrGet("href") or ""), ""
            elif token.type == "link_close":
                if address != begun:  # a page that is printed has no links
                    self.text(paragraph, f" ({address})", **marks)
            else:
                run = self.text(paragraph, token.content, **marks)
                begun += token.content
                if token.type == "code_inline":
                    run.font.name = CODE_FONT

    def _cite(self, paragraph: Paragraph, number: int) -> None:
        citation = self._cited.get(number)
        if citation is None or self._number_of_notes == MOST_NOTES:
            self.text(paragraph, f"[{number}]")
            return
        from docx.oxml import OxmlElement

        self._number_of_notes += 1
        note, reference = self._number_of_notes, OxmlElement("w:footnoteReference")
        reference.set(f"{{{WORD}}}id", str(note))
        self._add_mark(paragraph, reference)
        self._note(note, citation, again=number in self._noted)
        self._noted.add(number)

    def _note(self, number: int, citation: StoredCitation, *, again: bool) -> None:
        """Add a footnote: where the passage is, and, the first time that an answer cites it, what it says."""
        from docx.oxml import OxmlElement
        from docx.text.paragraph import Paragraph

        note = OxmlElement("w:footnote")
        note.set(f"{{{WORD}}}id", str(number))
        self._notes.append(note)
        lines = [place_of(citation), *(() if again else citation.text.splitlines())]
        for line_number, line in enumerate(filter(str.strip, lines)):
            element = OxmlElement("w:p")
            note.append(element)
            paragraph = Paragraph(cast("CT_P", element), self.document._body)
            paragraph._p.style = self._note_style
            if line_number == 0:
                self._add_mark(paragraph, OxmlElement("w:footnoteRef"))
            self.text(paragraph, f" {line}" if line_number == 0 else line, italic=line_number == 0)

    def _add_mark(self, paragraph: Paragraph, mark: Any) -> None:
        run = paragraph.add_run()
        run._r.style = self._mark_style
        run._r.append(mark)


def place_of(citation: StoredCitation) -> str:
    """Return where a cited passage is, in the page's language."""
    if citation.fate == "withheld":
        return str(_("you may no longer read this source"))
    place = [citation.title, citation.heading_path, citation.source]
    if citation.page is not None:
        place.append(_("page %(number)s", number=citation.page))
    if citation.line is not None:
        place.append(_("line %(number)s", number=citation.line))
    if citation.fate == "changed":
        place.append(_("changed since; the text below is as it was cited"))
    if citation.fate == "deleted":
        place.append(_("deleted since"))
    return " · ".join(" ".join(each.split()) for each in dict.fromkeys(filter(None, place)))


def _clean(text: str) -> str:
    """Return the text without the characters that XML cannot have."""
    return _NOT_XML.sub("\ufffd", text)


def _write_in(run: Run, language: str) -> None:
    """Have Word show East Asian text in the characters of its language."""
    if language not in FONTS:
        return
    from docx.oxml import OxmlElement

    tag, font = FONTS[language]
    properties = run._r.get_or_add_rPr()
    properties.get_or_add_rFonts().set(f"{{{WORD}}}eastAsia", font)
    spoken = OxmlElement("w:lang")
    spoken.set(f"{{{WORD}}}eastAsia", tag)
    properties.append(spoken)
