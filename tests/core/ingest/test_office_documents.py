"""Office files as programs really write them: parts that nobody reads, numbers, charts, comments, forms, old names."""

from __future__ import annotations

import io
import re
import time

import openpyxl
import pptx
import pytest
from lxml import etree
from openpyxl.comments import Comment
from openpyxl.styles import Font
from pptx.util import Inches

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers import ParsedDocument, read_document
from braid.core.ingest.readers.office.number_format import number_format
from braid.core.ingest.readers.office.slides import ShapeBox, in_reading_order
from braid.core.ingest.readers.parts.numerals import numeral
from tests import more_samples, samples
from tests.office_files import STRICT, A, R, chart, element, numbered, numbering, paragraph, word

ODT = more_samples.odt_manual()
DOCTYPE = b'<!DOCTYPE library:library PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "library.dtd">'
HEADER = "application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml"
HTML_TABLE = (
    "<table><tr><td>Name</td><td>Ada Osei</td></tr><tr><td>Plan</td><td>As below<table><tr><td>Date</td>"
    "<td>Place</td></tr><tr><td>4 March</td><td>Leith</td></tr></table>or later</td></tr></table>"
)
ENTITY = b'<!DOCTYPE x [<!ENTITY a "aaaa">]>'


def read(name: str, content: bytes | str) -> ParsedDocument:
    return read_document(name, content.encode() if isinstance(content, str) else content, max_bytes=10**7)


def text_of(name: str, content: bytes | str) -> str:
    """Everything that is stored, with headings."""
    sections = read(name, content).sections
    return "\n".join(f"{each.heading_path}\n{each.header}\n{each.text}" for each in sections)


def lines_of(name: str, content: bytes | str) -> list[str]:
    return [line for each in read(name, content).sections for line in each.text.split("\n") if line]


def with_parts(content: bytes, parts: dict[str, bytes]) -> bytes:
    return samples.zipped(samples.unzipped(content) | parts)


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
        page.merge_cells(area)
    return saved(book)


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


# ---------------------------------------------------------------- merged cells


def test_a_form_ruled_like_grid_paper_says_everything_once() -> None:
    rows: list[list[object]] = [[None] * 30 for _ in range(12)]
    rows[0][0], rows[2][0], rows[2][6], rows[4][0], rows[4][6] = "出張申請書", "氏名", "大川 美緒", "部署", "品質保証課"
    rows[4][15], rows[4][21], rows[6][0], rows[6][6] = "内線", "5512", "目的", "工場で新しい検査機の試運転に立ち会う"
    areas = ("A1:AD2", "A3:F4", "G3:AD4", "A5:F6", "G5:O6", "P5:U6", "V5:AD6", "A7:F12", "G7:AD12")
    parsed = read("a.xlsx", sheet(*map(tuple, rows), merged=areas))
    assert [each.text for each in parsed.sections] == [
        "出張申請書",
        "氏名 | 大川 美緒",
        "部署 | 品質保証課 | 内線 | 5512",
        "目的 | 工場で新しい検査機の試運転に立ち会う",
    ]
    assert {each.header for each in parsed.sections} == {""}


@pytest.mark.parametrize("name", ["a.html", "a.docx"])
def test_a_form_of_a_page_or_document_says_everything_once(name: str) -> None:
    if name == "a.html":
        content: bytes | str = (
            "<table><tr><td colspan=2>Name</td><td colspan=6 rowspan=2>Ada Osei</td></tr>"
            "<tr><td colspan=2>(block)</td></tr>"
            "<tr><td colspan=2>Unit</td><td colspan=2>Stores</td><td colspan=2>Phone</td><td colspan=2>4471</td></tr>"
            "<tr><td colspan=2>Reason</td><td colspan=6>Two trolleys</td></tr></table>"
        )
    else:

        def cell(text: str, span: int, merge: str = "") -> str:
            return f'<w:tc><w:tcPr><w:gridSpan w:val="{span}"/>{merge}</w:tcPr>{paragraph(text)}</w:tc>'

        down = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
        content = word(
            f"<w:tbl><w:tr>{cell('Name', 2)}{cell('Ada Osei', 6, down[0])}</w:tr>"
            f"<w:tr>{cell('(block)', 2)}{cell('', 6, down[1])}</w:tr>"
            f"<w:tr>{cell('Unit', 2)}{cell('Stores', 2)}{cell('Phone', 2)}{cell('4471', 2)}</w:tr>"
            f"<w:tr>{cell('Reason', 2)}{cell('Two trolleys', 6)}</w:tr></w:tbl>"
        )
    assert lines_of(name, content) == [
        "Name | Ada Osei",
        "(block)",
        "Unit | Stores | Phone | 4471",
        "Reason | Two trolleys",
    ]


def test_a_table_on_grid_paper_is_a_table() -> None:
    rows = [("Part", None, None, "Count", None), ("Hose", None, None, 4, None), ("Clamp", None, None, 9, None)]
    areas = [f"{left}{row}:{right}{row}" for row in (1, 2, 3) for left, right in (("A", "C"), ("D", "E"))]
    parsed = read("a.xlsx", sheet(*rows, merged=tuple(areas)))
    assert [(each.header, each.text) for each in parsed.sections] == [
        ("Part | Count", "Hose | 4"),
        ("Part | Count", "Clamp | 9"),
    ]


def test_a_timetable_keeps_its_columns() -> None:
    rows = [
        ("Day", "8", "9", "10"),
        ("Mon", "Maths", None, "Art"),
        ("Tue", "Art", "Maths", None),
        ("Wed", "PE", None, "Art"),
    ]
    parsed = read("a.xlsx", sheet(*rows, merged=("B2:C2", "C3:D3", "B4:C4")))
    assert [each.text for each in parsed.sections][-3:] == [
        "Mon | Maths |  | Art",
        "Tue | Art | Maths",
        "Wed | PE |  | Art",
    ]


def test_a_note_over_several_columns_of_a_table_is_said_once_and_a_group_beside_rows_with_each() -> None:
    rows = (("Line", "Mon", "Tue", "Wed"), ("A", 1, 2, 3), ("B", "closed for repair", None, None), (None, 4, 5, 6))
    parsed = read("a.xlsx", sheet(*rows, merged=("B3:D3", "A3:A4")))
    assert [each.text for each in parsed.sections] == ["A | 1 | 2 | 3", "B | closed for repair", "B | 4 | 5 | 6"]


# ---------------------------------------------------------------- sheets


