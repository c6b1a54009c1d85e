"""Files that cannot be read, and odd ones that can."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest

from braid.core.errors import UnreadableDocumentError
from braid.core.ingest.readers.archive import MAX_ENTRIES
from tests import samples
from tests.core.ingest.reading import MAX_BYTES, read

DOCX, XLSX, PPTX, PDF = samples.docx_manual(), samples.xlsx_staff(), samples.pptx_talk(), samples.pdf([["text"]] * 3)
EPUB, MAIL = samples.epub(), samples.mail()
ENTITIES = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
LAUGHS = ENTITIES.decode() + "<x>&b;</x>"
PROTECTION = b'<encryption xmlns:x="enc"><x:CipherReference URI="OEBPS/text/two.xhtml"/></encryption>'
DEEP = 200_000


def with_part(content: bytes, name: str, part: bytes) -> bytes:
    return samples.zipped(samples.unzipped(content) | {name: part})


WRONG: list[tuple[str, bytes | Callable[[], bytes], str]] = [
    # nothing in it
    ("a.txt", b"", "is empty"),
    ("a.pdf", b"", "is empty"),
    ("a.txt", b" \n\t\n", "has no text"),
    ("a.html", b"<script>only()</script>", "has no text"),
    ("a.html", b"<!-- only -->", "has no text"),
    ("a.json", b"{}", "has no text"),
    ("a.csv", b",,\n,,\n", "has no text"),
    ("a.pdf", samples.scanned_pdf, "has no text layer (it holds scanned pages or images); run OCR"),
    # locked
    ("a.pdf", samples.pdf([["secret"]], password="secret"), "is encrypted with a password; save it without one"),
    ("a.docx", samples.ole("EncryptedPackage"), "encrypted with a password; remove the password"),
    ("a.xlsx", samples.ole("EncryptedPackage"), "encrypted with a password; remove the password"),
    ("a.epub", samples.with_zip_password(EPUB), "is encrypted with a password; remove the password"),
    ("a.epub", with_part(EPUB, "META-INF/encryption.xml", PROTECTION), "is encrypted (copy protection)"),
    # another kind than its name says
    ("a.txt", samples.PNG, "is a PNG image, not plain text"),
    ("a.pdf", samples.PNG, "is a PNG image, not a PDF document; rename it to a.png"),
    ("photo.png", samples.PNG, "has no text layer (it holds scanned pages or images); run OCR"),
    ("photo.png", lambda: samples.noisy_picture()[:5000], "is damaged, or is not a PNG image; copy or export it again"),
    ("fax.tiff", lambda: samples.tiff_of_pages(2_001), "has more than 2,000 pages; at most 2,000 are read"),
    ("fax.tif", lambda: samples.noisy_picture("TIFF")[:5_000], "is damaged, or is not a TIFF image"),
    ("bomb.png", samples.picture_bomb, "has 900,000,000 pixels; at most 120,000,000 are read, so make it smaller"),
    ("photo.gif", samples.GIF, "is a GIF image; save it as .png"),
    ("old.mbox", b"From a@b.c Mon Feb 3 10:00:00 2025\nFrom: a@b.c\n\nx", "is a mailbox; save the mails in it as .eml"),
    ("Inbox", b"From a@b.c Mon Feb 3 10:00:00 2025\nFrom: a@b.c\n\nx", "is a mailbox; save the mails in it as .eml"),
    ("plan.gdoc", b'{"doc_id": "1"}', "is a link to a Google document; download it as .docx, .xlsx, .pptx"),
    ("winmail.dat", b"x\x9f>\"" + bytes(40), "(TNEF); ask who sent it to send the mail as HTML or plain text"),
    ("photo.heic", b"\0\0\0\x18ftypheic" + bytes(40), "is a HEIC image; save it as .png"),
    ("a.docx", PDF, "is a PDF document, not a Word document; rename it to a.pdf"),
    ("a.txt", PDF, "is a PDF document, not plain text; rename it to a.pdf"),
    ("a", PDF, "is a PDF document; rename it to a.pdf"),
    ("a.xlsx", DOCX, "is a Word document, not an Excel workbook; rename it to a.docx"),
    ("a.md", EPUB, "is an EPUB book, not a Markdown document; rename it to a.epub"),
    ("a.docx", b"plain words", "is plain text, not a Word document"),
    ("a.pdf", b"plain words", "is plain text, not a PDF document"),
    ("a.docx", samples.zipped({"x.txt": b"x"}), "is a zip archive, not a Word document; rename it to a.zip"),
    ("a.txt", bytes(range(256)) * 20, "is binary data, not plain text"),
    ("a.xyz", b"some text", "has the type .xyz that is not known"),
    ("noname", b"some text", "has no file extension"),
    ("a.eml", b"just some words\n", "is not a mail"),
    # damaged or cut off
    ("a.docx", DOCX[: len(DOCX) // 2], "is a zip archive that is damaged or cut off"),
    ("a.xlsx", XLSX[: len(XLSX) // 2], "is a zip archive that is damaged or cut off"),
    ("a.pptx", PPTX[: len(PPTX) // 2], "is a zip archive that is damaged or cut off"),
    ("a.epub", EPUB[: len(EPUB) // 2], "is a zip archive that is damaged or cut off"),
    ("a.pdf", PDF[: len(PDF) // 2], "was cut off"),
    ("a.pdf", PDF[:20] + PDF[len(PDF) // 2 :], "is damaged, or is not a PDF document"),
    ("a.docx", with_part(DOCX, "word/document.xml", b"<w:document"), "is damaged, or is not a Word document"),
    ("a.xlsx", with_part(XLSX, "xl/workbook.xml", b"<workbook"), "is damaged, or is not an Excel workbook"),
    ("a.xlsx", with_part(XLSX, "xl/worksheets/sheet1.xml", b"<worksheet><sheetData><row"), "is damaged"),
    ("a.pptx", with_part(PPTX, "ppt/presentation.xml", b""), "is damaged, or is not a PowerPoint presentation"),
    ("a.epub", with_part(EPUB, "META-INF/container.xml", b"<container/>"), "is damaged"),
    ("a.epub", with_part(EPUB, "OEBPS/book.opf", b"<package"), "is damaged, or is not an EPUB book"),
    ("a.json", b'{"a": [1, 2', "is not valid JSON: Expecting ',' delimiter at line 1, column 12"),
    ("a.jsonl", b'{"a": 1}\n{"b"\n', "is not valid JSON: Expecting ':' delimiter at line 2"),
    # bombs
    ("a.json", b"[" * DEEP + b"]" * DEEP, "is nested too deeply"),
    ("a.json", b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "is nested too deeply"),
    ("a.html", b"<div>" * DEEP + b"text", "is nested too deeply"),
    ("a.cpp", b"namespace a {" * 2_000 + b"int x;" + b"}" * 2_000, "is nested too deeply"),
    ("a.docx", with_part(DOCX, "word/document.xml", ENTITIES + b"<x>&b;</x>"), "defines XML entities"),
    ("a.xlsx", with_part(XLSX, "xl/workbook.xml", LAUGHS.encode("utf-16")), "defines XML entities"),
    ("a.xlsx", with_part(XLSX, "xl/workbook.xml", LAUGHS.encode("utf-16-be")), "another encoding"),
    ("a.xlsx", with_part(XLSX, "xl/workbook.xml", LAUGHS.encode("cp037")), "another encoding"),
    ("a.xlsx", with_part(XLSX, "xl/workbook.xml", b'<?xml version="1.0" encoding="utf-7"?><x/>'), "another encoding"),
    ("a.docx", lambda: with_part(DOCX, "word/document.xml", b"<x>" + b" " * ((1 << 20) - 6) + ENTITIES), "defines XML"),
    ("a.docx", with_part(DOCX, "word/document.xml", b"<!DOCTYPE x [<!ELEMENT x ANY>]><x/>"), "or a document type"),
    ("a.epub", with_part(EPUB, "OEBPS/book.opf", ENTITIES + b"<x>&b;</x>"), "defines XML entities"),
    ("a.docx", lambda: with_part(DOCX, "word/zeros.bin", bytes(6_000_000)), "a part of it unpacks to more than 200"),
    ("a.docx", lambda: with_part(DOCX, "word/zeros.bin", bytes(10 * MAX_BYTES)), "unpacks to more than 50,000,000"),
    ("a.txt", bytes(b"x" * (MAX_BYTES + 1)), "has 5,000,001 bytes; at most 5,000,000 are read"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "reason"), WRONG, ids=[f"{name}: {why[:40]}" for name, _, why in WRONG])
def test_what_cannot_be_read_is_refused_with_the_reason(
    name: str, content: bytes | Callable[[], bytes], reason: str
) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(f"some/folder/{name}", content if isinstance(content, bytes) else content())
    message = str(caught.value)
    assert message.startswith(name + " ")
    assert reason in message


def test_an_archive_of_very_many_files_is_refused() -> None:
    stream = io.BytesIO(DOCX)
    with zipfile.ZipFile(stream, "a") as archive:
        for number in range(MAX_ENTRIES):
            archive.writestr(str(number), b"")
    with pytest.raises(UnreadableDocumentError, match="of 20,"):
        read("a.docx", stream.getvalue())


def test_an_archive_that_lies_about_its_sizes_is_refused() -> None:
    """The directory promises 100 bytes, the part unpacks to 4,000,000."""
    size = 4_000_000
    content = with_part(DOCX, "word/zeros.bin", bytes(size))
    lying = content.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != content
    with pytest.raises(UnreadableDocumentError, match="is damaged"):
        read("a.docx", lying)


def test_deep_html_that_a_browser_shows_is_read() -> None:
    assert read("a.html", b"<div>" * 1000 + b"deep text").sections[0].text == "deep text"


def test_text_that_begins_like_a_signature_is_text() -> None:
    for text in ("BZh is how bzip2 files begin", "ID3 tags", "GIF89a explained", "%PDF is a marker", "PK is a name"):
        assert read("a.txt", text).sections[0].text == text


def test_symbols_for_private_use_become_those_that_everybody_has() -> None:
    text = "\uf0b7 first\n\uf0a7 second\n1 \uf02b 2 \uf03d 3\n\uf53a글\n\ue001 stays"
    assert read("a.txt", text).sections[0].text == "• first\n▪ second\n1 + 2 = 3\n\u1112\u119e\u11ab글\n\ue001 stays"


def test_json_values_that_follow_each_other_are_records_with_their_lines() -> None:
    text = '{\n  "name": "rope",\n  "count": 3\n}\n\n{\n  "name": "axe"\n} {"name": "saw"}\n'
    found = [(each.text, each.line, each.line_end) for each in read("a.json", text).sections]
    assert found == [("name: rope\ncount: 3", 1, 4), ("name: axe", 6, 8), ("name: saw", 8, 8)]


def test_what_was_cut_off_is_told_from_what_is_damaged() -> None:
    codes = {"a.json": '[{"name": "rope"},', "b.json": '{"name": rope}', "a.xml": "<a><b>rope</b>", "b.xml": "rope"}
    found = {}
    for name, text in codes.items():
        with pytest.raises(UnreadableDocumentError) as caught:
            read(name, text)
        found[name] = caught.value.code
    assert found == {"a.json": "cut_off", "b.json": "other_format", "a.xml": "cut_off", "b.xml": "damaged"}


def test_a_pdf_for_the_web_that_is_shorter_than_it_says_was_cut_off() -> None:
    whole = b"%PDF-1.4\n1 0 obj\n<</Linearized 1/L 7945/O 9/E 3524/N 1/T 7656>>\nendobj\ntrailer\n<</Size 2>>\n%%EOF\n"
    with pytest.raises(UnreadableDocumentError, match="was cut off") as caught:
        read("a.pdf", whole)
    assert caught.value.code == "cut_off"


def test_xml_whose_elements_do_not_match_is_read_as_far_as_it_can_be_made_out() -> None:
    text = "<page><p>The harbour opens at six.</div><p>Fish & chips</p></page>"
    assert "The harbour opens at six." in "\n".join(each.text for each in read("a.xml", text).sections)
