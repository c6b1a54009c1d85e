"""Follow-up questions without a model: names and codes, polite words, and the item that a number means."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from braid.core.chat.asking.follow_up import FollowUp, complete
from braid.core.chat.asking.items import listed_items, named_items
from braid.core.text.analyzer import Analyzer

ANALYZER = Analyzer()
STEPS = "The steps:\n\n1. Switch it **off** [1]\n2. Drain the tank [1]\n3. Change the seal [2]\n\n- not a step"


def followed(question: str, *earlier: str, answered: str = "", rare: str = "") -> FollowUp:
    """Complete a question; all words are as rare as each other but for those of ``rare``."""
    rarest = set(ANALYZER.tokens(rare)) if rare else set()

    def idf(terms: Collection[str]) -> dict[str, float]:
        return {term: 9.0 if term in rarest else 2.0 for term in terms}

    return complete(question, earlier, ANALYZER, idf, answered=answered)


@pytest.mark.parametrize(
    ("question", "earlier", "first"),
    [
        ("How heavy is it?", "Who may salvage the H-70X pump nowadays", "H-70X"),
        ("그것은 얼마인가요?", "H-70X 펌프의 희귀한 유량을 알려 주세요", "H-70X"),
        ("その重さは？", "K-50Sの希少な流量を教えてください", "K-50S"),
        ("And its rent?", "What does the peculiar office in Oslo cost?", "Oslo"),
    ],
)
def test_names_and_codes_come_before_rare_words(question: str, earlier: str, first: str) -> None:
    assert followed(question, earlier, rare="salvage nowadays peculiar 희귀한 希少").context[0] == first


def test_a_code_lasts_as_long_as_questions_go_on_from_it() -> None:
    chain = ("What is the flow of the H-70X pump?", "And its weight?")
    assert "H-70X" in followed("And what about the price?", *chain).context
    new = (*chain, "How many days of parental leave do employees in Norway get?")
    assert followed("And its price?", *new).context[0] == "Norway"


@pytest.mark.parametrize(
    ("question", "earlier"),
    [
        ("それはいくらですか", "出張の宿泊費の上限について説明して教えてください、お願いします"),
        ("그것은 얼마인가요?", "숙박비 한도를 비교해서 설명해 주세요, 알려 주시겠어요"),
        ("And how much is it?", "Please tell me, and explain, I want to know the lodging limit"),
    ],
)
def test_words_of_a_request_are_none_of_its_subject(question: str, earlier: str) -> None:
    requests = {"説明", "教", "願", "비교해서", "설명해", "주세요", "알려", "tell", "explain", "want", "know"}
    context = followed(question, earlier).context
    assert context
    assert not requests & set(context)


@pytest.mark.parametrize(
    ("question", "earlier", "query"),
    [
        ("And the second one?", "Compare the flow of K-50 and K-50S", "K-50S flow"),
        ("What does the second one cost?", "Compare the red pump and the blue pump", "cost blue pump"),
        ("What about the latter?", "How do Oslo and Berlin differ in rent?", "Berlin differ rent"),
        ("And the former?", "How do Oslo and Berlin differ in rent?", "Oslo differ rent"),
        ("では二つ目は", "K-50とK-50Sの流量を比較してください", "K-50S 流量"),
        ("2番目の重さは？", "K-50とK-50Sの流量を比較してください", "重 K-50S"),
        ("前者は？", "営業部と開発部の人数を教えてください", "営業部 人数"),
        ("두 번째는요?", "H-70과 H-70X의 유량을 비교해 주세요", "H-70X 유량을"),
        ("두 번째 것의 무게는 얼마인가요?", "H-70과 H-70X의 유량을 비교해 주세요", "무게는 H-70X"),
        ("첫 번째는요?", "경비팀과 시설팀의 전화번호는?", "경비팀 전화번호는"),
    ],
)
def test_a_number_means_an_item_of_the_last_question(question: str, earlier: str, query: str) -> None:
    found = followed(question, earlier)
    assert found.query == query
    assert found.readable.startswith(f"{question} (")


@pytest.mark.parametrize(
    "question", ["Explain the second one", "二つ目を詳しく教えて", "두 번째를 자세히 설명해 주세요"]
)
def test_a_number_means_an_item_of_the_last_answer(question: str) -> None:
    assert followed(question, "How is the seal of the pump changed?", answered=STEPS).context[0] == "Drain the tank"


def test_a_number_without_items_means_nothing() -> None:
    assert followed("And the second one?", "How is the seal changed?").context == ("changed", "seal")
    assert followed("And the fifth one?", "How is the seal changed?", answered=STEPS).context == ("changed", "seal")
    assert followed("When was the second edition printed in Oslo?", "K-50 and K-50S?").context == ()


def test_items_of_questions_and_answers() -> None:
    assert named_items("Which is heavier, the K-50, the K-50S or the H-70?") == ["K-50", "K-50S", "H-70"]
    assert named_items("How is the seal changed?") == []
    assert listed_items(STEPS) == ["Switch it off", "Drain the tank", "Change the seal"]
    assert listed_items("- one\n- two [3]") == ["one", "two"]
    assert listed_items("1. " + "word " * 100)[0].startswith("word word")
    assert len(listed_items("1. " + "word " * 100)[0]) <= 80


def test_a_topic_in_hiragana_is_a_word_of_the_follow_up() -> None:
    own = followed("おこづかいは？", "林間学校の集合時間は何時？").own_terms
    assert frozenset(ANALYZER.tokens("おこづかい")) in own.values()
    assert not followed("なぜですか", "林間学校の集合時間は何時？").own_terms
    assert not followed("いつまでは？", "林間学校の集合時間は何時？").own_terms


@pytest.mark.parametrize("question", ["집합 시간은 몇시?", "집합 시간은 몇 시인가요?"])
def test_what_asks_for_a_number_in_korean_is_no_topic(question: str) -> None:
    assert "체험학습" in followed(question, "체험학습 참가비와 납부 기한은?", rare="체험학습").context