def test_a_second_table_of_a_sheet_has_its_own_header() -> None:
    rows = [("Boiler", "Limit in bar"), ("B1", 4), ("B2", 6), (), ("Fan", "Speed in rpm"), ("F1", 900), ("F2", 950)]
    parsed = read("a.xlsx", sheet(*rows))
    assert [(each.header, each.text) for each in parsed.sections] == [
        ("Boiler | Limit in bar", "B1 | 4"),
        ("Boiler | Limit in bar", "B2 | 6"),
        ("Fan | Speed in rpm", "F1 | 900"),
        ("Fan | Speed in rpm", "F2 | 950"),
    ]


def test_a_second_table_of_words_in_other_columns_and_one_with_a_caption_have_their_own_headers() -> None:
    text = "Room,Keeper\nEast,Ann\nWest,Bo\n\n,Tool,Shelf,Owner\n,Saw,Top,Cy\n,Axe,Low,Di\n"
    assert {each.header for each in read("a.csv", text).sections} == {"Room | Keeper", " | Tool | Shelf | Owner"}
    captioned = "Boiler,Bar\nB1,4\n\nFans of hall two\nFan,Rpm\nF1,900\n"
    assert [(each.heading_path, each.header) for each in read("a.csv", captioned).sections] == [
        ("", "Boiler | Bar"),
        ("Fans of hall two", "Fan | Rpm"),
    ]


def test_an_empty_row_within_a_table_begins_no_other() -> None:
    text = "Name,Room,Phone\nKim,2,11\n\nLee,3,12\nPark,4,13\n\nTotal,,36\n\nChoi,Hall,\nHan,5,14\n"
    assert {each.header for each in read("a.csv", text).sections} == {"Name | Room | Phone"}


def test_tables_side_by_side_are_read_one_after_the_other() -> None:
    text = "Pump,Bar,,Fan,Rpm\nP1,4,,F1,900\nP2,6,,F2,950\n,,,F3,975\n"
    assert [(each.header, each.text) for each in read("a.csv", text).sections] == [
        ("Pump | Bar", "P1 | 4"),
        ("Pump | Bar", "P2 | 6"),
        ("Fan | Rpm", "F1 | 900"),
        ("Fan | Rpm", "F2 | 950"),
        ("Fan | Rpm", "F3 | 975"),
    ]


def test_a_list_below_one_heading_beside_a_table_is_no_part_of_its_rows() -> None:
    text = "Van,Cost,Level,,Price list,\nFalcon,84,0.3,,Diesel,1.6\nHeron,12,250,,AdBlue,0.9\nTotal,96,,,,\n"
    assert [(each.header, each.text) for each in read("a.csv", text).sections] == [
        ("Van | Cost | Level", "Falcon | 84 | 0.3"),
        ("Van | Cost | Level", "Heron | 12 | 250"),
        ("Van | Cost | Level", "Total | 96"),
        ("", "Price list"),
        ("", "Diesel | 1.6"),
        ("", "AdBlue | 0.9"),
    ]


def test_tables_side_by_side_between_empty_rows_have_their_own_headers_and_lines() -> None:
    text = (
        "Month,Tours,Guests\nMay,4,90\n\nPump,Bar,,Pump,Hour\nP1,4,,P7,9\nP2,6,,P8,8\n\nMonth,Tours,Guests\nJune,5,99\n"
    )
    found = [(each.header, each.text, each.line) for each in read("a.csv", text).sections]
    assert found == [
        ("Month | Tours | Guests", "May | 4 | 90", 2),
        ("Pump | Bar", "P1 | 4", 5),
        ("Pump | Bar", "P2 | 6", 6),
        ("Pump | Hour", "P7 | 9", 5),
        ("Pump | Hour", "P8 | 8", 6),
        ("Month | Tours | Guests", "June | 5 | 99", 9),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Name,Room,,Phone,Mail\nKim,2,,11,k@x\nLee,3,,12,l@x\n",
        "1.1,Voltage,,kV,132\n1.2,Current,,A,40\n1.3,Phases,,,3\n",
        "Item,,Price\nRope,,12\n,,13\n",
    ],
)
def test_a_table_with_an_empty_column_is_one(text: str) -> None:
    width = {each.text.count("|") for each in read("a.csv", text).sections}
    assert min(width) >= 2


def test_hidden_rows_and_columns_of_a_sheet_are_read_and_counted() -> None:
    book = openpyxl.load_workbook(io.BytesIO(sheet(("Item", "Cost", "Price"), ("Rope", 7, 12), ("Axe", 9, 20), (), ())))
    page = book["Plan"]
    page.column_dimensions["B"].hidden = page.row_dimensions[3].hidden = page.row_dimensions[5].hidden = True
    page.column_dimensions.group("E", "XFD", hidden=True)
    parsed = read("a.xlsx", saved(book))
    assert [each.text for each in parsed.sections] == ["Rope | 7 | 12", "Axe | 9 | 20"]
    assert (parsed.metadata["hidden_rows"], parsed.metadata["hidden_columns"]) == ("1 of Plan", "1 of Plan")
    shown = read("a.xlsx", sheet(("Item", "Price"), ("Rope", 12)))
    assert not {"hidden_rows", "hidden_columns"} & set(shown.metadata)


def test_hidden_rows_and_columns_of_an_open_document_are_read_and_counted() -> None:
    def row(*texts: str, more: str = "") -> str:
        cells = "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in texts)
        return f"<table:table-row{more}>{cells}</table:table-row>"

    column = "<table:table-column{}/>"
    content = (
        '<table:table table:name="Plan">'
        + column.format("")
        + column.format(' table:visibility="collapse"')
        + column.format(' table:visibility="collapse" table:number-columns-repeated="16000"')
        + row("Item", "Cost")
        + row("Rope", "7", more=' table:visibility="filter"')
        + row("Axe", "9")
        + '<table:table-row table:visibility="collapse"><table:table-cell/></table:table-row></table:table>'
    )
    parsed = read("a.ods", more_samples.open_document("spreadsheet", content))
    assert [each.text for each in parsed.sections] == ["Rope | 7", "Axe | 9"]
    assert (parsed.metadata["hidden_rows"], parsed.metadata["hidden_columns"]) == ("1 of Plan", "1 of Plan")


FORMATS = {
    "0.00%": (0.0425, "4.25%"),
    "0%": (0.5, "50%"),
    "0000000": (12345, "0012345"),
    '"CH-"0': (1234, "CH-1234"),
    "[$€-407] #,##0.00": (1234.5, "€ 1,234.50"),
    '#,##0.00 "kg"': (-1234.5, "-1,234.50 kg"),
    "#,##0\\ [$円-411]": (98765, "98,765 円"),
    '"$"#,##0_);("$"#,##0)': (-2500, "($2,500)"),
    "000-0000": (1234567, "123-4567"),
    "00000-0000": (12345, "00001-2345"),
    '0,,"M"': (12_500_000, "13M"),
    '0.0#"x"': (2.5, "2.5x"),
}


