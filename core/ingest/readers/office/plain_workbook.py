"""Workbooks without what is not read of them: how cells look, and dates of the file, which openpyxl takes strictly."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

from lxml import etree

from braid.core.ingest.readers.office.package import CONTENT_TYPES, repacked
from braid.core.ingest.readers.parts.xml import attribute, local

_STYLES, _FONTS, _FORMS = ("numFmts", "fonts", "cellXfs"), ("strike",), ("numFmtId", "fontId")
_PLAIN = (
    "<fills><fill><patternFill/></fill></fills><borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs>"
    '<cellStyles><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
)
"""The look of all cells, without which openpyxl warns."""
_PROPERTIES = ("title", "creator")


def plain_workbook(content: bytes) -> bytes:
    """Return an xlsx file with the number formats of its cells, and which are struck out, but no colour, border,
    alignment or date: generators of reports write some that Excel forgives.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        changed: dict[str, bytes] = {}
        for name, leave_out in _PARTS.items():
            if name in archive.NameToInfo:
                root = etree.fromstring(archive.read(name), etree.XMLParser(resolve_entities=False))
                leave_out(root, archive)
                changed[name] = etree.tostring(root)
        return repacked(archive, changed)


def _keep(parent: etree._Element, *names: str) -> None:
    for child in list(parent):
        if local(child) not in names:
            parent.remove(child)


def _plain_styles(root: etree._Element, _: zipfile.ZipFile) -> None:
    _keep(root, *_STYLES)
    for font in root.iterfind("{*}fonts/{*}font"):
        _keep(font, *_FONTS)
    for form in root.iterfind("{*}cellXfs/{*}xf"):
        _keep(form)
        for name in set(form.keys()) - set(_FORMS):
            del form.attrib[name]
    root.extend(etree.fromstring(f'<styles xmlns="{etree.QName(root).namespace}">{_PLAIN}</styles>'))


def _only_there(root: etree._Element, archive: zipfile.ZipFile) -> None:
    """Leave out the types of parts that are not in the package."""
    for each in list(root):
        if local(each) == "Override" and attribute(each, "PartName").lstrip("/") not in archive.NameToInfo:
            root.remove(each)


_PARTS: dict[str, Callable[[etree._Element, zipfile.ZipFile], None]] = {
    "xl/styles.xml": _plain_styles,
    "docProps/core.xml": lambda root, _: _keep(root, *_PROPERTIES),
    "docProps/custom.xml": lambda root, _: _keep(root),
    CONTENT_TYPES: _only_there,
}
