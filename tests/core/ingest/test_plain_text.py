"""Plain text: headings of AsciiDoc, Org, reStructuredText and LaTeX, chats, logs, calendars, and address books."""

from __future__ import annotations

import pytest

from braid.core.errors import UnreadableDocumentError
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
    ".. secret\n   a secret line more\n\nFaults\n------\nE7 is no water. // kept\n",
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
        "2025년 3월 8일 토요일",
        "--------------- {} ---------------",
    ),
    ("18:02\t佐竹\t4時半に港集合", '18:05\tみさき\t"了解です！', "2025/03/29(土)", "{}"),
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


TIMED = {
    "minutes": "Minutes\n10:15 The chair opened the meeting and\nthanked everyone who had come.\n"
    "10:20 The budget was put to a\nvote and passed.\n10:45 The next meeting is on the\nfourth of May.",
    "verses": "3:16 For God so loved the world, that he\ngave his only begotten Son\n"
    "3:17 For God sent not his Son into the\nworld to condemn\n3:18 He that believeth on him is not\ncondemned",
    "log": "".join(f"2026-01-01 10:00:0{at} ERROR Foo failed\n  at a.b\n" for at in range(4)),
    "bracketed log": "".join(f"[2026-01-01 10:00:0{at}] ERROR Foo failed\n  at a.b\n" for at in range(4)),
    "agenda": "10:00 Opening\n\nThe chair speaks.\n\n11:00 Lunch\n\nSoup.\n\n12:00 End\n\nGoodbye.",
    "times at the end": "Ferry leaves at 10:00\nfrom Leith\nFerry leaves at 12:00\nfrom Ayr\n"
    "Ferry leaves at 14:00\nfrom Oban",
    "trip": "2026-03-05 Leith visit\n9:00 Ferry from Hull\n10:00 Harbour\n2026-03-06 Busan\n9:00 Museum\n11:00 Home",
    "days": "2026-03-05 Fire drill\n2026-03-05 10:00 bell\n2026-03-05 10:05 out\n2026-03-05 10:09 back\n"
    "2026-03-06 no school\n2026-03-07 (Sat)\n2026-03-07 10:00 end",
}


@pytest.mark.parametrize("name", TIMED)
def test_a_text_whose_lines_begin_with_a_time_says_what_the_file_says(name: str) -> None:
    sections = read("a.txt", TIMED[name]).sections
    lines = TIMED[name].split("\n")
    assert {each.heading_path for each in sections} == {""}
    assert [line for each in sections for line in each.text.split("\n") if line] == [line for line in lines if line]
    assert [each.text.split("\n")[0] for each in sections] == [lines[each.line - 1] for each in sections if each.line]


def test_a_line_that_begins_with_another_date_ends_the_day_above_it() -> None:
    text = "2026-03-05 (Thu)\n9:00 Ferry\n10:00 Harbour\n2026-03-06 Trip to Busan\n9:00 Museum\n2026-03-07 Saturday\n"
    assert [(each.heading_path, each.text) for each in read("a.txt", text).sections] == [
        ("2026-03-05 (Thu)", "9:00 Ferry"),
        ("2026-03-05 (Thu)", "10:00 Harbour"),
        ("", "2026-03-06 Trip to Busan"),
        ("", "9:00 Museum"),
        ("2026-03-07 Saturday", "2026-03-07 Saturday"),
    ]


def test_a_letter_with_times_in_it_is_one_text() -> None:
    letter = "Dear Ann,\n" + "the ferry leaves twice a day.\n" * 30 + "10:00 Leith\n12:00 Ayr\n14:00 Oban\n"
    (section,) = read("letter.txt", letter).sections
    assert (section.text, section.kind, section.line) == (letter, "prose", 1)


