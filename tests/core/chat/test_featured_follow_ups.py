"""The words of an answer to a follow-up."""

from __future__ import annotations

import pytest

from braid.core.chat.citations import Citation
from braid.core.chat.quoting.candidates import Asked
from braid.core.chat.quoting.extractive import Extract, extract
from braid.core.text.scripts import question_language
from braid.core.types import Passage
from tests.core.chat.featured import ANALYZER
from tests.core.chat.test_extractive import passage


def follow_up(question: str, topic: str, earlier: str, last: str, *passages: Passage) -> Extract:
    """Answer a follow-up about one word, with the words of the question before, behind the answer to that."""
    citations = [Citation(number, one, one.text) for number, one in enumerate(passages, start=1)]
    asked = Asked(question, dict.fromkeys(ANALYZER.tokens(f"{topic} {earlier}"), 1.0), question_language(question))
    terms = ANALYZER.tokens(topic)
    own = {terms[0]: frozenset(terms)}
    return extract(asked.going_on(question, own, [last], ANALYZER), citations, ANALYZER, match="strong")


TRIPS = [
    (
        "And in Tokyo?",
        "Tokyo",
        "hotel cost",
        "A hotel may cost up to 140 EUR a night.",
        "Meals are refunded in Tokyo alone.",
        "mirror1 is in Tokyo and has 2 Gbit.",
    ),
    (
        "大阪では？",
        "大阪",
        "宿泊費 上限",
        "宿泊費は1泊につき11,000円を上限とする。",
        "大阪では日当を支給しない。",
        "大阪のミラーは2Gbitです。",
    ),
    (
        "부산은요?",
        "부산",
        "숙박비 한도",
        "숙박비는 1박에 11만 원을 한도로 한다.",
        "부산에서는 일당을 주지 않는다.",
        "부산 미러는 2Gbit입니다.",
    ),
]


@pytest.mark.parametrize(("question", "topic", "earlier", "last", "more", "other"), TRIPS)
def test_a_follow_up_is_answered_by_the_document_of_the_last_answer_where_that_has_its_word(
    question: str, topic: str, earlier: str, last: str, more: str, other: str
) -> None:
    policy = passage(f"{last} {more}", 1)
    found = follow_up(question, topic, earlier, f"Quoted: {last} [1]", passage(other, 2), policy)
    assert found.shown[0].text[found.shown[0].start : found.shown[0].end] == more
    assert (found.found, found.is_weak) == (True, False)


@pytest.mark.parametrize(("question", "topic", "earlier", "last", "more", "other"), TRIPS)
def test_a_follow_up_of_which_that_document_has_no_word_is_at_most_weakly_answered(
    question: str, topic: str, earlier: str, last: str, more: str, other: str
) -> None:
    found = follow_up(question, topic, earlier, f"Quoted: {last} [1]", passage(other, 2), passage(last, 1))
    assert not found.found or found.is_weak
    assert last in found.shown[0].text, "what has the word alone, and none of the first question's, comes behind it"


def test_a_follow_up_that_another_document_answers_is_answered_by_it_and_said_to_be_weak() -> None:
    last, other = "The pump costs 140 EUR.", "The drill costs 90 EUR."
    found = follow_up("And the drill?", "drill", "costs", f"{last} [1]", passage(last, 1), passage(other, 2))
    assert (found.shown[0].text, found.is_weak) == (other, True)


def test_a_follow_up_about_another_year_is_answered_by_the_version_of_that_year() -> None:
    last, other = "The limit is 90 EUR.", "The limit is 125 EUR."
    old, new = passage(last, 1, title="Travel policy 2023"), passage(other, 2, title="Travel policy 2025")
    found = follow_up("And in 2025?", "2025", "limit", f"{last} [1]", old, new)
    assert (found.shown[0].text, found.found, found.is_weak) == (other, True, False)
