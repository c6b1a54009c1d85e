"""Rich text (RTF): its text, with headings by outline level. Objects, pictures and fields' instructions are skipped.

After the specification of Microsoft, version 1.9.1. Nothing is nested by recursion, and nothing is decompressed.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from braid.core.ingest.readers.document import (
    STRIKE,
    Outline,
    ParsedDocument,
    SourceFile,
    first_title,
    mark_struck,
    one_line,
)
from braid.core.ingest.readers.office.field_codes import MAX_CODE_CHARS, shown_by
from braid.core.ingest.readers.parts.raised import RAISE, mark_raised
from braid.core.ingest.readers.parts.symbols import signs

ERRORS: tuple[type[Exception], ...] = (ValueError,)

MAX_DEPTH = 10_000
_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,9})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z'])|([{}])|[\r\n]+|([^\\{}\r\n]+)"
)
_SKIPPED = frozenset(
    {"colortbl", "filetbl", "listtable", "listoverridetable", "revtbl", "rsidtbl", "stylesheet", "generator", "pict"}
    | {"objdata", "themedata", "colorschememapping", "latentstyles", "datastore", "xmlnstbl"}
    | {"header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf", "atnid"}
    | {"atnauthor", "atndate", "atnref", "bkmkstart", "bkmkend", "operator", "company", "template"}
    | {"passwordhash", "nonshppict", "shprslt", "keywords", "comment", "doccomm", "category", "manager"}
    | {"userprops", "htmltag", "subject"}
)
_HOLDERS = frozenset({"object", "shpinst", "do"})
"""What is skipped but for a text in it: objects, and drawings of new and old kinds."""
_HELD = frozenset({"result", "shptxt", "dptxbxtext"})
_ENDS = frozenset({"par", "sect", "page", "row", "nestrow"})
_CHARACTERS = {
    "line": "\n", "tab": "\t", "cell": "\x1f", "nestcell": "\x1f", "emdash": "—", "endash": "–", "lquote": "‘",
    "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": " ", "enspace": " ", "qmspace": " ",
}  # fmt: skip
_BODY_LEVEL = 9
_SYMBOLS = {b"~": " ", b"_": "-", b"-": "", b"\n": "\n", b"\r": "\n"}
_CHARSETS = {128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254"} | {
    77: "mac_roman", 78: "cp932", 79: "cp949", 80: "gbk", 81: "big5", 88: "mac_latin2", 89: "mac_cyrillic",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250"
}  # fmt: skip
_MAC_PAGES = {10000: "mac_roman", 10001: "cp932", 10002: "big5", 10003: "cp949", 10006: "mac_greek"} | {
    10007: "mac_cyrillic", 10008: "gbk", 10029: "mac_latin2", 10081: "mac_turkish"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Group:
    """What applies between two braces."""

    target: str = "text"
    """``text``, ``skip``, ``starred`` or ``holder`` (skipped but for what some words begin), ``fonttbl``, ``label``,
    ``code`` (of a field), ``title``, ``author``, ``annotation`` or ``footnote``.
    """
    encoding: str = ""
    symbols: str = ""
    """Name of the symbol font that applies; empty for others."""
    unicode_skip: int = 1
    is_hidden: bool = False
    is_struck: bool = False
    is_raised: bool = False
    is_cell: bool = False
    """Whether paragraphs are in a table, where its rows end them."""


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per paragraph that has an outline level."""
    outline = Outline()
    texts = _Text(file, outline)
    at = 0
    while (token := _TOKEN.search(file.content, at)) is not None:
        at = token.end()
        if token[1] == b"bin":  # raw bytes follow
            at += max(0, int(token[2] or 0))
        else:
            texts.take(token)
    texts.end_paragraph()
    for heading, kind in (("Footnotes", "footnote"), ("Comments", "annotation")):
        notes = _joined_pairs("".join(texts.properties[kind])).split("\n")
        outline.add_apart(heading, map(one_line, notes))
    title = first_title(_joined_pairs("".join(texts.properties["title"])), outline.first_heading)
    sections = outline.sections()
    return ParsedDocument(title, "rtf", sections, {"author": _joined_pairs("".join(texts.properties["author"]))})


