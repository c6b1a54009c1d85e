"""Packages of Office files: what Open XML libraries may open, and OpenDocument and HWPX files with a password."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from lxml import etree

from braid.core.ingest.readers.archive import open_archive
from braid.core.ingest.readers.document import SourceFile, one_line
from braid.core.ingest.readers.parts.xml import UnsafeXMLError, attribute, checked_xml, part

_MANIFEST = "META-INF/manifest.xml"
CONTENT_TYPES = "[Content_Types].xml"
_XML = (".xml", ".rels")
_READ = ("word/", "xl/", "ppt/", "docProps/", "_rels/", CONTENT_TYPES)
"""Where the parts are that a library parses. A part elsewhere is emptied if it is not safe: Power Query and document
management systems leave some in UTF-16, and Macs their own files.
"""
_LARGE = 1 << 20
"""Bytes of a part from which it is packed again in a copy, which takes time."""
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/([a-zA-Z]+)/")
_TRANSITIONAL = rb"http://schemas.openxmlformats.org/\1/2006/"
_TYPES = (
    (
        re.compile(rb"application/vnd\.(?:ms-word|openxmlformats-officedocument\.wordprocessingml)\.(?:document|template)"
                   rb"(?:\.\w{1,40})?\.main\+xml"),
        b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
    ),
    (
        re.compile(rb"application/vnd\.(?:ms-powerpoint|openxmlformats-officedocument\.presentationml)\."
                   rb"(?:presentation|slideshow|template)(?:\.\w{1,40})?\.main\+xml"),
        b"application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
    ),
)  # fmt: skip
"""Types of files with macros, templates and slide shows, and the one type that a library opens."""


MAX_EMBEDDED = 50
"""Names of embedded files that are told."""
_EMBEDDED = re.compile(r"(?:word|ppt|xl)/embeddings/[^/]{1,200}")
_OF_CHART = re.compile(r"(?:word|ppt|xl)/charts/_rels/[^/]{1,200}\.rels")
_EQUATION = "Equation Native".encode("utf-16-le")
DOCUMENT_APART = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
"""Type of a Word document that is a part of another one."""


class Related(NamedTuple):
    """A part that another one refers to."""

    id: str
    kind: str
    """The last word of the relation's type: ``drawing``, ``comments``, ``chart`` …"""
    name: str


def open_xml(file: SourceFile) -> bytes:
    """Return a docx, pptx or xlsx file as a library may open it: each XML part safe, in the names of today's Office.

    Names of Strict Open XML become those that libraries know, UTF-16 becomes UTF-8, and relations of Word that lead
    nowhere are left out. Raises UnreadableDocumentError for a bomb, an encrypted archive, and a part with entities
    that a library would parse.
    """
    changed: dict[str, bytes] = {}
    relations: dict[str, bytes] = {}

    def look(name: str, content: bytes) -> None:
        if name.startswith(("_rels/", "word/")) and name.endswith(".rels"):
            relations[name] = content
        if (new := _changed(file, name, content)) is not None:
            changed[name] = new

    with open_archive(file, looked_at=_XML, look=look) as archive:
        types = changed.get(CONTENT_TYPES, archive.read(CONTENT_TYPES))
        if (apart := _with_documents_apart(archive, types)) is not types:
            changed[CONTENT_TYPES] = apart
        for name, content in relations.items():
            if (alive := _without_dead(archive, name, changed.get(name, content))) is not None:
                changed[name] = alive
        if not changed:
            return file.content
        return repacked(archive, changed)


def repacked(archive: zipfile.ZipFile, changed: Mapping[str, bytes]) -> bytes:
    """Return a copy of a package in which some parts have other contents."""
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w", compresslevel=1) as plain:
        for name in dict.fromkeys(archive.namelist()):
            content = changed[name] if name in changed else archive.read(name)
            plain.writestr(name, content, zipfile.ZIP_DEFLATED if len(content) > _LARGE else zipfile.ZIP_STORED)
    return copy.getvalue()


def _changed(file: SourceFile, name: str, content: bytes) -> bytes | None:
    """Return what takes the place of an XML part; None for one that stays."""
    try:
        safe = checked_xml(content)
    except UnsafeXMLError as error:
        if name.startswith(_READ):
            raise file.unreadable(str(error)) from error
        return b""
    if b"http://purl.oclc.org/ooxml/" in safe:
        safe = _STRICT.sub(_TRANSITIONAL, safe)
    if name == CONTENT_TYPES:
        for types, known in _TYPES:
            safe = types.sub(known, safe)
    return safe if safe != content else None


