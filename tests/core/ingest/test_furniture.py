"""What a page is turned by: tables of contents apart, menus left out, stubs joined to their neighbours."""

from __future__ import annotations

from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse import parse_here
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.readers import Section
from braid.core.types import ChunkInput
from tests import samples
from tests.core.ingest.reading import read
from tests.core.ingest.test_chunking import document

LONG = "The pump stands in hall 4 and was built in 1911 by two brothers. Only trained persons may open it, never alone."
CONTENTS = ["Contents", "1 Safety ......... 2", "1.1 Fire ......... 2", "2 Use ......... 3"]


def parsed(name: str, content: bytes) -> list[ChunkInput]:
    return list(parse_here(Incoming.from_bytes(content, name), IngestOptions()).chunks)


def test_a_table_of_contents_is_a_passage_of_its_own() -> None:
    text = "\n".join(["Read this.", "", *CONTENTS, "", LONG])
    chunks = parsed("manual.txt", text.encode())
    assert [(each.chunk_kind, each.text, each.line) for each in chunks] == [
        ("", "Read this.", 1),
        ("contents", "\n".join(CONTENTS), 3),
        ("", LONG, 8),
    ]
    assert [(each.chunk_kind, each.page) for each in parsed("manual.pdf", samples.pdf([CONTENTS, [LONG]]))] == [
        ("contents", 1),
        ("", 2),
    ]


def text_of_page(body: str, head: str = "") -> str:
    page = read("page.html", f"<html><head><title>Pumps</title>{head}</head><body>{body}</body></html>")
    return "\n".join(section.text for section in page.sections)


def test_what_leads_about_a_page_is_left_out() -> None:
    around = "<link rel=prev href=one.html><link rel=next href=three.html>"
    head = (
        "<div class=navheader><table><tr><th colspan=2>2. Pumps</th></tr><tr><td><a href=one.html>Prev</a></td>"
        "<td><a href=three.html>Next</a></td></tr></table></div>"
    )
    parts = {"a": ("2.1 Seal", "It lasts a year."), "b": ("2.2 Oil", "None."), "c": ("2.3 Belt", "Two.")}
    listed = "".join(f"<dt><a href='#{name}'>{heading}</a>" for name, (heading, _) in parts.items())
    toc = f"<div class=toc><p><b>Contents</b></p><dl>{listed}</dl></div>"
    marked = {name: f"{heading}<a href='#{name}'>¶</a>" for name, (heading, _) in parts.items()}
    text = "".join(f"<h2 id={name}>{marked[name]}</h2><p>{said}" for name, (_, said) in parts.items())
    crumbs = "<ul class='breadcrumbs'><li><a href=/>Home</a><li><a href=/pumps>Pumps</a></ul>"
    related = "<div role=navigation><h3>Navigation</h3><a href=index.html>index</a></div>"
    page = read(
        "page.html", f"<html><head>{around}</head><body>{related}{crumbs}{head}{toc}{text}{related}</body></html>"
    )
    assert [(each.heading_path, each.text) for each in page.sections] == list(parts.values())


def test_lists_of_links_that_say_something_stay() -> None:
    members = (
        "<p>The members are:<ul><li><a href=/at>Austria</a><li><a href=/be>Belgium</a><li><a href=/cz>Czechia</a></ul>"
    )
    assert "- Belgium" in text_of_page(members)
    sentence = "<div><a href=next.html>The next chapter</a> tells how the oil is changed.</div>"
    assert "how the oil is changed." in text_of_page(sentence, "<link rel=next href=next.html>")
    table = "<table><tr><td><a href='#n1'>1</a></td><td>a note of some length</td></tr></table><p id=n1>It is so."
    assert "a note of some length" in text_of_page(table)


def test_a_frame_around_a_text_is_no_table() -> None:
    frame = (
        "<table><tr><td rowspan=2><img src=a.png alt='[Note]'></td><th>Note</th></tr>"
        "<tr><td>Keep the lid shut.</td></tr></table>"
    )
    assert text_of_page(f"<p>Read this.{frame}") == "Read this.\n\nNote\n\nKeep the lid shut."


