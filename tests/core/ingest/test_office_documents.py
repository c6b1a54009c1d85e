"""Office files as programs really write them: parts that nobody reads, old names, files within files."""

from __future__ import annotations

import re
import time

import openpyxl
import pytest
from openpyxl.styles import Font

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers import read_document
from tests import more_samples, samples
from tests.office_files import STRICT, R, chart, element, lines_of, paragraph, read, saved, sheet, text_of, word

ODT = more_samples.odt_manual()
DOCTYPE = b'<!DOCTYPE library:library PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "library.dtd">'
HEADER = "application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml"
ENTITY = b'<!DOCTYPE x [<!ENTITY a "aaaa">]>'


def with_parts(content: bytes, parts: dict[str, bytes]) -> bytes:
    return samples.zipped(samples.unzipped(content) | parts)


# ---------------------------------------------------------------- parts that nobody reads


def utf16(text: str) -> bytes:
    return f'<?xml version="1.0" encoding="utf-16"?>{text}'.encode("utf-16")


UNREAD = {
    "Power Query": {"customXml/item1.xml": utf16("<DataMashup>AAAA</DataMashup>")},
    "UTF-16 without its mark": {"customXml/item1.xml": "<x>a</x>".encode("utf-16-le")},
    "entities": {"customXml/item1.xml": ENTITY + b"<x>&a;</x>"},
    "re-zipped on a Mac": {"__MACOSX/word/._document.xml": b"\0\5\x16\7Mac OS X"},
}


@pytest.mark.parametrize("kind", UNREAD)
@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx"])
def test_a_part_that_is_not_read_refuses_no_file(name: str, kind: str) -> None:
    whole = {"a.docx": samples.docx_manual, "a.xlsx": samples.xlsx_staff, "a.pptx": samples.pptx_talk}[name]()
    assert read(name, with_parts(whole, UNREAD[kind])).sections == read(name, whole).sections


@pytest.mark.parametrize("target", ["../NULL", "media/image1.png", "#_Toc1", "media/image%201.png"])
@pytest.mark.parametrize("part", ["_rels/.rels", "word/_rels/document.xml.rels"])
def test_a_relation_of_word_that_leads_nowhere_refuses_no_file(part: str, target: str) -> None:
    whole = word(paragraph("Staff get 26 days."), header=(HEADER, element("w:hdr", paragraph("Holiday rules"))))
    relation = f'<Relationship Id="r9" Type="{R}/image" Target="{target}"/></Relationships>'.encode()
    dead = samples.unzipped(whole)[part].replace(b"</Relationships>", relation)
    assert read("a.docx", with_parts(whole, {part: dead})).sections == read("a.docx", whole).sections


def test_a_document_whose_text_is_not_there_is_damaged() -> None:
    parts = samples.unzipped(word(paragraph("Staff get 26 days.")))
    parts.pop("word/document.xml")
    with pytest.raises(UnreadableDocumentError, match="is damaged"):
        read("a.docx", samples.zipped(parts))


def test_whole_numbers_with_a_decimal_point_or_none_refuse_no_document() -> None:
    cells = "".join(
        f'<w:tc><w:tcPr><w:gridSpan w:val="{span}"/></w:tcPr>{paragraph(text)}</w:tc>'
        for text, span in (("Berth", "2.0"), ("Depth", ""))
    )
    heading = paragraph("Harbour", '<w:outlineLvl w:val="1.0"/>') + paragraph("Text", '<w:outlineLvl w:val=""/>')
    before = '<w:trPr><w:gridBefore w:val="none"/></w:trPr>'
    content = word(f"{heading}<w:tbl><w:tr>{before}{cells}</w:tr></w:tbl>")
    assert [(each.heading_path, each.text) for each in read("a.docx", content).sections] == [
        ("Harbour", "Text\n\nBerth | Depth")
    ]


def test_a_part_in_utf_16_is_read_and_entities_in_it_are_seen() -> None:
    content = samples.unzipped(word(paragraph("Tide tables")))
    main = content["word/document.xml"].decode().replace("UTF-8", "UTF-16")
    assert lines_of("a.docx", samples.zipped(content | {"word/document.xml": main.encode("utf-16")})) == ["Tide tables"]
    hostile = main.replace("<w:document", ENTITY.decode() + "<w:document", 1).encode("utf-16")
    with pytest.raises(UnreadableDocumentError, match="defines XML entities"):
        read("a.docx", samples.zipped(content | {"word/document.xml": hostile}))


