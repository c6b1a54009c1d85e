"""OpenDocument, HWPX, RTF, Outlook, subtitles, notebooks, YAML and TOML: their structure, and files that attack."""

from __future__ import annotations

import base64
import json
import re
import socket
import struct
from collections.abc import Callable
from contextlib import suppress

import pytest

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers import ParsedDocument, outlook, read_document
from braid.core.ingest.readers.document import SourceFile
from tests import more_samples, samples
from tests.core.ingest.test_unreadable_files import ENTITIES, with_part

MAX_BYTES = 5_000_000


def read(filename: str, content: bytes | str) -> ParsedDocument:
    return read_document(filename, content.encode() if isinstance(content, str) else content, max_bytes=MAX_BYTES)


def texts(parsed: ParsedDocument) -> dict[str, str]:
    return {section.heading_path: section.text for section in parsed.sections}


# ---------------------------------------------------------------- structure


NAV = (
    '<nav xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" epub:type="toc"><ol>'
    '<li><a href="text/chapter%201.xhtml"><b>바다</b></a><ol><li><a href="text/chapter%201.xhtml#b">등대</a></li></ol>'
    "</li>"
    '<li><a href="text/two.xhtml">배</a></li></ol></nav>'
)
NCX = (
    '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>바다</text></navLabel>'
    '<content src="text/chapter%201.xhtml"/><navPoint><navLabel><text>등대</text></navLabel>'
    '<content src="text/chapter%201.xhtml#b"/></navPoint></navPoint><navPoint><navLabel><text>배</text></navLabel>'
    '<content src="text/two.xhtml"/></navPoint></navMap></ncx>'
)


@pytest.mark.parametrize(
    ("contents", "kind"),
    [(NAV, 'media-type="application/xhtml+xml" properties="nav"'), (NCX, 'media-type="application/x-dtbncx+xml"')],
    ids=["EPUB 3", "EPUB 2"],
)
def test_chapters_of_a_book_without_headings_have_those_of_its_contents(contents: str, kind: str) -> None:
    parts = dict(samples.EPUB_PARTS)
    item = f'<item id="toc" href="toc.xml" {kind}/></manifest>'
    parts["OEBPS/book.opf"] = parts["OEBPS/book.opf"].replace(b"</manifest>", item.encode())
    parts["OEBPS/toc.xml"] = contents.encode()
    one = '<body>처음.<p>밤 <i>불</i>.</p><p>다시 <a id="b"/>불.</p></body>'
    parts["OEBPS/text/chapter 1.xhtml"] = f"<html><head><title/></head>{one}</html>".encode()
    parts["OEBPS/text/two.xhtml"] = "<html><body><div><p class='t'>배</p><p>떠났다.</p></div></body></html>".encode()
    parsed = read("a.epub", samples.zipped(parts))
    assert texts(parsed) == {"바다": "처음.\n\n밤 불.", "바다 > 등대": "다시 불.", "배": "떠났다."}


@pytest.mark.parametrize(
    "change",
    [
        {"OEBPS/text/two.xhtml": None},
        {"META-INF/container.xml": None},
        {"OEBPS/book.opf": (b'<itemref idref="one"/><itemref idref="two"/>', b"")},
        {"OEBPS/book.opf": (b"text/chapter%201.xhtml", b"Text/Chapter%201.xhtml")},
    ],
    ids=["a chapter is missing", "no container", "no reading order", "a name in other letters"],
)
def test_a_book_whose_lists_are_broken_is_read_as_far_as_it_is_there(
    change: dict[str, tuple[bytes, bytes] | None],
) -> None:
    parts = dict(samples.EPUB_PARTS)
    for name, swap in change.items():
        content = parts.pop(name)
        if swap is not None:
            parts[name] = content.replace(*swap)
            assert parts[name] != content
    assert "吾輩は猫である。" in "".join(section.text for section in read("cat.epub", samples.zipped(parts)).sections)


