"""Headings of texts and PDF pages, which have no mark but their section's number."""

from __future__ import annotations

import pytest

from braid.core.ingest.headings import with_headings
from braid.core.ingest.readers import ParsedDocument, Section
from tests.core.ingest.test_furniture import parsed

BODY = "It is done by two trained persons, and never while the pump runs."
MANUAL = f"""Manual

1 Safety ......... 1
1.1 In case of fire ......... 1
2 Maintenance ......... 2
2.1 How do I change the seal, and
    who may do that? ......... 2

Chapter 1. Safety

1.1. In case of fire

    Leave the hall. {BODY}

Chapter 2. Maintenance

2.1. How do I change the seal,
and who may do that?

    1. Close the valve.

    2. Open the lid.

    3.5 litres of oil come out of it. Keep them.

2.2. Oil

    {BODY}
"""


def paths(text: str) -> list[tuple[str, str]]:
    return [(each.heading_path, each.text.split("\n")[0]) for each in parsed("manual.txt", text.encode()) if each.text]


def test_paragraphs_with_counted_numbers_are_headings() -> None:
    assert paths(MANUAL)[1:] == [
        ("Safety > In case of fire", "Chapter 1. Safety"),
        ("Maintenance > How do I change the seal, and who may do that?", "Chapter 2. Maintenance"),
        ("Maintenance > Oil", "2.2. Oil"),
    ]


def test_no_line_of_the_text_is_lost_and_lines_are_those_of_the_file() -> None:
    lines = MANUAL.split("\n")
    chunks = parsed("manual.txt", MANUAL.encode())
    assert "".join("".join(each.text for each in chunks).split()) == "".join(MANUAL.split())
    oil = chunks[-1]
    assert oil.line is not None
    assert lines[oil.line - 1] == "2.2. Oil"


@pytest.mark.parametrize(
    ("chapter", "first", "second"),
    [
        ("第1章 安全", "1.1 火災のとき", "1.2 けがをしたとき"),
        ("제1장 안전", "1.1. 불이 났을 때", "1.2. 다쳤을 때"),
        ("1장. 안전", "1.1. 불이 났을 때", "1.2. 다쳤을 때"),
        ("Chapter\xa01.\xa0Safety", "1.1.\xa0Fire", "1.2.\xa0Injuries"),
    ],
)
def test_in_three_languages(chapter: str, first: str, second: str) -> None:
    found = paths(f"{chapter}\n\n{first}\n\n{BODY}\n\n{second}\n\n{BODY}")
    above = chapter.replace("\xa0", " ").split(" ", 2 if chapter.startswith("Chapter") else 1)[-1]
    titles = [each.replace("\xa0", " ").split(" ", 1)[1] for each in (first, second)]
    assert [path for path, _ in found] == [f"{above} > {title}" for title in titles]


@pytest.mark.parametrize(
    "text",
    [
        "\n\n".join(f"{n}. Turn the screw {n} times" for n in range(1, 9)),
        f"2.5 litres of oil\n\n{BODY}\n\n1.5 litres of water\n\n{BODY}\n\n1.1 litres of milk",
        "\n\n".join(f"1.{n} The lid is opened and closed again by two persons." for n in range(1, 9)),
    ],
)
def test_items_amounts_and_numbered_sentences_are_none(text: str) -> None:
    assert {path for path, _ in paths(text)} == {""}


def pages(*texts: str) -> ParsedDocument:
    return ParsedDocument("", "pdf", tuple(Section(text, page=number) for number, text in enumerate(texts, start=1)))


def test_a_section_goes_on_on_the_next_page_whose_running_head_is_left_out() -> None:
    found = with_headings(
        pages(
            f"Chapter 1\n\nHandling the pump\n\n1.1 Changing the shaft seal\n\n{BODY}",
            f"CHAPTER 1. HANDLING THE PUMP\n\n{BODY}",
            f"1.1 Changing the shaft seal\n\n{BODY}\n\n1.2 Changing the oil\n\n{BODY}",
        )
    )
    seal, oil = (f"Handling the pump > Changing the {part}" for part in ("shaft seal", "oil"))
    assert [(each.page, each.heading_path, each.text) for each in found.sections] == [
        (1, "Handling the pump", "Chapter 1\n\nHandling the pump\n"),
        (1, seal, f"1.1 Changing the shaft seal\n\n{BODY}"),
        (2, seal, f"\n{BODY}"),
        (3, seal, f"\n{BODY}\n"),
        (3, oil, f"1.2 Changing the oil\n\n{BODY}"),
    ]


def test_a_document_with_headings_of_its_own_is_left_as_it_is() -> None:
    sections = tuple(Section(f"1.{n} Oil\n\n{BODY}", "Manual") for n in range(1, 9))
    assert with_headings(ParsedDocument("", "md", sections)).sections == sections


@pytest.mark.parametrize("between", ["", "\n"])
def test_a_heading_of_the_contents_is_set_apart_from_the_text_that_goes_on_in_its_paragraph(between: str) -> None:
    contents = "1 点検 ..... 1\n1.1 週ごとの点検 ..... 1\n1.2 月ごとの点検、あるいは清掃 ..... 2\n1.3 記録 ..... 2"
    sections = (
        Section(contents, page=1, chunk_kind="contents"),
        Section(
            f"1.1 週ごとの点検{between}油の量を見る。\n\n1.2 月ごとの点検、あるいは清掃{between}作業台では布を使う。",
            page=2,
        ),
        Section("1.3 記録\n\n帳簿は窓口にある。1.3 記録は残す。", page=3),
    )
    found = with_headings(ParsedDocument("", "pdf", sections)).sections
    assert [(each.heading_path, each.text) for each in found if each.text.strip()][1:] == [
        ("点検 > 週ごとの点検", "1.1 週ごとの点検\n\n油の量を見る。\n"),
        ("点検 > 月ごとの点検、あるいは清掃", "1.2 月ごとの点検、あるいは清掃\n\n作業台では布を使う。"),
        ("点検 > 記録", "1.3 記録\n\n帳簿は窓口にある。1.3 記録は残す。"),
    ]
