"""Every format is read with its structure, and every wrong file is refused in words that help."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openpyxl
import pytest

from braid.core.ingest.formats import FORMATS
from braid.core.ingest.readers import ParsedDocument, read_document
from braid.core.ingest.readers.document import MAX_HEADING_PATH_CHARS
from braid.core.ingest.readers.encoding import decode
from tests import samples
from tests.core.ingest.reading import read


def places(parsed: ParsedDocument) -> list[tuple[str, int | None, str]]:
    """(heading path, page or line, text) of every section."""
    return [(section.heading_path, section.page or section.line, section.text) for section in parsed.sections]


# ---------------------------------------------------------------- structure


def test_a_markdown_section_begins_at_each_heading_outside_code() -> None:
    parsed = read(
        "guide.md",
        "---\ntitle: Guide\ntags: [search, 日本語]\nauthors:\n  - Sato\n  - Kim\n---\n"
        "intro\n\n# A `b`\ntext\n\n## [C](http://c)\n```\n# no heading\n```\n\nD\n===\nlast\n\n## E\n",
    )
    assert parsed.title == "Guide"
    assert parsed.metadata == {"tags": "search, 日本語", "authors": "Sato, Kim"}
    assert [(path, line) for path, line, _ in places(parsed)] == [
        ("", 8),
        ("A b", 11),
        ("A b > C", 14),
        ("D", 20),
        ("D > E", 22),
    ]
    assert "# no heading" in parsed.sections[2].text
    assert parsed.sections[4].text.strip() == "## E"  # a heading with nothing under it can still be found


def test_front_matter_may_be_toml() -> None:
    parsed = read("a.md", '+++\ntitle = "Rules"\ntags = ["a", "b"]\n[more]\nx = 1\n+++\n\nCoil the rope dry.\n')
    assert (parsed.title, parsed.metadata) == ("Rules", {"tags": "a, b"})
    assert [(each.text.strip(), each.line) for each in parsed.sections] == [("Coil the rope dry.", 7)]


def test_a_heading_of_markdown_may_be_written_as_in_a_page() -> None:
    heading = '<h1 align="center">\n  <img src="a.png"><br>\n  Kestrel &amp; Co\n</h1>'
    text = f"{heading}\n\nA tool.\n\nInstall\n-------\n\nRun it.\n"
    parsed = read("README.md", text)
    assert parsed.title == "Kestrel & Co"
    assert [(each.heading_path, each.text.strip(), each.line) for each in parsed.sections] == [
        ("Kestrel & Co", "A tool.", 5),
        ("Kestrel & Co > Install", "Run it.", 10),
    ]


def test_the_title_of_markdown_without_front_matter_is_its_first_heading() -> None:
    assert read("a.md", "text\n\n# First\n").title == "First"


@pytest.mark.parametrize("heading", ["<h2>Other</h2>", "## Other"])
def test_a_heading_in_a_quote_or_a_list_of_markdown_is_none_of_the_page(heading: str) -> None:
    parsed = read("a.md", f"# A\n\n> {heading}\n>\n> quoted\n\n- {heading}\n\n  item\n\nafter\n")
    assert [section.heading_path for section in parsed.sections] == ["A"]
    assert read("a.md", f"# A\n\n{heading}\n\ntext\n").sections[-1].heading_path == "A > Other"


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("snake_case_name and `__init__`", "snake_case_name and __init__"),
        ("_emphasis_ and **bold** ~~gone~~", "emphasis and bold gone"),
        ("[a link](http://x.y) ![alt](p.png) &amp; <b>tag</b>", "a link alt & tag"),
        ("2 * 3 * 4 {#anchor}", "2 * 3 * 4"),
    ],
)
def test_a_heading_of_markdown_loses_its_markup_and_nothing_else(heading: str, title: str) -> None:
    assert read("a.md", f"# {heading}\ntext\n").sections[0].heading_path == title


@pytest.mark.parametrize(
    "title",
    ["Microsoft Word - leave 2026.docx", "(anonymous)", "Untitled document", "無題", "제목 없음", "leave.indd", " "],
)
def test_a_title_that_a_program_filled_in_is_not_taken(title: str) -> None:
    assert read("Leave 2026.pdf", samples.pdf([["text"]], title=title)).title == "Leave 2026"


def test_a_title_that_only_looks_like_a_name_of_a_file_is_taken() -> None:
    assert read("a.html", "<title>Node.js</title><p>text").title == "Node.js"


def test_html_keeps_text_and_drops_what_is_not_shown() -> None:
    parsed = read(
        "page.html",
        "<html lang=ja><head><title>題</title><style>p{}</style></head><body><nav>Menu</nav><h1>一</h1>"
        "<p>日本語は\n  つながる。<br>次<p>one\n two<script>alert()</script><ul><li>x<li>y</ul><h2>B</h2><table>"
        "<tr><th>k</th><th>v</th></tr><tr><td>1</td><td><p>2</p></td></tr></table><pre>def f():\n    pass</pre>"
        "<p><ruby>猫<rt>ねこ</rt></ruby>とtail",
    )
    assert parsed.title == "題"
    assert parsed.metadata["language"] == "ja"
    assert places(parsed) == [
        ("一", None, "日本語はつながる。\n次\n\none two\n- x\n- y"),
        ("一 > B", None, "k | v\n1 | 2\n\ndef f():\n    pass\n\n猫とtail"),
    ]


@pytest.mark.parametrize("charset", ["shift_jis", "euc-jp"])
def test_html_is_read_in_its_declared_encoding(charset: str) -> None:
    parsed = read("page.htm", f"<meta charset='{charset}'><p>短い文".encode(charset))
    assert parsed.sections[0].text == "短い文"
    assert parsed.file_type == "html"


def test_pdf_pages_are_sections() -> None:
    parsed = read(
        "book.pdf", samples.pdf([["English infor-", "mation."], [], ["図書館の利用", "案内です。"]], title="本")
    )
    assert parsed.title == "本"
    assert places(parsed) == [("", 1, "English information."), ("", 3, "図書館の利用案内です。")]
    assert parsed.metadata == {"pages": "3"}  # a blank page is no gap


@pytest.mark.parametrize("title", ["", "untitled", "(anonymous)", "Microsoft Word - draft.docx", "report.indd"])
def test_a_pdf_without_a_real_title_is_called_like_its_file(title: str) -> None:
    assert read("docs/Yearly report.pdf", samples.pdf([["text"]], title=title)).title == "Yearly report"


def test_pdfs_can_be_read_by_several_threads_at_once() -> None:
    content = samples.pdf([[f"page {number}", "図書館"] for number in range(20)])
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: read("a.pdf", content), range(12)))
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize(("name", "content"), [("a.docx", samples.docx_manual()), ("a.docm", samples.docm_manual())])
def test_word_headings_tables_and_boxes(name: str, content: bytes) -> None:
    parsed = read(name, content)
    assert (parsed.title, parsed.file_type) == ("Library manual", "docx")
    assert parsed.metadata["author"] == "Hanako Sato"
    texts = {section.heading_path: section.text for section in parsed.sections}
    assert list(texts) == ["", "Lending", "Lending > Fees", "利用案内"]
    assert "Ten books" in texts["Lending"]
    assert texts["Lending > Fees"] == "Days late | Fee\n1 | 10 yen\n7 | 50 yen"
    assert texts["利用案内"].endswith("\n\nControlled text.\n\nKept.\n\n東京都\n\nBoxed.")


def test_slides_are_sections() -> None:
    parsed = read("talk.pptx", samples.pptx_talk())
    assert parsed.title == "Hybrid search"
    assert places(parsed) == [
        ("Hybrid search", 1, "Two legs\nOne ranking\n\nSay why keywords still matter."),
        ("結果", 2, "leg | nDCG\nBM25 | 0.70\nGrouped text"),
    ]


def test_workbook_rows_know_their_sheet_and_header() -> None:
    parsed = read("staff.xlsx", samples.xlsx_staff())
    assert [(section.heading_path, section.header, section.text) for section in parsed.sections] == [
        ("Staff > Staff of the library", "name | started | loans | twice", "Person 0 | 2023-03-15 | 2.5 | 5"),
        ("Staff > Staff of the library", "name | started | loans | twice", "Person 1 | 2023-03-16 | 3.5 | 7"),
        ("蔵書", "書名 | 棚", "検索の本 | B3"),
    ]


def test_formulas_that_were_never_calculated_are_counted() -> None:
    stream = io.BytesIO()
    workbook = openpyxl.Workbook()
    workbook.active.append(["a", 1, "=B1*2"])
    workbook.save(stream)
    parsed = read("a.xlsx", stream.getvalue())
    assert parsed.sections[0].text == "a | 1"
    assert parsed.metadata["formulas_without_value"] == "1"
    assert "formulas_without_value" not in read("staff.xlsx", samples.xlsx_staff()).metadata


@pytest.mark.parametrize(
    ("name", "content", "header", "rows"),
    [
        ("a.csv", 'name,note\nA,"two\nlines"\n\nB,x\n', "name | note", [("A | two lines", 2, 3), ("B | x", 5, 5)]),
        ("a.csv", "name;note\nA;1,5\n", "name | note", [("A | 1,5", 2, 2)]),
        ("a.tsv", "name\tnote\nA\tx\n", "name | note", [("A | x", 2, 2)]),
        ("a.csv", "1,2\n3,4\n", "", [("1 | 2", 1, 1), ("3 | 4", 2, 2)]),
        ("a.csv", "only,header\n", "", [("only | header", 1, 1)]),
    ],
)
def test_table_rows(name: str, content: str, header: str, rows: list[tuple[str, int, int]]) -> None:
    sections = read(name, content).sections
    assert [(section.text, section.line, section.line_end) for section in sections] == rows
    assert {section.header for section in sections} == {header}


def test_rows_of_a_wide_table_name_their_columns() -> None:
    names = [f"a rather long column name {number}" for number in range(20)]
    sections = read("wide.csv", ",".join(names) + "\n" + ",".join(["7"] + [""] * 18 + ["8"])).sections
    assert [(section.text, section.header) for section in sections] == [
        ("a rather long column name 0: 7\na rather long column name 19: 8", "")
    ]


def test_json_values_stand_under_the_path_of_their_keys() -> None:
    records = [{"id": number, "tags": ["x", "y"], "place": {"city": "東京"}} for number in range(2)]
    parsed = read("a.json", json.dumps({"title": "Report", "version": 1.10, "deep": {"users": records}}))
    assert parsed.title == "Report"
    assert [(section.heading_path, section.text) for section in parsed.sections] == [
        ("", "title: Report"),
        ("", "version: 1.1"),
        (
            "",
            "deep.users.id: 0\ndeep.users.tags: x, y\ndeep.users.place.city: 東京\n"
            "deep.users.id: 1\ndeep.users.tags: x, y\ndeep.users.place.city: 東京",
        ),
    ]
    parsed = read("a.json", json.dumps({"users": records}))
    assert [(section.heading_path, section.text) for section in parsed.sections] == [
        ("users", f"id: {number}\ntags: x, y\nplace.city: 東京") for number in range(2)
    ]


def test_a_path_of_headings_is_cut_since_every_passage_below_repeats_it() -> None:
    records = [{"id": number} for number in range(3)]
    sections = read("a.json", json.dumps({"key" * 20_000: records})).sections
    assert [section.text for section in sections] == ["id: 0", "id: 1", "id: 2"]
    assert {section.heading_path for section in sections} == {("key" * 20_000)[:MAX_HEADING_PATH_CHARS]}


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_json_lines_know_their_line(name: str) -> None:
    parsed = read(name, '{"a": 12345678901234567890.50}\n\n{"b": true}\n')
    assert places(parsed) == [("", 1, "a: 12345678901234567890.50"), ("", 3, "b: true")]


def test_a_mail_is_read_with_its_attachments() -> None:
    enclosed = samples.mail(html="<h1>Minutes</h1><p>We agreed.</p>")
    parsed = read(
        "m.eml",
        samples.mail(("staff.xlsx", samples.xlsx_staff()), ("p.png", samples.PNG), ("a.txt", b"x"), enclosed=enclosed),
    )
    assert parsed.title == "会議の資料"
    assert parsed.metadata["from"] == "Hanako Sato <hanako@example.org>"
    assert parsed.metadata["attachments"] == "staff.xlsx, p.png, a.txt, 会議の資料"
    assert "p.png has no text layer (it holds scanned pages or images)" in parsed.metadata["attachments_unread"]
    assert "添付の資料を確認してください。" in parsed.sections[0].text
    paths = [section.heading_path for section in parsed.sections]
    staff = "staff.xlsx > Staff > Staff of the library"
    assert {"", staff, "staff.xlsx > 蔵書", "a.txt", "会議の資料", "会議の資料 > Minutes"} == set(paths)


def test_a_mail_in_an_undeclared_encoding() -> None:
    content = b"From: a@example.org\nSubject: x\n\n" + samples.JAPANESE.encode("cp932")
    assert samples.JAPANESE in read("m.eml", content).sections[0].text


def test_mails_of_apple_mail_and_korean_subtitles_are_read() -> None:
    mail = b"From: a@ex.org\nSubject: Van\n\nThe van is blue.\n"
    parsed = read_document("1.emlx", b"%d\n%s<?xml version='1.0'?><plist/>" % (len(mail), mail), max_bytes=10_000)
    assert (parsed.title, parsed.sections[0].text) == ("Van", "From: a@ex.org\n\nThe van is blue.")
    said = "<SAMI><BODY><SYNC Start=1000><P Class=KRCC>안녕하세요<SYNC Start=2000><P Class=KRCC>&nbsp;</BODY></SAMI>"
    parsed = read_document("a.smi", said.encode("cp949"), max_bytes=10_000)
    assert (parsed.file_type, parsed.sections[0].text) == ("smi", "안녕하세요")


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.txt", "성   명 : 박하늘    연 락 처 : 061-555-0199\n", "성명 : 박하늘    연락처 : 061-555-0199"),
        ("a.csv", "성 명,연 락 처\n박하늘,그 외", "박하늘 | 그 외"),
        ("a.html", "<table><tr><td>생 년 월 일</td><td>1990</td></tr></table>", "생년월일 | 1990"),
        ("a.md", "1. 주   소 : 여수\n2. 할 일 : 이 때 확인", "1. 주소 : 여수\n2. 할 일 : 이 때 확인"),
        ("a.py", "# 성   명 : 박하늘\n", "# 성   명 : 박하늘"),
    ],
)
def test_labels_of_korean_forms_are_words(name: str, content: str, text: str) -> None:
    [section] = read_document(name, content.encode(), max_bytes=10_000).sections
    assert section.text.strip() == text
    assert section.header in ("", "성명 | 연락처")


def test_an_epub_is_read_in_reading_order() -> None:
    parsed = read("neko.epub", samples.epub())
    assert parsed.title == "吾輩は猫である"
    assert parsed.metadata == {"author": "夏目漱石", "language": "ja"}
    assert places(parsed) == [("第一章", None, "吾輩は猫である。"), ("後書き", None, "名前はまだ無い。")]


def test_every_format_has_a_reader_and_only_one_suffix_each() -> None:
    suffixes = [suffix for form in FORMATS for suffix in form.suffixes]
    assert len(suffixes) == len(set(suffixes))
    folder = Path(__file__).parents[3] / "core" / "ingest" / "readers"
    assert all((folder / f"{form.reader.replace('.', '/')}.py").exists() for form in FORMATS)


@pytest.mark.parametrize("name", ["README", "Makefile", "notes.LOG", "a.yaml", "b.sql", "C:\\docs\\notes.txt"])
def test_other_text_is_read_as_lines(name: str) -> None:
    assert places(read(name, "\n\nhello\r\nworld\r")) == [("", 1, "\n\nhello\nworld\n")]


# ---------------------------------------------------------------- encodings

LONG = {"ja": samples.JAPANESE, "ko": samples.KOREAN, "de": samples.GERMAN, "fr": samples.FRENCH.replace("’", "'")}


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        *((language, encoding) for language in LONG for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32")),
        *(("ja", encoding) for encoding in ("shift_jis", "cp932", "euc_jp", "iso2022_jp")),
        *(("ko", encoding) for encoding in ("euc_kr", "cp949")),
        *((language, encoding) for language in ("de", "fr") for encoding in ("latin_1", "cp1252")),
        *((language, encoding) for language in ("ja", "de") for encoding in ("utf-16-le", "utf-16-be")),
    ],
)
def test_encodings(language: str, encoding: str) -> None:
    text = "\n".join([*["# plain ASCII first"] * 3, LONG[language], "and after"])
    assert read("a.txt", text.encode(encoding)).sections[0].text == text


def test_cyrillic_is_guessed() -> None:
    text = "Библиотека выдаёт десять книг на две недели. Книги, которые никто не ждёт, можно продлить один раз."
    assert decode(text.encode("cp1251")) == text


def test_a_few_broken_bytes_do_not_change_the_encoding() -> None:
    content = samples.JAPANESE.encode() * 3
    assert decode(content[:-1]).startswith(samples.JAPANESE)
    assert decode(content[:50] + b"\xff" + content[50:]).endswith(samples.JAPANESE)


def test_nul_characters_and_half_surrogates_are_taken_out() -> None:
    assert read("a.txt", "some text with a\0 NUL in it").sections[0].text == "some text with a NUL in it"
    assert read("a.json", '{"a": "x\\ud800\\u0000y"}').sections[0].text == "a: x\ufffdy"
