"""Names that Braid gave to datasets: in the language of the page, and in English in the ledger."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from braid.app import first_start
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.web import make_app, post_form, sign_in, text_of

NAMES = [
    ("en", "My documents", "Braid guide"),
    ("ja", "マイドキュメント", "Braid ガイド"),
    ("ko", "내 문서", "Braid 안내서"),
]


@pytest.fixture
def client(braid: Braid) -> FlaskClient:
    first_start.prepare(braid)
    return sign_in(make_app(braid))


@pytest.mark.parametrize(("language", "own", "guide"), NAMES)
def test_the_first_dataset_and_the_guide_have_names_in_the_pages_language(
    client: FlaskClient, language: str, own: str, guide: str
) -> None:
    for path in ("/search", "/datasets", "/settings"):
        page = text_of(client.get(f"{path}?lang={language}").text)
        assert own in page, path
        assert guide in page, path
    assert own in text_of(client.get(f"/datasets/1?lang={language}").text)


def test_a_name_that_somebody_chose_is_never_translated(client: FlaskClient, braid: Braid) -> None:
    post_form(client, "/datasets/1/name", name="Our documents")
    assert "Our documents" in client.get("/datasets?lang=ja").text


def test_saving_the_name_as_it_is_shown_changes_nothing(client: FlaskClient, braid: Braid) -> None:
    client.get("/datasets?lang=ja")
    assert post_form(client, "/datasets/1/name", name="マイドキュメント").status_code == 302
    assert braid.dataset(1).name == "My documents"


@pytest.mark.parametrize("typed", ["マイドキュメント", "My documents"])
def test_a_dataset_is_deleted_by_the_name_that_is_shown(client: FlaskClient, braid: Braid, typed: str) -> None:
    braid.ledger.put_document(1, DocumentInput("a.md", "A", "md", (ChunkInput("one"),)))
    client.get("/datasets?lang=ja")
    assert post_form(client, "/datasets/1/delete", name="別の名前").status_code == 400
    assert post_form(client, "/datasets/1/delete", name=typed).status_code == 302
    assert [dataset.id for dataset in braid.ledger.datasets(1)] == []
