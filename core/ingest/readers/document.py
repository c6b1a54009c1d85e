"""The values of a reader: the file that it is given, and the document that it returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from braid.core.errors import Reason, UnreadableCode, UnreadableDocumentError
from braid.core.types import PassageKind

Kind = Literal["prose", "code", "record"]
HEADING_SEPARATOR = " > "
MAX_HEADING_CHARS = 200
MAX_HEADING_PATH_CHARS = 2_000
"""Longest path of headings: every passage below it has it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document that belongs together: what is under one heading, on one page, in one function."""

    text: str
    heading_path: str = ""
    """Headings from the outermost to the nearest, joined by `` > ``."""
    page: int | None = None
    """1-based page of a PDF or slide of a presentation."""
    line: int | None = None
    """1-based line of the file where the text begins; None where the format has no lines."""
    line_end: int | None = None
    """Last line, set only where a line of the text is not a line of the file (a quoted cell of a CSV file)."""
    kind: Kind = "prose"
    """How to cut the section: ``prose`` at paragraphs and sentences, ``code`` at lines; a ``record`` (a table row) is
    kept whole and packed with its neighbours of the same heading, page and header.
    """
    header: str = ""
    """The header row of a record's table, repeated at the top of every chunk."""
    chunk_kind: PassageKind = ""
    """The part of a program that the section is, or ``contents``: a table of contents."""


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A file as text, with its structure."""

    title: str
    file_type: str
    """Lower-case name of the format: ``pdf``, ``md``, ``py`` …"""
    sections: tuple[Section, ...]
    metadata: Mapping[str, str | float] = field(default_factory=dict)
    scanned: tuple[int, ...] = ()
    """Pages, counted from 1, that are pictures: their text is for a machine to read."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The bytes to read, under the name that the user gave them."""

    filename: str
    content: bytes
    max_bytes: int
    """Largest size in bytes; archives may unpack to ten times as much."""
    file_type: str = ""

    @property
    def name(self) -> str:
        """The file name without folders, of either kind of slash, in characters that can be printed."""
        name = PurePosixPath(self.filename.replace("\\", "/")).name or self.filename
        return name.encode("utf-8", "replace").decode()

    @property
    def stem(self) -> str:
        """The name without its extension: the title when the document has none."""
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        """The extension in lower case, with its dot; empty when there is none."""
        return PurePosixPath(self.name).suffix.lower()

    def unreadable(
        self, template: str, *, code: UnreadableCode = "damaged", **parts: object
    ) -> UnreadableDocumentError:
        """Return the error to raise, with the reason of this template, in which ``name`` is the file's; a text without
        a place for the name goes on after it: ``is no calendar; …``.
        """
        if "%(name)s" not in template:
            template, parts = "%(name)s %(reason)s", {"reason": template}
        return UnreadableDocumentError(Reason(template, name=self.name, **parts), code=code)

    def too_large(self, template: str, **numbers: int) -> UnreadableDocumentError:
        """Return the error to raise for a file that has more of something than is read."""
        return self.unreadable(template, code="too_large", **{name: f"{each:,}" for name, each in numbers.items()})


_UNTITLED = re.compile(
    r"untitled(?: \w+)?|無題(?:の\w+)?|제목 ?없(?:음|는 \w+)|about:blank|anonymous|unspecified|unnamed|title|"
    r"(?:document|presentation|book|workbook|文書|プレゼンテーション|문서|프레젠테이션|통합 문서)\s?\d+|"
    r"(?:microsoft )?(?:powerpoint (?:presentation|プレゼンテーション|프레젠테이션)|word document|excel workbook)|"
    r"microsoft \w+ - .*|"
    r".*\.(?:docx?|docm|pptx?|xlsx?|xlsm|pdf|od[tsp]|hwpx?|rtf|tex|dvi|indd|qxd|ps|eps|pub|wpd|jtdc?|html?|txt|md|fm)",
    re.IGNORECASE | re.DOTALL,
)


def is_title(text: str) -> bool:
    """Return whether an author gave this title, and not a program that filled in the file's name, or "(anonymous)".

    >>> [is_title(text) for text in ("Leave 2026", "Microsoft Word - leave.doc", "(anonymous)", "Document1", "")]
    [True, False, False, False, False]
    """
    text = one_line(text).strip("() ")
    return bool(text) and _UNTITLED.fullmatch(text) is None


def first_title(*candidates: str | None) -> str:
    """Return the first that is a title; empty where none is."""
    return next((text for text in candidates if text and is_title(text)), "")


