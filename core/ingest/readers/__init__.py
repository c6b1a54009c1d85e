"""Files to text with structure: one reader per family of formats, and the table from format to reader.

May import: `core.text`, `core.types`, `core.metadata`, `core.errors`.
Way in: `read_document`; a new format is a file here and a row in `braid.core.ingest.formats.FORMATS`, or an entry
point of another package in the group ``braid.readers``.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Protocol, cast

from braid.core.errors import ReaderFaultError, Reason, UnreadableDocumentError, fault_of, internal
from braid.core.extras import MissingExtraError
from braid.core.ingest.formats import FORMATS, Format, format_of_suffix
from braid.core.ingest.readers.document import (
    MAX_HEADING_PATH_CHARS,
    ParsedDocument,
    Section,
    SourceFile,
    one_line,
)
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.paged.scanned import with_scans
from braid.core.ingest.readers.parts.labels import joined_labels
from braid.core.ingest.readers.sniff import Sniffed, sniff, sniff_other
from braid.core.ingest.scans.reading import PageReading
from braid.core.metadata.values import kept_metadata

__all__ = ["ParsedDocument", "Section", "SourceFile", "clean_text", "read_document"]

logger = logging.getLogger(__name__)

MAX_TITLE_CHARS = 300
MAX_FAULT_CHARS = 300


class Reader(Protocol):
    """A module of this package that reads a family of formats."""

    ERRORS: tuple[type[Exception], ...]
    """Errors that the reader, or its library, raises when a file is damaged."""

    def read(self, file: SourceFile) -> ParsedDocument:
        """Return the text of the file."""
        ...


READABLE = (
    "txt, md, html, pdf, docx, pptx, xlsx, odt, ods, odp, hwpx, rtf, csv, tsv, json, jsonl, xml, eml, msg, mht, epub, "
    "srt, vtt, ipynb, zip, png, jpg, tiff, webp and source code"
)
_BY_KIND = {form.kind: form for form in FORMATS if form.kind != "text"}
_BEGINNING = 4_096
_WRITTEN_AS = (
    (".mht", re.compile(r"\A(?:MIME-Version|From|Date|Content-Type): ", re.IGNORECASE)),
    (".xml", re.compile(r"\A<\?xml\b")),
    (".html", re.compile(r"<(?:!doctype html|html|head|body|table|meta)\b", re.IGNORECASE)),
)
"""How texts begin that have the suffix of an old Office file."""
_PLAIN_NAMES = frozenset({"readme", "license", "licence", "copying", "notice", "authors", "changelog", "makefile"})
_UNWANTED = re.compile("[\\x00-\\x08\\x0b\\x0e-\\x1f\\x7f\\ud800-\\udfff\\uf020-\\uf0fe\\uf53a\\ufeff\\ufffe\\uffff]")
_SYMBOLS = {chr(0xF000 + code): chr(code) for code in range(0x20, 0x7F) if not chr(code).isalpha()} | dict(
    zip(
        "\uf0b7\uf0a7\uf076\uf0d8\uf0fc\uf06e\uf0a8\uf0e0\uf0ae\uf0b0\uf0b1\uf0b4\uf0d7\uf0b8\uf0a3\uf0b3\uf0b9\uf0a5\uf0bc",
        "•▪❖➢✓■□→→°±×·÷≤≥≠∞…",
        strict=True,
    )
)
"""Characters for private use as Word, and the fonts Symbol and Wingdings, use them, most often for bullets; and as
Hangul writes the name of its own.
"""
_SYMBOLS["\uf53a"] = "\u1112\u119e\u11ab"


def read_document(
    filename: str, content: bytes, *, max_bytes: int, scans: Mapping[int, PageReading] | None = None
) -> ParsedDocument:
    """Read the text of a file with its structure.

    The format is chosen by the name and must agree with the bytes. ``scans`` are what a machine has read so far on
    scanned pages, by their number from 1; None where no machine will, so that there must be other text.

    Raises UnreadableDocumentError, with a message for the user that names the file and the remedy, for a file that
    cannot be read; ScannedDocumentError for one whose text is all on scanned pages, when ``scans`` is None;
    ReaderFaultError for one at which the reader fails in a way that it does not foresee.
    """
    file = SourceFile(filename, content, max_bytes)
    if not content:
        raise file.unreadable("%(name)s is empty: it has 0 bytes; check that it was saved", code="empty")
    if len(content) > max_bytes:
        raise file.too_large(
            "%(name)s has %(size)s bytes; at most %(most)s are read, so split it", size=len(content), most=max_bytes
        )
    form = _format_of(file)
    file = replace(file, file_type=form.file_type)
    parsed = _read(form, file) if form.point is None else _read_elsewhere(form.point, file)
    if parsed.scanned:
        parsed = with_scans(file, parsed, scans)
    return _clean_document(file, parsed, may_be_empty=bool(parsed.scanned))


def _read(form: Format, file: SourceFile) -> ParsedDocument:
    """Call the format's reader. This is the one place where the errors of parsers are caught."""
    try:
        reader = cast(Reader, importlib.import_module(f"{__name__}.{form.reader}"))
    except ModuleNotFoundError as error:
        raise _unreadable_here(form, file, error) from error
    try:
        return reader.read(file)
    except ModuleNotFoundError as error:
        raise _unreadable_here(form, file, error) from error
    except UnreadableDocumentError:
        raise
    except RecursionError as error:
        raise file.unreadable("%(name)s is nested too deeply to be read; save it in a simpler form") from error
    except reader.ERRORS as error:
        logger.info("%s cannot be read as %s", file.name, form.file_type, exc_info=True)
        raise file.unreadable(
            "%(name)s is damaged, or is not %(other)s; copy or export it again", other=form.label
        ) from error
    except MemoryError:  # says nothing about the reader
        raise
    except Exception as error:  # the edge of a reader: its fault in one file is no fault of the others
        raise ReaderFaultError.of(file.name, error) from error