def test_a_mail_in_utf7_and_json_values_on_one_line_are_read() -> None:
    mail = b"Subject: s\nContent-Type: text/plain; charset=unicode-1-1-utf-7\n\n" + "会議は三階です。".encode("utf-7")
    assert "会議は三階です。" in read("a.eml", mail).sections[0].text
    assert [section.text for section in read("a.json", '{"a": "one"}{"a": "two"} ').sections] == ["a: one", "a: two"]


def test_pictures_of_open_documents_are_read_by_what_their_author_says_of_them() -> None:
    def frame(told: str) -> str:
        return f"<text:p><draw:frame><draw:image/><d:desc xmlns:d='urn:x'>{told}</d:desc></draw:frame></text:p>"

    odt = more_samples.open_document("text", "<text:p>Before.</text:p>" + frame("The tank from above") + frame("a.png"))
    assert read("a.odt", odt).sections[0].text == "Before.\n\nThe tank from above"


def test_odt_has_what_is_shown_and_nothing_else() -> None:
    parsed = read("manual.odt", more_samples.odt_manual())
    assert parsed.title == "利用案内"  # not "Untitled", as a program called it
    found = texts(parsed)
    assert list(found) == ["利用案内", "利用案内 > Fees", "Footnotes", "Comments"]
    assert found["利用案内"] == samples.JAPANESE
    assert found["利用案内 > Fees"] == "- Ten  books\n\nDays late | Fee\n7 | 50 yen\n\nKept.\n\n東京都\n\nBoxed."
    assert found["Footnotes"] == "A footnote."
    assert found["Comments"] == "A comment."


def test_ods_has_values_and_says_what_is_not_calculated() -> None:
    parsed = read("staff.ods", more_samples.ods_staff())
    [row] = parsed.sections
    assert row.header == "name | started | loans | fee"
    assert row.text == "Sato | 2026-03-02 | 2.5 | 61,000 EUR"
    assert row.heading_path == parsed.metadata["sheets"] == "Staff"
    assert parsed.metadata["formulas_without_value"] == "1"


def test_odp_has_slides_with_their_notes() -> None:
    parsed = read("talk.odp", more_samples.odp_talk())
    assert parsed.title == "Hybrid search"
    assert [(each.page, each.heading_path, each.text) for each in parsed.sections] == [
        (1, "Hybrid search", "Two legs\n\nSay why."),
        (2, "結果", "結果"),
    ]


def test_hwpx_has_headings_tables_notes_and_comments_without_headers() -> None:
    parsed = read("guide.hwpx", more_samples.hwpx_guide())
    assert (parsed.title, parsed.metadata["author"]) == ("대출 안내", "김도서")
    found = texts(parsed)
    assert found["대출 안내"] == f"{samples.KOREAN}\n\n첫 줄\n둘째 줄\n\n자료 | 권수\n도서 | 10권"
    assert found["Footnotes"] == "각주입니다."
    assert found["Comments"] == "숨은 설명"
    assert len(found) == 3


def test_hwp_has_headings_tables_notes_and_comments_without_headers() -> None:
    found = texts(read("guide.hwp", more_samples.hwp_guide()))
    assert found == {
        "대출 안내": f"{samples.KOREAN}\n\n자료 | 권수\n도서 | 10권\n\n끝입니다.",
        "Footnotes": "각주입니다.",
        "Comments": "숨은 설명",
    }
    assert texts(read("guide.hwp", more_samples.hwp_guide(flags=0))) == found


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.xls", "<html><body><table><tr><td>Rope</td><td>12</td></tr></table></body></html>", "Rope | 12"),
        ("a.xls", "Item\tPrice\nRope\t12\n", "Rope | 12"),
        ("a.doc", '<html xmlns:w="urn:schemas-microsoft-com:office:word"><p>Coil the rope dry.</p></html>', ""),
        ("a.doc", "{\\rtf1\\ansi Coil the rope dry.\\par}", ""),
        ("a.doc", "MIME-Version: 1.0\nContent-Type: text/html\n\n<p>Coil the rope dry.</p>", ""),
        ("a.doc", "Coil the rope dry.", ""),
    ],
)
def test_a_text_that_is_named_as_an_old_office_file_is_read_as_what_it_is(name: str, content: str, text: str) -> None:
    assert [each.text for each in read(name, content).sections] == [text or "Coil the rope dry."]