@pytest.mark.parametrize("name", ["Basic/Standard/script-lb.xml", "META-INF/manifest.xml", "Configurations2/a.xml"])
def test_an_open_document_with_a_document_type_is_read(name: str) -> None:
    part = b'<?xml version="1.0"?>\n' + DOCTYPE + b"<library:library xmlns:library='l'/>"
    assert read("a.odt", with_parts(ODT, {name: part})).sections == read("a.odt", ODT).sections


def test_an_encrypted_open_document_is_told_as_such() -> None:
    parts = samples.unzipped(ODT)
    parts = {name: b"\x8f\x01" * 50 if name.endswith(".xml") else part for name, part in parts.items()}
    with pytest.raises(UnreadableDocumentError, match="is encrypted with a password"):
        read("a.odt", samples.zipped(parts | {"META-INF/manifest.xml": more_samples.ENCRYPTED}))


def test_a_document_type_that_defines_something_is_refused_where_it_is_read() -> None:
    for hostile in (ENTITY, b'<!DOCTYPE x [<!ATTLIST x y CDATA "z">]>', b'<!DOCTYPE x SYSTEM "a>" [<!ENTITY a "b">]>'):
        parts = samples.unzipped(ODT)
        parts["content.xml"] = hostile + b"<x/>"
        with pytest.raises(UnreadableDocumentError, match="defines XML entities"):
            read("a.odt", samples.zipped(parts))


def test_strict_open_xml_is_read() -> None:
    transitional = re.compile(rb"http://schemas\.openxmlformats\.org/([a-zA-Z]+)/2006/")

    def strict(content: bytes) -> bytes:
        parts = samples.unzipped(content)
        return samples.zipped(
            {
                name: part
                if name == "[Content_Types].xml"
                else re.sub(
                    rb"http://schemas\.openxmlformats\.org/(?!package)([a-zA-Z]+)/2006/",
                    STRICT.encode() + rb"\1/",
                    part,
                )
                for name, part in parts.items()
            }
        )

    assert transitional.search(samples.unzipped(samples.docx_manual())["word/document.xml"])
    for name, content in (
        ("a.docx", samples.docx_manual()),
        ("a.xlsx", samples.xlsx_staff()),
        ("a.pptx", samples.pptx_talk()),
    ):
        assert strict(content) != content
        assert read(name, strict(content)).sections == read(name, content).sections


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.ppsx", "openxmlformats-officedocument.presentationml.slideshow"),
        ("a.potx", "openxmlformats-officedocument.presentationml.template"),
        ("a.dotx", "openxmlformats-officedocument.wordprocessingml.template"),
        ("a.dotm", "ms-word.template.macroEnabledTemplate"),
        ("a.xltx", "openxmlformats-officedocument.spreadsheetml.template"),
    ],
)
def test_templates_and_slide_shows_are_read(name: str, kind: str) -> None:
    make = {"p": samples.pptx_talk, "d": samples.docx_manual, "x": samples.xlsx_staff}[name[2]]
    parts = samples.unzipped(make())
    types = re.sub(rb"(?:\w|[.-])+(?=\.main\+xml)", f"vnd.{kind}".encode(), parts["[Content_Types].xml"])
    assert f"application/vnd.{kind}.main+xml".encode() in types
    content = samples.zipped(parts | {"[Content_Types].xml": types})
    assert read(name, content).sections


ODD_LOOKS = {
    "a fill without a pattern": ("xl/styles.xml", b"<patternFill/>", b""),
    "a colour of a page": ("xl/styles.xml", b'<color theme="1"/>', b'<color rgb="#000000"/>'),
    "a family of fonts": ("xl/styles.xml", b'<family val="2"/>', b'<family val="34"/>'),
    "an alignment": ("xl/styles.xml", rb"(<xf[^>]*?)/>", rb'\g<1>><alignment vertical="middle"/></xf>'),
    "a date of a Korean program": (
        "docProps/core.xml",
        b"(<dcterms:created[^>]*>)[^<]*",
        "\\g<1>2025/3/4 오후 1:02".encode(),
    ),
    "a property without a type": ("docProps/custom.xml", b"", b'<Properties><property name="a" pid="x"/></Properties>'),
    "a width of a column": (
        "xl/worksheets/sheet1.xml",
        b"<sheetFormatPr[^>]*>",
        b'<sheetFormatPr defaultRowHeight=""/>',
    ),
    "a frozen pane": ("xl/worksheets/sheet1.xml", b"<selection[^>]*>", b'<pane activePane="TopRight"/>'),
    "a rule for entries": (
        "xl/worksheets/sheet1.xml",
        b"(</sheetData>)",
        rb'\g<1><conditionalFormatting sqref="A1"><cfRule type="odd" priority="1"/></conditionalFormatting>',
    ),
}