def _read_elsewhere(point: EntryPoint, file: SourceFile) -> ParsedDocument:
    """Call the reader of another package. Raises UnreadableDocumentError, which names the reader, whatever it raises or
    returns that is no document; MemoryError.
    """
    reader = f"{point.name} of {point.value}"
    try:
        read = point.load()
    except Exception as error:  # the edge to another package
        told = one_line(f"{type(error).__name__}: {error}")[:MAX_FAULT_CHARS]
        why = f"the reader {reader} cannot be loaded: {told}"
        raise file.unreadable("%(name)s cannot be read here: %(error)s", error=why, code="not_here") from error
    try:
        parsed: object = read(file)
    except (UnreadableDocumentError, MemoryError):
        raise
    except Exception as error:  # the edge to another package: its fault in one file is no fault of the others
        raise file.unreadable(
            "%(name)s cannot be read: the reader %(reader)s failed: %(error)s",
            reader=reader,
            error=fault_of(error),
            code="fault",
        ) from error
    sections: object = parsed.sections if isinstance(parsed, ParsedDocument) else None
    if not isinstance(sections, (list, tuple)) or not all(isinstance(each, Section) for each in sections):
        kind = type(parsed).__name__
        raise file.unreadable(
            "%(name)s cannot be read: the reader %(reader)s returned %(type)s, not a ParsedDocument of Sections",
            reader=reader,
            type=kind,
            code="fault",
        )
    return replace(cast(ParsedDocument, parsed), file_type=file.file_type, sections=tuple(sections), scanned=())


def _unreadable_here(form: Format, file: SourceFile, error: ModuleNotFoundError) -> UnreadableDocumentError:
    missing = MissingExtraError(f"reading {form.label}", "readers", str(error.name))
    return file.unreadable("%(name)s cannot be read here: %(error)s", error=missing, code="not_here")


