"""The formats that can be read: their names, suffixes and readers. This module imports no reader."""

from __future__ import annotations

from dataclasses import dataclass


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
    """The answer of `braid.core.ingest.readers.sniff` for bytes of this format."""


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


def file_types() -> tuple[str, ...]:
    """The names of all formats."""
    return tuple(form.file_type for form in FORMATS)


def format_named(name: str) -> Format | None:
    """Return the format with this name or suffix, in capitals or not; None for a label that is no format."""
    name = name.strip().lower().removeprefix(".")
    of_name = (form for form in FORMATS if name == form.file_type or f".{name}" in form.suffixes)
    return next(of_name, None)
