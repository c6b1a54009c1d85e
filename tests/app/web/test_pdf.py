"""A conversation as PDF: what it says in three languages, its notes, what it has no font for, and its bounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from flask import Flask
from pypdfium2 import PdfDocument, PdfPage, raw

from braid.app.web import exported, pdf
from braid.app.web.pdf import MISSING, as_pdf
from braid.core.braid import Braid
from braid.core.chat.marks import mark
from braid.core.chat.store import StoredConversation, StoredMessage
from braid.core.errors import InvalidInputError
from tests.app.web.test_word import TALK, answer, cited
from tests.web import make_app


@pytest.fixture(scope="module")
def app(shelf: Braid) -> Flask:
    return make_app(shelf)


def opened(app: Flask, *messages: StoredMessage, talk: StoredConversation = TALK, language: str = "en") -> PdfDocument:
    with app.test_request_context(f"/?lang={language}"):
        return PdfDocument(as_pdf(talk, messages))


def lines(document: PdfDocument) -> list[str]:
    """What the pages say, without their numbers."""
    pages = [page.get_textpage().get_text_range().splitlines() for page in document]
    return [line.strip() for number, page in enumerate(pages, 1) for line in page if line.strip() != str(number)]


def text_of(document: PdfDocument) -> str:
    """The text without the ends of its lines."""
    return "".join(lines(document))


def annotations(page: PdfPage) -> Iterator[int]:
    """The kinds of the page's annotations, such as links."""
    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        yield raw.FPDFAnnot_GetSubtype(annotation)
        raw.FPDFPage_CloseAnnot(annotation)


def fonts_of(document: PdfDocument) -> set[str]:
    """The fonts of the objects of text on the first page."""
    return {each.get_font().get_base_name() for each in document[0].get_objects() if hasattr(each, "get_font")}


def test_each_citation_has_a_note_under_its_answer_that_its_mark_leads_to(app: Flask) -> None:
    question = StoredMessage(1, "user", "How long?\nReally?", {}, 0.0)
    text = f"Two **years** {mark(1)}, or three {mark(2)}. As said {mark(1)}."
    passages = cited(1, "The warranty is two years.\nFor pumps.", page=3), cited(2, "Three.", line=9, fate="changed")
    document = opened(app, question, answer(text, *passages), answer("Nobody [1] says.", cited(1, "", fate="withheld")))
    wanted = [
        "ポンプの保証",
        "Question · 1970-01-01 00:00 UTC",
        "How long?",
        "Really?",
        "Answer · 1970-01-02 00:00 UTC",
        "Two years [1], or three [2]. As said [1].",
        "[1] Manual 1 · 1.md · page 3",
        "The warranty is two years.",
        "For pumps.",
        "[2] Manual 2 · 2.md · line 9 · changed since; the text below is as it was cited",
        "Three.",
        "Answer · 1970-01-02 00:00 UTC",
        "Nobody [1] says.",
        "[1] you may no longer read this source",
    ]
    assert text_of(document).replace(" ", "") == "".join(wanted).replace(" ", "")
    assert [list(annotations(page)) for page in document] == [[raw.FPDF_ANNOT_LINK] * 3]
    assert document.get_metadata_value("Title") == "ポンプの保証"


JAPANESE = "保証期間は納品日から二年です。「ポンプ」の交換は、お客様のご負担となる場合があります。髙﨑①㈱"
KOREAN = "보증 기간은 납품일로부터 2년입니다. 펌프 교체는 고객 부담일 수 있습니다."
CHINESE = "这台泵的保修期为两年。這台泵的保修期為兩年。"
ENGLISH = "The warranty of each pump – “two years” – costs € 12 or ¥ 4,711 at a café."


@pytest.mark.parametrize("text", [JAPANESE, KOREAN, CHINESE, ENGLISH, JAPANESE + ENGLISH + KOREAN + CHINESE])
def test_text_of_each_language_can_be_copied(app: Flask, text: str) -> None:
    document = opened(app, answer(f"{text} {mark(1)}", cited(1, text)))
    found = text_of(document).replace(" ", "")
    assert found.count(text.replace(" ", "")) == 2
    assert MISSING not in found


def test_no_font_is_in_the_file(app: Flask) -> None:
    with app.test_request_context("/"):
        assert b"/FontFile" not in as_pdf(TALK, [answer(JAPANESE + ENGLISH + KOREAN + CHINESE)])


