"""Tables put together again from passages."""

from __future__ import annotations

from braid.core.chat.tables.rebuild import TablePassage, tables_of
from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.readers import read_document


def rows_of(name: str, content: str, chars: int = 300) -> list[tuple[str, int]]:
    parsed = read_document(name, content.encode(), max_bytes=10**7)
    chunks = chunk_sections(parsed, chunk_chars=chars, overlap_chars=chars // 3)
    assert len(chunks) > 3
    tables = tables_of([TablePassage(c.text, c.heading_path, c.line, c.line_end) for c in chunks], parsed.file_type)
    return [(row[0], int(row[1])) for table in tables for row in table.rows]


WANTED = [(f"item {n}", n) for n in range(120)]


def test_a_table_that_was_cut_into_passages_has_each_row_once() -> None:
    lines = "\n".join(f"{name},{number},some words" for name, number in WANTED)
    assert rows_of("a.csv", f"Item,Number,Remark\n{lines}\n") == WANTED


def test_a_table_of_a_text_that_was_cut_with_overlap_has_each_row_once() -> None:
    lines = "\n".join(f"| {name} | {number} | some words |" for name, number in WANTED)
    assert rows_of("a.md", f"# Items\n\n| Item | Number | Remark |\n|---|---|---|\n{lines}\n\nAn end.\n") == WANTED


def test_columns_with_long_names_are_read_from_their_labelled_lines() -> None:
    names = ["Item", "Number", *(f"A very long name of a column, the {n}th of this table" for n in range(8))]
    lines = "\n".join(f"{name},{number}" + ",x" * 8 for name, number in WANTED)
    header = ",".join(f'"{name}"' for name in names)
    assert rows_of("a.csv", f"{header}\n{lines}\n", 1200) == WANTED


def test_a_row_with_one_cell_does_not_part_a_sheet() -> None:
    [table] = tables_of([TablePassage("Name | Pay\nAnna | 1\nNorth\nBo | 2", "Staff")], "xlsx")
    assert table.rows == [("Anna", "1"), ("North",), ("Bo", "2")]


def test_an_empty_first_cell_stays_a_cell() -> None:
    [table] = tables_of([TablePassage("Team | Name | Pay\nA | Anna | 1\n | Bo | 2", "Staff")], "xlsx")
    assert table.rows == [("A", "Anna", "1"), ("", "Bo", "2")]


def test_a_row_that_may_be_cut_in_two_makes_a_table_one_that_is_not_counted() -> None:
    long = "word " * 120
    assert (
        tables_of(
            [
                TablePassage(f"Name | Text\nAnna | {long}"),
                TablePassage(f"Name | Text\n{long}"),
                TablePassage("Name | Text\nB | x"),
            ],
            "csv",
        )
        == []
    )