@pytest.mark.parametrize(
    ("charset", "page", "encoding", "text"),
    [(78, 10001, "cp932", samples.JAPANESE), (79, 10003, "cp949", samples.KOREAN)],
)
def test_rich_text_of_a_mac_is_read(charset: int, page: int, encoding: str, text: str) -> None:
    escaped = "".join(f"\\'{byte:02x}" for byte in text.encode(encoding))
    by_font = f"{{\\rtf1\\mac{{\\fonttbl{{\\f0\\fcharset{charset} Osaka;}}}}\\f0 {escaped}\\par}}"
    by_page = f"{{\\rtf1\\mac\\ansicpg{page} {escaped}\\par}}"
    for content in (by_font, by_page):
        assert [each.text for each in read("a.rtf", content).sections] == [text]


RTF = (
    rb"{\rtf1\ansi\ansicpg932\deff0{\fonttbl{\f0\fcharset128 MS;}{\f1\fcharset129 Batang;}}"
    rb"{\stylesheet{\s1 heading 1;}}"
    rb"{\info{\title Leave 2026}{\author Sato}}{\header Head\par}{\pard\outlinelevel0 Rules\par}"
    rb"\pard Text \u26085?\u26412? \'93\'fa\'96\'7b \f1 \'c7\'d1\'b1\'db\f0 {\v hidden}{\deleted gone}"
    rb"{\field{\*\fldinst INCLUDEPICTURE http://127.0.0.1/x}{\fldrslt shown}}\par"
    rb"{\trowd a\cell b\cell\row}{\trowd c\cell d\cell\row}{\pict\bin4 {{{{}"
    rb"{\object{\objdata 0105}}{\*\unknown x}\par end}"
)


def test_rtf_has_text_in_every_encoding_and_no_objects() -> None:
    parsed = read("leave.rtf", RTF)
    assert (parsed.title, parsed.metadata["author"]) == ("Leave 2026", "Sato")
    assert texts(parsed) == {"Rules": "Text 日本 日本 한글shown\na | b\nc | d\n\nend"}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (rb"Before {\upr{\f0 R?sum?}{\*\ud{\f0 R\u233?sum\u233?}}} after", {"": "Before Résumé after"}),
        (rb"{\object\objemb{\*\objclass X}{\*\objdata 01}{\result {\pard Shown table\par}}}", {"": "Shown table"}),
        (rb"{\header {\object{\result Head}}}Text", {"": "Text"}),
        (
            rb"{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt Box\par}}{\shprslt{\*\do{\dptxbxtext Box\par}}}}",
            {"": "Box"},
        ),
        (rb"{\*\do\dobxpage{\dptxbx{\dptxbxtext Old box\par}}}", {"": "Old box"}),
        (
            rb"Pay on Friday{\*\atnid I}{\*\annotation{\*\atnref 1}\chatn Ask\par the bank}.{\*\annotation No}",
            {"": "Pay on Friday.", "Comments": "Ask the bank\n\nNo"},
        ),
        (
            rb"A dose of 50{\super 1}{\footnote\pard {\super 1} No\par alcohol.} mg, or 10{\super 3}{\i 5}"
            rb"{\super\chftn {\footnote\ftnalt{\super\chftn} Never.}}.",
            {"": "A dose of 50 mg, or 10³5.", "Footnotes": "1 No alcohol.\n\nNever."},
        ),
        (rb"\pard\dropcapli3\dropcapt1 T\par\pard he storm took the pier.", {"": "The storm took the pier."}),
        (rb"Shifts begin at {\deleted\par}22:00.", {"": "Shifts begin at 22:00."}),
    ],
    ids=[
        *("in Unicode", "result of an object", "within a header", "text box", "old text box", "comments", "notes"),
        *("drop cap", "deleted end"),
    ],
)
def test_what_rtf_skips_but_for_its_text(body: bytes, found: dict[str, str]) -> None:
    parsed = read("a.rtf", rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}" + body + rb"\par}")
    assert (parsed.title, texts(parsed)) == ("a", found)


