"""A conversation as a Word document: what it says, its footnotes, and the fonts of East Asian text."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

import pytest
from docx import Document
from docx.document import Document as WordDocument
from flask import Flask
from lxml import etree

from braid.app.web import exported, word
from braid.app.web.word import as_word
from braid.core.braid import Braid
from braid.core.chat.marks import mark, shown
from braid.core.chat.store import StoredCitation, StoredConversation, StoredMessage
from braid.core.errors import InvalidInputError
from tests.web import make_app

TALK = StoredConversation(7, 1, "ポンプの保証", 0.0, 0.0)
W = f"{{{word.WORD}}}"


@pytest.fixture(scope="module")
def app(shelf: Braid) -> Flask:
    return make_app(shelf)


def answer(marked_text: str, *citations: StoredCitation) -> StoredMessage:
    text, marks = shown(marked_text)
    return StoredMessage(2, "assistant", text, {"marks": list(marks)}, 86_400.0, citations=citations)


def cited(number: int, text: str, **values: object) -> StoredCitation:
    place = {"source": f"{number}.md", "title": f"Manual {number}", "heading_path": "", "page": None, "line": None}
    return StoredCitation(number, f"c{number}", 1, 1, text=text, **{**place, **values})  # type: ignore[arg-type]


def written(app: Flask, *messages: StoredMessage, language: str = "en") -> tuple[WordDocument, list[str], bytes]:
    """The document, its footnotes as text without those of the separators, and its body."""
    with app.test_request_context(f"/?lang={language}"):
        made = as_word(TALK, messages)
    with ZipFile(BytesIO(made)) as packed:
        notes = etree.fromstring(packed.read("word/footnotes.xml"))
        body = packed.read("word/document.xml")
    styles = {style.style_id for style in Document(BytesIO(made)).styles}
    assert {each.get(f"{W}val") for kind in ("pStyle", "rStyle") for each in notes.iter(f"{W}{kind}")} <= styles
    texts = ["\n".join("".join(line.itertext()) for line in note.iter(f"{W}p")) for note in notes]
    assert [note.get(f"{W}id") for note in notes] == [str(number) for number in range(-1, len(notes) - 1)]
    return Document(BytesIO(made)), texts[2:], body


def references(body: bytes) -> list[str]:
    found = etree.fromstring(body).iter(f"{W}footnoteReference")
    return [each.get(f"{W}id", "") for each in found]


def test_each_citation_has_a_footnote_where_it_stands(app: Flask) -> None:
    question = StoredMessage(1, "user", "How long?", {}, 0.0)
    text = f"Two **years** {mark(1)}, or three {mark(2)}. As said {mark(1)}."
    passages = cited(1, "The warranty is two years.\nFor pumps.", page=3), cited(2, "Three.", line=9, fate="changed")
    document, notes, body = written(app, question, answer(text, *passages))
    lines = [paragraph.text for paragraph in document.paragraphs]
    assert lines == [
        "ポンプの保証",
        "Question · 1970-01-01 00:00 UTC",
        "How long?",
        "Answer · 1970-01-02 00:00 UTC",
        "Two years , or three . As said .",
    ]
    assert notes == [
        " Manual 1 · 1.md · page 3\nThe warranty is two years.\nFor pumps.",
        " Manual 2 · 2.md · line 9 · changed since; the text below is as it was cited\nThree.",
        " Manual 1 · 1.md · page 3",
    ]
    assert references(body) == ["1", "2", "3"]
    assert [run.text for run in document.paragraphs[-1].runs if run.font.bold] == ["years"]


def test_what_may_not_be_read_is_withheld_and_what_has_no_mark_is_at_the_end(app: Flask) -> None:
    hidden = cited(1, "", title="", source="", fate="withheld")
    _, notes, body = written(app, answer("Nobody [1] says [9].", hidden))
    assert notes == [" you may no longer read this source"]
    assert references(body) == ["1"]


def test_blocks_are_as_on_the_page(app: Flask) -> None:
    text = (
        "# Head\n\n1. one\n2. two\n   - inner\n\n   more of two\n\n> quoted\n\n```\na  b\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | ~~2~~ |\n\n3. three\n\nSee [the page](https://example.org/a) and `code`.\n\n---\n"
    )
    document, _, _ = written(app, answer(text))
    assert [paragraph.text for paragraph in document.paragraphs[2:]] == [
        "Head",
        "1.\tone",
        "2.\ttwo",
        "•\tinner",
        "more of two",
        "quoted",
        "a  b",
        "",
        "3.\tthree",
        "See the page (https://example.org/a) and code.",
        "* * *",
    ]
    assert document.paragraphs[2].style is not None
    assert document.paragraphs[2].style.name == "Heading 2"
    assert [[cell.text for cell in row.cells] for row in document.tables[0].rows] == [["a", "b"], ["1", "2"]]
    indents = [paragraph.paragraph_format.left_indent for paragraph in document.paragraphs[3:7]]
    assert [None if indent is None else indent.pt for indent in indents] == [18, 18, 36, 18]


@pytest.mark.parametrize(
    ("text", "tag", "font"),
    [("保証は二年です。", "ja-JP", "Yu Gothic"), ("보증은 2년입니다.", "ko-KR", "Malgun Gothic")],
)
def test_east_asian_text_has_the_font_of_its_language(app: Flask, text: str, tag: str, font: str) -> None:
    document, notes, _ = written(app, answer(f"{text} {mark(1)}", cited(1, text)))
    run = document.paragraphs[-1].runs[0]
    assert run.text.strip() == text
    assert run._r.rPr is not None
    assert run._r.rPr.find(f"{W}rFonts").get(f"{W}eastAsia") == font
    assert run._r.rPr.find(f"{W}lang").get(f"{W}eastAsia") == tag
    assert text in notes[0]


def test_words_of_the_document_are_in_the_language_of_the_page(app: Flask) -> None:
    document, _, _ = written(app, answer("Ja."), language="ja")
    assert document.paragraphs[1].text == "回答 · 1970-01-02 00:00 UTC"


def test_characters_that_xml_cannot_have_are_replaced(app: Flask) -> None:
    document, notes, _ = written(app, answer(f"a\x00b\x0bc\ufffe {mark(1)}", cited(1, "x\x1by")))
    assert document.paragraphs[-1].text.strip() == "a\ufffdb\ufffdc\ufffd"
    assert "x\ufffdy" in notes[0]


def test_a_document_is_bounded(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exported, "MAX_CHARS", 20)
    with app.test_request_context("/"), pytest.raises(InvalidInputError, match="Markdown or JSON"):
        as_word(TALK, [answer("ten chars."), answer("x", cited(1, "another ten"))])


def test_behind_the_most_footnotes_a_citation_is_its_number(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exported, "MOST_NOTES", 2)
    text = f"a{mark(1)} b{mark(2)} c{mark(1)}"
    made, notes, body = written(app, answer(text, cited(1, "first"), cited(2, "second")))
    assert (len(notes), references(body)) == (2, ["1", "2"])
    assert any(paragraph.text.endswith("c[1]") for paragraph in made.paragraphs)
