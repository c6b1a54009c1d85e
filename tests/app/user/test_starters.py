"""Questions to begin with, made of the titles and headings of the user's documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from braid.app import first_start
from braid.app.user import starters as made
from braid.app.user.datasets import readable_datasets
from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.types import ChatRequest
from braid.core.datasets.outlines import DocumentOutline
from braid.core.types import ChunkInput, DocumentInput
from tests.web import make_app, site_of
from tests.worlds import WAIT_S


def asked(braid: Braid, language: str = "en") -> list[str]:
    app = make_app(braid)
    with app.test_request_context("/", headers={"Accept-Language": language}):
        return made.starters(readable_datasets(site_of(app).accounts.all()[0]))


def put(braid: Braid, dataset_id: int, title: str, *headings: str, source: str = "") -> None:
    chunks = tuple(ChunkInput(f"About {heading}.", heading_path=f"{title} > {heading}") for heading in headings)
    braid.ledger.put_document(
        dataset_id, DocumentInput(source or f"{title}.md", title, "md", chunks or (ChunkInput("Text."),))
    )


def test_the_guide_is_asked_about_until_there_is_something_of_ones_own(braid: Braid) -> None:
    first_start.prepare(braid)
    mine = braid.ledger.datasets(1)[0].id
    assert "What happens when a dataset is deleted?" in asked(braid)
    put(braid, mine, "Travel rules", "Daily allowance")
    assert asked(braid) == ["What does “Travel rules” say about “Daily allowance”?"]
    assert asked(braid, "ja") == ["「Travel rules」には「Daily allowance」についてどう書かれていますか？"]


def test_shared_documents_are_asked_about_when_there_are_no_personal_ones(braid: Braid) -> None:
    first_start.prepare(braid)
    shared = braid.registry.add("Handbook", "shared_handbook").id
    braid.mirror_registry()
    put(braid, shared, "House rules")
    assert asked(braid) == ["What is “House rules” about?"]


def test_each_document_is_asked_about_before_one_is_asked_about_twice(braid: Braid) -> None:
    first_start.prepare(braid)
    mine = braid.ledger.datasets(1)[0].id
    put(braid, mine, "A", *("One", "Two", "Three", "Four"), source="a")
    put(braid, mine, "Beta", *("Five", "Six", "Seven"), source="b")
    put(braid, mine, "Gamma", source="c")
    assert asked(braid) == [
        "What is “Gamma” about?",
        "What does “Beta” say about “Five”?",
        "What does “Beta” say about “Six”?",
        "What does “Beta” say about “Seven”?",
    ]


@pytest.mark.parametrize(
    ("title", "headings", "question"),
    [
        ("travel_rules.docx", ("2.1 Hotels",), "What does “travel rules” say about “Hotels”?"),
        ("FAQ", ("Who pays for the taxi?",), "Who pays for the taxi?"),
        ("人事規程", ("目次", "第3章 休暇"), "「人事規程」には「休暇」についてどう書かれていますか？"),
        ("Budget", ("Sheet1", "Page 3", "Contents"), "What is “Budget” about?"),
        ("The FAQ", ("apt-get 및 apt-cdrom",), "“The FAQ”에는 “apt-get 및 apt-cdrom”에 대해 뭐라고 나와 있나요?"),
        ("2024-11", ("Results",), None),
        ("table.csv", (), None),
        ("Introduction", (), None),
        ("x" * 50, (), None),
    ],
)
def test_what_is_asked_about_a_document(
    braid: Braid, title: str, headings: tuple[str, ...], question: str | None
) -> None:
    with make_app(braid).test_request_context("/", headers={"Accept-Language": "en"}):
        found = list(made._questions([DocumentOutline(1, title, title, headings)]))
    assert found == ([question] if question else [])


def test_each_question_about_the_guide_is_answered_first_by_its_answer(tmp_path: Path) -> None:
    words = {
        "en": ("second", "at once", "100 MB"),
        "ja": ("一秒", "すぐ", "100 MB"),
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


def test_a_heading_that_is_the_title_is_not_asked_about(braid: Braid) -> None:
    first_start.prepare(braid)
    put(braid, braid.ledger.datasets(1)[0].id, "budget", "Budget")
    assert asked(braid) == ["What is “budget” about?"]
