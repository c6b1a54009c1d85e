"""Tables of all formats: merged cells are filled, and passages of long ones carry caption and column names."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable

import docx
import pptx
import pytest
from pptx.util import Inches

from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.readers import ParsedDocument
from braid.core.ingest.readers.office import workbook
from braid.core.types import ChunkInput
from tests import more_samples
from tests.office_files import read, saved, sheet

ROWS = [(f"Pump {n}", f"Hall {n % 3}", f"{n * 11} bar") for n in range(60)]
HEADER = ("Pump", "Place", "Pressure")
CAPTION = "Table 4: Pumps and their pressure"


def records(parsed: ParsedDocument) -> list[tuple[str, str, str]]:
    return [(each.heading_path, each.header, each.text) for each in parsed.sections]


def test_the_first_line_of_a_table_may_tell_what_parts_its_cells() -> None:
    parsed = read("a.csv", "sep=;\r\nPlace;Price\r\nSète;3,50\r\n")
    assert [(each.header, each.text, each.line) for each in parsed.sections] == [("Place | Price", "Sète | 3,50", 3)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("name,note\n'Smith, J.','rope'\n'Doe, A.','it''s wet'\n", ["Smith, J. | rope", "Doe, A. | it's wet"]),
        ("name,note\nO'Neil,'tis fine\nD'Arcy,rope\n", ["O'Neil | 'tis fine", "D'Arcy | rope"]),
        ('name,note\n"a \\"b\\" c",1\n"x, \\"y\\"",2\n', ['a "b" c | 1', 'x, "y" | 2']),
        ('name,note\n"C:\\tools\\",1\n"D:\\",2\n', ["C:\\tools\\ | 1", "D:\\ | 2"]),
        ("name:price:stock\nrope:12:40\naxe:3:2\n", ["rope | 12 | 40", "axe | 3 | 2"]),
        ("opens\n08:15:00\n09:30:10\n", ["08:15:00", "09:30:10"]),
        ("address\n0a:1b:2c:3d\n1a:2b:3c:4d\n", ["0a:1b:2c:3d", "1a:2b:3c:4d"]),
    ],
)
def test_quotes_and_delimiters_that_programs_write(text: str, rows: list[str]) -> None:
    assert [each.text for each in read("a.csv", text).sections if each.header or ":" in each.text] == rows


def test_merged_cells_of_a_workbook_are_filled_and_its_title_is_the_caption() -> None:
    content = sheet(
        ("Budget 2026", None, None, None, None),
        ("Region", 2025, None, 2026, None),
        (None, "Q1", "Q2", "Q1", "Q2"),
        ("North", 1, 2, 3, 4),
        (None, 5, 6, 7, 8),
        merged=("A1:E1", "A2:A3", "B2:C2", "D2:E2", "A4:A5"),
    )
    header = "Region | 2025 Q1 | 2025 Q2 | 2026 Q1 | 2026 Q2"
    assert records(read("a.xlsx", content)) == [
        ("Plan > Budget 2026", header, "North | 1 | 2 | 3 | 4"),
        ("Plan > Budget 2026", header, "North | 5 | 6 | 7 | 8"),
    ]


@pytest.mark.parametrize(("stored", "flag", "unknown"), [("0", 1, "1"), ("0", 0, None), ("72.2", 1, None)])
def test_a_zero_that_a_program_puts_for_each_formula_is_no_value(stored: str, flag: int, unknown: str | None) -> None:
    content = sheet(("Van", "Cost"), ("Falcon", 84.5), ("Heron", -12.3), ("Total", "=SUM(B2:B3)"))
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            part = old.read(name).replace(b"</f><v />", b"</f><v></v>").replace(b"</f><v/>", b"</f><v></v>")
            part = part.replace(b"</f><v></v>", f"</f><v>{stored}</v>".encode())
            new.writestr(name, part.replace(b'fullCalcOnLoad="1"', f'fullCalcOnLoad="{flag}"'.encode()))
    parsed = read("a.xlsx", stream.getvalue())
    assert parsed.metadata.get("formulas_without_value") == unknown
    assert parsed.sections[-1].text == ("Total" if unknown else f"Total | {stored}")


def test_what_is_looked_at_for_a_formula_has_no_other_one_in_it() -> None:
    """A comment of a hundred thousand beginnings is read once, and not from each of them to its end."""
    for pattern in (workbook._FORMULA_WITHOUT_VALUE, workbook._FORMULA_OF_ZERO):
        for formula in (b"<f>A1</f>", b"<f/>", b'<f t="shared" si="0"/>', b'<f t="array" ref="A1:A2">B1:B2</f> '):
            end = b"<v>0</v>" if pattern is workbook._FORMULA_OF_ZERO else b"<v></v>"
            [found] = pattern.finditer(b"<f " * 1_000 + formula + end)
            assert found[0] == formula + end


def test_years_may_be_the_names_of_columns_and_are_values_elsewhere() -> None:
    assert records(read("a.csv", "Unit,2024,2025\nSales,5,6\n")) == [("", "Unit | 2024 | 2025", "Sales | 5 | 6")]
    assert {header for _, header, _ in records(read("a.csv", "Tokyo,2024,2020\nOsaka,2025,2021\n"))} == {""}


def test_the_name_of_a_group_in_its_first_row_is_that_of_all_its_rows() -> None:
    rows = [
        ("部門", "担当", "商品", "4月", "5月"),
        ("東日本", "阿部", "ポンプ", 120, 130),
        (None, None, "バルブ", 40, 35),
        (None, "堀", "ポンプ", 88, 90),
        ("西日本", "三浦", "ポンプ", 51, 60),
        (None, None, "合計", 299, 315),
    ]
    said = [text.split(" | ")[:3] for _, _, text in records(read("a.xlsx", sheet(*rows)))]
    assert said[1:] == [
        ["東日本", "阿部", "バルブ"],
        ["東日本", "堀", "ポンプ"],
        ["西日本", "三浦", "ポンプ"],
        ["", "", "合計"],
    ]
    cells = ("Monday,early,Ann", ",late,Bill", "Tuesday,early,Cleo", ",late,Dan")
    html = "".join(f"<tr><td>{row.replace(',', '<td>')}" for row in ("Day,Shift,Name", *cells))
    assert "\nMonday | late | Bill\n" in read("a.html", f"<table>{html}</table>").sections[0].text
    ticks = "Done,Task,Who\nx,Roof,Ann\n,Door,Bill\nx,Lamp,Cleo\n"
    assert [text for _, _, text in records(read("a.csv", ticks))][1] == " | Door | Bill"
    for optional in (  # a cell that is empty because there is nothing is left so
        "Phone,Name,City\n020-111,Kim,Seoul\n,Lee,Busan\n020-333,Park,Daegu\n,Choi,Jeju\n",
        "Closed on,Task,Cost\n2026-01-02,Seal,4\n,Pump,5\n2026-01-09,Valve,6\n,Total,15\n",
        "Owner,Task,Hall\nAnn,Roof,1\nBill,Door,2\n,Lamp,3\nCleo,Gate,4\n",
    ):
        assert [text for _, _, text in records(read("a.csv", optional))] == [
            line.replace(",", " | ") for line in optional.splitlines()[1:]
        ]
    totals = "No,Part,Count,Price,Sum\n1,Bolt,2,3,6\n,,,Net,6\n2,Nut,1,1,1\n,,,Sum,7\n"
    assert records(read("a.csv", totals))[1][2] == " |  |  | Net | 6"


def test_a_name_alone_above_rows_is_their_heading() -> None:
    rows = [
        "Task,Jan,Feb",
        "North,,",
        "Digging,12,8",
        "North Total,12,8",
        "South,,",
        "Digging,5,6",
        "Grand Total,17,14",
    ]
    found = [(path, text) for path, _, text in records(read("a.csv", "\n".join(rows)))]
    assert found == [
        ("North", "Digging | 12 | 8"),
        ("North", "North Total | 12 | 8"),
        ("South", "Digging | 5 | 6"),
        ("", "Grand Total | 17 | 14"),
    ]
    people = "Name,Room,Phone\nAnn,,\nBill,,\nCleo,3,77\n"
    assert [path for path, _, _ in records(read("a.csv", people))] == ["", "", ""]
    left = "Name,Left on\nKim,\nLee,2020-01-01\nPark,2021-03-04\nHan,\nSeo,2022-02-02\n"
    assert [path for path, _, _ in records(read("a.csv", left))] == [""] * 5


def test_a_bar_within_a_cell_does_not_part_it() -> None:
    assert records(read("a.csv", "Name,Rule\nx,a | b\n")) == [("", "Name | Rule", "x | a \\| b")]


def long_docx() -> bytes:
    document = docx.Document()
    document.add_heading("Pumps", level=1)
    document.add_paragraph("All pumps are listed here.")
    document.add_paragraph(CAPTION)
    table = document.add_table(rows=len(ROWS) + 1, cols=3)
    for line, row in zip(table.rows, (HEADER, *ROWS), strict=True):
        for cell, text in zip(line.cells, row, strict=True):
            cell.text = text
    document.add_paragraph("The end.")
    return saved(document)


def long_html() -> str:
    cells = "".join("<tr>" + "".join(f"<td>{text}</td>" for text in row) + "</tr>" for row in (HEADER, *ROWS))
    page = "<h1>Pumps</h1><p>All pumps are listed here.</p>"
    return f"{page}<table><caption>{CAPTION}</caption>{cells}</table><p>The end.</p>"


def long_markdown() -> str:
    lines = "\n".join(f"| {' | '.join(row)} |" for row in (HEADER, ("---",) * 3, *ROWS))
    return f"# Pumps\n\nAll pumps are listed here.\n\n{CAPTION}\n{lines}\n\nThe end.\n"


@pytest.mark.parametrize(
    ("name", "make"),
    [("a.docx", long_docx), ("a.html", long_html), ("a.md", long_markdown)],
    ids=["docx", "html", "md"],
)
def test_each_passage_of_a_long_table_has_caption_and_column_names(name: str, make: Callable[[], bytes | str]) -> None:
    parsed = read(name, make())
    chunks = chunk_sections(parsed, chunk_chars=600, overlap_chars=100)
    tables = [chunk for chunk in chunks if "bar" in chunk.text]
    assert len(tables) > 2
    assert {chunk.heading_path for chunk in tables} == {f"Pumps > {CAPTION}"}
    assert all(chunk.text.strip("| ").startswith("Pump | Place | Pressure") for chunk in tables)
    assert [sum(f"{row[0]} |" in chunk.text for chunk in chunks) for row in ROWS] == [1] * len(ROWS)
    assert "All pumps are listed here." in chunks[0].text
    assert chunks[-1].text == "The end."


def test_rows_of_a_long_markdown_table_know_their_lines() -> None:
    content = long_markdown()
    parsed = read("a.md", content)
    chunks: list[ChunkInput] = [c for c in chunk_sections(parsed, chunk_chars=600, overlap_chars=0) if "bar" in c.text]
    lines = content.split("\n")
    for chunk in chunks:
        assert chunk.line is not None
        assert chunk.line_end is not None
        assert chunk.text.split("\n")[2:] == lines[chunk.line - 1 : chunk.line_end]


def test_a_table_in_a_code_block_stays_code() -> None:
    parsed = read("a.md", f"# A\n\n```\n{long_markdown()}\n```\n")
    assert {section.kind for section in parsed.sections} == {"prose"}


def test_merged_cells_of_a_web_page_are_filled_and_empty_ones_keep_their_place() -> None:
    page = (
        "<table><tr><th rowspan=2>Team</th><th colspan=2>2026</th></tr><tr><th>Q1</th><th>Q2</th></tr>"
        "<tr><td rowspan=2>North</td><td>1</td><td>2</td></tr><tr><td></td><td>4</td></tr></table>"
    )
    [section] = read("a.html", page).sections
    assert section.text.split("\n") == ["Team | 2026 | 2026", "Team | Q1 | Q2", "North | 1 | 2", "North |  | 4"]


def test_merged_cells_of_word_and_slides_are_filled() -> None:
    document = docx.Document()
    table = document.add_table(rows=3, cols=3)
    for line, row in zip(table.rows, (("Team", "Q1", "Q2"), ("North", "1", "2"), ("", "3", "")), strict=True):
        for cell, text in zip(line.cells, row, strict=True):
            cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    table.cell(2, 1).merge(table.cell(2, 2))
    assert read("a.docx", saved(document)).sections[0].text.split("\n")[1:] == ["North | 1 | 2", "North | 3"]
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    drawn = slide.shapes.add_table(3, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for number, text in enumerate(("Team", "Pay", "North", "1", "", "2")):
        drawn.cell(number // 2, number % 2).text = text
    drawn.cell(1, 0).merge(drawn.cell(2, 0))
    assert read("a.pptx", saved(show)).sections[0].text == "Team | Pay\nNorth | 1\nNorth | 2"


def test_merged_cells_of_open_document_and_hangul_are_filled() -> None:
    cell, covered = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>", "<table:covered-table-cell/>"
    rows = (
        cell.format(' table:number-columns-spanned="2"', "Team") + covered + cell.format("", "Pay"),
        cell.format(' table:number-rows-spanned="2"', "North") + cell.format("", "a") + cell.format("", "1"),
        covered + cell.format("", "b") + cell.format("", "2"),
    )
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    content = more_samples.open_document("text", f"<table:table>{table}</table:table>")
    assert read("a.odt", content).sections[0].text.split("\n") == [
        "Team | Team | Pay",
        "North | a | 1",
        "North | b | 2",
    ]
    tc = "<hp:tc><hp:subList><hp:p><hp:run><hp:t>{}</hp:t></hp:run></hp:p></hp:subList>{}</hp:tc>"
    lines = (
        tc.format("팀", '<hp:cellSpan colSpan="1" rowSpan="2"/>') + tc.format("1", ""),
        tc.format("2", '<hp:cellSpan colSpan="x" rowSpan="0"/>'),
    )
    section = f"<hp:p><hp:tbl>{''.join(f'<hp:tr>{line}</hp:tr>' for line in lines)}</hp:tbl></hp:p>"
    assert "팀 | 1\n팀 | 2" in "\n".join(
        each.text for each in read("a.hwpx", more_samples.hwpx_guide(section)).sections
    )


@pytest.mark.parametrize("kind", ["html", "xlsx"])
def test_cells_that_claim_to_cover_a_million_others_cover_themselves(kind: str) -> None:
    if kind == "html":
        row = "<tr>" + "<td colspan=9999 rowspan=9999>x</td><td>y</td>" * 20 + "</tr>"
        content: bytes | str = f"<table>{row * 50}</table>"
    else:
        content = sheet(("Name", "Pay"), *[(f"P{n}", n) for n in range(50)], merged=("A1:XFD900000",))
    started = time.thread_time()
    parsed = read(f"a.{kind}", content)
    assert sum(len(section.text) for section in parsed.sections) < 100_000
    assert time.thread_time() - started < 5
