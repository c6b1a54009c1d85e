"""The formats that can be read: their names, suffixes and readers. This module imports no reader."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint

from braid.core.extras import installed

READERS = "braid.readers"
"""Group of entry points: the name is a format and its suffix without the dot, the object a function that reads a
`SourceFile` and returns a `ParsedDocument`.
"""
_NAME = re.compile(r"[a-z0-9][a-z0-9_+-]{0,19}")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Format:
    """A format that can be read."""

    file_type: str
    label: str
    """The name of the format with its article: ``a PDF document``."""
    suffixes: tuple[str, ...]
    reader: str
    """The module in `readers/` that reads it; loaded, with its library, when the first such file comes."""
    kind: str = "text"
    """The answer of `braid.core.ingest.readers.sniff` for bytes of this format; empty where the reader judges them."""
    point: EntryPoint | None = None
    """The function that reads it, where that is of another package."""


FORMATS: tuple[Format, ...] = (
    Format("txt", "plain text", (".txt", ".text", ".log", ".rst", ".adoc", ".org", ".tex"), "text"),
    Format("md", "a Markdown document", (".md", ".markdown", ".mdx"), "markdown"),
    Format("html", "a web page", (".html", ".htm", ".xhtml"), "html"),
    Format("pdf", "a PDF document", (".pdf",), "paged.pdf", "pdf"),
    Format("docx", "a Word document", (".docx", ".docm", ".dotx", ".dotm"), "office.word", "docx"),
    Format(
        "pptx",
        "a PowerPoint presentation",
        (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"),
        "office.slides",
        "pptx",
    ),
    Format("xlsx", "an Excel workbook", (".xlsx", ".xlsm", ".xltx", ".xltm"), "office.workbook", "xlsx"),
    Format("doc", "a document of Word 97–2003", (".doc", ".dot"), "office.converted", "doc"),
    Format("ppt", "a presentation of PowerPoint 97–2003", (".ppt", ".pps"), "office.converted", "ppt"),
    Format("xls", "a workbook of Excel 97–2003", (".xls", ".xlt"), "office.converted", "xls"),
    Format("odt", "an OpenDocument text", (".odt", ".ott"), "office.open_document", "odt"),
    Format("ods", "an OpenDocument spreadsheet", (".ods", ".ots"), "office.open_document", "ods"),
    Format("odp", "an OpenDocument presentation", (".odp", ".otp"), "office.open_document", "odp"),
    Format("fodt", "an OpenDocument text", (".fodt",), "office.open_document"),
    Format("fods", "an OpenDocument spreadsheet", (".fods",), "office.open_document"),
    Format("fodp", "an OpenDocument presentation", (".fodp",), "office.open_document"),
    Format("hwpx", "a Hangul document (HWPX)", (".hwpx",), "office.hwpx", "hwpx"),
    Format("hwp", "a Hangul document (HWP)", (".hwp",), "office.hangul", "hwp"),
    Format("rtf", "a rich text (RTF) document", (".rtf",), "office.rtf", "rtf"),
    Format("png", "a PNG image", (".png",), "paged.picture", "png"),
    Format("jpg", "a JPEG image", (".jpg", ".jpeg"), "paged.picture", "jpg"),
    Format("tiff", "a TIFF image", (".tif", ".tiff"), "paged.picture", "tiff"),
    Format("webp", "a WebP image", (".webp",), "paged.picture", "webp"),
    Format("csv", "a CSV table", (".csv",), "table"),
    Format("tsv", "a TSV table", (".tsv", ".tab"), "table"),
    Format("json", "a JSON document", (".json", ".geojson"), "json_tree"),
    Format("jsonc", "a JSON document", (".jsonc",), "json_tree"),
    Format("jsonl", "a JSON Lines document", (".jsonl", ".ndjson"), "json_tree"),
    Format("eml", "a mail", (".eml",), "mail"),
    Format("msg", "an Outlook message", (".msg",), "outlook", "msg"),
    Format("mht", "a web archive", (".mht", ".mhtml"), "mail"),
    Format("epub", "an EPUB book", (".epub",), "epub", "epub"),
    Format("xml", "an XML document", (".xml",), "compound.xml_tree"),
    Format("rss", "a news feed", (".rss",), "compound.xml_tree"),
    Format("atom", "a news feed", (".atom",), "compound.xml_tree"),
    Format("zip", "a zip archive", (".zip",), "compound.zip_folder", "zip"),
    Format("srt", "subtitles", (".srt",), "subtitles"),
    Format("vtt", "subtitles", (".vtt",), "subtitles"),
    Format("ipynb", "a Jupyter notebook", (".ipynb",), "notebook"),
    Format("py", "Python source code", (".py", ".pyi", ".pyw"), "source.code"),
    Format("js", "JavaScript source code", (".js", ".mjs", ".cjs", ".jsx"), "source.code"),
    Format("ts", "TypeScript source code", (".ts", ".mts", ".cts"), "source.code"),
    Format("tsx", "TypeScript source code", (".tsx",), "source.code"),
    Format("java", "Java source code", (".java",), "source.code"),
    Format("go", "Go source code", (".go",), "source.code"),
    Format("rs", "Rust source code", (".rs",), "source.code"),
    Format("c", "C source code", (".c",), "source.code"),
    Format("cpp", "C++ source code", (".cpp", ".cc", ".cxx", ".h", ".hpp", ".hh", ".hxx"), "source.code"),
    Format("yaml", "a YAML document", (".yaml", ".yml"), "settings_tree"),
    Format("toml", "a TOML document", (".toml",), "settings_tree"),
    Format("ini", "a settings file", (".ini", ".cfg", ".conf", ".properties"), "text"),
    Format("sh", "a shell script", (".sh", ".bash", ".zsh"), "text"),
    Format("sql", "SQL source code", (".sql",), "text"),
)
"""Every format, in the order of the manual. Macros of docm, pptm and xlsm files are neither run nor read."""

PICTURES = frozenset({"png", "jpg", "tiff", "webp"})
"""Formats that have no text but what a machine reads on them."""


@lru_cache(maxsize=1)
def formats() -> tuple[Format, ...]:
    """Return all formats: Braid's, then those of installed packages, of which it loads none.

    One whose name is taken, or is no suffix, is logged and left out.
    """
    taken = {form.file_type for form in FORMATS} | {suffix[1:] for form in FORMATS for suffix in form.suffixes}
    found = list(FORMATS)
    for name, point in installed(READERS).items():
        if name in taken or not _NAME.fullmatch(name):
            why = "the name is taken" if name in taken else "the name is not a suffix such as ics"
            logger.warning("reader %r of %s is left out: %s", name, point.value, why)
        else:
            found.append(Format(name, f"a {name} file", (f".{name}",), point.value, kind="", point=point))
    return tuple(found)


@lru_cache(maxsize=1)
def format_of_suffix() -> Mapping[str, Format]:
    """Return the formats by suffix, with its dot."""
    return {suffix: form for form in formats() for suffix in form.suffixes}


def file_types() -> tuple[str, ...]:
    """The names of all formats."""
    return tuple(form.file_type for form in formats())


def format_named(name: str) -> Format | None:
    """Return the format with this name or suffix, in capitals or not; None for a label that is no format."""
    name = name.strip().lower().removeprefix(".")
    of_name = (form for form in formats() if name == form.file_type or f".{name}" in form.suffixes)
    return next(of_name, None)
