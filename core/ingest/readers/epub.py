"""EPUB books: the chapters in reading order, a section per heading."""

from __future__ import annotations

import posixpath
import re
import zipfile
from typing import NoReturn
from urllib.parse import unquote

from lxml import etree

from braid.core.ingest.readers.archive import PACKAGE_ERRORS, open_archive
from braid.core.ingest.readers.document import Outline, ParsedDocument, SourceFile, first_title, one_line
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.html import add_html, parse_html
from braid.core.ingest.readers.parts.xml import part

ERRORS = PACKAGE_ERRORS

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_XML_ENCODING = re.compile(rb"""\A<\?xml[^>]+encoding=["']([\w-]+)""")


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per heading of every chapter; a chapter without headings goes under its own title."""
    with open_archive(file) as archive:
        package_path = _package_path(file, archive)
        package = part(file, archive, package_path)
        chapters = _chapters(package, posixpath.dirname(package_path), archive)
        _refuse_protected(file, archive, chapters)
        metadata = {name: _first(package, name) for name in ("creator", "language", "publisher", "date")}
        metadata["author"] = metadata.pop("creator")
        title = _first(package, "title")
        outline = Outline()
        for chapter in chapters:
            _add_chapter(file, archive.read(chapter), title, outline)
    return ParsedDocument(first_title(title, outline.first_heading), "epub", outline.sections(), metadata)


def _package_path(file: SourceFile, archive: zipfile.ZipFile) -> str:
    if _CONTAINER not in archive.NameToInfo:
        found = next((name for name in archive.namelist() if name.lower().endswith(".opf")), None)
        return found if found is not None else _without_contents(file)
    root_file = part(file, archive, _CONTAINER).find(".//{*}rootfile")
    path = root_file.get("full-path") if root_file is not None else None
    return path or _without_contents(file)


def _without_contents(file: SourceFile) -> NoReturn:
    raise file.unreadable("%(name)s is damaged: it does not say where its contents are; copy or export it again")


def _chapters(package: etree._Element, folder: str, archive: zipfile.ZipFile) -> list[str]:
    """Return the paths of the chapters that are in the archive, in reading order; of a book that says none, all pages
    in the order in which it lists them.
    """
    pages = {
        item.get("id"): posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))
        for item in package.iterfind(".//{*}manifest/{*}item")
        if item.get("media-type") in _PAGES
    }
    spine = (reference.get("idref") for reference in package.iterfind(".//{*}spine/{*}itemref"))
    named = [pages[idref] for idref in dict.fromkeys(spine) if idref in pages] or list(pages.values())
    there = {name.lower(): name for name in archive.namelist()}
    found = (name if name in archive.NameToInfo else there.get(name.lower()) for name in named)
    return [name for name in found if name is not None]


def _refuse_protected(file: SourceFile, archive: zipfile.ZipFile, chapters: list[str]) -> None:
    """Refuse a book whose chapters are encrypted; books that only obfuscate their fonts stay readable."""
    if _ENCRYPTION not in archive.namelist():
        return
    encrypted = {unquote(item.get("URI") or "") for item in part(file, archive, _ENCRYPTION).iter("{*}CipherReference")}
    if encrypted.intersection(chapters):
        raise file.unreadable(
            "%(name)s is encrypted (copy protection); add a copy without protection", code="encrypted"
        )


def _first(package: etree._Element, name: str) -> str:
    """Return the first Dublin Core element of this name."""
    element = package.find(f".//{{http://purl.org/dc/elements/1.1/}}{name}")
    return one_line("".join(map(str, element.itertext()))) if element is not None else ""


def _add_chapter(file: SourceFile, content: bytes, title: str, outline: Outline) -> None:
    match = _XML_ENCODING.search(content)
    root = parse_html(file, decode(content, match[1].decode("ascii") if match else ""))
    if root is None:
        return
    own_title = one_line(root.findtext(".//title") or "")
    if next(root.iter(*_HEADINGS), None) is None and own_title and own_title != title:
        outline.heading(1, own_title)
    add_html(root, outline)
