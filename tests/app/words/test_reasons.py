"""Reasons of failures in the language of the page: each that core gives about a file is known and translated."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask_babel import force_locale

from braid.app.words.reason_texts import LABELS, TEMPLATES
from braid.app.words.reasons import folded, match, reason_html, translated
from braid.core.braid import Braid
from braid.core.errors import UnreadableDocumentError
from braid.core.indexes.leg_progress import LegProgress
from braid.core.ingest.readers import FORMATS, read_document
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
def test_a_label_is_no_reason_and_an_unknown_label_is_not_half_translated() -> None:
    with force_locale("ja"):
        assert translated("a PDF document") is None
        assert translated("a.txt is a flying saucer, which cannot be read; save its text as one of txt") is None


@pytest.mark.usefixtures("app")
def test_what_is_missing_from_a_search_has_no_internal_names() -> None:
    pending = LegProgress("dense", "user_1", "ready", 249, None)
    failing = LegProgress("bm25", "user_1", "ready", 3, None, "the embedding model m failed: Timeout: x")
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
            "the model openai:x took longer than 5 s; the answer is made of sentences of the passages instead"
        )
    assert text == "모델 openai:x가 5초 안에 끝나지 않았어요. 대신 단락의 문장을 인용해 답했어요."


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


def test_every_kind_of_file_has_a_label_that_is_translated() -> None:
    sniffed = {label for label in _strings_of("ingest/readers/sniff.py", "a ", "an ") if not label.endswith(" ")}
    labels = {form.label for form in FORMATS} | sniffed
    assert len(labels) > 50
    assert not {label for label in labels if not _is_known(label, LABELS)}


@pytest.mark.parametrize(
    "path",
    [
        *sorted(str(path.relative_to(CORE)) for path in (CORE / "ingest" / "readers").rglob("*.py")),
        "ingest/parse_pool.py",
        "ingest/web_page.py",
        "ingest/spool.py",
        "ingest/parse.py",
    ],
)
def test_each_message_about_a_file_is_a_template(path: str) -> None:
    """What core writes for people in these modules; a new message needs its template, or it stays English."""
    unknown = {text for text in _messages_of(path) if not _is_known(f"a.txt {text}", TEMPLATES)}
    assert not {text for text in unknown if not _is_known(text, TEMPLATES)}


def test_messages_are_found_in_the_source() -> None:
    assert "is encrypted with a password; save it without one and add it again" in _messages_of(
        "ingest/readers/paged/pdf.py"
    )
    assert len(_messages_of("ingest/web_page.py")) > 10


def _is_known(text: str, templates: Iterable[str]) -> bool:
    return match(templates, text) is not None


def _messages_of(path: str) -> list[str]:
    """The messages given to `unreadable`, `_refused`, and errors, with 7 for each part that varies."""
    tree = ast.parse((CORE / path).read_text(encoding="utf-8"))
    calls = ("unreadable", "_refused", "UnreadableDocumentError", "ParserUnavailableError", "_reason")
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and _name(node.func) in calls:
            found.append(_rendered(node.args[-1]))
        if isinstance(node, ast.FunctionDef) and node.name == "_reason":
            found += [_rendered(one.value) for one in ast.walk(node) if isinstance(one, ast.Return) and one.value]
    return [text for text in found if text.strip("7 ")]


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _rendered(message: ast.expr) -> str:
    if isinstance(message, ast.Constant) and isinstance(message.value, str):
        return message.value
    if not isinstance(message, ast.JoinedStr):
        return ""  # made elsewhere: the files above show it
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else _sample(ast.unparse(part)) for part in message.values
    )


def _sample(part: str) -> str:
    samples_of = {
        "shown": "is 7",
        "label": "a PDF document",
        "advice": "save it as .docx",
        "named": "",
        "how": "",
        "called": "a.txt",
        "kind": "the type .x that",
        "why": "it unpacks to more than 7 bytes",
    }
    return next((value for name, value in samples_of.items() if name in part), "7")


def _strings_of(path: str, *beginnings: str) -> Iterator[str]:
    tree = ast.parse((CORE / path).read_text(encoding="utf-8"))
    texts = [str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    yield from (text for text in texts if text.startswith(beginnings) and len(text) < 60 and "\n" not in text)


def test_no_template_shows_a_reason_past_the_translation() -> None:
    """Only the page of the API's documentation is English as a whole."""
    templates = (CORE.parent / "app" / "templates").rglob("*.html")
    assert [path.name for path in templates if 'lang="en"' in path.read_text(encoding="utf-8")] == ["api.html"]