def mixed(*parts: tuple[str, str], kind: str = "mixed") -> str:
    """Return a mail, or a part of one, of parts with these headers and texts."""
    edge = f"edge-{kind}"
    inner = "".join(f"--{edge}\nContent-Type: {about}\n\n{text}\n" for about, text in parts)
    return f"multipart/{kind}; boundary={edge}\n\n{inner}--{edge}--"


def test_a_body_goes_on_behind_a_picture_and_in_signed_mails() -> None:
    def found(mail: str) -> list[tuple[str, str]]:
        parsed = read("a.eml", f"Subject: Rope\nMIME-Version: 1.0\nContent-Type: {mail}\n".encode())
        assert "signature" not in str(parsed.metadata)
        return [(each.heading_path, each.text) for each in parsed.sections]

    picture = ("image/png; name=a.png", "x")
    plain, table = ("text/plain", "Coil it dry."), ("text/csv; name=a.csv", "a,b\n1,2")
    both = mixed(plain, ("text/html", "<p>Coil it dry.</p>"), kind="alternative").split("\n\n", 1)
    inner = mixed((both[0], both[1]), table).split("\n\n", 1)
    signature = ("application/pgp-signature; name=signature.asc", "x")
    assert found(mixed(plain, picture, ("text/plain", "Then hang it up."))) == [
        ("", "Coil it dry."),
        ("", "Then hang it up."),
    ]
    assert found(mixed((inner[0], inner[1]), signature, kind="signed")) == [("", "Coil it dry."), ("a.csv", "1 | 2")]
    assert found(mixed(plain, ("text/html", "<p>Coil it dry.</p>"), picture)) == [("", "Coil it dry.")]
    assert found(mixed(("text/calendar", "SUMMARY:Meeting at the pier"))) == [("", "SUMMARY:Meeting at the pier")]


SIGNED = bytes.fromhex("06092a864886f70d010702a0803080020101310006092a864886f70d010701a0802480")


def octets(content: bytes) -> bytes:
    return bytes((0x04, 0x82, *divmod(len(content), 256))) + content


def test_a_mail_within_its_signature_is_read() -> None:
    inner = f"Content-Type: {mixed(('text/plain', 'Bay nine is shut.'), ('text/csv; name=a.csv', 'a,b'))}".encode()
    content = base64.encodebytes(SIGNED + octets(inner[:70]) + octets(inner[70:]) + bytes(6)).decode()
    head = "From: a@ex.org\nSubject: Shut\nContent-Transfer-Encoding: base64\n"
    parsed = read("a.eml", f"{head}Content-Type: application/x-pkcs7-mime; name=smime.p7m\n\n{content}".encode())
    assert [each.text for each in parsed.sections] == ["From: a@ex.org", "Bay nine is shut.", "a | b"]


ENCRYPTED_MAILS = [
    "Content-Type: application/pkcs7-mime; name=smime.p7m\n\nMIAGCSqGSIb3DQEHA6CAMIACAQAxggFF",
    "Content-Type: multipart/encrypted; protocol=application/pgp-encrypted; boundary=e\n\n--e\n\nx\n--e--",
    "Content-Type: text/plain\n\n-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----",
]


@pytest.mark.parametrize("body", ENCRYPTED_MAILS, ids=["S/MIME", "PGP/MIME", "PGP"])
def test_an_encrypted_mail_is_refused_and_named_where_another_mail_holds_it(body: str) -> None:
    mail = f"From: a@ex.org\nSubject: Offer\n{body}"
    with pytest.raises(UnreadableDocumentError, match=r"a\.eml is an encrypted mail; save it without") as refused:
        read("a.eml", mail.encode())
    assert refused.value.code == "encrypted"
    holder = f"From: b@ex.org\nContent-Type: {mixed(('text/plain', 'See.'), ('message/rfc822', mail))}"
    parsed = read("b.eml", holder.encode())
    assert [each.text for each in parsed.sections] == ["From: b@ex.org\n\nSee."]
    assert parsed.metadata["attachments_unread"].startswith("Offer is an encrypted mail")


