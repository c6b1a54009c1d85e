"""EPUB books: the chapters in reading order, a section per heading."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, NoReturn
from urllib.parse import unquote

from lxml import etree

from braid.core.ingest.readers.archive import PACKAGE_ERRORS, open_archive
from braid.core.ingest.readers.document import Outline, ParsedDocument, SourceFile, first_title, one_line
from braid.core.ingest.readers.encoding import decode
from braid.core.ingest.readers.html import add_html, parse_html
from braid.core.ingest.readers.parts.xml import parse_xml, part

ERRORS = PACKAGE_ERRORS

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html")
_CONTENTS = "application/x-dtbncx+xml"
_TYPE = "{http://www.idpf.org/2007/ops}type"
_INLINE = ("a", "span", "b", "i", "em", "strong", "img", "sup")
_MAX_PIECES = 50
"""Pieces of text of a paragraph that is a heading."""
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_XML_ENCODING = re.compile(rb"""\A<\?xml[^>]+encoding=["']([\w-]+)""")


class _Label(NamedTuple):
    """An entry of the table of contents: to which element of a chapter it leads, and how deep it is, from 1."""

    fragment: str
    level: int
    text: str


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per heading of every chapter; a chapter without headings has those of the table of contents, or
    goes under its own title.
    """
    with open_archive(file) as archive:
        package_path = _package_path(file, archive)
        package = part(file, archive, package_path)
        chapters = _chapters(package, posixpath.dirname(package_path), archive)
        _refuse_protected(file, archive, chapters)
        metadata = {name: _first(package, name) for name in ("creator", "language", "publisher", "date")}
        metadata["author"] = metadata.pop("creator")
        title = _first(package, "title")
        outline = Outline()
        labels = _labels(file, package, posixpath.dirname(package_path), archive)
        for chapter in chapters:
            _add_chapter(file, archive.read(chapter), title, labels[chapter.lower()], outline)
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


def _labels(
    file: SourceFile, package: etree._Element, folder: str, archive: zipfile.ZipFile
) -> defaultdict[str, list[_Label]]:
    """Return the entries of the table of contents by the path of their chapter in small letters."""
    found: defaultdict[str, list[_Label]] = defaultdict(list)
    for item in package.iterfind(".//{*}manifest/{*}item"):
        path = posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))
        is_nav = "nav" in (item.get("properties") or "").split()
        if path not in archive.NameToInfo or not (is_nav or item.get("media-type") == _CONTENTS):
            continue
        root = parse_xml(file, archive.read(path), recover=True)
        entries = [] if root is None else list(_nav_entries(root) if is_nav else _ncx_entries(root))
        for link, level, text in entries:
            target, _, fragment = link.partition("#")
            chapter = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(target))) if target else path
            found[chapter.lower()].append(_Label(unquote(fragment), min(level, len(_HEADINGS)), one_line(text)))
        if entries:
            break
    return found


def _nav_entries(root: etree._Element) -> Iterator[tuple[str, int, str]]:
    """Yield the links of a table of contents of EPUB 3: where they lead, how deep they are, and their text."""
    navs = list(root.iter("{*}nav"))
    contents = next((nav for nav in navs if nav.get(_TYPE) == "toc"), navs[0] if navs else root)
    level = 0
    for event, element in etree.iterwalk(contents, events=("start", "end"), tag=("{*}ol", "{*}a")):
        if etree.QName(element).localname == "ol":
            level += 1 if event == "start" else -1
        elif event == "start":
            yield element.get("href") or "", max(level, 1), "".join(map(str, element.itertext()))


def _ncx_entries(root: etree._Element) -> Iterator[tuple[str, int, str]]:
    """Yield the same of a table of contents of EPUB 2."""
    level = 0
    for event, element in etree.iterwalk(root, events=("start", "end"), tag="{*}navPoint"):
        level += 1 if event == "start" else -1
        target = element.find("{*}content")
        if event == "start" and target is not None:
            yield target.get("src") or "", level, element.findtext("{*}navLabel/{*}text") or ""


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


def _add_chapter(file: SourceFile, content: bytes, title: str, labels: list[_Label], outline: Outline) -> None:
    match = _XML_ENCODING.search(content)
    root = parse_html(file, decode(content, match[1].decode("ascii") if match else ""))
    if root is None:
        return
    own_title = one_line(root.findtext(".//title") or "")
    if not any(heading.find(".//img[@alt]") is not None or _text(heading) for heading in root.iter(*_HEADINGS)):
        if labels and _text(root):
            _add_headings(root, labels)
        elif own_title and own_title != title:
            outline.heading(1, own_title)
    add_html(root, outline)


def _add_headings(root: etree._Element, labels: list[_Label]) -> None:
    """Put the entries of the table of contents into a chapter without headings, each at the place to which it leads."""
    body = root.find(".//body")
    first = root if body is None else body
    places = {name: element for element in root.iter() if (name := element.get("id") or element.get("name"))}
    blocks = (each for each in first.iter("p", "div") if each.find("p") is None and each.find("div") is None)
    opening = next(filter(_text, blocks), None)
    seen = set[etree._Element]()
    for label in labels:
        place = places.get(label.fragment, first)
        while place.tag in _INLINE and (parent := place.getparent()) is not None:
            place = parent
        if place is first and opening is not None and _text(opening) == label.text:
            place = opening
        if not label.text or place in seen:
            continue
        seen.add(place)
        tag = _HEADINGS[label.level - 1]
        if place.tag in ("p", "div") and _text(place) == label.text:
            place.tag = tag
            continue
        heading = etree.Element(tag)
        heading.text = label.text
        if place.tag in ("html", "body") or place.getparent() is None:
            heading.tail, place.text = place.text, None
            place.insert(0, heading)
        else:
            place.addprevious(heading)


def _text(element: etree._Element) -> str:
    """Return the text of a short element; the beginning of a long one."""
    return one_line("".join(map(str, islice(element.itertext(), _MAX_PIECES))))