@pytest.mark.parametrize("code", FORMATS)
def test_numbers_are_as_excel_shows_them(code: str) -> None:
    value, shown = FORMATS[code]
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page["A1"] = value
    page["A1"].number_format = code
    assert lines_of("a.xlsx", saved(book)) == [shown]


@pytest.mark.parametrize("code", ["General", "0", "0.00", "#,##0", "# ?/?", "0.00E+00", "[>9]0;0.0", "@", "(" * 400])
def test_of_a_format_that_only_counts_digits_the_value_is_kept(code: str) -> None:
    assert number_format(code) is None


def test_struck_out_cells_hidden_sheets_text_boxes_comments_and_charts_of_a_workbook() -> None:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.title = "Prices"
    page["A1"], page["B1"], page["A2"], page["B2"] = "Item", "Price", "Rope", 12
    page["B2"].font = Font(strike=True)
    page["A2"].comment = Comment("Ask the harbour first", "Ines")
    hidden = book.create_sheet("Lists")
    hidden["A1"] = "internal choice"
    hidden.sheet_state = "hidden"
    parts = samples.unzipped(saved(book))
    box = "<xdr:txBody><a:p><a:r><a:t>Coil the rope dry</a:t></a:r></a:p></xdr:txBody>"
    parts["xl/drawings/drawing1.xml"] = (
        '<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" '
        f'xmlns:a="{A}"><xdr:sp>{box}</xdr:sp></xdr:wsDr>'
    ).encode()
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts["xl/drawings/_rels/drawing1.xml.rels"] = (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{kind}/chart" Target="../charts/chart1.xml"/></Relationships>'
    ).encode()
    parts["xl/charts/chart1.xml"] = chart("Rope sold", {"Metres": [("May", "40"), ("June", "55")]})
    rels = parts["xl/worksheets/_rels/sheet1.xml.rels"]
    drawing = f'<Relationship Id="d9" Type="{kind}/drawing" Target="../drawings/drawing1.xml"/></Relationships>'
    parts["xl/worksheets/_rels/sheet1.xml.rels"] = rels.replace(b"</Relationships>", drawing.encode())
    parsed = read("a.xlsx", samples.zipped(parts))
    text = "\n".join(each.text for each in parsed.sections)
    assert "Rope | ~~12~~" in text
    assert "Coil the rope dry" in text
    assert "Comment on A2 by Ines: Ask the harbour first" in text
    assert "Rope sold" in text
    assert "May | 40" in text
    assert "internal choice" not in text
    assert parsed.metadata["hidden_sheets"] == "Lists"
    assert {each.heading_path for each in parsed.sections} == {"Prices"}


# ---------------------------------------------------------------- Word


def test_lists_and_headings_of_word_have_their_numbers() -> None:
    levels = ("decimal", "%1.", 1), ("lowerLetter", "%1.%2)", 1), ("bullet", "·", 1)
    changes = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    body = (
        numbered("Return the badge")
        + numbered("to the desk", level=1)
        + numbered("or by post", level=1)
        + paragraph("A word between.")
        + numbered("Return the laptop")
        + numbered("with its bag", level=1)
        + numbered("dotted", level=2)
        + numbered("Again from one", number=2)
    )
    assert lines_of("a.docx", word(body, numbering=numbering(*levels, changes=changes))) == [
        "1. Return the badge",
        "1.a) to the desk",
        "1.b) or by post",
        "A word between.",
        "2. Return the laptop",
        "2.a) with its bag",
        "dotted",
        "1. Again from one",
    ]


def test_a_style_gives_headings_their_numbers() -> None:
    place = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="1"/></w:numPr>'
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="H{level}"><w:name w:val="heading {level}"/>'
        f"<w:pPr>{place.format(level - 1)}</w:pPr></w:style>"
        for level in (1, 2)
    )
    styles += '<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="own"/><w:basedOn w:val="H2"/></w:style>'
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"
    body = "".join(
        paragraph(text, f'<w:pStyle w:val="{style}"/>')
        for style, text in (("H1", "Scope"), ("H1", "Rules"), ("H2", "Keys"), ("Own", "Own words"))
    )
    levels = ("upperRoman", "%1", 1), ("decimal", "%1.%2", 1)
    content = word(body, styles=(kind, element("w:styles", styles)), numbering=numbering(*levels))
    assert [(each.heading_path, each.text) for each in read("a.docx", content).sections] == [
        ("I Scope", "I Scope"),
        ("II Rules > II.1 Keys", "II.1 Keys"),
        ("II Rules > II.2 Own words", "II.2 Own words"),
    ]


def test_numerals_of_many_languages() -> None:
    shown = {
        "upperRoman": "XXI",
        "lowerLetter": "u",
        "decimalZero": "21",
        "ordinal": "21st",
        "japaneseCounting": "二十一",
        "ganada": "사사",
        "decimalFullWidth": "２１",
        "no such form": "21",
    }
    assert {form: numeral(21, form) for form in shown} == shown
    assert numeral(10**9, "upperRoman") == "1000000000"


def test_equations_struck_out_and_hidden_text_and_fields_of_word_are_in_place() -> None:
    math = (
        "<m:oMath><m:r><m:t>N=12+2k</m:t></m:r></m:oMath>",
        "<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>",
    )
    box = '<w:r><w:fldChar><w:ffData><w:checkBox><w:default w:val="1"/></w:checkBox></w:ffData></w:fldChar></w:r>'
    choice = (
        '<w:r><w:fldChar><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="bus"/><w:listEntry w:val="tram"/>'
        "</w:ddList></w:ffData></w:fldChar></w:r>"
    )

    def run(text: str, style: str = "") -> str:
        return f'<w:r><w:rPr>{style}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'

    off = '<w:strike w:val="0"/>'
    body = (
        f"<w:p>{run('You get ')}{math[0]}{run(' days, at least ')}{math[1]}{run('.')}</w:p>"
        f"<w:p>{run('Open ')}{run('8 to ', '<w:strike/>')}{run('16 ', '<w:dstrike/>')}{run('9 to 17')}</w:p>"
        f"<w:p>{run('Seen')}{run(' secret', '<w:vanish/>')}{run(', kept', off)}</w:p>"
        f"<w:p>{box}{run('I agree, by ')}{choice}</w:p>"
    )
    assert lines_of("a.docx", word(body)) == [
        "You get N=12+2k days, at least (a+b)/2.",
        "Open ~~8 to 16~~ 9 to 17",
        "Seen, kept",
        "☒ I agree, by tram",
    ]