def _with_documents_apart(archive: zipfile.ZipFile, types: bytes) -> bytes:
    """Return the types of a package in which a Word document within another one is not taken for its text."""
    documents = {name for name in archive.namelist() if name.startswith("word/") and not name.endswith(_XML)}
    documents = {name for name in documents if not name.startswith("word/media/") and _is_archive(archive, name)}
    if not documents:
        return types
    root = etree.fromstring(types, etree.XMLParser(resolve_entities=False))
    suffixes = {name.rpartition(".")[2].lower() for name in documents}
    for each in root.iterchildren(tag=etree.Element):
        if each.get("ContentType", "").encode() == _TYPES[0][1] and (
            each.get("PartName", "").lstrip("/") in documents or each.get("Extension", "").lower() in suffixes
        ):
            each.set("ContentType", DOCUMENT_APART)
    return etree.tostring(root)


def _without_dead(archive: zipfile.ZipFile, name: str, content: bytes) -> bytes | None:
    """Return the relations of a part without those to parts that are not there, as Word itself and cleaners of mail
    leave them behind pictures: python-docx opens each. None where all lead somewhere.
    """
    root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, recover=True))
    folder = posixpath.dirname(posixpath.dirname(name))
    relations = root.iterchildren(tag=etree.Element) if root is not None else ()
    dead = [each for each in relations if not _leads(archive, folder, each)]
    for each in dead:
        root.remove(each)
    return etree.tostring(root) if dead else None


def _leads(archive: zipfile.ZipFile, folder: str, relation: etree._Element) -> bool:
    """Return whether what a relation names, seen from a folder, is outside or there."""
    return attribute(relation, "TargetMode") == "External" or _target(folder, relation) in archive.NameToInfo


def _target(folder: str, relation: etree._Element) -> str:
    return posixpath.normpath(posixpath.join("/", folder, attribute(relation, "Target"))).lstrip("/")


def _is_archive(archive: zipfile.ZipFile, name: str) -> bool:
    with archive.open(name) as stream:
        return stream.read(2) == b"PK"


def related(file: SourceFile, archive: zipfile.ZipFile, name: str) -> Iterator[Related]:
    """Yield the parts within the package that a part refers to."""
    folder, base = posixpath.split(name)
    relations = posixpath.join(folder, "_rels", f"{base}.rels")
    if relations not in archive.NameToInfo:
        return
    for relation in part(file, archive, relations).iterchildren(tag=etree.Element):
        path = _target(folder, relation)
        if attribute(relation, "TargetMode") != "External" and path in archive.NameToInfo:
            yield Related(attribute(relation, "Id"), attribute(relation, "Type").rpartition("/")[2], path)


def embedded(content: bytes) -> str:
    """Return the names of the files that are embedded in an Open XML document, which are not read, with commas.

    The data of charts are none, whose values are read with the chart, nor are equations.
    """
    if b"/embeddings/" not in content:
        return ""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        of_charts = b"".join(archive.read(name) for name in names if _OF_CHART.fullmatch(name))
        found = [
            name for name in names if _EMBEDDED.fullmatch(name) and name.rpartition("/")[2].encode() not in of_charts
        ]
        found = [name for name in found if not name.endswith(".bin") or _EQUATION not in archive.read(name)]
    shown = [one_line(name.rpartition("/")[2]) for name in found]
    return ", ".join(
        shown[:MAX_EMBEDDED] + ([f"and {len(shown) - MAX_EMBEDDED} more"] if len(shown) > MAX_EMBEDDED else [])
    )


def refuse_encrypted(file: SourceFile, archive: zipfile.ZipFile) -> None:
    """Raise UnreadableDocumentError for a document with a password: its parts are encrypted one by one."""
    if _MANIFEST not in archive.NameToInfo or b"encryption-data" not in archive.read(_MANIFEST):
        return
    if next(part(file, archive, _MANIFEST).iter("{*}encryption-data"), None) is not None:
        raise file.unreadable(
            "%(name)s is encrypted with a password; remove the password and add it again", code="encrypted"
        )
