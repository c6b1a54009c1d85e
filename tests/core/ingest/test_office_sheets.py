"""Workbooks as programs really write them: merged cells, several tables of a sheet, formats of numbers."""

from __future__ import annotations

import io
import re

import openpyxl
import pytest
from openpyxl.comments import Comment
from openpyxl.styles import Font

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.office.number_format import number_format
from tests import more_samples, samples
from tests.office_files import A, chart, lines_of, paragraph, read, saved, sheet, word

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


def test_a_sheet_whose_last_row_is_far_away_is_refused() -> None:
    parts = samples.unzipped(sheet(("a", "b")))
    name = "xl/worksheets/sheet1.xml"
    far = re.sub(rb'<row r="1"', b'<row r="999999999"', parts[name])
    assert far != parts[name]
    with pytest.raises(UnreadableDocumentError, match="is damaged, or is not an Excel workbook"):
        read("a.xlsx", samples.zipped(parts | {name: far}))


def test_characters_that_a_sheet_escapes_are_themselves() -> None:
    [row] = read_document("a.xlsx", sheet(("One_x005F_x000D__x000D_\ntwo_x0041_", "b")), max_bytes=10**7).sections
    assert row.text == "One_x000D_ twoA | b"
