"""Which words of a passage are marked."""

from __future__ import annotations

import pytest

from braid.app.pages.search.marking import mark, wanted_tokens
from braid.core.text.analyzer import Analyzer


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("budget in Q3?", "Q3 budget: E3, 1.3, 3 and Q4", ["Q3", "budget"]),
        ("rule 3", "Rule 3 of E3 and 1.3", ["Rule", "3"]),
        ("version 1.3", "Version 1.3, not 3 or 1", ["Version", "1.3"]),
        ("E-4711", "The error 4711 is E-4711.", ["4711", "E-4711"]),
        ("3日", "第3章は3日間", ["3", "3"]),
    ],
)
def test_a_number_is_marked_where_it_stands_by_itself(query: str, text: str, marked: list[str]) -> None:
    analyzer = Analyzer(("en",))
    segments = mark(analyzer, text, wanted_tokens(analyzer, query))
    assert [segment.text for segment in segments if segment.marked] == marked
    assert "".join(segment.text for segment in segments) == text