class HeadingStack:
    """The headings that are open at some point of a document."""

    def __init__(self, base: str = "") -> None:
        self._base = base
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> None:
        """Open a heading; those of the same or a deeper level end here. Level 1 is the outermost."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, one_line(title)[:MAX_HEADING_CHARS]))

    def copy(self) -> HeadingStack:
        """Return a stack of the same headings."""
        copied = HeadingStack(self._base)
        copied._open = list(self._open)
        return copied

    @property
    def path(self) -> str:
        """The open headings as a heading path."""
        return join_path(self._base, *(title for _, title in self._open))


class Outline:
    """Collects the paragraphs of a document under its headings, and returns one section per heading."""

    def __init__(self, base: str = "") -> None:
        self._stack = HeadingStack(base)
        self._body: list[str] = []
        self._pending: tuple[int, str] | None = None
        self._sections: list[Section] = []
        self.first_heading = ""

    def heading(self, level: int, title: str) -> None:
        """Begin the section of a heading."""
        title = one_line(title)
        if not title:
            return
        self._close(next_level=level)
        self._stack.enter(level, title)
        self._pending = (level, title)
        self.first_heading = self.first_heading or title

    def headings(self) -> HeadingStack:
        """Return the headings that are open now, for `go_back`."""
        return self._stack.copy()

    def go_back(self, headings: HeadingStack) -> None:
        """End the section so far where its heading is another one, and has a text: what follows is below these headings
        again.
        """
        if headings.path != self._stack.path and (self._body or self._pending is None):
            self._close(next_level=0)
            self._stack = headings

    def add(self, paragraph: str, *, tight: bool = False) -> None:
        """Add a paragraph; a ``tight`` one (list item, table row) follows the last without an empty line."""
        if paragraph.strip():
            gap = ("\n" if tight else "\n\n") if self._body else ""
            self._body.append(gap + paragraph)

    def add_apart(self, heading: str, texts: Iterable[str]) -> None:
        """Add texts that stand beside the document's own, such as notes. Their heading is no title of the document."""
        first, texts = self.first_heading, [text for text in texts if text.strip()]
        if texts:
            self.heading(1, heading)
        for text in texts:
            self.add(text)
        self.first_heading = first

    def add_records(self, make: Callable[[str], Iterable[Section]]) -> None:
        """End the section so far, and add those that are made with the path of the open headings; more may follow."""
        text, self._body = "".join(self._body), []
        if text:
            self._sections.append(Section(text, self._stack.path))
        made = list(make(self._stack.path))
        self._sections += made
        if made:
            self._pending = None

    def sections(self) -> tuple[Section, ...]:
        """Return all sections; nothing can be added afterwards."""
        self._close(next_level=0)
        return tuple(self._sections)

    def _close(self, *, next_level: int) -> None:
        """End the open section. A heading with nothing under it, not even a deeper heading, is its own text."""
        text = "".join(self._body)
        if not text and self._pending and next_level <= self._pending[0]:
            text = self._pending[1]
        if text:
            self._sections.append(Section(text, self._stack.path))
        self._body = []
        self._pending = None


def join_path(*headings: str) -> str:
    """Join the headings that are not empty to a heading path."""
    return HEADING_SEPARATOR.join(heading for heading in headings if heading)


def one_line(text: str) -> str:
    """Return the text with every run of white space as one space."""
    return " ".join(text.split())


STRIKE = "\x1d"
"""Stands before and after text that is struck out, until `mark_struck`."""


def struck(text: str) -> str:
    """Return text that is struck out as such, ``~~text~~``, so that nobody takes it for what holds."""
    inner = text.strip()
    return text.replace(inner, f"~~{inner}~~", 1) if inner else text


def mark_struck(text: str) -> str:
    """Return the text with what is between two `STRIKE` as `struck` out; two that meet vanish.

    >>> mark_struck(f"Open {STRIKE}8 to {STRIKE}{STRIKE}16 {STRIKE}9 to 17")
    'Open ~~8 to 16~~ 9 to 17'
    """
    return mark_between(STRIKE, text, struck)


def mark_between(sign: str, text: str, shown: Callable[[str], str]) -> str:
    """Return the text with what is between two of the signs as ``shown`` returns it; two that meet vanish."""
    if sign not in text:
        return text
    pieces = text.replace(sign * 2, "").split(sign)
    return "".join(shown(piece) if at % 2 else piece for at, piece in enumerate(pieces))


CJK = "\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff9f"
"""Characters of Japanese and Chinese, as they are written in a set of a regular expression."""
_CJK_LINE_BREAK = re.compile(f"(?<=[{CJK}])[ \\t]*\\n[ \\t]*(?=[{CJK}])")


def join_cjk_lines(text: str) -> str:
    """Remove the line breaks between Japanese or Chinese characters, where they do not mean a space."""
    return _CJK_LINE_BREAK.sub("", text)