def test_an_encrypted_outlook_message_is_refused() -> None:
    tree = more_samples.message_tree(subject="Offer", attachments={"smime.p7m": b"x"})
    content = more_samples.compound({**tree, "__substg1.0_001A001F": "IPM.Note.SMIME".encode("utf-16-le")})
    with pytest.raises(UnreadableDocumentError, match="is an encrypted mail"):
        read("a.msg", content)


def test_a_letter_between_two_words_of_a_header_is_whole() -> None:
    name = "이영희, 구매팀".encode()
    words = "\n ".join(f"=?utf-8?B?{base64.b64encode(part).decode()}?=" for part in (name[:7], name[7:]))
    parsed = read("a.eml", f"From: a@ex.kr\nTo: {words} <lee@ex.kr>\nSubject: {words}\n\nSee.".encode())
    assert (parsed.title, parsed.metadata["to"]) == ("이영희, 구매팀", '"이영희, 구매팀" <lee@ex.kr>')


@pytest.mark.parametrize(("more", "text"), [("", "Coil the rope dry."), ("; delsp=yes", "Coil the ropedry.")])
def test_lines_that_only_the_screen_has_broken_are_joined(more: str, text: str) -> None:
    body = "Coil the rope \ndry.\n\n> It is \n> wet\n-- \nInes"
    content = f"Subject: Rope\nContent-Type: text/plain; format=flowed{more}\n\n{body}\n"
    [section] = read("a.eml", content.encode()).sections
    assert section.text == f"{text}\n\n> It is \n> wet\n-- \nInes"


def test_an_outlook_message_has_its_header_its_body_and_its_attachments() -> None:
    inner = more_samples.message_tree("Inner text.", subject="Inner", is_enclosed=True)
    content = more_samples.msg("Read it.", attachments={"a.txt": b"attached", "b.gz": b"\x1f\x8b"}, enclosed=inner)
    parsed = read("mail.msg", content)
    assert parsed.title == "会議の資料"
    found = texts(parsed)
    assert found[""].endswith("\n\nRead it.")
    assert "From: Hanako Sato <hanako@example.org>\nTo: team@example.org\nDate: 2026-03-0" in found[""]
    assert found["a.txt"].strip() == "attached"
    assert found["Inner"].endswith("Inner text.")
    assert parsed.metadata["attachments"] == "a.txt, b.gz, Inner"
    assert parsed.metadata["attachments_unread"].startswith("b.gz is a gzip archive")


def test_an_outlook_message_has_the_addresses_of_its_sender_and_of_those_who_got_it() -> None:
    tree = dict(more_samples.message_tree("Read it."))
    for number, (tag, address) in enumerate((("3003", "team@example.org"), ("39FE", "bo@example.jp"))):
        shown = {"3001": ("Team", "Bo")[number], tag: address, "3002": "SMTP"}
        tree[f"__recip_version1.0_#{number:08X}"] = {
            f"__substg1.0_{name}001F": text.encode("utf-16-le") for name, text in shown.items()
        }
    del tree["__substg1.0_5D01001F"]
    tree["__substg1.0_0C1F001F"] = "hanako@example.org".encode("utf-16-le")
    tree["__substg1.0_0E04001F"] = "Team; Bo; Others".encode("utf-16-le")
    head = texts(read("mail.msg", more_samples.compound(tree)))[""]
    assert head.startswith(
        "From: Hanako Sato <hanako@example.org>\nTo: Team <team@example.org>; Bo <bo@example.jp>; Others\nDate: "
    )


