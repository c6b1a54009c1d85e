"""Reasons of failures in the language of the page: by their templates and parts; of before, by their sentences."""

from __future__ import annotations

import ast
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask_babel import force_locale

from braid.app.words.page_texts import PAGE_TEXTS
from braid.app.words.reasons import folded, reason_html, translated
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError, ModelError, Reason, UnreadableDocumentError
from braid.core.indexes.leg_progress import LegProgress
from braid.core.ingest.readers import FORMATS, read_document
from braid.core.json_form import MAX_REASON_CHARS, read_json, read_reason, stored_json, stored_reason
from braid.core.metadata.values import storable
from tests import samples
from tests.web import make_app

CORE = Path(__file__).parents[3] / "core"
FILES = {
    "photo.gif": samples.GIF,
    "empty.txt": b"",
    "scan.pdf": samples.scanned_pdf(),
    "secret.pdf": samples.pdf([["one"]], password="x"),
    "cut.pdf": samples.pdf([["one"]])[:400],
    "manual.pdf": samples.docx_manual(),
    "talk.docx": samples.GIF,
    "old.doc": samples.ole("WordDocument"),
    "old.docx": samples.ole("EncryptedPackage"),
    "data.json": b'{"a": }',
    "notes.xyz": b"plain words",
    "NOTES": b"plain words",
    "letter.eml": b"no header here",
    "other.zip": samples.zipped({"a.gz": b"\x1f\x8b"}),
    "nested.zip": samples.zipped({"a.zip": samples.zipped({"a.zip": samples.zipped({"a.zip": b"x"})})}),
    "plan.pages": samples.zipped({"Index/Document.iwa": b"x"}),
    "large.txt": b"x" * 3000,
}


@pytest.fixture
def app(braid: Braid) -> Iterator[Flask]:
    opened = make_app(braid)
    with opened.test_request_context("/search"):
        yield opened


def reason_of(name: str) -> str:
    with pytest.raises(UnreadableDocumentError) as failed:
        read_document(name, FILES[name], max_bytes=2000 if name == "large.txt" else 1_000_000)
    return str(failed.value)


def test_a_reason_below_the_name_of_its_file_does_not_repeat_it(app: Flask) -> None:
    cut = reason_of("cut.pdf")
    with force_locale("en"):
        assert reason_html(cut, "old/cut.pdf").startswith("This file is a PDF document that was cut off")
        assert reason_html(cut, "old/cut.pdf").endswith(".")
        assert reason_html(cut, "all.zip").startswith("cut.pdf is a PDF document")
    with force_locale("ja"):
        assert reason_html(cut, "cut.pdf").startswith("このファイルは途中で切れた PDF 文書です。")
    with force_locale("ko"):
        assert reason_html(cut, "cut.pdf").startswith("이 파일은 끝부분이 잘린 PDF 문서예요.")


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(("language", "stop"), [("ja", "。"), ("ko", ".")])
@pytest.mark.parametrize("name", FILES)
def test_why_a_file_cannot_be_read_is_said_in_the_readers_language(name: str, language: str, stop: str) -> None:
    reason = reason_of(name)
    with force_locale("en"):
        assert (translated(reason) or "").startswith(f"{name} ")
    with force_locale(language):
        text = translated(reason)
    assert text is not None, reason
    assert text.startswith(name)
    assert text.endswith((stop, "tesseract-ocr-kor-vert")), "a sentence, or the command that installs Tesseract"
    words = set(text.replace(name, "").split())
    assert not words & {"is", "the", "a", "it", "and", "again;", "which", "save"}


@pytest.mark.usefixtures("app")
def test_a_file_is_named_with_what_it_is() -> None:
    with force_locale("ja"):
        assert "GIF 画像" in str(reason_html(reason_of("photo.gif")))
        assert "lang=" not in reason_html(reason_of("photo.gif"))
    with force_locale("ko"):
        assert "GIF 이미지" in str(reason_html(reason_of("photo.gif")))


@pytest.mark.usefixtures("app")
def test_a_reason_that_is_not_known_is_shown_as_it_is_and_marked_as_english() -> None:
    with force_locale("ja"):
        assert translated("an old <reason>") is None
        assert reason_html("an old <reason>") == '<span lang="en">An old &lt;reason&gt;</span>'
    with force_locale("en"):
        assert reason_html("an old <reason>") == "An old &lt;reason&gt;"
        assert reason_html("notes.txt fails") == "notes.txt fails", "it begins with a name"
    with force_locale("ja"):
        assert translated("x" * 10_000) is None


