"""Questions to begin with, made of the titles and headings of the user's documents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from flask import Flask, g

from braid.app import first_start
from braid.app.auth.identity import Identity
from braid.app.user.datasets import readable_datasets
from braid.app.user.questions import question_of, spoken_title, tried
from braid.app.user.starters import starters
from braid.core.braid import Braid
from braid.core.chat.asking.askable import Askable, Kind, Language
from braid.core.chat.conversation import Conversation
from braid.core.chat.types import ChatRequest
from braid.core.datasets.outlines import OutlineSection
from braid.core.text.scripts import question_language
from braid.core.types import ChunkInput, DocumentInput
from tests.web import make_app, site_of
from tests.worlds import WAIT_S, ByHand, catch_up


def asked(braid: Braid, language: str = "en") -> list[str]:
    app = make_app(braid)
    account = site_of(app).accounts.all()[0]
    with app.test_request_context("/", headers={"Accept-Language": language}):
        g.braid_identity = Identity(account)
        return starters(readable_datasets(account))


def put(braid: ByHand, dataset_id: int, title: str, *sections: tuple[str, str], source: str = "") -> None:
    chunks = tuple(
        ChunkInput(text, heading_path=f"{title} > {heading}" if heading else "") for heading, text in sections
    )
    braid.ledger.put_document(dataset_id, DocumentInput(source or f"{title}.md", title, "md", chunks))
    catch_up(braid, "bm25")


@pytest.fixture
def app(shelf: Braid) -> Flask:
    return make_app(shelf)


@pytest.fixture
def by_hand(tmp_path: Path) -> Iterator[ByHand]:
    with ByHand(tmp_path / "data") as braid:
        yield braid


@pytest.fixture
def mine(by_hand: ByHand) -> int:
    first_start.prepare(by_hand)
    return by_hand.ledger.datasets(1)[0].id


def test_the_guide_is_asked_about_until_there_is_something_of_ones_own(by_hand: ByHand, mine: int) -> None:
    assert "What happens when a dataset is deleted?" in asked(by_hand)
    put(by_hand, mine, "Travel rules", ("Daily allowance", "Who travels for a day gets a daily allowance of 30 EUR."))
    assert asked(by_hand)[0] == "What should I know about daily allowance?"
    assert asked(by_hand, "ja")[0] == "「Travel rules」はどんな内容ですか？", "not by its English heading"
    assert asked(by_hand, "ko")[0] == "“Travel rules” 문서는 어떤 내용인가요?"


def test_shared_documents_are_asked_about_when_there_are_no_personal_ones(by_hand: ByHand, mine: int) -> None:
    shared = by_hand.registry.add("Handbook", "shared_handbook").id
    by_hand.mirror_registry()
    put(by_hand, shared, "House rules", ("", "The house rules say that the door is closed at night."))
    assert asked(by_hand) == ["What is “House rules” about?"]


def test_each_document_is_asked_about_before_one_is_asked_about_twice(by_hand: ByHand, mine: int) -> None:
    pumps = (("Seals", "Seals last for three years in a dry hall."), ("Bearings", "Bearings are greased once a month."))
    put(by_hand, mine, "Pumps", *pumps, ("Storage", "Storage outside lets the rubber crack."), source="a")
    put(by_hand, mine, "Leave", ("Parents", "Parents may stay at home for ten weeks."), source="b")
    assert asked(by_hand) == [
        "What should I know about parents?",
        "What do I need to know about seals?",
        "What should I know about bearings?",
        "What do I need to know about storage?",
    ]


def test_questions_to_go_on_with_are_in_the_languages_that_are_wanted(by_hand: ByHand, mine: int) -> None:
    put(by_hand, mine, "ポンプ", ("シール", "シールは乾いた場所で三年もちます。"), source="a")
    put(by_hand, mine, "Leave", ("Parents", "Parents may stay at home for ten weeks."), source="b")
    app = make_app(by_hand)
    account = site_of(app).accounts.all()[0]
    with app.test_request_context("/", headers={"Accept-Language": "en"}):
        g.braid_identity = Identity(account)
        documents = [each.sections for each in site_of(app).outlines.newest(by_hand.ledger.datasets(1), limit=9)]
        of_both, of_one = tried(documents, most=4), tried(documents, most=4, languages={"en"})
    assert {question_language(each) for each in of_both} == {"en", "ja"}
    assert of_one == [each for each in of_both if question_language(each) == "en"]


def test_what_no_search_finds_is_not_offered(by_hand: ByHand, mine: int) -> None:
    chunk = ChunkInput("Who travels for a day gets a daily allowance.", heading_path="Travel rules > Daily allowance")
    by_hand.ledger.put_document(mine, DocumentInput("t.md", "Travel rules", "md", (chunk,)))
    assert "What should I know about daily allowance?" not in asked(by_hand)
    catch_up(by_hand, "bm25")
    assert "What should I know about daily allowance?" in asked(by_hand)


def test_two_questions_in_a_row_are_worded_differently(by_hand: ByHand, mine: int) -> None:
    for name in ("gasket", "impeller", "flange", "gearbox"):
        parts = (
            (f"What is the {name}?", f"The {name} is a part."),
            (f"Cleaning the {name}", f"Clean the {name} with oil."),
        )
        put(by_hand, mine, f"Parts of the {name}", *parts)
    beginnings = [question.split()[:2] for question in asked(by_hand)]
    assert len(beginnings) == 4
    assert all(one != other for one, other in pairwise(beginnings))


def test_headings_that_ask_may_ask_alike_where_there_is_nothing_else(by_hand: ByHand, mine: int) -> None:
    for name in ("gasket", "impeller"):
        put(by_hand, mine, name, (f"What is the {name}?", f"The {name} is a part."))
    assert sorted(asked(by_hand)) == ["What is the gasket?", "What is the impeller?"]


@pytest.mark.parametrize(
    ("language", "kind", "what", "more", "question"),
    [
        ("en", "steps", "book a room", "", "How do I book a room?"),
        ("en", "cell", "Green tea", "Price", "What is the price of Green tea?"),
        ("ja", "definition", "NMU", "", "NMU とは何ですか？"),
        ("ja", "steps", "鍵を交換する", "", "鍵を交換するにはどうすればよいですか？"),
        ("ja", "amount", "在宅勤務", "日まで", "在宅勤務は何日までですか？"),
        ("ja", "cell", "佐藤", "部署", "佐藤の部署を教えてください"),
        ("ko", "definition", "가상 패키지", "", "가상 패키지란 무엇인가요?"),
        ("ko", "definition", "데이터셋", "", "데이터셋이란 무엇인가요?"),
        ("ko", "price", "주차 요금", "", "주차 요금은 얼마인가요?"),
        ("ko", "amount", "연차", "일", "연차는 며칠인가요?"),
        ("ko", "amount", "신청", "일이내", "신청은 며칠 이내인가요?"),
        ("ko", "case", "화면이 열리지 않을 때", "", "화면이 열리지 않을 때는 어떻게 해야 하나요?"),
        ("ko", "way", "설치 방법", "", "설치 방법을 알려 주세요"),
    ],
)
def test_questions_are_worded_as_the_language_does(
    app: Flask, language: Language, kind: Kind, what: str, more: str, question: str
) -> None:
    with app.test_request_context("/"):
        assert question_of(Askable(kind, what, language, more), "en") == question


def test_an_english_name_is_asked_about_in_the_language_of_the_page_and_english_verbs_are_not(
    app: Flask,
) -> None:
    with app.test_request_context("/"):
        assert question_of(Askable("definition", "a virtual package", "en"), "ja") == "virtual package とは何ですか？"
        assert question_of(Askable("price", "the sticker", "en"), "ko") == "sticker는 얼마인가요?"
        assert question_of(Askable("steps", "book a room", "en"), "ja") == ""


@pytest.mark.parametrize(
    ("title", "spoken"),
    [
        ("travel_rules.docx", "travel rules"),
        ("2.3. 대화 상자", "대화 상자"),
        ("2024 in figures", "2024 in figures"),
        ("2024-11", ""),
        ("Introduction", ""),
        ("x" * 50, ""),
    ],
)
def test_titles_as_one_says_them(title: str, spoken: str) -> None:
    assert spoken_title(OutlineSection(1, 1, title, title, "", "", 0, None)) == spoken


def test_each_question_about_the_guide_is_answered_first_by_its_answer(tmp_path: Path) -> None:
    words = {
        "en": ("second", "at once", "100 MB"),
        "ja": ("1 秒", "すぐ", "100 MB"),
        "ko": ("1초", "바로", "100 MB"),
    }
    with Braid(tmp_path) as braid:
        first_start.prepare(braid)
        assert braid.indexer.wait(WAIT_S)
        conversation = Conversation(braid)
        for language, expected in words.items():
            for question, word in zip(asked(braid, language), expected, strict=True):
                answer = conversation.ask(ChatRequest(user_id=1, text=question, dataset_ids=[-1]))
                assert answer.featured is not None, (question, answer.text)
                assert word in answer.featured.text, (question, answer.text)
                assert answer.featured.citation == 1