@pytest.mark.parametrize(
    ("people", "to", "copied"),
    [
        (((1, "a@north.jp"), (1, "a@south.jp")), "Ann <a@north.jp>; Ann <a@south.jp>", "Bo"),
        (((1, "a@north.jp"), (1, "/o=exchange/cn=ann")), "Ann <a@north.jp>; Ann", "Bo"),
        (((1, "a@north.jp"),), "Ann; Ann", "Bo"),
        (((0, "a@north.jp"), (0, "a@south.jp"), (0, "a@west.jp")), "Ann; Ann", "Bo"),
        (((1, "a@north.jp"), (2, "a@south.jp")), "Ann <a@north.jp>", "Ann <a@south.jp>"),
        (((0, "a@north.jp"), (0, "a@south.jp")), "Ann", "Ann"),
        (((0, "a@north.jp"), (0, "a@north.jp")), "Ann <a@north.jp>", "Ann <a@north.jp>"),
    ],
)
def test_recipients_of_one_name_have_their_own_addresses(
    people: tuple[tuple[int, str], ...], to: str, copied: str
) -> None:
    tree = dict(more_samples.message_tree("Read it."))
    for number, (kind, address) in enumerate(people):
        tree[f"__recip_version1.0_#{number:08X}"] = {
            "__substg1.0_3001001F": "Ann".encode("utf-16-le"),
            "__substg1.0_39FE001F": address.encode("utf-16-le"),
            "__properties_version1.0": bytes(8) + struct.pack("<LLQ", 0x0C150003, 6, 0x10000000 * bool(kind) + kind),
        }
    names = [re.sub(" <.*?>", "", each) for each in (to, copied)]
    for tag, shown in zip(("0E04", "0E03"), names, strict=True):
        tree[f"__substg1.0_{tag}001F"] = shown.encode("utf-16-le")
    head = texts(read("mail.msg", more_samples.compound(tree)))[""]
    assert f"\nTo: {to}\nCc: {copied}\n" in head


@pytest.mark.parametrize("word", ["Workbook", "WordDocument", "PowerPoint Document"])
def test_an_outlook_message_may_have_the_words_of_other_formats(word: str) -> None:
    content = more_samples.msg(f"See the {word} attached.", attachments={f"{word}.txt": word.encode("utf-16-le")})
    assert f"See the {word} attached." in texts(read("mail.msg", content))[""]


def test_rtf_has_characters_of_two_halves() -> None:
    assert texts(read("a.rtf", rb"{\rtf1 \u-10174?\u-8265?\u-28210?\par}"))[""] == "𠮷野"


def packed(content: bytes, *, raw_size: int | None = None) -> bytes:
    """Rich text as Outlook compresses it, in letters alone."""
    runs = [content[at : at + 8] for at in range(0, len(content), 8)]
    body = b"".join(b"\0" + run for run in runs)
    return struct.pack("<LL4sL", len(body) + 12, len(content) if raw_size is None else raw_size, b"LZFu", 0) + body


def test_an_outlook_message_without_plain_text_is_read_from_its_page_or_rich_text() -> None:
    assert "Hello page" in texts(read("a.msg", more_samples.msg(html=b"<p>Hello <b>page</b></p>")))[""]
    assert "Hello rich" in texts(read("a.msg", more_samples.msg(rtf=packed(rb"{\rtf1 Hello rich\par}"))))[""]


def test_references_in_compressed_rich_text_are_followed() -> None:
    """The example of [MS-OXRTFCP], 4.1.1."""
    whole = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    found = outlook._unpacked(SourceFile("a.msg", b"", MAX_BYTES), whole)
    assert found == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"


def test_subtitles_are_together_by_the_minute_with_their_lines() -> None:
    parsed = read(
        "talk.srt",
        "1\r\n00:00:01,000 --> 00:00:03,000\r\n<i>Hello</i> there\r\n\r\n2\r\n00:00:04,000 --> 00:00:05,000\r\n"
        "Hi &amp; bye"
        "\r\n\r\n3\r\n00:02:04,000 --> 00:02:05,000\r\nlater\r\n",
    )
    assert [(each.heading_path, each.text, each.line, each.line_end) for each in parsed.sections] == [
        ("0:00:01", "Hello there\nHi & bye", 2, 7),
        ("0:02:04", "later", 10, 11),
    ]
    web = read("talk.vtt", "WEBVTT\n\nNOTE secret\n\n00:01.000 --> 00:03.000\n<v Sato>Hello</v>\n")
    assert texts(web) == {"0:00:01": "Sato: Hello"}


