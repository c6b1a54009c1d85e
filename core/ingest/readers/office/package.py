"""What OpenDocument and HWPX have in common: XML in a zip archive, of which nothing outside is ever fetched."""

from __future__ import annotations

import zipfile

from lxml import etree

from braid.core.ingest.readers.document import SourceFile

_MANIFEST = "META-INF/manifest.xml"


def part(archive: zipfile.ZipFile, name: str) -> etree._Element:
    """Return the root of an XML file of the archive. Entities stay as they are, and no DTD is loaded."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    return etree.fromstring(archive.read(name), parser)


def refuse_encrypted(file: SourceFile, archive: zipfile.ZipFile) -> None:
    """Raise UnreadableDocumentError for a document with a password: its parts are encrypted one by one."""
    if _MANIFEST not in archive.namelist():
        return
    if next(part(archive, _MANIFEST).iter("{*}encryption-data"), None) is not None:
        raise file.unreadable("is encrypted with a password; remove the password and add it again")


def local(element: etree._Element) -> str:
    """Return the name of an element without its namespace; empty for comments."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def attribute(element: etree._Element, name: str) -> str:
    """Return an attribute by its name without a namespace; empty when it is missing."""
    return next((str(value) for key, value in element.attrib.items() if str(key).rpartition("}")[2] == name), "")
