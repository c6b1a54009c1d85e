"""Marks and snippets of passages."""

from __future__ import annotations

import pytest

from braid.app.pages.search.card import readable
from braid.app.pages.search.marking import flow, mark, snippet, wanted_tokens
from braid.core.text.analyzer import Analyzer


@pytest.mark.parametrize(
    ("query", "marked"),
    [("順位の融合を行いますか", {"順位", "融合"}), ("ます", {"ます"}), ("何", {"何"}), ("rankings", {"rank"})],
)
def test_endings_and_single_characters_are_marked_only_where_there_is_nothing_else(
    query: str, marked: set[str]
) -> None:
    text = "順位を使います。融合とは何か。rank"
    analyzer = Analyzer(("en",))
    assert {s.text for s in mark(analyzer, text, wanted_tokens(analyzer, query)) if s.marked} == marked


def test_snippet_shows_the_part_with_the_marks() -> None:
    analyzer = Analyzer(("en",))
    text = "Nothing of interest here. " * 60 + "The zeppelin landed." + " More of nothing." * 60
    segments = snippet(analyzer, text, wanted_tokens(analyzer, "zeppelins"))
    shown = "".join(segment.text for segment in segments)
    assert [segment.text for segment in segments if segment.marked] == ["zeppelin"]
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) < 400


@pytest.mark.parametrize(
    ("text", "file_type", "shown"),
    [
        ("| Day | Fee |\n| :-- | --: |\n| 1 | `10` EUR |\n| 2 | a \\| b |", "md", "Day · Fee\n1 · 10 EUR\n2 · a \\| b"),
        ("品目 | 単価\n布 | 1,200 円", "xlsx", "品目 · 単価\n布 · 1,200 円"),
        ("Fees of\nthe day:\n\nDay | Fee\n1 | 10", "docx", "Fees of the day:\nDay · Fee\n1 · 10"),
        (
            "# Fees\n\nRun **now**:\n\n```sh\nmake all\n  make | sort\n```",
            "md",
            "Fees\nRun now:\nmake all\n  make | sort",
        ),
        ("- one\n- [two](https://a.example)\n3. three", "md", "• one\n• two\n3. three"),
        ("x = a | b\ny = `c` | d", "py", "x = a | b\ny = `c` | d"),
        ("either a || b or `c`", "txt", "either a || b or `c`"),
        ("", "md", ""),
    ],
)
def test_a_card_shows_words_without_the_signs_of_tables_and_markdown(text: str, file_type: str, shown: str) -> None:
    assert readable(text, file_type) == shown


def test_what_matches_in_a_table_is_marked_in_its_card() -> None:
    analyzer = Analyzer(("en",))
    text = readable("Employee | Salary\n" + "\n".join(f"Person {n} | {n},000 EUR" for n in range(99)), "xlsx")
    segments = snippet(analyzer, text, wanted_tokens(analyzer, "77"))
    shown = "".join(segment.text for segment in segments)
    assert "Person 77 · 77,000 EUR" in shown
    assert "|" not in shown
    assert {segment.text for segment in segments if segment.marked} == {"77"}


@pytest.mark.parametrize(
    ("text", "file_type", "shown"),
    [
        ("One sentence\nin two lines.\n\nAnother.", "md", "One sentence in two lines.\n\nAnother."),
        ("A list:\n- one\n- two\n1. three", "md", "A list:\n- one\n- two\n1. three"),
        ("| a |\n| b |", "md", "| a |\n| b |"),
        ("```\nmake\nmake test\n```", "md", "```\nmake\nmake test\n```"),
        ("x = 1\ny = 2", "py", "x = 1\ny = 2"),
    ],
)
def test_lines_of_a_paragraph_are_joined_in_prose_alone(text: str, file_type: str, shown: str) -> None:
    assert flow(text, file_type) == shown


@pytest.mark.parametrize("text", ["", "a", "ＡＢＣ　ｶﾞ㌔", "e\u0301clair", "x" * 5000, "\n\n\n", "の" * 500])
def test_marking_never_changes_the_text(text: str) -> None:
    analyzer = Analyzer(("en",))
    segments = mark(analyzer, text, wanted_tokens(analyzer, text))
    assert "".join(segment.text for segment in segments) == text
