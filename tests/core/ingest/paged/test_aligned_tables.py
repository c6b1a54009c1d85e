"""Tables of PDF pages that have no lines: rows whose parts are below each other."""

from __future__ import annotations

import io
from collections.abc import Sequence

from reportlab.pdfbase.pdfmetrics import stringWidth  # type: ignore[import-untyped]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from braid.core.ingest.readers import read_document

Drawn = tuple[float, float, str]
LEFTS, RIGHTS = (60, 110), (330, 420, 520)
NAMES = ("Date", "Description", "Paid out", "Paid in", "Balance")


def pages(*drawn: Sequence[Drawn]) -> list[str]:
    """The text of each page of these lines, with the places where they begin."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842))
    for lines in drawn:
        canvas.setFont("Helvetica", 10)
        for left, top, text in lines:
            canvas.drawString(left, top, text)
        canvas.showPage()
    canvas.save()
    return [section.text for section in read_document("a.pdf", stream.getvalue(), max_bytes=10**7).sections]


def row(top: float, *cells: str) -> list[Drawn]:
    """A row of a statement: two columns from the left, and amounts that end in one place each."""
    places = [
        *LEFTS,
        *(right - stringWidth(cell, "Helvetica", 10) for right, cell in zip(RIGHTS, cells[2:], strict=False)),
    ]
    return [(left, top, cell) for left, cell in zip(places, cells, strict=False) if cell]


def test_a_cell_without_text_keeps_the_others_in_their_columns() -> None:
    drawn = [
        (60.0, 760.0, "Account statement"),
        *row(700, *NAMES),
        *row(682, "02 Apr", "Northern Water", "38.20", "", "1,165.91"),
        *row(664, "04 Apr", "Salary", "", "2,310.00", "3,475.91"),
        (60.0, 620.0, "Tell us within 60 days of any entry that you do not know, or that you think is wrong."),
    ]
    (text,) = pages(drawn)
    assert (
        "\n".join(
            [
                " | ".join(NAMES),
                "02 Apr | Northern Water | 38.20 |  | 1,165.91",
                "04 Apr | Salary |  | 2,310.00 | 3,475.91",
                "",
                "Tell us within 60 days",
            ]
        )
        in text
    )


def test_the_lines_of_a_cell_are_one_wherever_the_others_of_its_row_are() -> None:
    above = [*row(682, "09 Apr", "Card payment,", "6.40", "", "3,469.51"), (110.0, 670.0, "Harbour Bakery")]
    middle = [
        (110.0, 640.0, "Standing order,"),
        *row(634, "11 Apr", "", "780.00", "", "2,689.51"),
        (110.0, 628.0, "rent"),
    ]
    drawn = [*row(700, *NAMES), *above, *middle, *row(600, "12 Apr", "Cash", "20.00", "", "2,669.51")]
    assert pages(drawn)[0].split("\n")[1:] == [
        "09 Apr | Card payment, Harbour Bakery | 6.40 |  | 3,469.51",
        "11 Apr | Standing order, rent | 780.00 |  | 2,689.51",
        "12 Apr | Cash | 20.00 |  | 2,669.51",
    ]


def test_a_table_that_goes_on_over_the_page_takes_its_names() -> None:
    first = [
        *row(700, *NAMES),
        *row(682, "02 Apr", "Water", "38.20", "", "9.91"),
        *row(664, "03 Apr", "Gas", "1.00", "", "8.91"),
    ]
    second = [
        *row(760, "04 Apr", "Salary", "", "2,310.00", "3,475.91"),
        *row(742, "05 Apr", "Rent", "780.00", "", "2,695.91"),
    ]
    assert pages(first, second)[1] == "\n".join(
        [" | ".join(NAMES), "04 Apr | Salary |  | 2,310.00 | 3,475.91", "05 Apr | Rent | 780.00 |  | 2,695.91"]
    )


def test_an_invoice_for_one_thing_is_a_table() -> None:
    (text,) = pages([*row(700, *NAMES), *row(682, "02 Apr", "Water", "38.20", "4.00", "9.91")])
    assert text == " | ".join(NAMES) + "\n02 Apr | Water | 38.20 | 4.00 | 9.91"


def test_what_is_no_table() -> None:
    """Addresses beside each other, drawn one after the other; a list; labels; contents; a paragraph with wide gaps."""
    addresses = [(60.0, 760.0 - 14 * at, said) for at, said in enumerate(("Mill Boats", "Quay 4", "Leith"))]
    addresses += [(330.0, 760.0 - 14 * at, said) for at, said in enumerate(("Club Tern", "Pier 9", "Ayr"))]
    numbered = [
        (left, 700.0 - 16 * at, said) for at in range(4) for left, said in ((60, f"{at + 1}."), (90, "Check it."))
    ]
    labels = [(left, 600.0 - 16 * at, said) for at in range(4) for left, said in ((60, "Name:"), (150, "Mira Holt"))]
    contents = [
        (left, 500.0 - 16 * at, said)
        for at, title in enumerate(("Safety", "Oil", "Care"))
        for left, said in ((60, str(at + 1)), (90, title), (500, str(3 + 4 * at)))
    ]
    for drawn in (addresses, numbered, labels, contents):
        assert "|" not in "".join(pages(drawn)), drawn


def test_a_name_that_ends_on_the_other_side_of_its_column_is_above_its_values() -> None:
    rows = [("Bolt", "1"), ("Nut", "12"), ("Rod", "7")]
    drawn: list[Drawn] = [(60, 700, "Part"), (200, 700, "Pieces")]
    for at, (part, pieces) in enumerate(rows, start=1):
        drawn += [(60, 700.0 - 18 * at, part), (300 - stringWidth(pieces, "Helvetica", 10), 700.0 - 18 * at, pieces)]
    assert pages(drawn) == ["Part | Pieces\nBolt | 1\nNut | 12\nRod | 7"]