def test_a_page_that_is_nothing_but_a_menu_is_read() -> None:
    assert text_of_page("<ul role=navigation><li><a href=a>Pumps</a><li><a href=b>Belts</a></ul>") == "- Pumps\n- Belts"


# ---------------------------------------------------------------- stubs


def chunks(*sections: Section) -> list[tuple[str, str]]:
    return [(each.heading_path, each.text) for each in chunk_sections(document(*sections))]


def test_a_stub_goes_to_the_passage_before_it_with_its_heading() -> None:
    see = Section("CREATE VIEW, ALTER VIEW", "Views > DROP VIEW > See also")
    assert chunks(Section(LONG, "Views > DROP VIEW"), see, Section(LONG, "Views > Others")) == [
        ("Views > DROP VIEW", f"{LONG}\n\nSee also\n\nCREATE VIEW, ALTER VIEW"),
        ("Views > Others", LONG),
    ]


def test_a_stub_goes_to_what_stands_below_its_heading() -> None:
    assert chunks(Section(LONG, "A"), Section("In this chapter:", "B"), Section(LONG, "B > C")) == [
        ("A", LONG),
        ("B > C", f"In this chapter:\n\n{LONG}"),
    ]
    assert chunks(Section("第3章", "第3章"), Section(LONG, "第3章 > 目的"))[0] == ("第3章 > 目的", f"第3章\n\n{LONG}")


def test_a_stub_at_the_beginning_goes_to_the_passage_behind_it() -> None:
    assert chunks(Section("See also", "A"), Section(LONG, "B")) == [("B", f"A\n\nSee also\n\n{LONG}")]


def test_what_is_no_stub_stays_alone() -> None:
    alone = (
        (Section("Free of charge for everyone.", "Price"), Section(LONG, "More")),
        (Section("全員無料です。", "料金"), Section(LONG, "More")),
        (Section("모두에게 무료입니다", "요금"), Section(LONG, "More")),
        (Section("one", "A"), Section("two", "B")),
        (Section("one"),),
        (Section("def one(): ...", "one", kind="code", chunk_kind="function"), Section(LONG, "two")),
        (Section("a | b", kind="record"), Section(LONG, "two")),
        (Section("Questions?", page=1), Section(LONG, page=2)),
    )
    for sections in alone:
        assert [text for _, text in chunks(*sections)] == [section.text for section in sections]


def test_a_stub_joined_in_a_file_with_lines_says_which() -> None:
    [chunk] = chunk_sections(read("a.md", f"# A\n{LONG}\n## See also\nCREATE VIEW\n"))
    assert (chunk.line, chunk.line_end) == (2, 4)


def test_a_heading_within_a_box_ends_with_it() -> None:
    def sections(box: str) -> list[tuple[str, str]]:
        page = f"<html><body><h1>Ferry</h1><p>It leaves at 06:30.</p>{box}<p>It takes 55 minutes.</p></body></html>"
        return [(each.heading_path, each.text) for each in read("page.html", page).sections]

    before, after = ("Ferry", "It leaves at 06:30."), ("Ferry", "It takes 55 minutes.")
    for begin, end in (
        ("<aside>", "</aside>"),
        ('<div class="ad-box promo">', "</div>"),
        ('<div role="note">', "</div>"),
    ):
        found = sections(f"{begin}<h3>Hotel Anker</h3><p>Rooms from 70 euros.</p>{end}")
        assert found == [before, ("Ferry > Hotel Anker", "Rooms from 70 euros."), after]
    assert sections('<div class="heading"><h2>Times</h2></div>')[1] == ("Ferry > Times", after[1])
    assert sections('<div class="promo"><h2>Times</h2></div>')[1] == ("Ferry > Times", after[1])
    assert sections("<aside><p>Advertisement</p></aside>") == [("Ferry", f"{before[1]}\n\nAdvertisement\n\n{after[1]}")]


def test_links_to_edit_a_section_are_no_part_of_its_heading() -> None:
    page = (
        '<html><body><a class="mw-jump-link" href="#c">Skip to content</a><h2>History<span class="mw-editsection">'
        "[edit]</span></h2><p>It was built in 1904.</p></body></html>"
    )
    [section] = read("page.html", page).sections
    assert (section.heading_path, section.text) == ("History", "It was built in 1904.")
