"""Writes a stored conversation as a Word document: answers as they are shown, a footnote for each citation.

python-docx has no footnotes: their part is added here as ECMA-376 describes it (part 1, section 17.11).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

from braid.app.web.exported import PLAIN, DocumentWriter, Look, lines_of
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
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
EMPTY_NOTES = f"""<w:footnotes xmlns:w="{WORD}">
<w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>
<w:footnote w:type="continuationSeparator" w:id="0"><w:p><w:r><w:continuationSeparator/></w:r></w:p></w:footnote>
</w:footnotes>"""
NOTE_SETTINGS = f'<w:footnotePr xmlns:w="{WORD}"><w:footnote w:id="-1"/><w:footnote w:id="0"/></w:footnotePr>'
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_word(conversation: StoredConversation, messages: Iterable[StoredMessage]) -> bytes:
    """Return the document as the bytes of a ``.docx``. Raises InvalidInputError as `DocumentWriter.write` does."""
    return _WordWriter(conversation.title).write(conversation, messages)


class _WordWriter(DocumentWriter["Paragraph"]):
    """A document with its footnotes."""

    def __init__(self, title: str) -> None:
        super().__init__()
        from docx import Document
        from docx.enum.style import WD_STYLE_TYPE
        from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
        from docx.opc.packuri import PackURI
        from docx.opc.part import XmlPart
        from docx.oxml import parse_xml
        from docx.shared import Pt

        self._document = Document()
        self._document.core_properties.title = _clean(title)
        self._document.core_properties.author = "Braid"
        styles = self._document.styles
        of_note = styles.add_style("footnote text", WD_STYLE_TYPE.PARAGRAPH)
        of_mark = styles.add_style("footnote reference", WD_STYLE_TYPE.CHARACTER)
        of_note.font.size, of_mark.font.superscript = Pt(9), True
        self._note_style, self._mark_style = of_note.style_id, of_mark.style_id
        """Ids of the styles: looking a style up by its name takes longer than all else."""
        self._notes: Any = parse_xml(EMPTY_NOTES)
        package = self._document.part.package
        part = XmlPart(PackURI("/word/footnotes.xml"), CONTENT_TYPE.WML_FOOTNOTES, self._notes, package)
        self._document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
        self._document.settings.element.find(f"{{{WORD}}}compat").addprevious(parse_xml(NOTE_SETTINGS))

    def made(self) -> bytes:
        file = BytesIO()
        self._document.save(file)
        return file.getvalue()

    def heading(self, level: int) -> Paragraph:
        heading: Paragraph = self._document.add_heading(level=level)
        return heading

    def paragraph(self, indent: int = 0, marker: str = "") -> Paragraph:
        from docx.shared import Pt

        paragraph = self._document.add_paragraph()
        if indent:
            paragraph.paragraph_format.left_indent = Pt(INDENT_PT * indent)
        if marker:
            paragraph.paragraph_format.first_line_indent = Pt(-INDENT_PT)
            paragraph.paragraph_format.tab_stops.add_tab_stop(Pt(INDENT_PT * indent))
            paragraph.add_run(f"{marker}\t")
        return paragraph

    def cells(self, rows: int, columns: int) -> list[list[Paragraph]]:
        table = self._document.add_table(rows, columns, "Table Grid")
        self._document.add_paragraph()
        return [[cell.paragraphs[0] for cell in row.cells] for row in table.rows]

    def text(self, paragraph: Paragraph, text: str, look: Look = PLAIN) -> None:
        run = paragraph.add_run(_clean(text))
        for name, value in (("bold", look.bold), ("italic", look.italic), ("strike", look.strike)):
            setattr(run.font, name, value or None)  # None leaves it to the style: headings are bold
        _write_in(run, display_language(text))
        if look.code:
            run.font.name = CODE_FONT

    def line_break(self, paragraph: Paragraph) -> None:
        paragraph.add_run().add_break()

    def note(self, paragraph: Paragraph, citation: StoredCitation, *, again: bool) -> None:
        from docx.oxml import OxmlElement
        from docx.text.paragraph import Paragraph

        number, reference = str(self._number_of_notes), OxmlElement("w:footnoteReference")
        reference.set(f"{{{WORD}}}id", number)
        self._add_mark(paragraph, reference)
        note = OxmlElement("w:footnote")
        note.set(f"{{{WORD}}}id", number)
        self._notes.append(note)
        for line_number, line in enumerate(lines_of(citation, again=again)):
            element = OxmlElement("w:p")
            note.append(element)
            written = Paragraph(cast("CT_P", element), self._document._body)
            written._p.style = self._note_style
            if line_number == 0:
                self._add_mark(written, OxmlElement("w:footnoteRef"))
            self.text(written, f" {line}" if line_number == 0 else line, Look(italic=line_number == 0))

    def _add_mark(self, paragraph: Paragraph, mark: Any) -> None:
        run = paragraph.add_run()
        run._r.style = self._mark_style
        run._r.append(mark)


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