@pytest.mark.parametrize("kind", ODD_LOOKS)
def test_a_look_that_excel_forgives_refuses_no_workbook(kind: str) -> None:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    for row in (["Part", "Since", "Share"], ["Winch", 45000, 0.25], ["Old pump", 45001, 0.5]):
        page.append(row)
    page["B2"].number_format = page["B3"].number_format = "yyyy-mm-dd"
    page["C2"].number_format = page["C3"].number_format = "0%"
    page["A3"].font = Font(strike=True)
    whole = saved(book)
    name, old, new = ODD_LOOKS[kind]
    parts = samples.unzipped(whole)
    parts[name], changes = re.subn(old, new, parts.get(name, b""))
    assert changes
    assert read("a.xlsx", samples.zipped(parts)).sections == read("a.xlsx", whole).sections
    assert lines_of("a.xlsx", samples.zipped(parts)) == ["Winch | 2023-03-15 | 25%", "~~Old pump~~ | 2023-03-16 | 50%"]


def test_a_workbook_that_names_texts_which_are_not_there_is_read() -> None:
    whole = sheet((1, 2), (3, 4))
    named = (
        '<Override PartName="/xl/sharedStrings.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>'
    )
    types = samples.unzipped(whole)["[Content_Types].xml"].replace(b"</Types>", named.encode())
    assert read("a.xlsx", with_parts(whole, {"[Content_Types].xml": types})).sections == read("a.xlsx", whole).sections


# ---------------------------------------------------------------- hostile files


def test_a_document_within_a_document_is_read_and_a_third_is_not() -> None:
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    content = word(paragraph("third"))
    for text in ("second", "first"):
        content = word(paragraph(text) + '<w:altChunk r:id="id-aFChunk"/>', aFChunk=(main, content))
    assert lines_of("a.docx", content) == ["first", "second"]


def test_a_chart_that_is_named_a_thousand_times_is_read_once() -> None:
    values = {"Euro": [(f"category {number}", str(number)) for number in range(2000)]}
    drawn = '<w:p><w:r><w:drawing><c:chart r:id="id-chart"/></w:drawing></w:r></w:p>' * 1000
    part = ("application/vnd.openxmlformats-officedocument.drawingml.chart+xml", chart("Rents", values))
    started = time.thread_time()
    assert text_of("a.docx", word(drawn, chart=part)).count("category 1999") == 1
    assert time.thread_time() - started < 20


def test_styles_that_are_based_on_each_other_without_an_end_are_read() -> None:
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="S{n}"><w:name w:val="s{n}"/>'
        f'<w:basedOn w:val="S{(n + 1) % 20000}"/></w:style>'
        for n in range(20_000)
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"
    started = time.thread_time()
    content = word(paragraph("Text", '<w:pStyle w:val="S1"/>'), styles=(kind, element("w:styles", styles)))
    assert lines_of("a.docx", content) == ["Text"]
    assert time.thread_time() - started < 20


@pytest.mark.parametrize(("name", "content"), [("word", samples.docx_manual()), ("xl", samples.xlsx_staff())])
def test_embedded_files_are_told_but_for_equations_and_the_data_of_charts(name: str, content: bytes) -> None:
    parts = samples.unzipped(content) | {
        f"{name}/embeddings/plan.xlsx": b"PK",
        f"{name}/embeddings/data.xlsx": b"PK",
        f"{name}/charts/_rels/chart1.xml.rels": b'<R><Relationship Target="../embeddings/data.xlsx"/></R>',
        f"{name}/embeddings/oleObject1.bin": "Equation Native".encode("utf-16-le"),
        f"{name}/embeddings/oleObject2.bin": b"a drawing",
    }
    document = read_document({"word": "a.docx", "xl": "a.xlsx"}[name], samples.zipped(parts), max_bytes=10**7)
    assert document.metadata["attachments_unread"] == "plan.xlsx, oleObject2.bin"
