"""What was filled in and noted on a page of a PDF: the values of its form's fields, and the texts of its annotations.

PDFium leaves both out of a page's text. A value, or a text that is written on the page, goes to its place between the
lines; a note, which a viewer shows when it is opened, goes below them.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pypdfium2  # type: ignore[import-untyped]
from pypdfium2 import raw

from braid.core.ingest.readers.document import one_line
from braid.core.ingest.readers.paged.characters import Box, LinePiece, PageTransform

MAX_ANNOTATIONS = 1_000
"""Of a page."""
MAX_CHARACTERS = 10_000
"""Of one value or note."""
MAX_OPTIONS = 500
"""Of a list of choices."""
CHECKED = "☑"
NOTE = "✎ "
"""Begins a note, so that it is no sentence of the page."""
_LINE, _WIDTH = 12.0, 0.5
"""Height of a line in points, unless its field is lower, and width of a letter in such heights."""
_HIDDEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_TEXT_FIELDS = (raw.FPDF_FORMFIELD_TEXTFIELD,)
_CHOICES = (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
_BUTTONS = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
_WRITTEN = (raw.FPDF_ANNOT_FREETEXT,)
_WITHOUT_NOTE = (raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FILEATTACHMENT)

_Call = Callable[[object, int], int]
"""Writes UTF-16 into a buffer of so many bytes, and returns how many it needs."""


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page: the characters that PDFium counts, then a line for each value and note.

    ``text[: count]`` are PDFium's; the others are in ``values`` and ``notes``, which say where on the page they are.
    """

    text: str
    count: int
    values: tuple[LinePiece, ...] = ()
    notes: tuple[LinePiece, ...] = ()


def open_forms(document: pypdfium2.PdfDocument) -> None:
    """Make the form of a document readable, if it has one that can be read; call it before a page is opened."""
    logging.getLogger("pypdfium2").setLevel(logging.ERROR)  # it warns of forms in XFA, whose fields are read as others
    with suppress(pypdfium2.PdfiumError):
        document.init_forms()


def with_annotations(page: pypdfium2.PdfPage, text: str) -> PageText:
    """Return the page's text with what was filled in and noted on it."""
    if not raw.FPDFPage_GetAnnotCount(page):
        return PageText(text, len(text))
    turn = PageTransform(page)
    count, there = len(text), "".join(text.split())
    pieces: tuple[list[LinePiece], list[LinePiece]] = ([], [])
    for is_note, said, box in _found(page):
        if is_note and "".join(said.removeprefix(NOTE).split()) in there:  # some programs note the text that is marked
            continue
        corners = turn.shown(np.array([box]))[0]
        start = len(text) + 1
        text += "\n" + said
        kind: list[LinePiece] = pieces[is_note]
        kind.append(LinePiece(start, len(text), *_shown(corners.tolist(), said), -1 - len(pieces[0]) - len(pieces[1])))
    values = tuple(piece for piece in pieces[0] if turn.is_within(piece[2:6]))
    return PageText(text, count, values, tuple(pieces[1]))


def placed(pieces: Sequence[LinePiece], values: Sequence[LinePiece]) -> list[LinePiece]:
    """Return the pieces in their order with each value beside what is in its row, or else below what is above it."""
    order = list(pieces)
    for value in values:
        middle = (value.top + value.bottom) / 2
        beside = [at for at, piece in enumerate(order) if piece.top <= middle <= piece.bottom]
        before = [at for at in beside if order[at].left <= value.left]
        if beside:
            at = max(before, key=lambda at: order[at].left) if before else min(beside, key=lambda at: order[at].left)
            order.insert(at + bool(before), value._replace(line=order[at].line))
            continue
        above = [at for at, piece in enumerate(order) if piece.bottom <= middle]
        order.insert(max(above, key=lambda at: order[at].bottom) + 1 if above else 0, value)
    return order


def _found(page: pypdfium2.PdfPage) -> Iterator[tuple[bool, str, Box]]:
    """Yield whether it is a note, the text, and the box on the page as the file has it, for each that is shown."""
    for index in range(min(int(raw.FPDFPage_GetAnnotCount(page)), MAX_ANNOTATIONS)):
        found = raw.FPDFPage_GetAnnot(page, index)
        if not found:
            continue
        try:
            if raw.FPDFAnnot_GetFlags(found) & _HIDDEN:
                continue
            kind = raw.FPDFAnnot_GetSubtype(found)
            if kind == raw.FPDF_ANNOT_WIDGET:
                said = _value(page.formenv, found) if page.formenv else ""
            else:
                said = "" if kind in _WITHOUT_NOTE else _string(found, b"Contents")
            box = raw.FS_RECTF()
            if (said := one_line(said)) and raw.FPDFAnnot_GetRect(found, box):
                is_note = kind not in (raw.FPDF_ANNOT_WIDGET, *_WRITTEN)
                yield is_note, NOTE + said if is_note else said, (box.left, box.top, box.right, box.bottom)
        finally:
            raw.FPDFPage_CloseAnnot(found)


def _value(form: pypdfium2.PdfFormEnv, field: object) -> str:
    """Return what was filled into a field; nothing for a password, and for a field that is empty."""
    kind = raw.FPDFAnnot_GetFormFieldType(form, field)
    if kind in _BUTTONS:
        return CHECKED if raw.FPDFAnnot_IsChecked(form, field) else ""
    if kind in _CHOICES and (chosen := list(_chosen(form, field))):
        return ", ".join(chosen)
    if kind not in (*_TEXT_FIELDS, *_CHOICES):
        return ""
    if raw.FPDFAnnot_GetFormFieldFlags(form, field) & raw.FPDF_FORMFLAG_TEXT_PASSWORD:
        return ""
    return _read(lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, field, buffer, size))


def _chosen(form: pypdfium2.PdfFormEnv, field: object) -> Iterator[str]:
    """Yield the choices as a viewer shows them: a field's value may be another name of one."""
    for at in range(min(int(raw.FPDFAnnot_GetOptionCount(form, field)), MAX_OPTIONS)):
        if raw.FPDFAnnot_IsOptionSelected(form, field, at):
            yield _read(lambda buffer, size, at=at: raw.FPDFAnnot_GetOptionLabel(form, field, at, buffer, size))  # type: ignore[misc]


def _string(found: object, key: bytes) -> str:
    return _read(lambda buffer, size: raw.FPDFAnnot_GetStringValue(found, key, buffer, size))


def _read(call: _Call) -> str:
    size = min(int(call(None, 0)), 2 * MAX_CHARACTERS)
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    if int(call(buffer, size)) > size:
        return ""
    return bytes(buffer)[:size].decode("utf-16-le", "replace").rstrip("\0")


def _shown(corners: Sequence[float], text: str) -> Box:
    """Return the box of a line of text in the box of its field: as high as a line, and as wide as its letters."""
    left, top, right, bottom = corners
    height = min(_LINE, bottom - top)
    if bottom - top < 3 * _LINE:  # one line, in the middle
        top = (top + bottom - height) / 2
    width = sum(2 if ord(letter) > 0x1100 else 1 for letter in text) * _WIDTH * height
    return left, top, min(right, left + width), top + height