RAISED = "5×10⁶ cells, 10⁻³ mbar, 30 m², CO2, 1st"


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "b.xlsx", "a.html", "a.rtf", "a.odt"])
def test_exponents_are_no_digits_of_their_numbers(name: str) -> None:
    runs = [("5×10", ""), ("6", "super"), (" cells, 10", ""), ("-3", "super"), (" mbar, 30 m", ""), ("2", "super")]
    runs += [(", CO", ""), ("2", "sub"), (", 1", ""), ("st", "super")]
    assert lines_of(name, _made(name, runs)) == [RAISED]


def _made(name: str, runs: list[tuple[str, str]]) -> bytes:
    """A document of runs, each plain, ``super`` or ``sub``."""
    if name == "a.docx":
        styled = (f'<w:rPr><w:vertAlign w:val="{at}script"/></w:rPr>' if at else "" for _, at in runs)
        texts = (f'<w:t xml:space="preserve">{text}</w:t>' for text, _ in runs)
        return word("<w:p>" + "".join(f"<w:r>{a}{b}</w:r>" for a, b in zip(styled, texts, strict=True)) + "</w:p>")
    if name == "a.pptx":
        deck = pptx.Presentation()
        box = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(
            Inches(1), Inches(1), Inches(3), Inches(1)
        )
        for text, at in runs:
            run = box.text_frame.paragraphs[0].add_run()
            run.text = text
            run._r.get_or_add_rPr().set("baseline", {"super": "30000", "sub": "-25000", "": "0"}[at])
        return saved(deck)
    if name.endswith(".xlsx"):
        fonts = (f'<rPr><vertAlign val="{at}script"/></rPr>' if at else "" for _, at in runs)
        rich = "".join(
            f'<r>{font}<t xml:space="preserve">{text}</t></r>' for font, (text, _) in zip(fonts, runs, strict=True)
        )
        parts = samples.unzipped(sheet(("Load",), ("HERE",)))
        if name == "a.xlsx":
            parts["xl/worksheets/sheet1.xml"] = re.sub(b"<t>HERE</t>", rich.encode(), parts["xl/worksheets/sheet1.xml"])
            return samples.zipped(parts)
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
        override = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
        parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace(b"</Types>", override.encode())
        main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        parts["xl/sharedStrings.xml"] = f'<sst xmlns="{main}"><si><t>x</t></si><si>{rich}</si></sst>'.encode()
        old = rb't="inlineStr"><is><t>HERE</t></is>'
        parts["xl/worksheets/sheet1.xml"] = re.sub(old, b't="s"><v>1</v>', parts["xl/worksheets/sheet1.xml"])
        return samples.zipped(parts)
    if name == "a.html":
        return ("<p>" + "".join(f"<{at[:3]}>{text}</{at[:3]}>" if at else text for text, at in runs) + "</p>").encode()
    if name == "a.rtf":
        texts = (text.replace("×", "\\'d7") for text, _ in runs)
        words = (f"\\{at or 'nosupersub'} {text}" for text, (_, at) in zip(texts, runs, strict=True))
        return ("{\\rtf1\\ansi " + "".join(words) + "\\par}").encode()
    names = {"super": "S1", "sub": "S2"}
    spans = "".join(f'<text:span text:style-name="{names[at]}">{text}</text:span>' if at else text for text, at in runs)
    styles = "".join(
        f'<style:style style:name="{style}" style:family="text"><style:text-properties style:text-position="{at}"/>'
        "</style:style>"
        for style, at in (("S1", "33% 58%"), ("S2", "sub 58%"))
    )
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    body = f"<office:automatic-styles>{styles}</office:automatic-styles><office:body><office:text>"
    body += f"<text:p>{spans}</text:p>"
    return samples.zipped(
        {
            "mimetype": b"application/vnd.oasis.opendocument.text",
            "content.xml": (
                f'<office:document-content xmlns:office="{urn}:office:1.0" xmlns:style="{urn}:style:1.0" '
                f'xmlns:text="{urn}:text:1.0">{body}</office:text></office:body></office:document-content>'
            ).encode(),
        }
    )


def test_signs_of_the_symbol_font_are_the_ones_that_are_seen() -> None:
    def sign(code: str, font: str = "Symbol") -> str:
        return f'<w:r><w:sym w:font="{font}" w:char="{code}"/></w:r>'

    def said(text: str, run: str = "") -> str:
        return f'<w:r><w:rPr>{run}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'

    font = '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>'
    body = said("5 ") + sign("F06D") + said("m, ") + sign("57") + said(", ") + sign("F0A3") + said("6, ")
    body += said("\uf06d\uf0b3", font) + said("C ") + sign("F0A3", "Wingdings 2") + sign("F081", "Wingdings")
    assert lines_of("a.docx", word(f"<w:p>{body}</w:p>")) == ["5 μm, Ω, ≤6, μ≥C ☐①"]


def test_signs_of_the_symbol_font_on_slides_pages_and_in_rich_text_are_the_ones_that_are_seen() -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    frame = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(3), Inches(1)).text_frame
    run = frame.paragraphs[0].add_run()
    run.text = "\uf061\uf0a3"
    run._r.get_or_add_rPr().append(etree.fromstring(f'<a:sym xmlns:a="{A}" typeface="Symbol"/>'))
    assert lines_of("a.pptx", saved(deck)) == ["α≤"]
    page = "<p>Load <font face=Symbol>&#163;</font> 5 <span style='font-family:Symbol'>m</span>m, <i>m</i></p>"
    assert lines_of("a.html", page) == ["Load ≤ 5 μm, m"]
    fonts = rb"{\fonttbl{\f0 Arial;}{\f3\froman\fcharset2 Symbol;}}"
    rich = rb"{\rtf1\ansi" + fonts + rb"Load {\f3 \'a3} 5 \f3 m\plain m, {\f3\u-3999\'61}}"
    assert read("a.rtf", rich).sections[0].text == "Load ≤ 5 μm, α"