class _Text:
    """The text that is being put together while the tokens are read."""

    def __init__(self, file: SourceFile, outline: Outline) -> None:
        self._file = file
        self._outline = outline
        self._groups = [_Group()]
        self._encoding = "cp1252"
        self._fonts: dict[int, str] = {}
        self._symbols: dict[int, str] = {}
        self._font = 0
        self._parts: list[str] = []
        self._bytes = bytearray()
        self._label: list[str] = []
        self._code = ""
        self._shown: tuple[int, int, str] | None = None
        """What a field shows without a result: how many groups are open in it, how many parts were before, the text."""
        self._is_first = self._is_pair = self._is_drop_cap = False
        self._unwanted = 0
        self._level = 0
        self._raised: tuple[int, float] | None = None
        """At which part raised text begins that ends here, and the depth of its group while that is open."""
        self.properties: dict[str, list[str]] = {"title": [], "author": [], "annotation": [], "footnote": []}

    def take(self, token: re.Match[bytes]) -> None:
        """Take the next token."""
        word, number, code, symbol, brace, plain = token.groups()
        is_first, self._is_first = self._is_first, brace == b"{"
        if brace is None and self._groups[-1].target == "skip":
            return
        if code is not None:
            self._add_bytes(bytes([int(code, 16)]))
        elif plain is not None:
            self._add_bytes(plain)
        elif brace is not None:
            self._brace(brace)
        elif symbol == b"*":  # only at the beginning of a group says that it may be skipped
            if is_first:
                self._change(target="starred")
        elif symbol is not None:
            self._add(_SYMBOLS.get(symbol, symbol.decode("latin_1")))
        elif word is not None:
            self._word(word.decode(), int(number) if number else None)

    def end_paragraph(self) -> None:
        """Add the paragraph, or heading, to the outline."""
        self._flush()
        text = mark_struck(mark_raised(_joined_pairs("".join(self._parts))))
        is_row = "\x1f" in text
        text = " | ".join(map(one_line, text.split("\x1f"))).strip(" |") if is_row else text.strip()
        label = one_line("".join(self._label))
        if any(map(str.isalnum, label)):
            text = f"{label} {text}" if text else text
        self._parts, self._label, self._shown, self._raised = [], [], None, None
        if self._level:
            self._outline.heading(self._level, text)
        else:
            self._outline.add(text, tight=is_row)

    def _brace(self, brace: bytes) -> None:
        self._flush()
        if brace == b"{":
            if len(self._groups) > MAX_DEPTH:
                raise self._file.unreadable("%(name)s is nested too deeply to be read; save it in a simpler form")
            group = self._groups[-1]
            self._groups.append(replace(group, target="skip") if self._is_pair else group)
            self._is_pair = False
        elif len(self._groups) > 1:
            if self._raised and len(self._groups) == self._raised[1]:
                self._raised = self._raised[0], inf
            self._end_group(self._groups.pop())

    def _end_group(self, ended: _Group) -> None:
        if ended.target == "code" and self._groups[-1].target != "code":
            self._shown, self._code = (len(self._groups), len(self._parts), shown_by(self._code)), ""
        elif self._shown is not None and len(self._groups) < self._shown[0]:
            _, before, text = self._shown
            self._shown = None
            if not "".join(self._parts[before:]).strip():
                self._put(text)

    def _word(self, word: str, number: int | None) -> None:
        group = self._groups[-1]
        if target := self._target_of(word, group):
            self._change(target=target)
        elif word == "upr":  # the same text twice: in the code page, which is skipped, and in Unicode
            self._is_pair = True
        elif word == "u" and number is not None:
            self._add(signs(chr(number % 0x10000), group.symbols))
            self._unwanted = group.unicode_skip
        elif word == "uc":
            self._change(unicode_skip=max(0, min(number or 0, 10)))
        elif word in ("listtext", "pntext") and group.target == "text":
            self._label = []
            self._change(target="label")
        elif word in ("v", "deleted"):
            self._change(is_hidden=number != 0)
        elif word in ("strike", "striked"):
            self._change(is_struck=number != 0)
        elif word in ("super", "sub", "nosupersub"):
            self._raise(word == "super" and number != 0)
        elif word in ("f", "fcharset", "ansicpg", "plain"):
            self._set_font(word, number or 0)
        elif group.target == "text":
            self._layout(word, number)
        elif word == "par":
            self._add(" ")

    def _target_of(self, word: str, group: _Group) -> str:
        """Return what a group is from this word on; empty for a word that says nothing of it."""
        if word == "ud":
            return self._groups[-2].target if len(self._groups) > 1 else ""
        if word == "fldinst" and group.target != "code":
            return "code"
        if word == "field" and group.target == "code":  # what it results in is no text
            return "skip"
        if word in _HELD:
            return "text"
        if word in _HOLDERS:
            return "holder"
        if word in ("annotation", "footnote"):
            self.properties[word].append("\n")
            if word == "footnote":
                self._leave_out_sign()
        elif word in _SKIPPED or group.target == "starred":
            return "skip"
        return word if word in ("fonttbl", *self.properties) else ""

    def _leave_out_sign(self) -> None:
        """Leave out the raised sign of the note that begins here: it would be a digit of the number before it."""
        self._flush()
        if self._raised:
            del self._parts[self._raised[0] :]
            self._raised = None

    def _layout(self, word: str, number: int | None) -> None:
        if word == "outlinelevel":
            self._level = (number or 0) + 1 if (number or 0) < _BODY_LEVEL else 0
        elif word == "dropcapli":
            self._is_drop_cap = True
        elif word == "par" and (self._is_drop_cap or self._groups[-1].is_hidden):  # goes on in the next paragraph
            self._is_drop_cap = False
        elif word == "pard":
            self._level = 0
            self._is_drop_cap = False
            self._change(is_cell=False)
        elif word == "intbl":
            self._change(is_cell=True)
        elif word == "par" and self._groups[-1].is_cell:
            self._add(" ")
        elif word in _ENDS:
            self.end_paragraph()
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])

    def _set_font(self, word: str, number: int) -> None:
        self._flush()
        if word == "ansicpg":
            self._encoding = _MAC_PAGES.get(number) or _known(f"cp{number}")
        elif word == "fcharset":
            self._fonts[self._font] = _CHARSETS.get(number, "")
        elif word == "plain":
            self._change(is_hidden=False, is_struck=False, is_raised=False, symbols="")
        else:
            self._font = number
            if self._groups[-1].target != "fonttbl":
                self._change(encoding=self._fonts.get(number, ""), symbols=self._symbols.get(number, ""))

    def _raise(self, is_raised: bool) -> None:
        self._flush()
        self._change(is_raised=is_raised)
        begins = is_raised and self._groups[-1].target == "text"
        self._raised = (len(self._parts), len(self._groups)) if begins else None

    def _change(self, **changes: Any) -> None:
        group = self._groups[-1]
        if any(getattr(group, name) != value for name, value in changes.items()):  # seldom
            self._flush()
            self._groups[-1] = replace(group, **changes)

    def _add_bytes(self, content: bytes) -> None:
        unwanted = min(self._unwanted, len(content))
        self._unwanted -= unwanted
        self._bytes += content[unwanted:]

    def _flush(self) -> None:
        """Decode the bytes so far: a character may be of two, each written by itself."""
        if self._bytes:
            content, self._bytes = bytes(self._bytes), bytearray()
            font = self._groups[-1].symbols
            text = content.decode("latin_1" if font else self._groups[-1].encoding or self._encoding, "replace")
            self._put(signs(text, font, letters=True) if font else text)

    def _add(self, text: str) -> None:
        self._flush()
        self._put(text)

    def _put(self, text: str) -> None:
        group = self._groups[-1]
        if group.is_hidden:
            return
        if group.target == "text":
            if self._raised and len(self._groups) < self._raised[1]:
                self._raised = None
            text = f"{RAISE}{text}{RAISE}" if group.is_raised and text != "\x1f" else text
            self._parts.append(f"{STRIKE}{text}{STRIKE}" if group.is_struck and text != "\x1f" else text)
        elif group.target == "code":
            self._code += text if len(self._code) < MAX_CODE_CHARS else ""
        elif group.target == "label":
            self._label.append(text)
        elif group.target in self.properties:
            self.properties[group.target].append(text)
        elif group.target == "fonttbl" and (name := text.strip("; \r\n")).lower().startswith(("symbol", "wingdings")):
            self._symbols[self._font] = name


def _known(encoding: str) -> str:
    try:
        return codecs.lookup("utf-8" if encoding == "cp65001" else encoding).name
    except LookupError:
        return "cp1252"


def _joined_pairs(text: str) -> str:
    """Return the text with each pair of surrogates as the character that they stand for."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
