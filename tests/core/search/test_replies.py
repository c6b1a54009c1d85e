"""What strategies make of what a model wrote, and the formulas of feedback."""

from __future__ import annotations

import numpy as np
import pytest

from braid.core.models.replies import cut_at_sentence, parse_passage, parse_queries, parse_sentence_numbers
from braid.core.search.feedback_terms import relevance_model, rm3, rocchio
from braid.core.text.sentences import code_blocks, sentences
from braid.core.vector import Vector


def test_rm3_by_hand() -> None:
    model = relevance_model([["a", "a", "b"], ["b"]], [3.0, 1.0])
    assert model == pytest.approx({"a": 3 / 4 * 2 / 3, "b": 3 / 4 * 1 / 3 + 1 / 4 * 1})
    assert sum(model.values()) == pytest.approx(1)
    assert rm3(["a", "c"], model, 0.6) == pytest.approx({"a": 0.3 + 0.4 * 0.5, "c": 0.3, "b": 0.4 * 0.5})
    assert relevance_model([], []) == {}


def test_rocchio_by_hand() -> None:
    query: Vector = np.array([1.0, 0.0], np.float32)
    passage: Vector = np.array([0.0, 1.0], np.float32)
    assert rocchio(query, [passage], 1.0) == pytest.approx([0.5**0.5, 0.5**0.5])
    assert rocchio(query, [passage, passage], 0.5) == pytest.approx([0.5**0.5, 0.5**0.5])
    assert rocchio(query, []) == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("one cat\ntwo cats\nthree cats", ["one cat", "two cats", "three cats"]),
        ("1. one cat\n2) two cats\n(3) three cats", ["one cat", "two cats", "three cats"]),
        ("- one cat\n* two cats\n• three cats", ["one cat", "two cats", "three cats"]),
        ('1. **one cat**\n2. "two cats"\n3. `three cats`', ["one cat", "two cats", "three cats"]),
        ("\n\none cat\n\n\n  two cats  \n", ["one cat", "two cats"]),
        ("```text\none cat\ntwo cats\n```", ["one cat", "two cats"]),
        ('```json\n["one cat", "two cats"]\n```', ["one cat", "two cats"]),
        ('{"queries": ["one cat", "two cats"]}', ["one cat", "two cats"]),
        ("Here are three queries:\n1. one cat\n2. two cats", ["one cat", "two cats"]),
        ("Query 1: one cat\nAlternative query 2: two cats", ["one cat", "two cats"]),
        ("What is a cat?\nwhat is a cat\n“What is a CAT?”\none cat", ["one cat"]),
        ("one cat\nOne cat!\none  cat", ["one cat"]),
        ("\n".join(f"{n}. cat {n}" for n in range(1, 31)), ["cat 1", "cat 2", "cat 3"]),
        ("one cat\n" + "This explains at length why. " * 30, ["one cat"]),
        ("2024 cats\n3D cats", ["2024 cats", "3D cats"]),
        ("什么是猫？\none cat", ["one cat"]),
        ("", None),
        ("\n\n```\n```\n", None),
        ("What is a cat?", None),
        ("I'm sorry, I can't help with that.", None),
        ("As an AI language model, I cannot do this.", None),
        ("猫とは何ですか", None),
        ("!!! ??? ...", None),
    ],
)
def test_queries_from_what_a_model_wrote(said: str, expected: list[str] | None) -> None:
    assert parse_queries(said, question="What is a cat?", limit=3) == expected


@pytest.mark.parametrize(
    ("question", "said", "expected"),
    [
        (
            "猫は何を食べますか。",
            "1．猫の餌\n２、「猫の食べ物」\n・キャットフード",
            ["猫の餌", "猫の食べ物", "キャットフード"],
        ),
        ("猫は何を食べますか。", "質問1：猫の餌は？\n② 猫の主食", ["猫の餌は?", "猫の主食"]),
        ("猫は何を食べますか。", "申し訳ありませんが、お答えできません。", None),
        ("猫は何を食べますか。", "What do cats eat?", None),
        ("고양이는 무엇을 먹나요?", "1. 고양이 사료\n검색어 2: 고양이 먹이", ["고양이 사료", "고양이 먹이"]),
        ("고양이는 무엇을 먹나요?", "죄송합니다. 도와드릴 수 없습니다.", None),
        ("GIF 形式で保存", "GIF でエクスポート", ["GIF でエクスポート"]),
    ],
)
def test_queries_in_japanese_and_korean(question: str, said: str, expected: list[str] | None) -> None:
    found = parse_queries(said, question=question, limit=3)
    assert found == expected or [q.replace("？", "?") for q in found or ()] == expected


def test_a_passage_from_what_a_model_wrote() -> None:
    question = "What do cats eat?"
    assert parse_passage("Passage: Cats eat fish.", question=question) == "Cats eat fish."
    assert parse_passage("Here is a passage:\n\n```\nCats eat fish.\nThey like it.\n```", question=question) == (
        "Cats eat fish. They like it."
    )
    much = parse_passage("Cats eat fish every day. " * 500, question=question)
    assert much is not None
    assert len(much) <= 1500
    assert much.endswith("day.")
    for said in ("", "What do cats eat", "I'm sorry, I cannot.", "猫は魚を食べる。", "```\n```", "N/A"):
        assert parse_passage(said, question=question) is None


def test_sentence_numbers_from_what_a_model_wrote() -> None:
    assert parse_sentence_numbers("1.2, 1.3 and [4.1]") == {(1, 2), (1, 3), (4, 1)}
    assert parse_sentence_numbers("```\n1.2\n```") == {(1, 2)}
    assert parse_sentence_numbers("NONE") == parse_sentence_numbers("None.") == set()
    assert parse_sentence_numbers("The version 1.2.3 of it") is None
    for said in ("", "I cannot tell.", "The first sentence"):
        assert parse_sentence_numbers(said) is None


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("The cat sat. The dog barked.", 2),
        ("Dr. Smith met Mr. Jones at the gate. They spoke, e.g. about cats.", 2),
        ("猫。犬。鳥。吾輩は猫である。", 1),
        ("吾輩は猫であると言った。名前はまだ無いとも言った。「どこで生れたか見当がつかぬ。」", 3),
        ("고양이가 매트 위에 앉았다. 비가 하루 종일 내렸다.", 2),
        ("A list of animals:\n- cats and kittens\n- dogs and puppies", 3),
        ("", 0),
        ("no end", 1),
    ],
)
def test_sentences(text: str, parts: int) -> None:
    assert "".join(sentences(text)) == text
    assert len(sentences(text)) == parts
    assert "".join(code_blocks(text)) == text


def test_cut_at_sentence() -> None:
    assert cut_at_sentence("First sentence here. Second sentence here.", 30) == "First sentence here."
    assert cut_at_sentence("x" * 100, 30) == "x" * 30