def field(code: str, result: str | None = None) -> str:
    """A field of Word, whose code may have others in it."""
    codes = "".join(
        each if each.startswith("<") else f"<w:r><w:instrText>{each}</w:instrText></w:r>"
        for each in re.findall("<w:r>.*</w:r>|[^<]+", code)
    )
    shown = "" if result is None else f'<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>{result}</w:t></w:r>'
    begin, end = (f'<w:r><w:fldChar w:fldCharType="{each}"/></w:r>' for each in ("begin", "end"))
    return begin + codes + shown + end


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (field(f"= {field('MERGEFIELD Net', '900')} * 1.2", "1080.00"), "Due: 1080.00 euros"),
        (field(f"IF {field('MERGEFIELD Sum', '900')} &gt; 500 &quot;a lot&quot;", "a lot"), "Due: a lot euros"),
        (field(f"SET x {field('MERGEFIELD Sum', '900')}"), "Due:  euros"),
        (field("PAGE", "3"), "Due: 3 euros"),
        (field("eq \\o\\ac(○,印)"), "Due: ㊞ euros"),
        (
            field("EQ \\* jc2 \\* &quot;Font:明朝&quot; \\o\\ad(\\s\\up 9(さいとう),齋藤)"),
            "Due: 齋藤 euros",
        ),
        (field("EQ \\f(1;2)"), "Due: 1/2 euros"),
        (field("SYMBOL 109 \\f &quot;Symbol&quot; \\s 10"), "Due: μ euros"),
        ('<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:t>900</w:t></w:r>', "Due: 900 euros"),
    ],
)
def test_of_a_field_the_result_is_read_and_of_its_code_what_is_shown(inner: str, text: str) -> None:
    before, after = (f'<w:r><w:t xml:space="preserve">{each}</w:t></w:r>' for each in ("Due: ", " euros"))
    assert lines_of("a.docx", word(f"<w:p>{before}{inner}{after}</w:p>")) == [text]


def test_the_code_of_a_field_may_be_of_any_depth() -> None:
    deep = field("EQ " + "\\o(" * 3_000)
    assert lines_of("a.docx", word(f"<w:p>{deep}<w:r><w:t>berth</w:t></w:r></w:p>"))[0].endswith("berth")


def test_of_a_field_in_rich_text_the_result_is_read_or_what_its_code_shows() -> None:
    ring = rb"{\field{\*\fldinst { EQ \\o\\ac(\'81\'9b,\'88\'f3)}}{\fldrslt }}"
    ruby = rb"{\field{\*\fldinst EQ \\* jc2 \\o\\ad(\\s\\up 9(\'82\'b3\'82\'a2),\'e2\'56)}{\fldrslt }}"
    sign = rb'{\field{\*\fldinst SYMBOL 109 \\f "Symbol"}{\fldrslt {\f3 m}}}'
    nested = rb"{\field{\*\fldinst = {\field{\*\fldinst MERGEFIELD Net}{\fldrslt 900}} * 1.2}{\fldrslt 1080}}"
    fonts = rb"{\fonttbl{\f0\fcharset128 MS;}{\f3\fcharset2 Symbol;}}"
    rich = rb"{\rtf1\ansi\ansicpg932" + fonts + b"a " + ring + b" b " + ruby + b" c " + sign + b" d " + nested + b" e}"
    assert read("a.rtf", rich).sections[0].text == "a ㊞ b 齋 c μ d 1080 e"


def test_a_style_based_on_a_heading_is_one_where_it_is_no_body_text() -> None:
    def style(name: str, base: str, level: str = "") -> str:
        own = f'<w:pPr><w:outlineLvl w:val="{level}"/></w:pPr>' if level else ""
        known = f'w:styleId="{name}"><w:name w:val="{name}"/><w:basedOn w:val="{base}"/>'
        return f'<w:style w:type="paragraph" {known}{own}</w:style>'

    rows = '<w:style w:type="paragraph" w:styleId="1"><w:name w:val="heading 1"/></w:style>'
    rows += style("社内見出し", "1") + style("Inner", "社内見出し") + style("Second", "1", "1") + style("TOC", "1", "9")
    rows += style("A", "B") + style("B", "A")
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"
    body = "".join(
        paragraph(text, f'<w:pStyle w:val="{named}"/>')
        for text, named in (("一", "社内見出し"), ("二", "Second"), ("Text", "TOC"), ("三", "Inner"), ("Rest", "A"))
    )
    parsed = read("a.docx", word(body, styles=(kind, element("w:styles", rows))))
    assert [(each.heading_path, each.text) for each in parsed.sections] == [("一 > 二", "Text"), ("三", "Rest")]


def test_a_text_box_is_a_paragraph_of_its_own() -> None:
    box = f"<w:r><w:pict><w:txbxContent>{paragraph('Warning: hot')}</w:txbxContent></w:pict></w:r>"
    body = f"<w:p><w:r><w:t>The left door is </w:t></w:r>{box}<w:r><w:t>locked.</w:t></w:r></w:p>"
    assert lines_of("a.docx", word(body)) == ["The left door is locked.", "Warning: hot"]


def test_descriptions_of_pictures_in_word_are_read_and_what_programs_say_of_them_is_not() -> None:
    def picture(told: str) -> str:
        about = 'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
        described = f'<wp:inline {about}><wp:docPr id="1" descr="{told}"/></wp:inline>'
        return f"<w:p><w:r><w:drawing>{described}</w:drawing></w:r></w:p>"

    content = word(paragraph("The harbour") + picture("Two cranes beside the gate") + picture("image1.png"))
    assert lines_of("a.docx", content) == ["The harbour", "Two cranes beside the gate"]


def test_rows_of_word_that_begin_in_a_later_column_and_tabs_to_a_place() -> None:
    def row(*cells: str, before: int = 0) -> str:
        left_out = f'<w:trPr><w:gridBefore w:val="{before}"/></w:trPr>' if before else ""
        return f"<w:tr>{left_out}{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in cells)}</w:tr>"

    table = f"<w:tbl>{row('Item', 'May', 'June')}{row('Rope', '3', '4')}{row('7', '9', before=1)}</w:tbl>"
    tabbed = "<w:p><w:r><w:t>Rope</w:t><w:ptab/><w:t>12 m</w:t></w:r></w:p>"
    lines = lines_of("a.docx", word(tabbed + table))
    assert lines[0].split() == ["Rope", "12", "m"]
    assert lines[-1].strip() == "| 7 | 9"


def test_a_heading_of_notes_is_no_title() -> None:
    notes = element("w:footnotes", f'<w:footnote w:id="1">{paragraph("See the law")}</w:footnote>')
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    parsed = read("lease.docx", word(paragraph("The lease ends in May"), footnotes=(kind, notes)))
    assert (parsed.title, parsed.sections[-1].heading_path) == ("lease", "Footnotes")


def test_comments_of_a_sheet_come_in_the_order_of_their_cells() -> None:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.append(["Rope", 12])
    page.append(["Axe", 3])
    for place in ("B2", "A2", "B1"):
        page[place].comment = Comment(f"About {place}", "Ines")
    comments = read("a.xlsx", saved(book)).sections[-1].text.split("\n")
    assert [line.rpartition(" ")[2] for line in comments] == ["B1", "A2", "B2"]


