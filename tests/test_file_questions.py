"""The benchmarks over files of others: questions that they answer, and how fast they are read."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest

from benchmarks import file_questions, reading_speed
from benchmarks.common import ROOT
from braid import Braid
from tests.fakes import HashEmbeddings


def run(monkeypatch: pytest.MonkeyPatch, main: object, *arguments: str) -> object:
    monkeypatch.setattr(sys, "argv", ["benchmark", "--json", *arguments])
    return main()  # type: ignore[operator]


def test_there_are_questions_in_three_languages_with_their_answers() -> None:
    questions = [file_questions.Question(*each) for each in json.loads(file_questions.QUESTIONS.read_text("utf-8"))]
    assert len({each.text for each in questions}) == len(questions) == 84
    assert min(sum(each.language == name for each in questions) for name in ("en", "ja", "ko")) >= 25
    assert all(each.answer and each.path for each in questions)


def test_an_answer_counts_where_it_is_and_of_missing_files_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "rules.md").write_text(
        "# Rules\n\nThe harbour opens at six.\n\n# Keys\n\nThe guard has the key."
    )
    questions = [
        ["en", "files/rules.md", "When does the harbour open?", "opens at SIX"],
        ["en", "files/rules.md", "Who has the key?", "the mayor"],
        ["ko", "files/gone.md", "열쇠는 누가 가지고 있나?", "경비"],
    ]
    (tmp_path / "questions.json").write_text(json.dumps(questions))
    monkeypatch.setattr(file_questions, "QUESTIONS", tmp_path / "questions.json")
    monkeypatch.setattr(file_questions, "Braid", partial(Braid, embedding_model=HashEmbeddings()))
    assert run(monkeypatch, file_questions.main, str(tmp_path / "files")) == 0
    assert json.loads(capsys.readouterr().out) == {"When does the harbour open?": 1, "Who has the key?": 0}
    (tmp_path / "none").mkdir()
    assert run(monkeypatch, file_questions.main, str(tmp_path / "none")) == 1


def test_files_are_read_in_turns_by_two_checkouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("The harbour opens at six.")
    (tmp_path / "empty.txt").write_text("")
    run(monkeypatch, reading_speed.main, str(tmp_path), "--against", str(ROOT), "--rounds", "1")
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert row[:3] == ["txt", 1, 1], "the empty one is refused"
    assert float(row[5]) > 0
