"""Writes a stored conversation as a document: the same walk over questions, answers and citations for each format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from flask_babel import gettext as _
from markdown_it.tree import SyntaxTreeNode

from braid.app.web.markdown import answer_tokens
from braid.app.words.values import point_in_time
from braid.core.chat.export import within
from braid.core.chat.store import StoredCitation, StoredConversation, StoredMessage

MAX_CHARS = 1_000_000
"""Characters of the conversations that are made as a whole, in memory: documents, and pages to print."""
MOST_NOTES = 5_000
"""Notes of a document; what is cited behind them keeps its number alone."""
_MARKS_OF_TEXT = {"strong_open": "bold", "em_open": "italic", "s_open": "strike"}

Paragraph = TypeVar("Paragraph")


class Look(NamedTuple):
    """How a text looks."""

    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False


PLAIN = Look()


class DocumentWriter(ABC, Generic[Paragraph]):
    """A document that grows: what a format makes of headings, paragraphs, tables, text and notes."""

    def __init__(self) -> None:
        self._cited: dict[int, StoredCitation] = {}
        self._noted: set[int] = set()
        self._number_of_notes = 0

    @abstractmethod
    def heading(self, level: int) -> Paragraph:
        """Add a heading without text; level 0 is the title of the document."""

    @abstractmethod
    def paragraph(self, indent: int = 0, marker: str = "") -> Paragraph:
        """Add a paragraph without text; the marker of an item of a list hangs before its first one."""

    @abstractmethod
    def cells(self, rows: int, columns: int) -> Sequence[Sequence[Paragraph]]:
        """Add a table, and return the paragraphs of its cells by row."""

    @abstractmethod
    def text(self, paragraph: Paragraph, text: str, look: Look = PLAIN) -> None:
        """Add text to a paragraph, in the font of its language."""

    @abstractmethod
    def line_break(self, paragraph: Paragraph) -> None:
        """Begin another line of a paragraph."""

    @abstractmethod
    def note(self, paragraph: Paragraph, citation: StoredCitation, *, again: bool) -> None:
        """Add the mark of a note, and the note unless the answer has it ``again``."""

    def end_answer(self) -> None:
        """End an answer, after the last of its notes."""

    @abstractmethod
    def made(self) -> bytes:
        """Return the document."""

    def write(self, conversation: StoredConversation, messages: Iterable[StoredMessage]) -> bytes:
        """Return the document of a conversation.

        Raises InvalidInputError for more than `MAX_CHARS` characters: a document is made as a whole, in memory.
        """
        self.text(self.heading(0), conversation.title)
        for message in within(MAX_CHARS, messages):
            who = _("Question") if message.role == "user" else _("Answer")
            self.text(self.heading(1), f"{who} · {point_in_time(message.created_at)}")
            if message.role == "user":
                self.text(self.paragraph(), message.text)
            else:
                self._answer(message)
        return self.made()

    def _answer(self, message: StoredMessage) -> None:
        """Add an answer. What it cites without a mark in its text has its notes at the end."""
        self._cited, self._noted = {each.number: each for each in message.citations}, set()
        self._blocks(SyntaxTreeNode(answer_tokens(message.marked_text)).children)
        if missed := [each for each in self._cited if each not in self._noted]:
            self.cite_unmarked(missed)
        self.end_answer()

    def cite_unmarked(self, numbers: Sequence[int]) -> None:
        """Add the notes of citations that have no mark in the answer, behind its last paragraph."""
        paragraph = self.paragraph()
        for number in numbers:
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
            self.text(self.paragraph(indent, marker), node.content.rstrip("\n"), Look(code=True))
        elif node.type == "hr":
            self.text(self.paragraph(), "* * *")
        elif node.type == "heading":
            heading = self.heading(int(node.tag[1:]) - 1)
            if marker:
                self.text(heading, f"{marker} ")
            self._inline(heading, node.children)
        else:
            self._inline(self.paragraph(indent, marker), node.children)

    def _table(self, node: SyntaxTreeNode) -> None:
        rows = [row.children for part in node.children for row in part.children]
        cells = self.cells(len(rows), max(map(len, rows)))
        for number, (row, written) in enumerate(zip(cells, rows, strict=True)):
            for cell, content in zip(row, written, strict=False):
                self._inline(cell, content.children, bold=number == 0)

    # ------------------------------------------------------------ text and notes

    def _inline(self, paragraph: Paragraph, nodes: Sequence[SyntaxTreeNode], bold: bool = False) -> None:
        look, address, begun = Look(bold), "", ""
        for token in [each for node in nodes if node.token for each in node.token.children or ()]:
            if token.type in _MARKS_OF_TEXT:
                look = look._replace(**{_MARKS_OF_TEXT[token.type]: True})
            elif (opened := token.type.replace("_close", "_open")) in _MARKS_OF_TEXT:
                look = look._replace(**{_MARKS_OF_TEXT[opened]: opened == "strong_open" and bold})
            elif token.type == "citation":
                self._cite(paragraph, int(token.content))
            elif token.type in ("softbreak", "hardbreak"):
                self.line_break(paragraph)
            elif token.type == "link_open":
                address, begun = str(token.attrGet("href") or ""), ""
            elif token.type == "link_close":
                if address != begun:  # a page that is printed has no links
                    self.text(paragraph, f" ({address})", look)
            else:
                self.text(paragraph, token.content, look._replace(code=token.type == "code_inline"))
                begun += token.content

    def _cite(self, paragraph: Paragraph, number: int) -> None:
        citation = self._cited.get(number)
        if citation is None or self._number_of_notes == MOST_NOTES:
            self.text(paragraph, f"[{number}]")
            return
        self._number_of_notes += 1
        self.note(paragraph, citation, again=number in self._noted)
        self._noted.add(number)


def lines_of(citation: StoredCitation, *, again: bool = False) -> list[str]:
    """Return the lines of a note: where the passage is, and, the first time that an answer cites it, what it says."""
    return [place_of(citation), *(() if again else filter(str.strip, citation.text.splitlines()))]


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