def test_comments_charts_diagrams_and_embedded_pages_of_word_are_read() -> None:
    office = "application/vnd.openxmlformats-officedocument"
    notes = element("w:comments", f'<w:comment w:id="1">{paragraph("Legal wants five years")}</w:comment>')
    drawn = '<w:p><w:r><w:drawing><c:chart r:id="id-chart"/></w:drawing></w:r></w:p>'
    diagram = '<w:p><w:r><w:drawing><dgm:relIds r:dm="id-diagramData"/></w:drawing></w:r></w:p>'
    content = word(
        paragraph("The lease runs for three years.") + drawn + diagram + '<w:altChunk r:id="id-aFChunk"/>',
        comments=(f"{office}.wordprocessingml.comments+xml", notes),
        chart=(f"{office}.drawingml.chart+xml", chart("Rents", {"Euro": [("2025", "900"), ("2026", "950")]})),
        diagramData=(
            f"{office}.drawingml.diagramData+xml",
            element("a:graphic", "<a:p><a:r><a:t>Ask</a:t></a:r></a:p><a:p><a:r><a:t>Sign</a:t></a:r></a:p>"),
        ),
        aFChunk=("text/html", b"<h1>Crane log</h1><p>Crane two lifted forty tonnes.</p>"),
    )
    text = text_of("a.docx", content)
    expected = ("three years", "Rents", "2026 | 950", "Ask\nSign", "Crane log", "forty tonnes")
    places = [text.index(each) for each in expected]
    assert places == sorted(places)
    assert "Comments" in text
    assert "Legal wants five years" in text


def test_a_document_with_a_header_alone_has_that_text() -> None:
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml"
    header = kind, element("w:hdr", paragraph("Notice of the harbour office"))
    assert lines_of("a.docx", word("<w:p/>", header=header)) == ["Notice of the harbour office"]
    assert lines_of("a.docx", word(paragraph("Body"), header=header)) == ["Body"]


# ---------------------------------------------------------------- PowerPoint


def test_boxes_of_a_slide_are_read_from_the_top_and_column_by_column() -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    for text, left, top in (
        ("third", 1, 5),
        ("second", 1, 3),
        ("first", 1, 1),
    ):
        slide.shapes.add_textbox(Inches(left), Inches(top), Inches(4), Inches(0.5)).text_frame.text = text
    assert lines_of("a.pptx", saved(show)) == ["first", "second", "third"]
    columns = [
        ShapeBox(600, 100, 300, 100),
        ShapeBox(0, 220, 300, 100),
        ShapeBox(600, 220, 300, 100),
        ShapeBox(0, 100, 300, 100),
    ]
    assert in_reading_order(columns) == [3, 1, 0, 2]
    assert sorted(in_reading_order([ShapeBox(0, 0, 0, 0)] * 2000)) == list(range(2000))


def test_charts_struck_out_text_and_comments_of_a_slide_are_read() -> None:
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    frame = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1)).text_frame
    frame.text = "Ferry at nine"
    frame.paragraphs[0].runs[0]._r.get_or_add_rPr().set("strike", "sngStrike")
    values = CategoryChartData()
    values.categories = ["Gdynia", "Leixoes"]
    values.add_series("Calls", (34, 17))
    values.add_series("Share", (0.6667, 0.3333), "0%")
    drawn = slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, Inches(1), Inches(3), Inches(4), Inches(3), values)
    drawn.chart.has_title = True
    drawn.chart.chart_title.text_frame.text = "Ferry calls"
    assert lines_of("a.pptx", saved(show)) == [
        "~~Ferry at nine~~",
        "Bar chart – Ferry calls",
        " | Calls | Share",
        "Gdynia | 34 | 67%",
        "Leixoes | 17 | 33%",
    ]


def test_lists_of_a_slide_have_their_numbers() -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    frame = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(4)).text_frame
    lines = [
        ("Open", 0, "arabicPeriod"),
        ("by key", 1, "alphaLcParenR"),
        ("by code", 1, "alphaLcParenR"),
        ("Close", 0, "arabicPeriod"),
        ("Then", 0, ""),
        ("Again", 0, "romanUcParenBoth"),
    ]
    frame.text = "\n".join(text for text, _, _ in lines)
    for paragraph_, (_, level, form) in zip(frame.paragraphs, lines, strict=True):
        paragraph_.level = level
        if form:
            etree.SubElement(paragraph_._p.get_or_add_pPr(), f"{{{A}}}buAutoNum", type=form)
    assert lines_of("a.pptx", saved(show)) == ["1. Open", "a) by key", "b) by code", "2. Close", "Then", "(I) Again"]


def test_hidden_slides_are_left_out_and_named() -> None:
    show = pptx.Presentation()
    for text in ("shown", "kept for later"):
        slide = show.slides.add_slide(show.slide_layouts[6])
        slide.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1)).text_frame.text = text
    slide._element.set("show", "0")
    parsed = read("a.pptx", saved(show))
    assert [(each.page, each.text) for each in parsed.sections] == [(1, "shown")]
    assert parsed.metadata["hidden_slides"] == "2"


# ---------------------------------------------------------------- OpenDocument, Hangul, RTF


def test_numbers_struck_out_text_and_comments_of_open_document_are_read() -> None:
    lists = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" '
        'style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/>'
        '<text:list-level-style-bullet text:level="3"/></text:list-style>'
    )
    struck = (
        '<style:style style:name="S" style:family="text"><style:text-properties style:text-line-through-style="solid"/>'
        "</style:style>"
    )
    item = "<text:list-item><text:p>{}</text:p>{}</text:list-item>"
    inner = f"<text:list>{item.format('in the morning', '')}{item.format('at noon', '')}</text:list>"
    body = (
        f'<text:list text:style-name="L">{item.format("Open", inner)}{item.format("Close", "")}</text:list>'
        '<text:p>At <text:span text:style-name="S">eight</text:span> nine'
        "<office:annotation><text:p>Ask Per</text:p></office:annotation></text:p>"
    )
    content = samples.unzipped(more_samples.open_document("text", body))
    styled = content["content.xml"].replace(
        b"<office:body>",
        b'<office:automatic-styles xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0">'
        + f"{lists}{struck}</office:automatic-styles><office:body>".encode(),
    )
    assert styled != content["content.xml"]
    text = text_of("a.odt", samples.zipped(content | {"content.xml": styled}))
    for line in ("1. Open", "a) in the morning", "b) at noon", "2. Close", "At ~~eight~~ nine", "Comments", "Ask Per"):
        assert line in text


