"""Small Office files as programs write them, made part by part, and what Braid reads of them."""

from __future__ import annotations

import io

import openpyxl

from braid.core.ingest.readers import ParsedDocument, read_document
from tests import samples

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
C = "http://schemas.openxmlformats.org/drawingml/2006/chart"
STRICT = "http://purl.oclc.org/ooxml/"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_NAMES = (
    f'xmlns:w="{W}" xmlns:r="{R}" xmlns:m="{M}" xmlns:a="{A}" xmlns:c="{C}" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
)


def element(name: str, inner: str) -> bytes:
    """An XML part whose root has the namespaces of Office."""
    return f'<?xml version="1.0" encoding="UTF-8"?><{name} {_NAMES}>{inner}</{name}>'.encode()


def relations(*targets: tuple[str, str, str]) -> bytes:
    """A part with relations: id, last word of the type, target."""
    rows = "".join(f'<Relationship Id="{each}" Type="{R}/{kind}" Target="{to}"/>' for each, kind, to in targets)
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{rows}</Relationships>'.encode()


def word(body: str, *, main: str = _MAIN, **parts: tuple[str, bytes]) -> bytes:
    """A docx file with this body. Further parts are named by the kind of their relation: content type and content; the
    id of the relation is ``id-`` and the name.
    """
    extra = "".join(
        f'<Override PartName="/word/{name}.part" ContentType="{kind}"/>' for name, (kind, _) in parts.items()
    )
    types = (
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{main}"/>{extra}</Types>'
    )
    return samples.zipped(
        {
            "[Content_Types].xml": types.encode(),
            "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
            "word/document.xml": element("w:document", f"<w:body>{body}</w:body>"),
            "word/_rels/document.xml.rels": relations(*((f"id-{name}", name, f"{name}.part") for name in parts)),
            **{f"word/{name}.part": content for name, (_, content) in parts.items()},
        }
    )


def paragraph(text: str, properties: str = "", run: str = "") -> str:
    """A paragraph of one run."""
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def numbered(text: str, *, level: int = 0, number: int = 1) -> str:
    """A paragraph of a list."""
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>')


def numbering(*levels: tuple[str, str, int], changes: str = "") -> tuple[str, bytes]:
    """The part that defines list 1, and list 2 with ``changes``: form, pattern and first number of each level."""
    rows = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{pattern}"/></w:lvl>'
        for at, (form, pattern, start) in enumerate(levels)
    )
    lists = "".join(
        f'<w:num w:numId="{number}"><w:abstractNumId w:val="0"/>{inner}</w:num>'
        for number, inner in ((1, ""), (2, changes))
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.numbering+xml"
    return kind, element("w:numbering", f'<w:abstractNum w:abstractNumId="0">{rows}</w:abstractNum>{lists}')


def chart(title: str, series: dict[str, list[tuple[str, str]]]) -> bytes:
    """A chart: by series, pairs of category and value."""

    def points(values: list[str]) -> str:
        return "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))

    rows = "".join(
        f"<c:ser><c:tx><c:strRef><c:strCache>{points([name])}</c:strCache></c:strRef></c:tx>"
        f"<c:cat><c:strRef><c:strCache>{points([category for category, _ in pairs])}</c:strCache></c:strRef></c:cat>"
        f"<c:val><c:numRef><c:numCache>{points([value for _, value in pairs])}</c:numCache></c:numRef></c:val></c:ser>"
        for name, pairs in series.items()
    )
    heading = f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    drawn = f"<c:plotArea><c:barChart>{rows}</c:barChart></c:plotArea>"
    return element("c:chartSpace", f"<c:chart>{heading}{drawn}</c:chart>")


def read(name: str, content: bytes | str) -> ParsedDocument:
    return read_document(name, content.encode() if isinstance(content, str) else content, max_bytes=10**7)


def text_of(name: str, content: bytes | str) -> str:
    """Everything that is stored, with headings."""
    sections = read(name, content).sections
    return "\n".join(f"{each.heading_path}\n{each.header}\n{each.text}" for each in sections)


def lines_of(name: str, content: bytes | str) -> list[str]:
    return [line for each in read(name, content).sections for line in each.text.split("\n") if line]


def saved(document: object) -> bytes:
    stream = io.BytesIO()
    document.save(stream)  # type: ignore[attr-defined]
    return stream.getvalue()


def sheet(*rows: tuple[object, ...], merged: tuple[str, ...] = ()) -> bytes:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.title = "Plan"
    for row in rows:
        page.append(list(row))
    for area in merged:
        page.merged_cells.add(area)  # `merge_cells` would make all cells of it
    return saved(book)