def test_an_event_of_a_calendar_is_a_record_as_people_write_it() -> None:
    text = (
        "BEGIN:VCALENDAR\r\nPRODID:x\r\nBEGIN:VEVENT\r\nDTSTART:20250407T000000Z\r\nDTEND;TZID=Asia/Tokyo:20250407T103000\r\n"
        'SUMMARY:ボイラー点検\r\nORGANIZER;CN="Nagai: Kei":mailto:nagai@example.jp\r\n'
        "DESCRIPTION:鍵は守衛室\\, 返却は17時。\\n長い\r\n 行。\r\n"
        "BEGIN:VALARM\r\nDESCRIPTION:Reminder\r\nEND:VALARM\r\n"
        "LOCATION:第2棟\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20250501\r\nSUMMARY:停電\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    first, second = read("team.ics", text).sections
    assert first.text.split("\n") == [
        "Start: 2025-04-07 00:00 UTC",
        "End: 2025-04-07 10:30 Asia/Tokyo",
        "Summary: ボイラー点検",
        "Organizer: Nagai: Kei <nagai@example.jp>",
        "Description: 鍵は守衛室, 返却は17時。 長い行。",
        "Location: 第2棟",
    ]
    assert (second.text, second.kind) == ("Start: 2025-05-01\nSummary: 停電", "record")


def test_a_contact_is_a_record() -> None:
    text = (
        "BEGIN:VCARD\nVERSION:3.0\nN:서;민재;;;\nFN:서민재\nitem1.TEL;TYPE=CELL:010-2345-8891\n"
        "ADR;TYPE=WORK:;;테헤란로 12;강남구;서울;;\nPHOTO;ENCODING=b:AAAA\n BBBB\nEND:VCARD\n"
        "BEGIN:VCARD\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=EC=9D=B4=\n=EC=A7=80\nEND:VCARD\n"
    )
    found = [each.text for each in read("people.vcf", text).sections]
    assert found == ["Name: 서민재\nPhone: 010-2345-8891\nAddress: 테헤란로 12, 강남구, 서울", "Name: 이지"]


def test_a_calendar_without_events_has_no_text() -> None:
    with pytest.raises(UnreadableDocumentError, match="no text in it"):
        read("a.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR\n")


COMPONENTS = [
    (
        "BEGIN:VCARD\nVERSION:2.1\nN:Kim;Minji;;;\nFN:\nNOTE;ENCODING=QUOTED-PRINTABLE:=EC=95=88=\n=EB=85=95 and =\n"
        "the gate.\nROLE:Engineer\nNICKNAME:Min\nEND:VCARD\n",
        ["Name: Kim, Minji\nNote: 안녕 and the gate.\nRole: Engineer\nNickname: Min"],
    ),
    (
        "BEGIN:VEVENT\nSUMMARY:Launch\nDTSTART:20260305T090000\nDURATION:PT2H\nCOMMENT:Bring the key\nEND:VEVENT\n"
        "BEGIN:VTIMEZONE\nBEGIN:STANDARD\nDTSTART:19701025T030000\nRRULE:FREQ=YEARLY\nEND:STANDARD\nEND:VTIMEZONE\n",
        ["Summary: Launch\nStart: 2026-03-05 09:00\nDuration: PT2H\nComment: Bring the key"],
    ),
    (
        "BEGIN:VEVENT\nSUMMARY:Launch\nBEGIN:VALARM\nTRIGGER:-PT5M\nLOCATION:Leith\nEND:VEVENT\n"
        "BEGIN:VEVENT\nSUMMARY:Second\nEND:VEVENT\n",
        ["Summary: Launch\nLocation: Leith", "Summary: Second"],
    ),
    (
        "begin:vevent\nsummary:Launch\ndtstart;tzid=Asia/Tokyo:20260305T090000\nend:vevent\n",
        ["Summary: Launch\nStart: 2026-03-05 09:00 Asia/Tokyo"],
    ),
    ("Notes of the harbour\nThe lift is out.\n", ["Notes of the harbour\nThe lift is out.\n"]),
]


@pytest.mark.parametrize(("text", "expected"), COMPONENTS)
def test_nothing_of_an_event_or_a_contact_is_lost_and_nothing_is_of_another(text: str, expected: list[str]) -> None:
    assert [each.text for each in read("a.ics", text).sections] == expected