def test_a_number_with_zeros_before_it_is_kept_in_a_spreadsheet() -> None:
    cell = '<table:table-cell office:value-type="float" office:value="{}"><text:p>{}</text:p></table:table-cell>'
    row = f"<table:table-row>{cell.format('12345', '0012345')}{cell.format('1234.5', '1,234.50')}</table:table-row>"
    content = more_samples.open_document("spreadsheet", f'<table:table table:name="A">{row}</table:table>')
    assert lines_of("a.ods", content) == ["0012345 | 1234.5"]


def test_equations_and_words_under_others_of_hangul_are_in_place() -> None:
    section = (
        "<hp:p><hp:run><hp:t>휴가는 </hp:t><hp:equation><hp:script>N = 15 + {k} over {2}</hp:script></hp:equation>"
        "<hp:t>일이다.</hp:t></hp:run></hp:p>"
        "<hp:p><hp:run><hp:t>이것은 <hp:dutmal><hp:mainText>원심분리기</hp:mainText>"
        "<hp:subText>遠心</hp:subText></hp:dutmal>라고 부른다.</hp:t></hp:run></hp:p>"
        "<hp:p><hp:run><hp:rect><hp:drawText><hp:subList><hp:p><hp:run><hp:t>주의</hp:t></hp:run></hp:p></hp:subList>"
        "</hp:drawText></hp:rect><hp:t>문을 닫는다.</hp:t></hp:run></hp:p>"
        '<hp:p><hp:run><hp:checkBtn caption="동의" value="CHECKED"/>'
        '<hp:checkBtn caption="거절" value="UNCHECKED"/></hp:run></hp:p>'
        '<hp:p><hp:run><hp:textart text="봄 축제"/></hp:run></hp:p>'
    )
    lines = lines_of("a.hwpx", more_samples.hwpx_guide(section))
    assert "휴가는 N = 15 + {k} over {2}일이다." in lines
    assert "이것은 원심분리기라고 부른다." in lines
    assert "문을 닫는다." in lines
    assert "주의" in lines
    assert "☒ 동의 ☐ 거절" in lines
    assert "봄 축제" in lines


def test_struck_out_text_and_comments_of_hangul_are_read_as_such() -> None:
    header = (
        '<hh:head xmlns:hh="http://www.hancom.co.kr/hwpml/2011/head">'
        '<hh:charPr id="0"><hh:strikeout shape="NONE"/></hh:charPr>'
        '<hh:charPr id="7"><hh:strikeout shape="SOLID"/></hh:charPr></hh:head>'
    )
    memo = (
        '<hp:ctrl><hp:fieldBegin type="MEMO"><hp:subList><hp:p><hp:run><hp:t>확인할 것</hp:t></hp:run></hp:p>'
        "</hp:subList></hp:fieldBegin></hp:ctrl>"
    )
    section = (
        '<hp:p><hp:run charPrIDRef="0"><hp:t>면회 시간은 </hp:t></hp:run>'
        '<hp:run charPrIDRef="7"><hp:t>8시</hp:t></hp:run>'
        f'<hp:run charPrIDRef="7"><hp:t>부터</hp:t></hp:run><hp:run charPrIDRef="0">{memo}<hp:t> 9시부터이다.</hp:t>'
        "</hp:run></hp:p>"
        '<hp:p><hp:run charPrIDRef="7"><hp:t>모두 지운 글</hp:t></hp:run></hp:p>'
    )
    parsed = read("a.hwpx", more_samples.hwpx_guide(section, **{"Contents/header.xml": header.encode()}))
    assert any("면회 시간은 ~~8시부터~~ 9시부터이다.\n\n~~모두 지운 글~~" in each.text for each in parsed.sections)
    assert [each.text for each in parsed.sections if each.heading_path.endswith("Comments")] == [
        "숨은 설명\n\n확인할 것"
    ]


@pytest.mark.parametrize("flags", [1 << 18, 2 << 2])
def test_struck_out_text_and_memos_of_an_older_hangul_document_are_read_as_such(flags: int) -> None:
    letters = [more_samples.hwp_letters(0), more_samples.hwp_letters(flags)]
    section = (
        more_samples.hwp_paragraph("면회 시간은 8시 9시부터이다.", shapes=((0, 0), (7, 1), (9, 0)))
        + more_samples.hwp_paragraph("모두 지운 글", shapes=((0, 1),))
        + more_samples.hwp_paragraph("끝입니다.", memo="확인할 것")
    )
    parsed = read("a.hwp", more_samples.hwp_guide(section=section, letters=letters))
    assert [(each.heading_path, each.text) for each in parsed.sections] == [
        ("", "면회 시간은 ~~8시~~ 9시부터이다.\n\n~~모두 지운 글~~\n\n끝입니다."),
        ("Comments", "확인할 것"),
    ]


def test_a_hangul_document_is_known_without_its_summary() -> None:
    content = more_samples.hwp_guide()
    name = "HwpSummaryInformation".encode("utf-16-le")
    assert name in content
    without = content.replace(name, "XxxSummaryInformation".encode("utf-16-le"))
    assert read("a.hwp", without).sections == read("a.hwp", content).sections
    with pytest.raises(UnreadableDocumentError, match="is a Hangul document of before 2002"):
        read("a.hwp", b"HWP Document File V3.00 \x1a\x01\x02" + bytes(300))


def test_cells_in_braces_of_their_own_are_cells_of_a_row() -> None:
    content = (
        r"{\rtf1\ansi{\trowd\cellx2000\cellx4000 \intbl {{\pard\intbl Valve\par}\cell}"
        r"{{\pard\intbl 3.5 bar\par\pard\intbl at most\par}\cell}\intbl\row}{\pard End.\par}"
        r"{\pard Open {\strike 8}{\strike  to 16} 9 to 17\par}"
        r"{\pard{\f0\b0\*\cs7 The quick fox}\par}"
        r"{\pard{\listtext 1.\tab}Return the badge\par}{\pard{\listtext\'b7\tab}dotted\par}}"
    )
    assert lines_of("a.rtf", content) == [
        "Valve | 3.5 bar at most",
        "End.",
        "Open ~~8 to 16~~ 9 to 17",
        "The quick fox",
        "1. Return the badge",
        "dotted",
    ]


