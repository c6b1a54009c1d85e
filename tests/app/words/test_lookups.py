"""What is said of what was looked for after the first search."""

from __future__ import annotations

import pytest

from braid.app.words.searches import lookup_text
from braid.core.braid import Braid
from tests.web import make_app

LOOKUP = {"tool": "search", "why": "language", "asked": "NMU とは何ですか", "new": 2, "problem": "", "about": ""}


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("NMU とは何ですか", "Also searched documents in other languages: 2 new passages"),
        ("What is an NMU?", "Searched documents in another language for “NMU とは何ですか”: 2 new passages"),
        ("", "Searched documents in another language for “NMU とは何ですか”: 2 new passages"),
    ],
)
def test_a_question_that_is_on_the_page_is_not_repeated(braid: Braid, question: str, said: str) -> None:
    with make_app(braid).test_request_context("/", headers={"Accept-Language": "en"}):
        assert lookup_text(LOOKUP, question=question) == said


def test_several_words_are_listed_as_the_language_does(braid: Braid) -> None:
    lookup = {**LOOKUP, "why": "words", "about": "PS, 形式"}
    with make_app(braid).test_request_context("/", headers={"Accept-Language": "ja"}):
        assert lookup_text(lookup) == "「PS、形式」でも検索：新しく見つかった抜粋 2 件"
