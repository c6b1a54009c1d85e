"""Plain text: headings of AsciiDoc, Org, reStructuredText and LaTeX, messages of chats, entries of logs."""

from __future__ import annotations

import pytest

from braid.core.ingest.readers import ParsedDocument, read_document


def read(name: str, text: str) -> ParsedDocument:
    return read_document(name, text.encode(), max_bytes=10**6)


MARKED = {
    "adoc": "= Pumps\n\n== Safety\nNever run dry.\n\n=== Oil\nUse 46.\n----\n== code\n----\n"
    "////\nsecret\n\nmore\n////\n== Faults\n// secret\nE7 is no water. // kept\n",
    "org": "#+TITLE: Pumps\n* Safety\nNever run dry.\n** TODO [#A] Oil   :shop:\nUse 46.\n#+BEGIN_SRC\n* code\n"
    "#+END_SRC\n# secret\n* Faults\nE7 is no water. // kept\n",
    "rst": "=====\nPumps\n=====\n\nSafety\n------\nNever run dry.\n\nOil\n~~~\nUse 46.\n\n* code\n\n"
    "====  ====\na     b\n====  ====\n\n"
    ".. secret\n\nFaults\n------\nE7 is no water. // kept\n",
    "tex": "\\title{Pumps}\n\\section{Safety}\\label{s}\nNever run dry. % secret\n\\subsection*{Oil}\n"
    "Use 46. 5\\% more\n* code\n"
    "\\section[f]{Faults}\nE7 is no water. // kept\n",
}


@pytest.mark.parametrize("suffix", MARKED)
def test_headings_are_those_of_the_passages_below_them_and_comments_are_left_out(suffix: str) -> None:
    parsed = read(f"a.{suffix}", MARKED[suffix])
    under = {each.heading_path.rpartition("Pumps > ")[2]: each for each in parsed.sections}
    assert parsed.title == "Pumps"
    assert "Never run dry." in under["Safety"].text
    assert under["Safety > Oil"].text.strip().startswith("Use 46.")
    assert "code" in under["Safety > Oil"].text
    assert under["Faults"].text.strip() == "E7 is no water. // kept"
    assert "secret" not in "".join(each.text for each in parsed.sections)
    lines = MARKED[suffix].split("\n")
    for each in under.values():
        assert each.line is not None
        for line, source in zip(each.text.split("\n"), lines[each.line - 1 :], strict=False):
            assert line in source


CHATS = [
    (
        "[회장] [오전 9:12] 산행은 4월 5일",
        "[총무] [오전 9:15] 회비는 3만원이고",
        "2025년 3월 8일",
        "--------------- {} 토요일 ---------------",
    ),
    ("18:02\t佐竹\t4時半に港集合", '18:05\tみさき\t"了解です！', "2025/03/29", "{}(土)"),
    ("12/04/2025, 08:15 - Rosa: Water is on", "12/04/2025, 08:20 - +49 151: Who has the key?", "", ""),
    ("[12/04/2025, 08:15:11] Rosa: Water is on", "[12/04/2025, 08:20:02] Deniz: Who has the key?", "", ""),
    ("2025년 3월 8일 오전 9:12, 회장 : 산행은 4월 5일", "2025년 3월 8일 오전 9:15, 총무 : 회비는", "", ""),
    ("[3/5 9:02 AM] Ola Nordmann", "[3/5 9:05 AM] Priya Rao", "", ""),
    ("09:01:23\t From  Alice  to  Everyone:", "09:02:10\t From  Bob  to  Everyone:", "", ""),
    ("윤서연 00:00", "임도현 00:14", "", ""),
    ("2025-03-04 02:11:09,412 INFO Import started", "2025-03-04 02:11:12,001 ERROR duplicate key", "", ""),
    ("Mar  4 02:00:01 db1 postgres[2]: slow", "Mar  4 02:00:04 db1 postgres[2]: slower", "", ""),
]


@pytest.mark.parametrize(("first", "second", "day", "line"), CHATS)
def test_a_message_is_a_record_with_who_and_when(first: str, second: str, day: str, line: str) -> None:
    parsed = read("chat.txt", "\n".join(["Harbour club", line.format(day), first, second, "and a second line", first]))
    found = [(each.heading_path, each.text, each.kind, each.line) for each in parsed.sections[1:]]
    assert found == [
        (day, first, "record", 3),
        (day, f"{second}\nand a second line", "record", 4),
        (day, first, "record", 6),
    ]


def test_a_name_above_what_is_said_is_in_one_line_with_it() -> None:
    text = "[3/5 9:02 AM] Ola\nThe lift is out.\n\n[3/5 9:05 AM] Priya\nUse dock 4.\nIt opens at 7.\n\n"
    text += "[3/6 8:00 AM] Ola\nDone.\n"
    found = [(each.text, each.line, each.line_end) for each in read("teams.txt", text).sections]
    assert found[:2] == [
        ("[3/5 9:02 AM] Ola: The lift is out.", 1, 3),
        ("[3/5 9:05 AM] Priya: Use dock 4.\nIt opens at 7.", 4, 7),
    ]
    zoom = "09:01:23\t From Ann to Everyone:\n\tThe crane costs 84,000\n" * 3
    assert read("zoom.txt", zoom).sections[0].text == "09:01:23\t From Ann to Everyone: The crane costs 84,000"


def test_a_letter_with_times_in_it_is_one_text() -> None:
    letter = "Dear Ann,\n" + "the ferry leaves twice a day.\n" * 30 + "10:00 Leith\n12:00 Ayr\n14:00 Oban\n"
    (section,) = read("letter.txt", letter).sections
    assert (section.text, section.kind, section.line) == (letter, "prose", 1)