def test_a_hangul_document_with_a_header_alone_has_that_text() -> None:
    margin = "<hp:subList><hp:p><hp:run><hp:t>회의 자료</hp:t></hp:run></hp:p></hp:subList>"
    parts = samples.unzipped(more_samples.hwpx_guide(""))
    names = [name for name in parts if re.fullmatch(r"Contents/section\d+\.xml", name)]
    root = re.match(rb"(?:<\?xml[^>]*>)?\s*<[^>]+>", parts[names[0]])
    assert root is not None
    tag = re.search(rb"<([\w:]+)", root[0].partition(b"?>")[2] or root[0])
    assert tag is not None
    body = f"<hp:p><hp:run><hp:ctrl><hp:header>{margin}</hp:header></hp:ctrl></hp:run></hp:p>".encode()
    parts |= dict.fromkeys(names, b"<a/>") | {names[0]: root[0] + body + b"</" + tag[1] + b">"}
    assert lines_of("a.hwpx", samples.zipped(parts)) == ["회의 자료"]


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


def test_a_sheet_whose_last_row_is_far_away_is_refused() -> None:
    parts = samples.unzipped(sheet(("a", "b")))
    name = "xl/worksheets/sheet1.xml"
    far = re.sub(rb'<row r="1"', b'<row r="999999999"', parts[name])
    assert far != parts[name]
    with pytest.raises(UnreadableDocumentError, match="is damaged, or is not an Excel workbook"):
        read("a.xlsx", samples.zipped(parts | {name: far}))


def table_of(*rows: tuple[str, ...]) -> str:
    """A table of Word whose cells have blocks."""
    cells = ("".join(f"<w:tc>{cell}</w:tc>" for cell in row) for row in rows)
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"


def test_a_table_in_a_cell_keeps_its_rows() -> None:
    p = paragraph
    inner = table_of((p("Date"), p("Place")), (p("4 March"), p("Leith")))
    content = word(table_of((p("Name"), p("Ada Osei")), (p("Plan"), p("As below") + inner + p("or later"))))
    rows = ["Name | Ada Osei", "Plan | As below; Date, Place; 4 March, Leith; or later"]
    assert lines_of("a.docx", content) == rows
    assert lines_of("a.html", HTML_TABLE) == rows
    odt = samples.unzipped(ODT)
    cells = re.sub(
        "<(/?)(table|td|tr)>", r"<\1table:\2>", re.sub("<td>([^<]+)", r"<td><text:p>\1</text:p>", HTML_TABLE)
    )
    cells = (
        cells.replace(":td>", ":table-cell>")
        .replace(":tr>", ":table-row>")
        .replace("or later", "<text:p>or later</text:p>")
    )
    text = re.sub(
        b"<office:text.*</office:text>", f"<office:text>{cells}</office:text>".encode(), odt["content.xml"], flags=re.S
    )
    assert lines_of("a.odt", samples.zipped(odt | {"content.xml": text})) == rows


def test_a_table_that_lays_a_page_of_word_out_has_headings_and_paragraphs() -> None:
    heading = '<w:outlineLvl w:val="0"/>'
    left = paragraph("Contact", heading) + paragraph("Telephone 5550") + paragraph("Leith")
    right = paragraph("Work", heading) + table_of(
        (paragraph("2015"), paragraph("Yard")), (paragraph("2021"), paragraph("Quay"))
    )
    parsed = read("a.docx", word(table_of((left, right))))
    assert [(each.heading_path, each.text) for each in parsed.sections] == [
        ("Contact", "Telephone 5550\n\nLeith"),
        ("Work", "2015 | Yard\n2021 | Quay"),
    ]
    box = word(table_of((paragraph("Opening hours") + paragraph("From nine to five"),)))
    assert read("a.docx", box).sections[0].text == "Opening hours\n\nFrom nine to five"
    styled = word(
        table_of((paragraph("Name", heading), paragraph("Price", heading)), (paragraph("Rope"), paragraph("4")))
    )
    assert lines_of("a.docx", styled) == ["Name | Price", "Rope | 4"]


def test_a_deleted_row_of_a_table_is_left_out() -> None:
    def row(text: str, properties: str = "") -> str:
        return f"<w:tr>{properties}<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc></w:tr>"

    rows = row("kept") + row("gone", "<w:trPr><w:del w:id='1' w:author='a'/></w:trPr>") + row("also kept")
    document = read_document("a.docx", word(f"<w:tbl>{rows}</w:tbl>"), max_bytes=10**7)
    assert document.sections[0].text == "kept\nalso kept"


def test_characters_that_a_sheet_escapes_are_themselves() -> None:
    [row] = read_document("a.xlsx", sheet(("One_x005F_x000D__x000D_\ntwo_x0041_", "b")), max_bytes=10**7).sections
    assert row.text == "One_x000D_ twoA | b"


def test_the_prompt_of_an_empty_content_control_is_left_out() -> None:
    def control(properties: str, text: str, around: str = "") -> str:
        content = f"<w:r><w:t>{text}</w:t></w:r>"
        inner = f"<w:p>{content}</w:p>" if around else content
        return f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{inner}</w:sdtContent></w:sdt>"

    empty = "<w:showingPlcHdr/>"
    blocks = control(empty, "Click or tap here to enter text.", "p") + control("", "Filled in.", "p")
    runs = f"<w:p><w:r><w:t>Name: </w:t></w:r>{control('', 'Sato')}{control(empty, 'Choose an item.')}</w:p>"
    assert lines_of("a.docx", word(blocks + runs)) == ["Filled in.", "Name: Sato"]


def test_a_paragraph_that_goes_on_in_the_next_one_is_one_with_it_and_word_art_is_read() -> None:
    def body(text: str, properties: str = "") -> str:
        return f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'

    deleted = "<w:rPr><w:del w:id='1' w:author='a'/></w:rPr>"
    art = "<w:p><w:r><w:pict><v:shape xmlns:v='urn:schemas-microsoft-com:vml'><v:textpath string='Harbour festival'/>"
    content = word(
        body("T", "<w:framePr w:dropCap='drop' w:lines='3'/>")
        + body("he storm took the pier.")
        + body("Shifts begin at ", deleted)
        + body("22:00.")
        + f"{art}</v:shape></w:pict></w:r></w:p>"
        + body("Last", deleted)
    )
    lines = ["The storm took the pier.", "Shifts begin at 22:00.", "Harbour festival", "Last"]
    assert lines_of("a.docx", content) == lines


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


def test_a_shape_without_a_place_follows_what_is_drawn_before_it() -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    for text, top in (("Upper", 1), ("Nowhere", 5), ("Lower", 3)):
        box = slide.shapes.add_textbox(Inches(1), Inches(top), Inches(3), Inches(1))
        box.text_frame.text = text
        if text == "Nowhere":
            properties = box._element.spPr
            properties.remove(properties.find("{*}xfrm"))
    stream = io.BytesIO()
    presentation.save(stream)
    document = read_document("a.pptx", stream.getvalue(), max_bytes=10**7)
    assert document.sections[0].text == "Upper\nNowhere\nLower"
