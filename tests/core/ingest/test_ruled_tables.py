"""Tables of PDF pages between ruled lines: rows with their cells, in their place in the text."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from braid.core.chat.tables.rebuild import TablePassage, tables_of
from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.readers import ParsedDocument, read_document
from braid.core.ingest.readers.paged import ruled
from braid.core.ingest.readers.paged.page_picture import draw_page
from braid.core.originals.placing import find_passage
from tests.scans import SANS

Draw = Callable[[Canvas], None]
Lines = Callable[[Canvas, Sequence[float], Sequence[float]], None]
STAFF = (("Team", "Leads", "Budget"), ("Press", "Ito", "61,000 EUR"), ("Shop", "Kim", "48,500 EUR"))
ROWS = ["Team | Leads | Budget", "Press | Ito | 61,000 EUR", "Shop | Kim | 48,500 EUR"]
LEFTS, TOP, HEIGHT = (60, 160, 260, 360), 600, 20


def pdf(*pages: Draw, turn: int = 0) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842))
    for draw in pages:
        canvas.setFont("Helvetica", 10)
        if turn:
            canvas.setPageRotation(turn)
            canvas.rotate(turn)
            canvas.translate(0, -595 - 250)
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def parsed(content: bytes) -> ParsedDocument:
    return read_document("report.pdf", content, max_bytes=10**8)


def as_grid(canvas: Canvas, lefts: Sequence[float], tops: Sequence[float]) -> None:
    """Lines from end to end, in one path, as ReportLab and LaTeX do."""
    canvas.grid(list(lefts), list(tops))


def as_bars(canvas: Canvas, lefts: Sequence[float], tops: Sequence[float]) -> None:
    """A filled bar per side of each cell, as Word does."""
    for top, bottom in pairwise(tops):
        for left, right in pairwise(lefts):
            for box in ((left, top, right - left, 0.5), (left, bottom, right - left, 0.5)):
                canvas.rect(*box, stroke=0, fill=1)
            for x in (left, right):
                canvas.rect(x, bottom, 0.5, top - bottom, stroke=0, fill=1)


def as_boxes(canvas: Canvas, lefts: Sequence[float], tops: Sequence[float]) -> None:
    """A rectangle around each cell, as browsers do."""
    for top, bottom in pairwise(tops):
        for left, right in pairwise(lefts):
            canvas.rect(left, bottom, right - left, top - bottom)


def table(canvas: Canvas, lines: Lines = as_grid, rows: Sequence[Sequence[str]] = STAFF, pad: float = 4) -> None:
    lines(canvas, LEFTS, [TOP - HEIGHT * row for row in range(len(rows) + 1)])
    for row, cells in enumerate(rows):
        for left, cell in zip(LEFTS, cells, strict=False):
            canvas.drawString(left + pad, TOP - HEIGHT * row - 14, cell)


def test_a_table_that_goes_on_over_the_page_takes_its_names() -> None:
    rows = [("Press", "Ito", "61,000"), ("Shop", "Kim", "48,500"), ("Hall", "Abe", "7")]

    def page(*drawn: Sequence[str], lefts: Sequence[float] = LEFTS) -> Draw:
        def draw(canvas: Canvas) -> None:
            as_grid(canvas, lefts, [TOP - HEIGHT * row for row in range(len(drawn) + 1)])
            for row, cells in enumerate(drawn):
                for left, cell in zip(lefts, cells, strict=False):
                    canvas.drawString(left + 4, TOP - HEIGHT * row - 14, cell)

        return draw

    def read(*pages: Draw) -> list[str]:
        return [section.text for section in parsed(pdf(*pages)).sections]

    head, lines = STAFF[0], [" | ".join(row) for row in rows]
    first = page(head, rows[0])
    assert read(first, page(*rows[1:]), page(*rows))[1:] == ["\n".join([ROWS[0], *each]) for each in (lines[1:], lines)]
    assert read(first, page(head, *rows[1:]))[1] == "\n".join([ROWS[0], *lines[1:]])  # printed again
    others = page(("Room", "Owner", "Seats"), *rows[1:])
    assert read(first, others)[1] == "\n".join(["Room | Owner | Seats", *lines[1:]])
    elsewhere = page(*rows[1:], lefts=(60, 140, 260, 360))
    assert read(first, elsewhere)[1] == "\n".join(lines[1:])


def around(canvas: Canvas, lines: Lines = as_grid) -> None:
    """Draw sentences after the table that stand above and below it."""
    table(canvas, lines)
    canvas.drawString(60, 640, "The budget of the year is as follows.")
    canvas.drawString(60, 500, "It was agreed upon in March.")


@pytest.mark.parametrize("lines", [as_grid, as_bars, as_boxes])
@pytest.mark.parametrize("turn", [0, 90])
def test_rows_stand_in_their_place_however_the_lines_are_drawn(lines: Lines, turn: int) -> None:
    [section] = parsed(pdf(lambda canvas: around(canvas, lines), turn=turn)).sections
    above, *rows, below = [line for line in section.text.split("\n") if line]
    assert (above, rows, below) == ("The budget of the year is as follows.", ROWS, "It was agreed upon in March.")


@pytest.mark.parametrize(
    ("font", "rows"),
    [
        ("HeiseiMin-W3", (("部署", "責任者", "予算"), ("広報課", "伊藤", "610万円"), ("売店", "金子", "485万円"))),
        (
            "HYSMyeongJo-Medium",
            (("부서", "책임자", "예산"), ("홍보 팀", "이토", "610만 원"), ("매점", "김민", "485만 원")),
        ),
        pytest.param(
            "HeiseiMin-W3",
            (("部署", "責任者", "予算"), ("広報課", "伊藤", "610万円"), ("売店", "金", "485万円")),
            marks=pytest.mark.skipif(not SANS.exists(), reason="PDFium leaves a letter alone out without its font"),
        ),
    ],
)
def test_japanese_and_korean_rows(font: str, rows: Sequence[Sequence[str]]) -> None:
    def draw(canvas: Canvas) -> None:
        pdfmetrics.registerFont(UnicodeCIDFont(font))
        canvas.setFont(font, 10)
        table(canvas, rows=rows, pad=0.5)

    [section] = parsed(pdf(draw)).sections
    assert section.text.split("\n") == [" | ".join(row) for row in rows]


def test_cells_of_several_lines_and_merged_cells() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.lines([(60, y, 360, y) for y in (600, 580, 540, 500)] + [(160, 560, 360, 560), (260, 520, 360, 520)])
        canvas.lines([(x, 600, x, 500) for x in (60, 360)] + [(160, 580, 160, 500), (260, 580, 260, 500)])
        for x, y, text in (
            *((64, 586, "Budget of the teams"), (64, 555, "Press and"), (64, 545, "public rela-"), (64, 541, "")),
            *((164, 566, "2025"), (264, 566, "50 EUR"), (164, 546, "2026"), (264, 546, "61 EUR")),
            *((64, 515, "Shop"), (164, 515, "2026"), (264, 526, "48 EUR"), (264, 506, "49 EUR")),
        ):
            canvas.drawString(x, y, text)

    [section] = parsed(pdf(draw)).sections
    assert section.text.split("\n") == [
        "Budget of the teams",
        *("Press and public rela- | 2025 | 50 EUR", "Press and public rela- | 2026 | 61 EUR"),
        *("Shop | 2026 | 48 EUR", "Shop | 2026 | 49 EUR"),
    ]


LONG = (("Team", "Leads", "Budget"), *((f"Team {n}", f"Person {n}", f"{n},500 EUR") for n in range(10, 36)))


def long_table(canvas: Canvas) -> None:
    canvas.drawString(60, 640, "Table 4: Teams and their budgets")
    table(canvas, rows=LONG[:20])


def longer(canvas: Canvas) -> None:
    table(canvas, rows=(LONG[0], *((f"{name} of the printing house", *rest) for name, *rest in LONG[1:27])))
    canvas.drawString(60, 640, "Table 4: Teams and their budgets")


def test_a_long_table_is_records_under_its_caption_with_its_columns_in_each_passage() -> None:
    content = pdf(longer)
    document = parsed(content)
    chunks = chunk_sections(document, chunk_chars=400, overlap_chars=0)
    of_table = [chunk for chunk in chunks if chunk.heading_path]
    assert {chunk.heading_path for chunk in of_table} == {"Table 4: Teams and their budgets"}
    assert all(chunk.text.startswith("Team | Leads | Budget\n") and chunk.page == 1 for chunk in of_table)
    assert len(of_table) > 2
    [counted] = tables_of([TablePassage(chunk.text, chunk.heading_path) for chunk in of_table], "pdf")
    assert (counted.header, len(counted.rows)) == (LONG[0], 26)
    shown = draw_page(content, 1)
    for chunk in of_table:
        found = find_passage(chunk.text, shown["text"])
        marked = "".join(shown["text"][each.start : each.stop] for each in found)
        last = chunk.text.rpartition("\n")[2].replace(" | ", "\n")
        assert last in marked, "the columns stand above the first row alone"


def test_a_table_in_a_column_stays_in_it() -> None:
    def draw(canvas: Canvas) -> None:
        as_grid(canvas, (60, 160, 260), (640, 620, 600))
        for n in range(20):
            y = 780 - 14 * n
            canvas.drawString(310, y, f"Right line {n:02} goes on to the end of the column")
            if y > 650 or y < 590:
                canvas.drawString(60, y, f"Left line {n:02} goes on to the end of it as well")
        for x, y, text in ((64, 626, "Year"), (164, 626, "Budget"), (64, 606, "2026"), (164, 606, "61,000 EUR")):
            canvas.drawString(x, y, text)

    [section] = parsed(pdf(draw)).sections
    order = [
        section.text.index(words) for words in ("Left line 00", "Year | Budget\n2026", "Left line 19", "Right line")
    ]
    assert order == sorted(order)


def bar_chart(canvas: Canvas) -> None:
    for n in range(6):
        canvas.rect(80 + 60 * n, 500, 40, 30 + 20 * n, fill=0)
        canvas.drawString(85 + 60 * n, 485, f"Q{n}")
    canvas.lines([(70, 500 + 20 * n, 500, 500 + 20 * n) for n in range(8)] + [(70, 500, 70, 640)])


def framed(canvas: Canvas) -> None:
    as_grid(canvas, (50, 300, 550), (700, 400, 100))
    for n in range(40):
        canvas.drawString(60, 680 - 14 * n, f"Sentence {n} is within one of the frames.")


def underlined(canvas: Canvas) -> None:
    for n in range(10):
        canvas.line(60, 698 - 20 * n, 400, 698 - 20 * n)
        canvas.drawString(60, 700 - 20 * n, f"Line {n} is ruled, and that is all.")


def hatched(canvas: Canvas) -> None:
    canvas.lines([(60, 100 + n / 10, 500, 100 + n / 10) for n in range(4_000)])
    canvas.lines([(60 + n / 10, 100, 60 + n / 10, 500) for n in range(4_000)])
    canvas.drawString(60, 700, "A hatched drawing")


@pytest.mark.parametrize("draw", [bar_chart, framed, underlined, hatched])
def test_drawings_and_frames_are_no_tables(draw: Draw) -> None:
    assert all(" | " not in section.text for section in parsed(pdf(draw)).sections)


def nested_frames(canvas: Canvas) -> None:
    for n in range(25):
        left, right, bottom, top = 10 + 8 * n, 585 - 8 * n, 10 + 8 * n, 832 - 8 * n
        canvas.grid([left, right - 4, right], [top, top - 4, bottom])
    canvas.setFont("Helvetica", 4)
    for n in range(60):
        canvas.drawString(
            215, 620 - 6 * n, f"Sentence {n} crosses the right side of all of the frames, " + "more, " * 25
        )


def test_of_nested_frames_few_characters_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    loose_boxes = ruled.loose_boxes

    def counted(found: object, start: int, count: int) -> object:
        counts.append(count)
        return loose_boxes(found, start, count)

    monkeypatch.setattr(ruled, "loose_boxes", counted)
    [section] = parsed(pdf(nested_frames)).sections
    assert section.text.count("Sentence") == 60
    assert 20 * 1_500 < sum(counts) < 20 * 4_000 < 20 * len(section.text)


@pytest.mark.parametrize("top", [0, 1])
@pytest.mark.parametrize(("lines", "is_repeated"), [(2, True), (14, False)])
def test_a_long_merged_cell_of_many_rows_is_told_once(lines: int, is_repeated: bool, top: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.lines([(x, 700, x, 250) for x in (60, 460, 560)] + [(60, y, 560, y) for y in (700, 250)])
        canvas.lines([(460 - 400 * (n == top), 700 - 15 * n, 560, 700 - 15 * n) for n in range(1, 30)])
        for n in range(30):
            canvas.drawString(464, 690 - 15 * n, f"Row {n:02}")
        for n in range(lines):
            canvas.drawString(
                64, 690 - 15 * (n + top), f"Terms {n:02} of the contract that holds for all of these rows."
            )
        canvas.drawString(64, 690, "Condition" * top)

    sections = parsed(pdf(draw)).sections
    text = "\n".join(section.text for section in sections)
    assert all(f"Row {n:02}" in text + sections[0].header for n in range(30))
    assert text.count("Terms 00") == (text.count("Terms 01") if is_repeated else 1)
    assert (text.count("Terms 00") > 20) == is_repeated


def shaded(canvas: Canvas, boxes: Sequence[tuple[float, float, float, float]]) -> None:
    canvas.setFillColorRGB(0.9, 0.95, 1)
    for box in boxes:
        canvas.rect(*box, stroke=0, fill=1)
    canvas.setFillColorRGB(0, 0, 0)


def test_the_background_of_lines_and_words_is_no_table() -> None:
    lines = ("The kiln is lit at six, and the door", "stays shut until it is warm. Nobody", "may open it before.")

    def draw(canvas: Canvas) -> None:
        widths = [canvas.stringWidth(line, "Helvetica", 10) for line in lines]
        tops = [700 - 14 * at for at in range(3)]
        shaded(canvas, [(60, top - 3, width, 14) for top, width in zip(tops, widths, strict=True)])
        shaded(canvas, [(60, 697, 40, 14), (100, 697, 55, 14), (60, 683, 71, 14), (131, 683, 30, 14)])
        for top, line in zip(tops, lines, strict=True):
            canvas.drawString(60, top, line)

    [section] = parsed(pdf(draw)).sections
    assert section.text == " ".join(lines)


@pytest.mark.parametrize("gap", [0, 1.5])
@pytest.mark.parametrize("turn", [0, 90])
def test_filled_boxes_side_by_side_in_several_rows_are_cells(gap: float, turn: int) -> None:
    def fill(canvas: Canvas, lefts: Sequence[float], tops: Sequence[float]) -> None:
        shaded(
            canvas,
            [
                (left, bottom, right - left - gap, top - bottom - gap)
                for top, bottom in pairwise(tops)
                for left, right in pairwise(lefts)
            ],
        )

    [section] = parsed(pdf(lambda canvas: table(canvas, fill), turn=turn)).sections
    assert [line for line in section.text.split("\n") if line] == ROWS


def test_a_merged_cell_is_there_once_but_over_the_columns_of_a_header() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for at in range(7):
            canvas.line(60, 700 - 20 * at, 460, 700 - 20 * at)
        for x in (60, 460):
            canvas.line(x, 580, x, 700)
        canvas.line(160, 580, 160, 700)
        for x in range(180, 460, 20):  # narrow columns, as on squared paper, below the last row alone
            canvas.line(x, 580, x, 600)
        for at, (label, value) in enumerate((("Name", "Ito"), ("Team", "Press"), ("Phone", "4471"), ("Use", "Carts"))):
            canvas.drawString(64, 686 - 20 * at, label)
            canvas.drawString(164, 686 - 20 * at, value)

    text = "\n".join(section.text for section in parsed(pdf(draw)).sections)
    for value in ("Press", "4471", "Carts"):
        assert text.count(value) == 1


def test_a_turned_line_that_ends_in_hangul() -> None:
    def draw(canvas: Canvas) -> None:
        pdfmetrics.registerFont(UnicodeCIDFont("HYSMyeongJo-Medium"))
        canvas.setFont("HYSMyeongJo-Medium", 12)
        canvas.drawString(80, 700, "열쇠는 회색 상자에 둔다.")
        canvas.saveState()
        canvas.translate(40, 500)
        canvas.rotate(90)
        canvas.drawString(0, 0, "보관용 사본")
        canvas.restoreState()

    [section] = parsed(pdf(draw)).sections
    assert "열쇠는 회색 상자에 둔다." in section.text
    assert "보관용 사본" in section.text


@pytest.mark.parametrize("more", [b"<html>" + b"x" * 5_000 + b"</html>", b"\0" * 3_000])
def test_what_follows_the_end_of_a_file_is_left_out(more: bytes) -> None:
    [section] = parsed(pdf(around) + more).sections
    assert section.text.startswith("The budget of the year is as follows.")


def test_a_file_without_its_last_line_is_read() -> None:
    content = pdf(around)
    assert parsed(content[: content.rindex(b"%%EOF")]).sections == parsed(content).sections


def open_sides(canvas: Canvas) -> None:
    for y in (700, 680, 660, 640):
        canvas.lines([(60, y, 400, y)])
    canvas.lines([(160, 700, 160, 640), (280, 700, 280, 640)])
    canvas.setFont("Helvetica", 10)
    for number, cells in enumerate((("Pump", "Limit", "Sign"), ("Aqua", "3.5", "P-1"), ("Brine", "4.0", "P-2"))):
        for left, cell in zip((65, 165, 285), cells, strict=True):
            canvas.drawString(left, 686 - 20 * number, cell)


def test_a_table_without_lines_at_its_sides_has_its_outer_columns() -> None:
    [section] = parsed(pdf(open_sides)).sections
    assert section.text.split("\n") == ["Pump | Limit | Sign", "Aqua | 3.5 | P-1", "Brine | 4.0 | P-2"]
