"""The formats that can be read: their names, suffixes and readers. This module imports no reader."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint

from braid.core.errors import Reason
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
    Format(
        "txt",
        Reason("plain text"),
        (".txt", ".text", ".log", ".lst", ".ics", ".vcf", ".rst", ".adoc", ".org", ".tex"),
        "text",
    ),
    Format("md", Reason("a Markdown document"), (".md", ".markdown", ".mdx"), "markdown"),
    Format("html", Reason("a web page"), (".html", ".htm", ".xhtml"), "html"),
    Format("pdf", Reason("a PDF document"), (".pdf",), "paged.pdf", "pdf"),
    Format("docx", Reason("a Word document"), (".docx", ".docm", ".dotx", ".dotm"), "office.word", "docx"),
    Format(
        "pptx",
        Reason("a PowerPoint presentation"),
        (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"),
        "office.slides",
        "pptx",
    ),
    Format("xlsx", Reason("an Excel workbook"), (".xlsx", ".xlsm", ".xltx", ".xltm"), "office.workbook", "xlsx"),
    Format("doc", Reason("a document of Word 97–2003"), (".doc", ".dot"), "office.converted", "doc"),
    Format("ppt", Reason("a presentation of PowerPoint 97–2003"), (".ppt", ".pps"), "office.converted", "ppt"),
    Format("xls", Reason("a workbook of Excel 97–2003"), (".xls", ".xlt"), "office.converted", "xls"),
    Format("odt", Reason("an OpenDocument text"), (".odt", ".ott"), "office.open_document", "odt"),
    Format("ods", Reason("an OpenDocument spreadsheet"), (".ods", ".ots"), "office.open_document", "ods"),
    Format("odp", Reason("an OpenDocument presentation"), (".odp", ".otp"), "office.open_document", "odp"),
    Format("fodt", Reason("an OpenDocument text"), (".fodt",), "office.open_document"),
    Format("fods", Reason("an OpenDocument spreadsheet"), (".fods",), "office.open_document"),
    Format("fodp", Reason("an OpenDocument presentation"), (".fodp",), "office.open_document"),
    Format("hwpx", Reason("a Hangul document (HWPX)"), (".hwpx",), "office.hwpx", "hwpx"),
    Format("hwp", Reason("a Hangul document (HWP)"), (".hwp",), "office.hangul", "hwp"),
    Format("rtf", Reason("a rich text (RTF) document"), (".rtf",), "office.rtf", "rtf"),
    Format("png", Reason("a %(format)s image", format="PNG"), (".png",), "paged.picture", "png"),
    Format("jpg", Reason("a %(format)s image", format="JPEG"), (".jpg", ".jpeg"), "paged.picture", "jpg"),
    Format("tiff", Reason("a %(format)s image", format="TIFF"), (".tif", ".tiff"), "paged.picture", "tiff"),
    Format("webp", Reason("a %(format)s image", format="WebP"), (".webp",), "paged.picture", "webp"),
    Format("csv", Reason("a CSV table"), (".csv",), "table"),
    Format("tsv", Reason("a TSV table"), (".tsv", ".tab"), "table"),
    Format("json", Reason("a JSON document"), (".json", ".geojson"), "json_tree"),
    Format("jsonc", Reason("a JSON document"), (".jsonc",), "json_tree"),
    Format("jsonl", Reason("a JSON Lines document"), (".jsonl", ".ndjson"), "json_tree"),
    Format("eml", Reason("a mail"), (".eml", ".emlx"), "mail"),
    Format("msg", Reason("an Outlook message"), (".msg",), "outlook", "msg"),
    Format("mht", Reason("a web archive"), (".mht", ".mhtml"), "mail"),
    Format("epub", Reason("an EPUB book"), (".epub",), "epub", "epub"),
    Format("xml", Reason("an XML document"), (".xml", ".opml", ".kml", ".gpx"), "compound.xml_tree"),
    Format("rss", Reason("a news feed"), (".rss",), "compound.xml_tree"),
    Format("atom", Reason("a news feed"), (".atom",), "compound.xml_tree"),
    Format("zip", Reason("a zip archive"), (".zip",), "compound.zip_folder", "zip"),
    Format("srt", Reason("subtitles"), (".srt",), "subtitles"),
    Format("vtt", Reason("subtitles"), (".vtt",), "subtitles"),
    Format("smi", Reason("subtitles"), (".smi", ".sami"), "html"),
    Format("ipynb", Reason("a Jupyter notebook"), (".ipynb",), "notebook"),
    Format("py", Reason("%(language)s source code", language="Python"), (".py", ".pyi", ".pyw"), "code"),
    Format("js", Reason("%(language)s source code", language="JavaScript"), (".js", ".mjs", ".cjs", ".jsx"), "code"),
    Format("ts", Reason("%(language)s source code", language="TypeScript"), (".ts", ".mts", ".cts"), "code"),
    Format("tsx", Reason("%(language)s source code", language="TypeScript"), (".tsx",), "code"),
    Format("java", Reason("%(language)s source code", language="Java"), (".java",), "code"),
    Format("go", Reason("%(language)s source code", language="Go"), (".go",), "code"),
    Format("rs", Reason("%(language)s source code", language="Rust"), (".rs",), "code"),
    Format("c", Reason("%(language)s source code", language="C"), (".c",), "code"),
    Format(
        "cpp",
        Reason("%(language)s source code", language="C++"),
        (".cpp", ".cc", ".cxx", ".h", ".hpp", ".hh", ".hxx"),
        "code",
    ),
    Format("yaml", Reason("a YAML document"), (".yaml", ".yml"), "settings_tree"),
    Format("toml", Reason("a TOML document"), (".toml",), "settings_tree"),
    Format("ini", Reason("a settings file"), (".ini", ".cfg", ".conf", ".properties"), "text"),
    Format("sh", Reason("a shell script"), (".sh", ".bash", ".zsh", ".bat", ".cmd", ".ps1"), "text"),
    Format("sql", Reason("%(language)s source code", language="SQL"), (".sql",), "text"),
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
            why = "the name is taken" if name in taken else "the name is not a suffix such as cal"
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