def test_a_notebook_has_texts_code_and_what_was_printed() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Loans\n", "How many.\n", "## Late\n", "Days."]},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"output_type": "stream", "text": ["1\n"]}]},
        {"cell_type": "code", "source": "1/0", "outputs": [{"output_type": "error", "ename": "Zero", "evalue": "x"}]},
        {
            "cell_type": "code",
            "source": "p",
            "outputs": [{"output_type": "display_data", "data": {"image/png": "A=="}}],
        },
    ]
    parsed = read("loans.ipynb", json.dumps({"cells": cells, "metadata": {}}))
    assert parsed.title == "Loans"
    assert [(each.heading_path, each.kind, each.text.strip()) for each in parsed.sections] == [
        ("Loans", "prose", "How many."),
        ("Loans > Late", "prose", "Days."),
        *(("Loans > Late", "code", text) for text in ("print(1)", "1", "1/0", "Zero: x", "p")),
    ]


def test_yaml_and_toml_are_cut_at_their_keys_with_the_comments_above_them() -> None:
    parsed = read("a.yaml", "# top\nname: x\nlist:\n  - a\n# about deploy\n'deploy key': &a\n  b: *a\n")
    assert [(each.heading_path, each.line) for each in parsed.sections] == [("name", 1), ("list", 3), ("deploy key", 5)]
    parsed = read("a.toml", "x = 1\n[tool.ruff]\nline = 3\n[[list]]\na = 1\n")
    assert [(each.heading_path, each.line) for each in parsed.sections] == [("", 1), ("tool.ruff", 2), ("list", 4)]


# ---------------------------------------------------------------- what attacks, or is something else

ODT, HWPX, ODS = more_samples.odt_manual(), more_samples.hwpx_guide(), more_samples.ods_staff()
REPEATED = (
    '<table:table-row table:number-rows-repeated="999"><table:table-cell table:number-columns-repeated="999">'
    "<text:p>x</text:p></table:table-cell></table:table-row>"
)
WIDE = "<table:table-row>" + '<table:table-cell table:number-columns-repeated="99999"/>' * 30 + "</table:table-row>"
DEEP = b"<x>" * 300 + b"</x>" * 300

WRONG: list[tuple[str, bytes | Callable[[], bytes], str]] = [
    ("a.odt", with_part(ODT, "META-INF/manifest.xml", more_samples.ENCRYPTED), "is encrypted with a password"),
    ("a.hwpx", with_part(HWPX, "META-INF/manifest.xml", more_samples.ENCRYPTED), "is encrypted with a password"),
    ("a.odt", with_part(ODT, "content.xml", ENTITIES + b"<x>&b;</x>"), "defines XML entities"),
    ("a.hwpx", with_part(HWPX, "Contents/section0.xml", ENTITIES + b"<x>&b;</x>"), "defines XML entities"),
    ("a.hwpx", with_part(HWPX, "Contents/content.hpf", ENTITIES + b"<x>&b;</x>"), "defines XML entities"),
    ("a.odt", with_part(ODT, "content.xml", DEEP), "is damaged, or is not an OpenDocument text"),
    ("a.odt", lambda: with_part(ODT, "Pictures/zeros", bytes(6_000_000)), "unpacks to more than 200 times its size"),
    ("a.hwpx", lambda: with_part(HWPX, "BinData/zeros", bytes(6_000_000)), "unpacks to more than 200 times its size"),
    ("a.odt", with_part(ODT, "content.xml", b"<x"), "is damaged, or is not an OpenDocument text"),
    ("a.ods", more_samples.ods_staff(REPEATED * 3), "has a sheet of more than 2,000,000 cells"),
    ("a.ods", more_samples.ods_staff(WIDE), "has a sheet of more than 2,000,000 cells"),
    ("a.odt", ODS, "is an OpenDocument spreadsheet, not an OpenDocument text; rename it to a.ods"),
    ("a.docx", HWPX, "is a Hangul document (HWPX), not a Word document; rename it to a.hwpx"),
    ("a.rtf", b"{\\rtf1 " + b"{" * 200_000, "is nested too deeply"),
    ("a.rtf", b"{\\rtf1 {\\pict\\bin999999999 x}", "has no text"),
    ("a.msg", samples.ole("__substg1.0_"), "is damaged, or is not an Outlook message"),
    ("a.msg", more_samples.msg(rtf=packed(b"x", raw_size=1 << 31)), "unpacks to more than 50,000,000 bytes"),
    ("a.hwp", more_samples.hwp_guide(flags=3), "is encrypted with a password"),
    ("a.hwp", lambda: more_samples.hwp_guide(section=bytes(60_000_000)), "unpacks to more than 50,000,000 bytes"),
    ("a.hwp", samples.ole("HwpSummaryInformation"), "is damaged, or is not a Hangul document (HWP)"),
    ("a.ipynb", b'{"cells":' + b"[" * 100_000, "is nested too deeply"),
    ("a.ipynb", b'{"cells": 1}', "is damaged, or is not a Jupyter notebook"),
    ("a.srt", b"just some words", "has no subtitles in it"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "reason"), WRONG, ids=[f"{name}: {why[:40]}" for name, _, why in WRONG])
