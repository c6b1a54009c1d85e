"""Tables of contents are told from lists of values, menus with prices, and steps."""

from __future__ import annotations

import pytest

from braid.core.text.contents import contents_lines, has_leader

ENGLISH = """Contents
1 Safety ................................ 3
1.1 Fire . . . . . . . . . . . . . . . . 4
1.2 A long title that goes on in the
next line .............................. 6
2 Use .................................. 9"""
STATEMENT = (
    "01 Apr Opening 1,204.11\n02 Apr Northern Water 38.20 1,165.91\n04 Apr Salary 3,475.91\n09 Apr Bakery 3,469.92"
)
STOCK = "1 | Bolt | Hall 2 | 3\n2 | Nut | Hall 2 | 5\n3 | Rod | Hall 4 | 9"
JAPANESE = "目次\n\n第1章 はじめに 1\n1.1 目的・・・・・・・・2\n1.2 用語……………3\n\n第 2 章 使い方\t9"
KOREAN = "차례\n제1장 안전 1\n1.1 화재 ········ 2\n1.2 대피 ········ 4\n제2장 사용 7"
ROMAN = "Preface ........ v\nList of figures ........ ix\n1 Use ........ 1"
NUMBERED = "\n".join(
    f"- {n}" for n in ("1. Scope", "1.1. Version", "1.2. What is it?", "2. Layout", "2.1. Files", "A. More")
)


@pytest.mark.parametrize(
    "text", [ENGLISH, JAPANESE, KOREAN, ROMAN, NUMBERED], ids=["en", "ja", "ko", "roman", "numbers"]
)
def test_a_table_of_contents_is_found_whole(text: str) -> None:
    lines = text.split("\n")
    before, after = ["Read this book from its beginning.", ""], ["", "The pump stands in hall 4."]
    assert contents_lines(lines) == [range(len(lines))]
    assert contents_lines([*before, *lines, *after]) == [range(len(before), len(before) + len(lines))]


@pytest.mark.parametrize(
    "text",
    [
        "Tea ........ 3\nCoffee ........ 4\nWater ........ 2",
        "1. Open the valve.\n2. Wait.\n3. Close it.\n4. Look at the gauge.\n5. Go home.",
        "1 Wash\n2 Dry\n3 Fold\n4 Iron\n5 Store\n6 Wear",
        "1.1 Motor 5 kW\n1.2 Pump 3 bar\n1.3 Seal 4 mm\n2 Box 7 mm\n2.1 Lid 9 mm",
        "Wait ...\nAnd wait ...\nIt may take long ...",
        STATEMENT,
        STOCK,
        "It was built in 1911\nIt was sold in 1933\nIt was closed in 1974",
        "",
    ],
    ids=["prices", "steps", "short steps", "values", "pauses", "statement", "stock", "years", "nothing"],
)
def test_other_lines_are_no_table_of_contents(text: str) -> None:
    assert contents_lines(text.split("\n")) == []


def test_dots_lead_to_a_page() -> None:
    lines = ("Fire ..... 4", "Fire . . . . . 4", "Fire ......", "火災……4", "Fire ... 4", "Fire ...", "See 4", "")
    assert [line for line in lines if has_leader(line)] == [
        "Fire ..... 4",
        "Fire . . . . . 4",
        "Fire ......",
        "火災……4",
        "Fire ... 4",
    ]
