"""Numbers and dates as they are written in tables of several countries."""

from __future__ import annotations

import pytest

from braid.core.chat.tables.amounts import amount, style_of, value_of
from braid.core.chat.tables.columns import typed
from braid.core.chat.tables.rebuild import TablePassage, tables_of
from braid.core.text.dates import date_of


@pytest.mark.parametrize(
    ("cells", "values", "total"),
    [
        (("1,234.5", "2,000"), (1234.5, 2000), "3,234.5"),
        (("1.234,5 kWh", "3,0 kWh"), (1234.5, 3), "1.237,5 kWh"),
        (("1.234 €", "2.500 €"), (1234, 2500), "3.734 €"),
        (("¥12,000", "￥３，５００"), (12000, 3500), "¥15,500"),
        (("12,000원", "3만 5천원"), (12000, 35000), "47,000원"),
        (("1億2千万円", "500万円"), (120_000_000, 5_000_000), "125,000,000円"),
        (("61 %", "▲3.5 %"), (61, -3.5), "57.5 %"),
        (("(1,200)", "200"), (-1200, 200), "-1,000"),
        (("EUR 500", "EUR 20"), (500, 20), "EUR 520"),
        (("1 234 567", "3"), (1234567, 3), "1 234 570"),
    ],
)
def test_numbers_are_read_and_written_as_their_column_writes_them(
    cells: tuple[str, ...], values: tuple[float, ...], total: str
) -> None:
    amounts = [found for cell in cells if (found := amount(cell))]
    style = style_of(amounts)
    assert style is not None
    assert tuple(value_of(each, style.decimal) for each in amounts) == values
    assert style.write(sum(values)) == total


@pytest.mark.parametrize("cell", ["v2", "001", "A-17", "10-20", "", "3 of 4", "12:30", "090-1234-5678", "令和6年"])
def test_names_numbers_of_phones_and_ranges_are_no_numbers(cell: str) -> None:
    assert amount(cell) is None


@pytest.mark.parametrize("cells", [("12 kg", "300 g"), ("¥100", "$3"), ("1,5", "2.5")])
def test_a_column_of_several_units_or_marks_is_not_added(cells: tuple[str, ...]) -> None:
    assert style_of([found for cell in cells if (found := amount(cell))]) is None


@pytest.mark.parametrize(
    ("cell", "iso"),
    [
        ("2026-11-22", "2026-11-22"),
        ("2026/1/2", "2026-01-02"),
        ("2026. 11. 22.", "2026-11-22"),
        ("令和6年", "2024"),
        ("令和元年5月1日", "2019-05-01"),
        ("2026년 11월 22일", "2026-11-22"),
        ("22 Nov 2026", "2026-11-22"),
        ("November 22, 2026", "2026-11-22"),
        ("2026-11-22 10:15:00", "2026-11-22"),
        ("2026-13-01", None),
        ("3/4/2026", None),
        ("Version 2026-11-22", None),
    ],
)
def test_dates_become_iso_texts(cell: str, iso: str | None) -> None:
    assert date_of(cell) == iso


def test_the_first_number_of_a_date_is_the_day_where_another_cell_tells() -> None:
    [raw] = tables_of([TablePassage("Name | Day\nA | 03/04/2026\nB | 25/04/2026")], "csv")
    table = typed(raw, "t")
    assert table is not None
    assert [row[1] for row in table.rows] == ["2026-04-03", "2026-04-25"]


def test_rows_that_add_up_others_are_left_out_and_empty_cells_are_no_zeros() -> None:
    [raw] = tables_of([TablePassage("Unit | Q1\nSales | 10\nIT | n/a\nTotal | 10")], "xlsx")
    table = typed(raw, "t")
    assert table is not None
    assert table.rows == (("Sales", 10), ("IT", None))
    assert table.totals == ("Total",)