def _format_of(file: SourceFile) -> Format:
    """Return the format of the file's name. Raises UnreadableDocumentError if it is unknown, or the bytes differ."""
    sniffed = sniff(file.content)
    by_suffix = format_of_suffix()
    form = by_suffix.get(file.suffix)
    if form is None and not file.suffix and file.name.lower() in _PLAIN_NAMES:
        form = by_suffix[".txt"]
    if form is None:
        sniffed = sniff_other(file.suffix, file.content) or sniffed
    if form is not None and form.kind in (sniffed.kind, ""):
        return form
    if form is not None and form.reader == "office.converted" and (written := _written_as(file, form, sniffed)):
        return written
    if sniffed.advice:
        raise file.unreadable(
            "%(name)s is %(what)s; %(advice)s", what=sniffed.label, advice=sniffed.advice, code=sniffed.refused
        )
    if (real := _BY_KIND.get(sniffed.kind)) is not None:
        new = f"{file.stem}{real.suffixes[0]}"
        if form is None:
            raise file.unreadable(
                "%(name)s is %(what)s; rename it to %(new)s", what=real.label, new=new, code="other_format"
            )
        raise file.unreadable(
            "%(name)s is %(what)s, not %(other)s; rename it to %(new)s",
            what=real.label,
            other=form.label,
            new=new,
            code="other_format",
        )
    raise UnreadableDocumentError(_wrong_content(file, form, sniffed), code="other_format")


def _written_as(file: SourceFile, form: Format, sniffed: Sniffed) -> Format | None:
    """Return the format of a text that has the suffix of an old Office file, as programs write that have no Office;
    None where it is none.
    """
    if sniffed.kind == "rtf":
        return _BY_KIND["rtf"]
    if sniffed.kind != "text":
        return None
    beginning = decode(file.content[:_BEGINNING]).lstrip()
    for suffix, pattern in _WRITTEN_AS:
        if pattern.search(beginning):
            return format_of_suffix()[suffix]
    return format_of_suffix()[{"xls": ".csv", "doc": ".txt"}.get(form.file_type, ".txt")]


def _wrong_content(file: SourceFile, form: Format | None, sniffed: Sniffed) -> Reason:
    name, what = file.name, sniffed.label
    if form is not None and form.kind == "text":
        return internal(
            "%(name)s is %(what)s, not %(other)s; only its text can be read, saved as one of %(formats)s",
            name=name,
            what=what,
            other=form.label,
            formats=READABLE,
        )
    if form is not None:
        return Reason(
            "%(name)s is %(what)s, not %(other)s: it is damaged or wrongly named; copy or export it again",
            name=name,
            what=what,
            other=form.label,
        )
    if sniffed.kind != "text":
        return internal(
            "%(name)s is %(what)s, which cannot be read; save its text as one of %(formats)s",
            name=name,
            what=what,
            formats=READABLE,
        )
    if file.suffix:
        return internal(
            "%(name)s has the type %(type)s that is not known; save it as one of %(formats)s",
            name=name,
            type=file.suffix,
            formats=READABLE,
        )
    return internal(
        "%(name)s has no file extension, so its type is not known; save it as one of %(formats)s",
        name=name,
        formats=READABLE,
    )


def _clean_document(file: SourceFile, parsed: ParsedDocument, *, may_be_empty: bool) -> ParsedDocument:
    """Remove the characters that no database, index or page takes, and empty sections."""
    sections = tuple(section for section in map(_clean_section, parsed.sections) if section.text.strip())
    if not sections and not may_be_empty:
        raise file.unreadable("%(name)s has no text in it; check that it is the right file", code="no_text")
    title = one_line(clean_text(parsed.title))[:MAX_TITLE_CHARS] or file.stem
    metadata = {
        key: one_line(clean_text(value)) if isinstance(value, str) else value
        for key, value in parsed.metadata.items()
        if value
    }
    return replace(parsed, title=title, sections=sections, metadata=kept_metadata(metadata))


def _clean_section(section: Section) -> Section:
    texts = (section.text, section.heading_path[:MAX_HEADING_PATH_CHARS], section.header)
    if section.kind != "code":
        texts = joined_labels(texts[0]), texts[1], joined_labels(texts[2])
    is_clean = not any(map(_UNWANTED.search, texts))
    if is_clean and texts == (section.text, section.heading_path, section.header):  # nearly always
        return section
    text, heading_path, header = map(clean_text, texts)
    return replace(section, text=text, heading_path=heading_path, header=header)


def clean_text(text: str) -> str:
    """Remove control characters; replace half a surrogate pair by the replacement character, and symbols that Word has
    among the characters for private use by those that everybody has.
    """
    return _UNWANTED.sub(_wanted, text)


def _wanted(match: re.Match[str]) -> str:
    character = match[0]
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return _SYMBOLS.get(character, character) if "\ue000" <= character <= "\uf8ff" else ""
