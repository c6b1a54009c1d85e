"""The first start: the sample, and what it finds there."""

from __future__ import annotations

import re

import pytest

from braid.app import first_start
from braid.core.braid import Braid
from tests.served import ROOT
from tests.web import make_app, post_form, sign_in
from tests.worlds import WAIT_S, document


def test_first_start_makes_the_user_a_dataset_and_the_sample_once(braid: Braid) -> None:
    first_start.prepare(braid)
    user = braid.ledger.user_named("local")
    assert user is not None
    assert user.id == 1
    assert [dataset.name for dataset in braid.ledger.datasets(1)] == ["My documents"]
    sample = braid.dataset(-1)
    assert sample.documents == len(list(first_start.SAMPLE_FOLDER.glob("*.md"))) == 18
    braid.ledger.remove_document(-1, "what-is-braid.en.md")
    first_start.prepare(braid)
    assert braid.dataset(-1).documents == 17


@pytest.mark.parametrize(
    ("query", "source"),
    [
        ("reciprocal rank fusion", "search-modes.en.md"),
        ("共有データセット グループ", "datasets-and-privacy.ja.md"),
        ("암호가 걸린 PDF", "adding-files.ko.md"),
        ("How do I add my own files?", "adding-files.en.md"),
        ("文書はどうやって追加しますか", "adding-files.ja.md"),
        ("문서는 어떻게 추가하나요?", "adding-files.ko.md"),
        ("Do I need a language model?", "what-is-braid.en.md"),
    ],
)
def test_sample_answers_in_three_languages(braid: Braid, query: str, source: str) -> None:
    first_start.prepare(braid)
    assert braid.indexer.wait(WAIT_S, legs=("bm25",))
    client = sign_in(make_app(braid))
    page = client.get("/search", query_string={"q": query, "d": "-1", "mode": "keyword"}).text
    assert source in page.partition("</article>")[0]


def test_first_page_of_a_new_directory_offers_examples(braid: Braid) -> None:
    first_start.prepare(braid)
    page = sign_in(make_app(braid)).get("/search").text
    assert re.findall(r'<a href="/search\?q=[^"]+" dir="auto">([^<]+)</a>', page) == [
        "When can a new document be found?",
        "What happens when a dataset is deleted?",
        "How large may a file be?",
    ]
    assert '<a href="/datasets">Add files</a>' in page


@pytest.mark.one_machine
def test_sample_goes_into_the_dataset_that_is_listed_for_it(braid: Braid) -> None:
    listed = (ROOT / "shared_dbs.json").read_text(encoding="utf-8")
    braid.registry.replace_text(listed)
    first_start.prepare(braid)
    assert braid.dataset(-1).documents == 18
    assert (braid.data_dir / "shared_dbs.json").read_text(encoding="utf-8") == listed


def test_somebody_elses_list_of_shared_datasets_is_left_alone(braid: Braid) -> None:
    braid.registry.add("Handbook", "shared_handbook")
    first_start.prepare(braid)
    assert [entry.name for entry in braid.registry.entries()] == ["Handbook"]
    assert braid.dataset(-1).documents == 0


def test_an_answer_from_the_guide_says_what_is_next_until_there_is_something_else(braid: Braid) -> None:
    first_start.prepare(braid)
    assert braid.indexer.wait(WAIT_S, legs=("bm25",))
    client = sign_in(make_app(braid))
    assert "Or try Braid with its own guide:" in client.get("/chat").text
    asked = post_form(client, "/chat/messages", text="How do I add my own files?", d="all", pace="fast", mode="keyword")
    page = client.get(asked.location).text
    assert "This answer is from the guide to Braid." in page
    assert page.count(">Connect a language model for written answers</a>") == 1
    braid.ledger.put_document(1, document("own.md", "The depot is open on Sundays."))
    assert "the guide to Braid" not in client.get(asked.location).text
    assert "with its own guide" not in client.get("/chat").text
