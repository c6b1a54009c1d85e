"""What of a file could not be read is said wherever the document is shown, and such documents can be listed."""

from __future__ import annotations

from collections.abc import Iterator

import lxml.html
import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.words.gaps import gaps_of_notes
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.ingest.ingest import ingest_bytes
from braid.core.metadata.gaps import (
    ATTACHMENTS_UNREAD,
    FORMULAS_WITHOUT_VALUE,
    GARBLED_PAGES,
    PAGES_TO_READ,
    PAGES_WITHOUT_TEXT,
    concerns,
    gap_notes,
    gap_sentences,
)
from braid.core.metadata.values import MAX_TEXT_CHARS
from tests import samples
from tests.fakes import HashEmbeddings
from tests.web import bearer, make_app, post_form, sign_in, site_of
from tests.worlds import WAIT_S

FILES = {
    "half.pdf": samples.pdf([["First"], [], ["Third"], []], drawn=(2, 4)),
    "one.pdf": samples.pdf([["First"], [], ["Last"]], drawn=(2,)),
    "long.pdf": samples.pdf([["First"], *([[]] * 12)], drawn=range(2, 14)),
    "whole.pdf": samples.pdf([["First"], []]),
}
TOLD = {
    "half.pdf": {
        "en": "2 of 4 pages have no text (2, 4), so nothing on them is found. They may be scanned.",
        "ja": "4 ページのうち 2 ページ（2, 4）にはテキストがなく",
        "ko": "4페이지 중 2개 페이지(2, 4)에 텍스트가 없어서",
    },
    "one.pdf": {"en": "1 of 3 pages has no text (2), so nothing on it is found."},
    "long.pdf": {"en": "12 of 13 pages have no text (2, 3, 4, 5, 6, 7, 8, 9, 10, 11…)"},
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with Braid(tmp_path_factory.mktemp("data"), embedding_model=HashEmbeddings()) as braid:
        app = make_app(braid, Settings())
        dataset = braid.ledger.add_dataset(site_of(app).accounts.all()[0].id, "files")
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("PATH", "/nowhere")  # so that no machine reads the pages
            for source, content in FILES.items():
                assert ingest_bytes(braid, dataset.id, source, content).state == "put"
        yield app


@pytest.fixture(scope="module")
def browser(app: Flask) -> FlaskClient:
    return sign_in(app)


@pytest.mark.parametrize(
    ("source", "language", "told"),
    [(source, language, told) for source, texts in TOLD.items() for language, told in texts.items()],
)
def test_pages_without_text_are_told_at_the_document_its_citation_and_in_the_list(
    app: Flask, browser: FlaskClient, source: str, language: str, told: str
) -> None:
    ledger, headers = site_of(app).braid.ledger, {"Accept-Language": language}
    [dataset] = ledger.datasets(site_of(app).accounts.all()[0].id)
    document = ledger.document(dataset.id, source)
    assert document is not None
    passage = ledger.document_passages(document.id, [dataset.id])[0]
    for address in (
        f"/datasets/{dataset.id}/documents/{document.id}",
        f"/documents/passage/{passage.chunk_id}",
        f"/datasets/{dataset.id}",
    ):
        assert told in browser.get(address, headers=headers, follow_redirects=True).text, address


def test_documents_that_were_read_in_part_are_counted_and_can_be_listed(app: Flask, browser: FlaskClient) -> None:
    [dataset] = site_of(app).braid.ledger.datasets(site_of(app).accounts.all()[0].id)
    listed = browser.get(f"/datasets/{dataset.id}?state=incomplete").text
    assert {source for source in FILES if f">{source.removesuffix('.pdf')}</a>" in listed} == set(TOLD)
    assert "3 documents read in part" in lxml.html.fromstring(listed).get_element_by_id("read-in-part").text
    assert "3 read in part" in browser.get("/datasets").text


def test_the_api_says_what_was_not_read_and_lists_such_documents(app: Flask) -> None:
    account = site_of(app).accounts.all()[0]
    [dataset] = site_of(app).braid.ledger.datasets(account.id)
    address, headers = f"/api/v1/datasets/{dataset.id}/documents", bearer(app, account, "read")
    listed = app.test_client().get(address, query_string={"state": "incomplete"}, headers=headers).json
    assert {each["source"] for each in listed["items"]} == set(TOLD)
    [one] = [each for each in listed["items"] if each["source"] == "one.pdf"]
    assert one["unread"][0] == "1 of 3 pages has no text (2), so nothing on it is found"
    [whole] = [
        each for each in app.test_client().get(address, headers=headers).json["items"] if each["source"] == "whole.pdf"
    ]
    assert whole["unread"] == []


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "half: 2 of 4 pages have no text (2, 4), so nothing on them is found"),
        ("ja", "half：4 ページのうち 2 ページ（2, 4）にはテキストがなく"),
        ("ko", "half: 전체 4페이지 중 2개 페이지(2, 4)에 텍스트가 없어서"),
    ],
)
def test_an_answer_that_cites_such_a_document_says_so(
    app: Flask, browser: FlaskClient, language: str, told: str
) -> None:
    braid = site_of(app).braid
    assert braid.indexer.wait(WAIT_S)
    [dataset] = braid.ledger.datasets(site_of(app).accounts.all()[0].id)
    headers = {"Accept-Language": language}
    asked = post_form(browser, "/chat/messages", text="Third page?", d=[str(dataset.id)])
    page = browser.get(asked.location.partition("#")[0], headers=headers)
    assert told in page.text
    assert "whole:" not in page.text