def test_what_cannot_be_read_is_refused_with_the_reason(
    name: str, content: bytes | Callable[[], bytes], reason: str
) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(name, content() if callable(content) else content)
    assert reason in str(caught.value)


def test_messages_in_messages_end_at_a_depth() -> None:
    tree = more_samples.message_tree("innermost", subject="0", is_enclosed=True)
    for number in range(1, 9):
        tree = more_samples.message_tree(f"text {number}", subject=str(number), enclosed=tree, is_enclosed=True)
    parsed = read("a.msg", more_samples.msg("outermost", enclosed=tree))
    assert len(parsed.sections) == 6
    assert "innermost" not in "".join(section.text for section in parsed.sections)


def test_a_compound_file_that_goes_in_circles_ends() -> None:
    content = bytearray(more_samples.msg("text"))
    fat = len(content) - 512
    for at in range(fat, len(content), 4):
        content[at : at + 4] = struct.pack("<L", 1)
    with suppress(UnreadableDocumentError):
        assert sum(len(section.text) for section in read("a.msg", bytes(content)).sections) < 10 * len(content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.vtt", "WEBVTT\n\n" + "00:01.000 --> 00:02.000\n" * 10_000 + "said\n"),
        ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nsaid " + "<" * 500_000),
        ("a.yaml", "a: &a [x]\n" + "".join(f"b{n}: [*a, *a]\n" for n in range(4_000))),
        ("a.toml", "[" * 500_000),
        ("a.rtf", "{\\rtf1 " + "\\'41" * 60_000 + "}"),
    ],
    ids=["cues", "tags", "aliases", "brackets", "letters"],
)
def test_long_hostile_texts_take_time_by_their_length(name: str, content: str) -> None:
    parsed = read(name, content)
    assert sum(len(section.text) for section in parsed.sections) <= len(content)


def test_nothing_outside_of_a_file_is_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        link = f'<draw:image xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="{address}" xlink:show="embed"/>'
        include = (
            f'<text:section><text:section-source xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="{address}"/>'
        )
        read("a.odt", more_samples.open_document("text", f"<text:p>text {link}</text:p>{include}</text:section>"))
        script = f"<hp:p><hp:run><hp:script>open('{address}')</hp:script><hp:t>text</hp:t></hp:run></hp:p>"
        assert "open(" not in str(read("a.hwpx", more_samples.hwpx_guide(script)).sections)
        read("a.rtf", f"{{\\rtf1 {{\\field{{\\*\\fldinst INCLUDETEXT {address}}}{{\\fldrslt text}}}}}}")
        read("a.msg", more_samples.msg(html=f"<img src='{address}'><iframe src='{address}'></iframe>text".encode()))
        with pytest.raises(BlockingIOError):
            server.accept()