def test_bold_and_code_have_fonts_of_their_own(app: Flask) -> None:
    document = opened(app, answer("plain **bold** *slanted* `code` **太字** 普通 **굵게** 보통"))
    wanted = {"Times-Roman", "Times-Bold", "Times-Italic", "Courier", "HeiseiMin-W3", "HeiseiKakuGo-W5"}
    assert wanted <= fonts_of(document)


def test_blocks_are_as_on_the_page(app: Flask) -> None:
    text = (
        "# Head\n\n1. one\n2. two\n   - inner\n\n> quoted\n\n```\nif a:\n    b < c & d\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | <b>2 |\n\nSee [the page](https://example.org/a) and ![it](https://example.org/a.png).\n"
    )
    document = opened(app, answer(text))
    found = lines(document)[2:]
    assert found[:6] == ["Head", "1. one", "2. two", "• inner", "quoted", "if a:"]
    assert " ".join(found[6].split()) == "b < c & d"
    assert found[7:9] == ["a b", "1 <b>2"]
    assert found[9].startswith("See the page (https://example.org/a) and")
    assert not list(document[0].get_objects(filter=[3])), "no picture is fetched"


@pytest.mark.parametrize("text", ["x" * 5_000, "긴단어" * 1_000, "長" * 5_000, "**" + "y" * 3_000 + "**"])
def test_long_words_stay_within_the_page(app: Flask, text: str) -> None:
    document = opened(app, answer(text))
    assert text_of(document).replace(" ", "").endswith(text.strip("*"))
    for page in document:
        width, height = page.get_size()
        for left, bottom, right, top in (each.get_bounds() for each in page.get_objects()):
            assert 0 <= left <= right <= width, text[:3]
            assert 0 <= bottom <= top <= height


def test_wide_and_tall_tables_are_written_whole(app: Flask) -> None:
    wide = "|".join(f"column{number}" for number in range(20))
    tall = "word " * 2_000
    rules = "|".join(["-"] * 20)
    document = opened(app, answer(f"|{wide}|\n|{rules}|\n|{wide}|\n\n|a|b|\n|-|-|\n|{tall}|last|\n"))
    found = text_of(document)
    assert found.count("column19") == 2
    assert found.replace(" ", "").count("word") == 2_000
    assert "last" in found


def test_what_no_font_has_is_a_sign_and_the_last_line_says_so(app: Flask) -> None:
    document = opened(app, answer("a 👩‍👩‍👧 b 👍🏽 c ✔️ สวัสดี"), language="en")
    found = lines(document)
    assert found[2].startswith(f"a {MISSING} b {MISSING} c {MISSING}")
    assert found[-1] == f"{MISSING}: a character that this PDF has no font for. Word and Markdown have it."
    assert MISSING not in text_of(opened(app, answer("nothing\u200b is\u200e missing")))
    assert lines(opened(app, answer("👍"), language="ja"))[-1].startswith(f"{MISSING} は")


def test_decomposed_letters_are_composed(app: Flask) -> None:
    assert "café 한글 が" in text_of(opened(app, answer("cafe\u0301 \u1112\u1161\u11ab\u1100\u1173\u11af か\u3099")))


def test_a_document_is_bounded(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exported, "MAX_CHARS", 20)
    with app.test_request_context("/"), pytest.raises(InvalidInputError, match="Markdown or JSON"):
        as_pdf(TALK, [answer("ten chars."), answer("x", cited(1, "another ten"))])


@pytest.mark.parametrize("text", ["a\n" * 40, "**a** b" * 60, "|a|b|\n|-|-|\n" + "|c|d|\n" * 15, "- a\n" * 30])
def test_what_takes_long_counts_as_more(app: Flask, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(pdf, "MOST_COUNTED", 2_000)
    with app.test_request_context("/"):
        as_pdf(TALK, [answer("x" * 1_000)])
        with pytest.raises(InvalidInputError, match="too many lines, cells or changes of font for a PDF"):
            as_pdf(TALK, [StoredMessage(1, "user", text, {}, 0.0) if "\n" in text[:3] else answer(text)])


def test_long_conversations_have_numbered_pages(app: Flask) -> None:
    document = opened(app, *itertools.repeat(answer("A sentence. " * 400), 4))
    assert len(document) > 3
    assert all(str(number) in page.get_textpage().get_text_range() for number, page in enumerate(document, 1))