@pytest.mark.usefixtures("app")
def test_what_is_missing_from_a_search_has_no_internal_names() -> None:
    pending = LegProgress("dense", "user_1", "ready", 249, None)
    failed = Reason("the embedding model %(model)s failed: %(error)s", model="m", error="Timeout: x")
    failing = LegProgress("bm25", "user_1", "ready", 3, None, failed)
    checking = LegProgress("dense", "user_1", "checking")
    rebuilding = LegProgress("bm25", "user_1", "rebuilding", 7)
    for language in ("en", "ja", "ko"):
        with force_locale(language):
            for reason in (pending.shortfall, failing.shortfall, checking.obstacle, rebuilding.obstacle):
                assert "user_1" not in str(reason_html(reason))
                assert "<span" not in reason_html(reason)
    with force_locale("en"):
        assert translated(pending.shortfall) == "249 passages are not ready for search by meaning yet"
    with force_locale("ja"):
        assert "埋め込みモデル m でエラーが発生しました：Timeout: x" in str(translated(failing.shortfall))


@pytest.mark.usefixtures("app")
def test_a_consequence_is_said_after_its_reason() -> None:
    with force_locale("ko"):
        text = translated(
            "the model m:x reached its limit of words; the answer is made of sentences of the passages instead"
        )
    assert text is not None
    assert text.startswith("모델 m:x")
    assert text.endswith("대신 단락의 문장을 인용해 답했어요.")


WORDS = "OpenAIAuthenticationError: Error code: 401 - no"
REFUSED = f"the model openai:x failed: its server refuses the key; enter another one: {WORDS}"


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("language", "plain"),
    [
        ("en", "The model openai:x failed: its server refuses the key; enter another one"),
        ("ja", "モデル openai:x のサーバーがキーを受け付けません。別のキーを入力してください。"),
        ("ko", "모델 openai:x의 서버가 키를 거부했어요. 다른 키를 입력하세요."),
    ],
)
def test_technical_words_are_folded_away(language: str, plain: str) -> None:
    with force_locale(language):
        said, technical = folded(f"{REFUSED}; the answer is made of sentences of the passages instead")
        assert technical == WORDS
        assert said.startswith(plain)
        assert WORDS not in said
        assert folded(REFUSED)[0] == (f"{plain}." if language == "en" else plain)
        assert folded("what nobody knows") == ("", "what nobody knows")


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize("name", FILES)
def test_a_sentence_that_was_stored_before_is_still_translated(name: str) -> None:
    reason = reason_of(name)
    before = str.__str__(reason)
    assert type(before) is str
    for language in ("en", "ja", "ko"):
        with force_locale(language):
            assert translated(before) == translated(reason)


@pytest.mark.usefixtures("app")
def test_a_note_that_was_stored_before_names_its_document() -> None:
    with force_locale("ja"):
        assert translated("Report: 3 of 40 pages have no text (2, 5, 9), so nothing on them is found") == (
            "Report：40 ページのうち 3 ページ（2, 5, 9）にはテキストがなく、その内容は検索されません"
        )


