"""The runner over folders of others' files: what it counts as read, refused, garbled and in order."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import corpora
from benchmarks.corpora import share_in_order
from braid.core.errors import UnreadableDocumentError
from tests import samples

TEXT = "The first rule holds on Monday. The second rule holds on Tuesday.\n\nThe third rule holds on Friday.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = tmp_path / "files"
    (files / "expected").mkdir(parents=True)
    (files / "rules.html").write_text(f"<p>{TEXT}</p>")
    (files / "expected" / "rules.html.md").write_text(f"# Rules of the harbour\n\n{TEXT}")
    (files / "other.html").write_text("<p>Something else altogether.</p>")
    (files / "expected" / "other.html.txt").write_text(TEXT)
    (files / "list.html").write_text("<p>The second rule of the list.</p><p>The first rule of the list.</p>")
    elements = [{"text": "The first rule of the list."}, {"text": "The second rule of the list."}]
    (files / "list.html.json").write_text(json.dumps(elements))
    (files / "empty.html").write_bytes(b"")
    (files / "letters.html").write_text("<p>" + "\ue000" * 50 + "</p>")
    (files / "wrong.docx").write_bytes(samples.GIF)
    return files


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["corpora", *arguments])
    return corpora.main()


def test_files_are_read_and_compared_with_their_expected_texts(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "last.json"
    shown = str(folder), "--results", str(results), "--types", "html", "docx"
    assert run(monkeypatch, *shown) == 0
    found = {name: (each["status"], each["in_order"]) for name, each in json.loads(results.read_text()).items()}
    assert found == {
        "files/rules.html": ("read", 0.75),
        "files/other.html": ("garbled", 0.0),
        "files/list.html": ("read", 0.5),
        "files/empty.html": ("rightly", None),
        "files/letters.html": ("garbled", None),
        "files/wrong.docx": ("rightly", None),
    }
    printed = capsys.readouterr().out
    assert "is a GIF image" in printed
    assert "Changed since the last run" not in printed
    (folder / "list.html").write_text("<p>The first rule of the list.</p><p>The second rule of the list.</p>")
    assert run(monkeypatch, *shown) == 0
    changes = capsys.readouterr().out.partition("Changed since the last run")[2]
    assert "files/list.html" in changes
    assert "100.0% in order" in changes
    assert "rules.html" not in changes


def test_what_no_reader_foresees_is_a_crash_of_one_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(name: str, content: bytes, *, max_bytes: int) -> object:
        raise KeyError(f"{name} {len(content)} {max_bytes}")

    monkeypatch.setattr(corpora, "read_document", read)
    assert run(monkeypatch, str(folder), "--results", str(tmp_path / "last.json"), "--types", "html") == 1


def test_what_is_said_to_have_no_text_is_looked_into(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(name: str, content: bytes, *, max_bytes: int) -> object:
        raise UnreadableDocumentError(f"{name} is said so", code="damaged" if "damaged" in name else "no_text")

    monkeypatch.setattr(corpora, "read_document", read)
    for name, text in (("full", "enough letters for a sentence"), ("bare", "few"), ("damaged", "few")):
        (folder / f"{name}.docx").write_bytes(samples.zipped({"word/document.xml": f"<w:t>{text}</w:t>".encode()}))
    (folder / "page.pdf").write_bytes(samples.pdf([["A line of a page that is there."]]))
    results = tmp_path / "last.json"
    run(monkeypatch, str(folder), "--results", str(results), "--types", "docx", "pdf")
    found = {Path(name).name: each["status"] for name, each in json.loads(results.read_text()).items()}
    assert found == {
        "full.docx": "wrongly",
        "bare.docx": "rightly",
        "damaged.docx": "wrongly",
        "page.pdf": "wrongly",
        "wrong.docx": "rightly",
    }


def test_what_a_writer_of_expected_texts_adds_is_no_part_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path / "sources"
    (tmp_path / "expected").mkdir()
    files.mkdir()
    (files / "a.html").write_text("<p>The area of a circle: A = πr². It holds for all of them.</p><p>2026-03-02</p>")
    expected = "The area of a circle: $A=\\pi r^{2}$. It holds for all of them.\n\nBar chart\n\n2026-03-02 00:00:00\n"
    (tmp_path / "expected" / "a.md").write_text(expected)
    run(monkeypatch, str(tmp_path), "--results", str(tmp_path / "last.json"), "--types", "html")
    assert [each["in_order"] for each in json.loads((tmp_path / "last.json").read_text()).values()] == [1.0]


def test_the_longest_run_of_sentences_in_order_counts() -> None:
    sentences = [f"sentence number {number} of the text" for number in range(10)]
    moved = [*sentences[5:8], *sentences[:5], *sentences[8:]]
    assert share_in_order(sentences, ". ".join(moved)) == 0.7
    assert share_in_order(sentences * 2, ". ".join(sentences * 2)) == 1.0
    assert share_in_order(sentences, "") == 0.0
