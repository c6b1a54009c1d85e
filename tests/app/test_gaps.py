"""What of a file could not be read is said wherever the document is shown, and such documents can be listed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.ingest.ingest import ingest_bytes
from tests import samples
from tests.fakes import HashEmbeddings
from tests.web import make_app, sign_in, site_of

FILES = {
    "half.pdf": samples.pdf([["First"], [], ["Third"], []]),
    "one.pdf": samples.pdf([["First"], []]),
    "long.pdf": samples.pdf([["First"], *([[]] * 12)]),
    "whole.pdf": samples.pdf([["First"]]),
}
TOLD = {
    "half.pdf": {
        "en": "2 of 4 pages have no text (2, 4), so nothing on them is found. They may be scanned.",
        "ja": "4 ページのうち 2 ページ（2, 4）にはテキストがなく",
        "ko": "4페이지 중 2페이지(2, 4)에 텍스트가 없어서",
    },
    "one.pdf": {"en": "1 of 2 pages has no text (2), so nothing on it is found."},
    "long.pdf": {"en": "12 of 13 pages have no text (2, 3, 4, 5, 6, 7, 8, 9, 10, 11…)"},
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with Braid(tmp_path_factory.mktemp("data"), embedding_model=HashEmbeddings()) as braid:
        app = make_app(braid, Settings())
        dataset = braid.ledger.add_dataset(site_of(app).accounts.all()[0].id, "files")
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
        assert told in browser.get(address, headers=headers).text, address


def test_documents_that_were_read_in_part_can_be_listed(app: Flask, browser: FlaskClient) -> None:
    [dataset] = site_of(app).braid.ledger.datasets(site_of(app).accounts.all()[0].id)
    listed = browser.get(f"/datasets/{dataset.id}?state=incomplete").text
    assert {source for source in FILES if f">{source.removesuffix('.pdf')}</a>" in listed} == set(TOLD)