@pytest.mark.usefixtures("app")
def test_a_reason_is_translated_without_its_sentence_being_recognized(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(sentence: str) -> None:
        raise AssertionError(f"{sentence} has lost its parts")

    monkeypatch.setattr("braid.app.words.reasons.recognized", refuse)
    error = ModelError(Reason("the model %(model)s is busy; try again in %(seconds)s s", model="m:x", seconds=3))
    told = Reason("%(reason)s; feedback is used instead", reason=error)
    with force_locale("ko"):
        for name in FILES:
            assert translated(reason_of(name))
        for given in (told, read_json(stored_json([told]))[0], read_reason(stored_reason(told)), storable(told)):
            assert (
                translated(given)
                == "모델 m:x에 요청이 몰려 있어요. 3초 뒤에 다시 시도해 보세요. 처음 검색한 결과를 대신 사용했어요."
            )


def test_a_reason_is_its_english_sentence_everywhere_else() -> None:
    error = InvalidInputError(Reason("%(folder)s is %(what)s", folder="/a b", what=Reason("a %(x)s image", x="GIF")))
    assert str(error) == "/a b is a GIF image"
    assert error.reason.parts == {"folder": "/a b", "what": "a GIF image"}
    assert json.dumps({"detail": str(error)}) == '{"detail": "/a b is a GIF image"}'
    assert f"{error}!" == "/a b is a GIF image!"
    assert pickle.loads(pickle.dumps(error)).reason.template == "%(folder)s is %(what)s"
    assert InvalidInputError("100 %(of) it").reason == "100 %(of) it"
    with pytest.raises(KeyError, match="what"):
        Reason("%(folder)s is %(what)s", folder="/a")


def test_what_another_process_sends_as_a_reason_is_bounded_and_formats_nothing() -> None:
    assert read_json('{"$reason": "%(a)1000000s %(a)s", "parts": {"a": "x"}}') == "%(a)1000000s x"
    assert read_json('{"$reason": "%(b)s"}') == {"$reason": "%(b)s"}
    sent = '"x"'
    for _ in range(40):
        sent = f'{{"$reason": "{"%(a)s" * 300}", "parts": {{"a": {sent}}}}}'
    assert len(read_json(sent)) <= MAX_REASON_CHARS
    long = json.dumps({"$reason": "%(a)s" * 3_000, "parts": {"a": "x" * 30_000}})
    assert len(read_json(long)) <= MAX_REASON_CHARS
    assert read_reason('{"$reason": "cut') == '{"$reason": "cut'


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    "said",
    [
        "k is 0; it must be a whole number from 1 to 1000",
        "there is no dataset 7 that you may write to; see list_datasets",
        "reranker is 'x', which is not offered here",
        "read timed out from host a",
        "Delete: everything",
    ],
)
def test_what_no_template_says_stays_english(said: str) -> None:
    with force_locale("ja"):
        assert translated(said) is None


@pytest.mark.usefixtures("app")
def test_a_sentence_that_was_stored_before_it_was_reworded_is_translated() -> None:
    said = "b.zip is a zip archive, and it holds 20,000 files, more than 10,000; split it into smaller files"
    with force_locale("ja"):
        assert "20,000" in (translated(said) or "")


@pytest.mark.usefixtures("app")
def test_a_template_that_no_catalog_has_is_english() -> None:
    with force_locale("ja"):
        assert reason_html(Reason("%(name)s is odd", name="<b>")) == '<span lang="en">&lt;b&gt; is odd</span>'


def test_every_kind_of_file_has_a_label_that_is_translated() -> None:
    assert all(isinstance(form.label, Reason) for form in FORMATS)


def test_pages_name_no_part_that_the_reason_has_not() -> None:
    part = re.compile(r"%\((\w+)\)s")
    assert not {text for template, text in PAGE_TEXTS.items() if set(part.findall(text)) - set(part.findall(template))}


def test_a_reason_is_given_each_part_that_its_template_names() -> None:
    """Of every literal template in the source, also where no test raises it."""
    part, wrong, seen = re.compile(r"%\((\w+)\)s"), [], 0
    given = {"unreadable": {"name"}, "too_large": {"name"}, "_refused": {"url"}}
    for path in (*CORE.rglob("*.py"), *(CORE.parent / "app").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = _name(node.func) if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or name not in ("Reason", "internal", *given):
                continue
            texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            names = {keyword.arg for keyword in node.keywords} | given.get(name, set())
            if texts and None not in names:
                seen += 1
                parts = set(part.findall(texts[-1]))
                if parts - names or names - parts - {"code"} - given.get(name, set()):
                    wrong.append(f"{path.name}:{node.lineno}")
    assert not wrong
    assert seen > 200


def test_what_pages_say_otherwise_is_raised_somewhere() -> None:
    texts = {
        str(node.value)
        for path in (*CORE.rglob("*.py"), *(CORE.parent / "app").rglob("*.py"))
        if path.name != "page_texts.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    composed = ("index of %(collection)s", "cannot be used", "are not in the ")
    assert not {text for text in PAGE_TEXTS if text not in texts and not any(part in text for part in composed)}


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def test_no_template_shows_a_reason_past_the_translation() -> None:
    """Only the page of the API's documentation is English as a whole."""
    templates = (CORE.parent / "app" / "templates").rglob("*.html")
    assert [path.name for path in templates if 'lang="en"' in path.read_text(encoding="utf-8")] == ["api.html"]