def test_programs_are_told_in_the_notes(app: Flask) -> None:
    account, braid = site_of(app).accounts.all()[0], site_of(app).braid
    assert braid.indexer.wait(WAIT_S)
    [dataset] = braid.ledger.datasets(account.id)
    body = {"message": "Third page?", "dataset_ids": [dataset.id]}
    answer = app.test_client().post("/api/v1/chat", json=body, headers=bearer(app, account, "read"))
    assert "half: 2 of 4 pages have no text (2, 4), so nothing on them is found" in answer.json["notes"]


def test_each_gap_has_its_sentence_and_the_page_knows_it() -> None:
    found = gap_notes(
        "Report",
        {"pages": "40", PAGES_WITHOUT_TEXT: "7", FORMULAS_WITHOUT_VALUE: "12", ATTACHMENTS_UNREAD: "a.zip is a zip"},
    )
    assert found == [
        "Report: 1 of 40 pages has no text (7), so nothing on it is found",
        "Report: 12 formulas have no stored value",
        "Report: attachments that were not read: a.zip is a zip",
    ]
    assert gap_notes(
        "Report", {"pages": "9", FORMULAS_WITHOUT_VALUE: "1", PAGES_WITHOUT_TEXT: "1, " * MAX_TEXT_CHARS}
    ) == [
        "Report: many pages have no text, so nothing on them is found",
        "Report: 1 formula has no stored value",
    ]
    assert gaps_of_notes([*found, "the last 2 of 9 passages do not fit into the prompt"], {}) == found
    garbled = gap_notes("Report", {"pages": "40", GARBLED_PAGES: "3, 4"})
    assert garbled == ["Report: 2 of 40 pages have letters without meaning (3, 4), so little on them is found"]
    assert gaps_of_notes(garbled, {"Report": {5}}) == garbled
    assert gaps_of_notes(garbled, {"Report": {13}}) == []
    assert gap_notes("Report", {"pages": "40"}) == []


@pytest.mark.parametrize(
    ("metadata", "pages", "is_told"),
    [
        ({PAGES_WITHOUT_TEXT: "7, 9"}, {8}, True),  # beside what is cited
        ({PAGES_WITHOUT_TEXT: "7, 9"}, {9}, True),
        ({GARBLED_PAGES: "57, 107"}, {13}, False),
        ({GARBLED_PAGES: ", ".join(map(str, range(50, 70)))}, {13}, False),
        ({GARBLED_PAGES: ", ".join(map(str, range(50, 70)))}, {65}, True),  # behind those that are named
        ({PAGES_WITHOUT_TEXT: "1, " * MAX_TEXT_CHARS}, {13}, True),
        ({PAGES_TO_READ: 19}, {13}, True),  # which may be any
        ({ATTACHMENTS_UNREAD: "a.zip is a zip"}, {13}, False),
        ({ATTACHMENTS_UNREAD: "a.zip is a zip"}, set(), True),  # a mail has no pages, and is what it holds
        ({FORMULAS_WITHOUT_VALUE: "12"}, set(), True),
    ],
)
def test_an_answer_is_told_of_gaps_that_may_concern_it(
    metadata: dict[str, object], pages: set[int], is_told: bool
) -> None:
    [gap] = gap_sentences({"pages": "400", **metadata})
    assert concerns(gap, pages) is is_told
