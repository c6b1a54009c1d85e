"""Scripts and languages are told apart by characters."""

from __future__ import annotations

import pytest

from braid.core.text.scripts import display_language, question_language, same_script, script_of

CHINESE = "数据库中的文档被分成段落然后建立索引以便快速搜索"


@pytest.mark.parametrize(
    ("text", "displayed", "answered"),
    [
        ("", "", "en"),
        ("The cat sat on the mat", "", "en"),
        ("吾輩は猫である", "ja", "ja"),
        (CHINESE, "ja", "ja"),
        ("고양이가 매트 위에 앉았다", "ko", "ko"),
        ("What does 猫 mean in this long sentence?", "", "ja"),
        ("What does 고양이 mean in this very long English sentence?", "", "ko"),
    ],
)
def test_the_language_to_display_and_to_answer_in(text: str, displayed: str, answered: str) -> None:
    assert (display_language(text), question_language(text)) == (displayed, answered)


@pytest.mark.parametrize(
    ("character", "script"),
    [("a", "LATIN"), ("é", "LATIN"), ("я", "CYRILLIC"), ("ね", "HIRAGANA"), ("1", ""), (" ", "")],
)
def test_the_script_of_a_letter(character: str, script: str) -> None:
    assert script_of(character) == script


@pytest.mark.parametrize(
    ("question", "text", "same"),
    [
        ("cat", "a dog", True),
        ("cat", "猫", False),
        ("ねこ", "猫", True),
        ("ねこ", "the GIMP の", True),
        ("cat", "ねこねこねこねこねこねこねこねこ a", False),
        ("123", "anything", True),
        ("123", "", True),
        ("cat", "123", False),
    ],
)
def test_same_script(question: str, text: str, same: bool) -> None:
    assert same_script(question, text) is same
