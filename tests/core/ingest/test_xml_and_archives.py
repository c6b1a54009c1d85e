"""XML, feeds, web archives, flat OpenDocument, JSON with comments and zip archives: as they come, and hostile ones."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import time
import zipfile
from collections import Counter
from collections.abc import Callable

import pytest
from lxml import etree

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers import ParsedDocument, read_document
from braid.core.ingest.readers.compound.zip_folder import MAX_FILES, MAX_PARTS
from braid.core.ingest.readers.parts import equation
from tests import more_samples, samples

MAX_BYTES = 5_000_000


def read(name: str, content: bytes | str) -> ParsedDocument:
    return read_document(name, content.encode() if isinstance(content, str) else content, max_bytes=MAX_BYTES)


def places(parsed: ParsedDocument) -> list[tuple[str, str]]:
    return [(each.heading_path, each.text) for each in parsed.sections]


# ---------------------------------------------------------------- XML and feeds


def test_an_article_in_xml_has_its_titles_paragraphs_and_tables() -> None:
    parsed = read(
        "a.xml",
        '<!DOCTYPE article PUBLIC "-//X//DTD JATS//EN" "jats.dtd"><article><front><article-meta><title-group>'
        "<article-title>Tides of <i>two</i> ports</article-title></title-group></article-meta></front><body>"
        "<sec><title>Method</title><p>We measured&nbsp;both ports &amp; one bay.</p><sec><label>1.1</label>"
        "<title>Tools</title><p>A rope.</p><table><caption>Levels</caption><tr><th>Port</th><th>Metres</th></tr>"
        "<tr><td>Gdynia</td><td>2</td></tr></table></sec></sec></body></article>",
    )
    assert parsed.title == "Tides of two ports"
    assert parsed.sections[-2].heading_path.endswith("Method")
    assert parsed.sections[-2].text == "We measured\N{NO-BREAK SPACE}both ports & one bay.".replace("\xa0", " ")
    assert parsed.sections[-1].heading_path.endswith("Method > 1.1 Tools")
    assert parsed.sections[-1].text.split("\n")[0] == "A rope."
    assert "Gdynia | 2" in parsed.sections[-1].text


def test_records_and_named_values_in_xml_keep_their_names() -> None:
    parsed = read(
        "a.xml",
        '<?xml version="1.0" encoding="Shift_JIS"?><staff site="東港"><person id="7"><name>佐藤</name><room>302</room>'
        '</person><person id="8"><name>鈴木</name><room>303</room></person><string name="greeting">ようこそ</string>'
        "</staff>".encode().decode(),
    )
    text = "\n".join(each.text for each in parsed.sections)
    assert "site: 東港" in text
    assert "id: 7\nname: 佐藤\nroom: 302" in text
    assert "greeting: ようこそ" in text


def test_a_value_in_xml_has_its_unit() -> None:
    parsed = read(
        "a.xml",
        '<報告><設備 id="P1"><名称>循環ポンプ</名称><圧力 単位="MPa">0.42</圧力><所見>軸受<b>要交換</b>。</所見></設備>'
        '<設備 id="P2"><名称>送風機</名称><圧力 単位="kPa" type="float">3.1</圧力></設備>'
        '<para role="note">点検済み</para></報告>',
    )
    text = "\n".join(each.text for each in parsed.sections)
    assert "名称: 循環ポンプ\n圧力 (単位: MPa): 0.42\n所見: 軸受要交換。\n" in text
    assert "圧力 (単位: kPa): 3.1" in text
    assert text.endswith("\n点検済み")


@pytest.mark.parametrize(
    ("math", "text"),
    [
        ("<mfrac><mi>F</mi><mn>2</mn></mfrac>", "F/2"),
        ("<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "E=mc^2"),
        ("<msqrt><mi>a</mi><mo>+</mo><mi>b</mi></msqrt><mo>-</mo><mroot><mi>x</mi><mn>3</mn></mroot>", "√(a+b)-3√x"),
        (
            "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi>",
            "∑_(i=1)^n i",
        ),
        ("<semantics><msub><mi>x</mi><mn>0</mn></msub><annotation>x_0</annotation></semantics>", "x_0"),
        ("<msup><mi>f</mi><mo>′</mo></msup><mfenced><mi>x</mi><mi>y</mi></mfenced>", "f′(x,y)"),
        (
            "<mover><mi>x</mi><mo>¯</mo></mover><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr></mtable>",
            "x¯1  0",
        ),
        ("<mrow>" * 400 + "<mi>x</mi>" + "</mrow>" * 400, "x"),
    ],
)
def test_equations_of_pages_and_articles_are_other_numbers_than_their_letters(math: str, text: str) -> None:
    page = f"<html><body><p>The load <b>is</b> <math>{math}</math> N.</p></body></html>"
    assert read("a.html", page).sections[0].text == f"The load is {' '.join(text.split())} N."
    if len(math) < 1000:  # a reader of XML refuses more
        article = (
            f'<article xmlns:m="http://www.w3.org/1998/Math/MathML"><p>It is <m:math>{math}</m:math> N.</p></article>'
        )
        assert read("a.xml", article).sections[0].text == f"It is {' '.join(text.split())} N."


def test_an_equation_that_a_page_has_twice_is_read_once() -> None:
    math = "<math><msup><mi>c</mi><mn>2</mn></msup><annotation>c^{2}</annotation></math>"
    for page in (
        f'<p>It is <span style="display:none">{math}</span><img alt="{{\\displaystyle c^{{2}}}}"> here.</p>',
        f'<p>It is <span><span>{math}</span><span class="katex-html">c2</span></span> here.</p>',
    ):
        assert read("a.html", f"<html><body>{page}</body></html>").sections[0].text == "It is c^2 here."


@pytest.mark.parametrize("sign", ["\x01", "&#1;", "\x0b", "\ufffe", "\uffff"])
def test_an_equation_may_have_a_character_that_xml_does_not_allow(sign: str) -> None:
    page = (
        f'<html><body><p>It is <math><mfenced open="[{sign}"><mi>x{sign}</mi></mfenced></math> here.</p></body></html>'
    )
    assert read("a.html", page).sections[0].text == "It is [x) here."
    mail = f"From: a@example.org\r\nSubject: s\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{page}"
    assert read("a.eml", mail).sections[0].text.endswith("It is [x) here.")


def test_equations_within_equations_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Counter[int]()
    written = equation.equation

    def counted(depth: int) -> Callable[[etree._Element], str]:
        return lambda element: seen.update([depth]) or written(element)

    for depth in (1, 40):
        monkeypatch.setattr(equation, "equation", counted(depth))
        math = f"{'<math>' * depth}{'<mi>x</mi>' * 100}{'</math>' * depth}"
        page = read("a.html", f"<html><body><p>It is {math} m, not <math><mi>y</mi></math>.</p></body></html>")
        assert page.sections[0].text == f"It is {'x' * 100} m, not y."
    assert seen[40] <= seen[1] + 40


def test_a_hidden_block_is_not_read_for_an_equation_in_it() -> None:
    math = "<math><mi>c</mi></math>"
    for hidden in (
        f"<div style='display:none'>{math}<p>hidden</p></div>",
        f"<p style='display:none'>hidden {math}</p>",
    ):
        parsed = read("a.html", f"<html><body><p>shown</p>{hidden}</body></html>")
        assert [each.text for each in parsed.sections] == ["shown"]


def test_xml_is_read_in_the_encoding_that_it_declares() -> None:
    text = '<?xml version="1.0" encoding="{}"?><a><p>引き潮の時刻表を毎年更新する。</p></a>'
    for encoding in ("Shift_JIS", "EUC-JP", "utf-16", "utf-8"):
        content = text.format(encoding).encode(encoding)
        assert places(read("a.xml", content)) == [("", "引き潮の時刻表を毎年更新する。")], encoding


RSS = (
    '<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>'
    "<title>Harbour news</title><description>Of two ports</description><item><title>Pier closed</title>"
    "<link>http://127.0.0.1/1</link><pubDate>Mon, 2 Nov 2026</pubDate><description>&lt;p&gt;Until &lt;b&gt;Friday"
    "&lt;/b&gt;.&lt;/p&gt;</description></item><item><title>Ferry & fog</title><content:encoded><![CDATA[<p>No ferry "
    "at nine.</p><script>x()</script>]]></content:encoded><description>short</description></item></channel></rss>"
)
ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>Harbour news</title><entry><title>Pier closed</title>'
    '<link href="http://127.0.0.1/1"/><updated>2026-11-02</updated><content type="xhtml">'
    '<div xmlns="http://www.w3.org/1999/xhtml"><p>Until Friday.</p></div></content></entry></feed>'
)


@pytest.mark.parametrize("name", ["a.rss", "a.xml"])
def test_a_feed_has_a_section_per_entry(name: str) -> None:
    parsed = read(name, RSS)
    assert parsed.title == "Harbour news"
    assert places(parsed) == [
        ("", "Harbour news\nOf two ports"),
        ("Pier closed", "http://127.0.0.1/1\nDate: Mon, 2 Nov 2026\n\nUntil Friday."),
        ("Ferry & fog", "No ferry at nine."),
    ]


def test_an_atom_feed_has_a_section_per_entry() -> None:
    assert places(read("a.atom", ATOM))[1:] == [
        ("Pier closed", "http://127.0.0.1/1\nDate: 2026-11-02\n\nUntil Friday."),
    ]


def test_a_page_and_an_open_document_in_xml_are_read_as_what_they_are() -> None:
    page = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><h1>Pier</h1><p>Closed.</p></body></html>'
    assert places(read("a.xml", page)) == [("Pier", "Closed.")]
    whole = samples.unzipped(more_samples.odt_manual())["content.xml"]
    flat = whole.replace(b"office:document-content", b"office:document")
    for name in ("a.fodt", "a.xml"):
        assert places(read(name, flat)) == places(read("a.odt", more_samples.odt_manual()))


def test_flat_spreadsheets_and_presentations_are_read() -> None:
    for kind, whole in (("s", more_samples.ods_staff()), ("p", more_samples.odp_talk())):
        flat = samples.unzipped(whole)["content.xml"].replace(b"office:document-content", b"office:document")
        assert places(read(f"a.fod{kind}", flat)) == places(read(f"a.od{kind}", whole))


# ---------------------------------------------------------------- web archives, mails


def test_a_web_archive_has_its_page_and_those_of_its_frames() -> None:
    frame = base64.b64encode("<p>In a frame: 入口は北側。</p>".encode()).decode()
    content = (
        "From: <Saved by a browser>\r\nSubject: The pier\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/related; type="text/html"; boundary="b"\r\n\r\n'
        "--b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
        "<html><body><h1>Pier</h1><p>Closed =C3=A0 nine.</p></body></html>\r\n"
        f"--b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n{frame}\r\n"
        "--b\r\nContent-Type: image/png\r\nContent-Location: a.png\r\n\r\nxxxx\r\n--b--\r\n"
    )
    parsed = read("a.mht", content)
    assert parsed.title == "The pier"
    assert [each.heading_path for each in parsed.sections] == ["Pier"]
    assert "Closed à nine." in parsed.sections[0].text
    assert "入口は北側。" in parsed.sections[0].text
    assert read("a.mhtml", content).sections == parsed.sections


def test_a_mail_within_a_mail_that_a_program_has_encoded_is_read() -> None:
    inner = base64.b64encode(b"From: ann@example.org\nSubject: Keys\n\nThe grey box.\n").decode()
    content = (
        "From: bo@example.org\nSubject: Fwd\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
        f"--b\nContent-Type: text/plain\n\nSee below.\n--b\nContent-Type: message/rfc822\n"
        f"Content-Transfer-Encoding: base64\n\n{inner}\n--b--\n"
    )
    assert ("Keys", "From: ann@example.org\n\nThe grey box.") in places(read("a.eml", content))


# ---------------------------------------------------------------- JSON with comments


@pytest.mark.parametrize("name", ["a.jsonc", "a.json"])
def test_json_with_comments_is_read(name: str) -> None:
    content = '{\n // where\n "url": "http://a/*b*/", /* and\n when */ "days": [1, 2, // three\n ],\n}\n'
    assert "\n".join(each.text for each in read(name, content).sections) == "url: http://a/*b*/\ndays: 1, 2"


def test_wrong_json_with_comments_is_refused_at_its_place() -> None:
    with pytest.raises(UnreadableDocumentError, match=r"is not valid JSON: .* at line 3"):
        read("a.jsonc", '{\n // one\n "a": oops\n}')


# ---------------------------------------------------------------- subtitles


def test_lines_that_roll_up_and_words_that_come_one_by_one_are_said_once() -> None:
    rolling = (
        "WEBVTT\n\n00:00.000 --> 00:02.000\nthe ferry leaves at nine\n\n"
        "00:02.000 --> 00:02.010\nthe ferry leaves at nine\n\n"
        "00:02.010 --> 00:04.000\nthe ferry leaves at nine\nfrom the <c>north</c> pier\n\n00:04.000 --> 00:06.000\n"
        "from the north pier\nbring your pass\n\n00:09.000 --> 00:10.000\nbring your pass\nand a coat\n"
    )
    assert read("a.vtt", rolling).sections[0].text.split("\n") == [
        "the ferry leaves at nine",
        "from the north pier",
        "bring your pass",
        "bring your pass and a coat",  # said again after a pause
    ]
    above = "WEBVTT\n\n00:00.160 --> 00:02.389\n \nso <c>today</c>\n\n00:02.389 --> 00:02.399\nso today\n \n\n"
    assert [(each.heading_path, each.text) for each in read("a.vtt", above).sections] == [("0:00:00", "so today")]
    growing = "WEBVTT\n\n" + "".join(
        f"00:0{at}.000 --> 00:0{at + 1}.000\n{' '.join(['bring', 'your', 'green', 'pass'][: at + 1])}\n\n"
        for at in range(4)
    )
    [section] = read("a.vtt", growing).sections
    assert (section.text, section.heading_path, section.line) == ("bring your green pass", "0:00:00", 3)


# ---------------------------------------------------------------- zip archives


def test_a_zip_archive_is_read_as_a_folder() -> None:
    content = samples.zipped(
        {
            "manual/docx/guide.docx": samples.docx_manual(),
            "notes/b.md": b"# Keys\n\nThe grey box.",
            "notes/photo.gif": samples.GIF,
            "__MACOSX/notes/._b.md": b"\0\5\x16\7",
            ".DS_Store": b"x",
            "../../etc/passwd.txt": b"root of the path",
        }
    )
    parsed = read("all.zip", content)
    assert parsed.file_type == "zip"
    found = dict(places(parsed))
    assert found["notes > b.md > Keys"].strip() == "The grey box."
    assert found["etc > passwd.txt"] == "root of the path"
    assert any(path.startswith("manual/docx > guide.docx") for path in found)
    assert parsed.metadata["attachments_unread"].startswith("photo.gif is a GIF image")
    assert not any("MACOSX" in path or "DS_Store" in path for path in found)


def test_an_export_of_slack_says_who_wrote_what_and_when() -> None:
    users = [{"id": "U01", "name": "hkim", "profile": {"real_name": "Hana Kim"}}, {"id": "U02", "name": "pete"}]
    day = [
        {
            "user": "U01",
            "text": "Ask <@U02> by <!date^1^{date}|Feb 14>",
            "ts": "1739260800.000100",
            "blocks": [{"a": 1}],
        },
        {
            "user": "U02",
            "text": "It is in <https://a.example/v|the vault> &amp; in <#C1|ops>",
            "ts": "1739261000.000200",
        },
        {"user": "U02", "subtype": "channel_join", "text": "<@U02> has joined", "ts": "1739262000.000300"},
    ]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("users.json", json.dumps(users))
        archive.writestr("deploys/2025-02-11.json", json.dumps(day))
    parsed = read("slack.zip", stream.getvalue())
    assert [(each.heading_path, each.text) for each in parsed.sections] == [
        ("#deploys", "Hana Kim, 2025-02-11 08:00: Ask @pete by Feb 14"),
        ("#deploys", "pete, 2025-02-11 08:03: It is in the vault (https://a.example/v) & in #ops"),
    ]


SPOKEN = {
    "type": "rich_text",
    "elements": [
        {
            "type": "rich_text_list",
            "elements": [
                {
                    "type": "rich_text_section",
                    "elements": [
                        {"type": "text", "text": "Ask "},
                        {"type": "user", "user_id": "U01"},
                        {"type": "text", "text": " in "},
                        {"type": "channel", "channel_id": "C1"},
                        {"type": "text", "text": ", see "},
                        {"type": "link", "url": "https://a.example/v", "text": "the vault"},
                        {"type": "emoji", "name": "eyes"},
                    ],
                },
                {"type": "rich_text_section", "elements": [{"type": "text", "text": "Now"}]},
            ],
        }
    ],
}


@pytest.mark.parametrize(
    ("message", "lines"),
    [
        ({"attachments": [{"text": "Deploy failed", "fallback": "failed"}]}, ["Deploy failed"]),
        ({"attachments": [{"fallback": "Deploy &lt;7&gt; failed"}]}, ["Deploy <7> failed"]),
        (
            {
                "text": "Alert 0",
                "attachments": [
                    {
                        "pretext": "From <https://a.example/v|the watch>",
                        "title": "Disk is full",
                        "text": "Of db-3.",
                        "fields": [
                            {"title": "Errors", "value": "0"},
                            {"title": "Used", "value": "98 %", "short": True},
                        ],
                    }
                ],
            },
            ["Alert 0", "From the watch (https://a.example/v)", "Disk is full", "Of db-3.", "Errors: 0", "Used: 98 %"],
        ),
        (
            {
                "blocks": [
                    {"type": "header", "text": {"type": "plain_text", "text": "Leave"}},
                    {"type": "section", "fields": [{"type": "mrkdwn", "text": "Who: <@U01>"}]},
                    {
                        "type": "context",
                        "elements": [{"type": "image", "alt_text": "A chart"}, {"text": "Asked today"}],
                    },
                    {"type": "actions", "elements": [{"type": "button", "text": {"text": "Approve"}}]},
                    {
                        "type": "table",
                        "rows": [[{"type": "raw_text", "text": "Days"}, {"type": "raw_text", "text": "3"}]],
                    },
                ]
            },
            ["Leave", "Who: @Hana Kim", "A chart", "Asked today", "Days | 3"],
        ),
        ({"blocks": [SPOKEN]}, ["Ask @Hana Kim in #C1, see the vault (https://a.example/v):eyes:", "Now"]),
        ({"text": "Ask Hana", "blocks": [SPOKEN]}, ["Ask Hana"]),
        (
            {"text": "Build 7 failed Approve", "blocks": [{"type": "section", "text": {"text": "Build 7\nfailed"}}]},
            ["Build 7 failed Approve"],
        ),
        ({"attachments": [{"blocks": [{"type": "section", "text": {"text": "Late"}}]}]}, ["Late"]),
        ({"text": "Hi", "attachments": [None, {"text": 7, "fields": "x"}], "blocks": {"rows": [1]}}, ["Hi"]),
    ],
)
def test_what_bots_say_in_an_export_of_slack_is_read(message: dict[str, object], lines: list[str]) -> None:
    at = {"subtype": "bot_message", "bot_profile": {"name": "watch"}, "ts": "1739260800.000100"}
    day = [{"text": "", **at, **message}, {"user": "U01", "text": "Thanks", "ts": "1739261000.000200"}]
    files = {"users.json": [{"id": "U01", "real_name": "Hana Kim"}], "ops/2025-02-11.json": day}
    content = samples.zipped({name: json.dumps(each).encode() for name, each in files.items()})
    assert [each.text for each in read("slack.zip", content).sections] == [
        "watch, 2025-02-11 08:00: " + "\n".join(lines),
        "Hana Kim, 2025-02-11 08:03: Thanks",
    ]


def test_a_table_that_an_export_of_notion_holds_twice_is_read_once() -> None:
    name = "Rooms 0123456789abcdef0123456789abcdef"
    files = {
        f"{name}.csv": b"Room\n8",
        f"{name}_all.csv": b"Room\n8\n9",
        "Seats.csv": b"Seat\n1",
        "Seats_all.csv": b"Seat\n2",
    }
    parsed = read_document("export.zip", samples.zipped({**files, "~$a.docx": b"x"}), max_bytes=10_000)
    assert parsed.metadata["attachments"] == "Rooms_all.csv, Seats.csv, Seats_all.csv"
    assert [section.text for section in parsed.sections] == ["8", "9", "1", "2"]


def test_names_of_files_in_other_encodings_are_read() -> None:
    content = samples.zipped({"xxxxxxxx.txt": b"text"})
    named = content.replace(b"xxxxxxxx", "かぎの".encode("cp932") + b"_1")
    assert [each.heading_path for each in read("a.zip", named).sections] == ["かぎの_1.txt"]


def nested(files: dict[str, bytes] | bytes, *, count: int = 1) -> bytes:
    inner = files if isinstance(files, bytes) else samples.zipped(files)
    return samples.zipped({f"part-{number}.zip": inner for number in range(count)})


def test_an_export_in_parts_is_read_and_its_pages_have_no_numbers_of_the_program() -> None:
    page = {"Team 0123456789abcdef0123456789abcdef/Keys 0123456789abcdef0123456789abcdea.md": b"The key is red."}
    assert places(read("export.zip", nested(page))) == [("part-0.zip > Team > Keys.md", "The key is red.")]


@pytest.mark.parametrize("suffix", ["pages", "numbers", "key"])
def test_a_document_of_apple_is_told_as_such(suffix: str) -> None:
    with pytest.raises(UnreadableDocumentError, match=r"save it as \.docx, \.xlsx, \.pptx"):
        read(f"plan.{suffix}", samples.zipped({"Index/Document.iwa": b"x", "preview.jpg": b"x"}))


def test_a_workbook_in_xml_has_a_record_per_row() -> None:
    def row(*cells: str) -> str:
        return f"<Row>{''.join(cells)}</Row>"

    def cell(text: str, more: str = "") -> str:
        return f'<Cell {more}><Data ss:Type="String">{text}</Data></Cell>'

    content = (
        '<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>'
        '<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" '
        'xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet ss:Name="Stock"><Table>'
        + row(cell("Item"), cell("Shelf"), cell("Count"))
        + row(cell("Rope"), cell("12", 'ss:Index="3"'))
        + "</Table></Worksheet></Workbook>"
    )
    for name in ("a.xml", "a.xls"):
        parsed = read(name, content.encode())
        assert [(each.heading_path, each.header, each.text) for each in parsed.sections] == [
            ("Stock", "Item | Shelf | Count", "Rope |  | 12")
        ]


def test_archives_within_archives_and_mails_are_read_once() -> None:
    inner = samples.zipped({"a.txt": b"deep"})
    parsed = read("a.zip", samples.zipped({"inner.zip": inner, "b.txt": b"flat"}))
    assert places(parsed) == [("b.txt", "flat")]
    assert "is a zip archive within another one" in str(parsed.metadata["attachments_unread"])
    assert ("inner.zip > a.txt", "deep") in places(read("m.eml", samples.mail(("inner.zip", inner))))
    through_mail = samples.zipped({"m.eml": samples.mail(("inner.zip", inner))})
    assert all("deep" not in text for _, text in places(read("a.zip", through_mail)))


def test_an_archive_packed_by_a_method_that_is_not_known_is_told_as_such() -> None:
    deflate64 = bytearray(samples.zipped({"plan.txt": b"The plan."}))
    for signature, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = deflate64.index(signature) + place
        deflate64[at : at + 2] = b"\x09\x00"
    with pytest.raises(UnreadableDocumentError, match=r"^a\.zip is packed by a method that is not known here"):
        read_document("a.zip", bytes(deflate64), max_bytes=10**8)


def test_hostile_archives_are_refused() -> None:
    many = samples.zipped({f"{number}.txt": b"x" for number in range(MAX_FILES + 1)})
    refused: dict[str, tuple[bytes, str]] = {
        "many": (many, f"holds {MAX_FILES + 1:,} files; at most {MAX_FILES:,} are read"),
        "bomb": (samples.zipped({"a.txt": bytes(6_000_000)}), "a part of it unpacks to more than 200 times"),
        "large": (samples.zipped({f"{n}.bin": bytes(4_900_000) for n in range(12)}), "unpacks to more than 50,000,000"),
        "password": (samples.with_zip_password(samples.zipped({"a.txt": b"x"})), "is encrypted with a password"),
        "nothing": (samples.zipped({"a.gif": samples.GIF}), "holds no file that can be read"),
        "empty": (samples.zipped({}), "has no text in it"),
        "nested": (nested(nested(nested({"a.txt": b"x"}))), "holds no file that can be read"),
        "parts": (nested({}, count=MAX_PARTS + 1), "holds no file that can be read"),
        "Plan": (samples.zipped({"Index/Document.iwa": b"x"}), "is a Pages, Numbers or Keynote document; save it as"),
    }
    for name, (content, reason) in refused.items():
        with pytest.raises(UnreadableDocumentError) as caught:
            read(f"{name}.zip", content)
        assert reason in str(caught.value), name


# ---------------------------------------------------------------- hostile XML


def laughs(levels: int = 12) -> str:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, levels))
    return f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha">{entities}]><x><p>Before &a{levels - 1}; after</p></x>'


HOSTILE: dict[str, Callable[[], str]] = {
    "an entity bomb": laughs,
    "a file of the server": lambda: (
        '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x><p>Before &f; after</p></x>'
    ),
    "parameters": lambda: '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;]><x><p>Before x after</p></x>',
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("suffix", ["xml", "rss", "atom"])
def test_entities_of_a_document_are_never_expanded(name: str, suffix: str) -> None:
    started = time.thread_time()
    [section] = read(f"a.{suffix}", HOSTILE[name]()).sections
    assert section.text.startswith("Before")
    assert section.text.endswith("after")
    assert len(section.text) < 50
    assert time.thread_time() - started < 5


def test_flat_open_documents_with_entities_are_refused() -> None:
    with pytest.raises(UnreadableDocumentError, match="defines XML entities"):
        read("a.fodt", laughs())


SLOW: dict[str, Callable[[], str]] = {
    "a.xml": lambda: "<x>" + "<!DOCTYPE [" * 100_000,
    "b.xml": lambda: "<!DOCTYPE x [" + "]" * 500_000,
    "c.xml": lambda: "<x>" + "&a" * 500_000 + "</x>",
    "d.xml": lambda: "<x>" * 100_000,
    "e.xml": lambda: "<x " + " ".join(f"a{n}='1'" for n in range(100_000)) + "/>",
    "f.xml": lambda: "<x>" + "<p><q>a</q>b</p>" * 100_000 + "</x>",
    "a.jsonc": lambda: "/*" * 500_000,
    "b.jsonc": lambda: '"' + '\\"' * 500_000,
    "c.jsonc": lambda: "[" + ", \n" * 300_000,
}


@pytest.mark.parametrize("name", SLOW)
def test_nothing_takes_time_by_the_square(name: str) -> None:
    content = SLOW[name]()
    started = time.thread_time()
    with contextlib.suppress(UnreadableDocumentError):
        read(name, content)
    assert time.thread_time() - started < 10


def test_a_paragraph_of_a_patent_is_one_sentence_with_greek_letters_by_their_old_names() -> None:
    inner = "<PDAT>The value of &agr;</PDAT><HIL><SB><PDAT>1</PDAT></SB></HIL><PDAT> is &OHgr;.</PDAT>"
    patent = f"<PATDOC><PARA><PTEXT>{inner}</PTEXT></PARA></PATDOC>"
    assert read_document("a.xml", patent.encode(), max_bytes=10**6).sections[0].text == "The value of α1 is Ω."
