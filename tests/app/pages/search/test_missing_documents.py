"""Why a document was not found."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from braid.core.braid import Braid
from braid.core.datasets.listing import documents_named
from tests.app.pages.search.searched import LIBRARY, NOTES, OTHER
from tests.web import add_user, text_of

Put = Callable[..., str]


def why(client: FlaskClient, name: str, **arguments: object) -> str:
    search = {"q": "annealed alloy", "d": [NOTES, OTHER], "mode": "hybrid", "name": name, **arguments}
    response = client.get("/search/why-not", query_string=search)
    assert response.status_code == 200
    return text_of(response.text)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("alloy", {}, "It is in the results, at rank 1."),
        ("handbook", {}, "Its dataset was not searched."),
        ("garden", {"kind": "pdf"}, "The filters exclude it."),
        ("garden", {"mode": "keyword"}, "The search did not reach it."),
        ("garden", {"mode": "keyword"}, "By keyword: not found, because it contains no word of the query."),
        ("garden", {"mode": "semantic", "k": 1}, "but only 1 passage is shown."),
        ("garden", {"mode": "semantic", "k": 1}, "By meaning: rank"),
    ],
)
def test_a_missing_document_is_explained(
    client: FlaskClient, name: str, arguments: dict[str, object], expected: str
) -> None:
    assert expected in why(client, name, **arguments)


@pytest.mark.parametrize(("language", "expected"), [("en", "The filters exclude it."), ("ja", None), ("ko", None)])
def test_the_explanation_is_in_the_pages_language(client: FlaskClient, language: str, expected: str | None) -> None:
    page = why(client, "garden", kind="pdf", lang=language)
    assert expected is None or expected in page


def test_equal_text_is_explained(own_client: FlaskClient, put: Put) -> None:
    put(OTHER, "copy.md", LIBRARY[0][4], title="Copied trial")
    texts = {why(own_client, name) for name in ("lab/alloy", "copy.md")}
    assert any("Another document contains the same text." in text for text in texts)
    assert any("It is in the results, at rank 1." in text for text in texts)


def test_several_documents_are_offered(client: FlaskClient) -> None:
    page = client.get("/search/why-not?q=alloy&d=1&name=lab/").text
    assert "Which of these?" in page
    hrefs = re.findall(r'<a href="(/search/why-not\?[^"]+document=\d+)">', page)
    assert len(hrefs) == 2
    assert "It is in the result" in client.get(hrefs[0].replace("&amp;", "&")).text


def test_an_unreadable_document_is_explained(own_client: FlaskClient, own_library: Braid) -> None:
    own_library.ledger.put_failed(NOTES, "broken.pdf", title="", file_type="pdf", error="broken.pdf is damaged")
    page = why(own_client, "broken")
    assert "It could not be read" in page
    assert "broken.pdf is damaged" in page


def test_unknown_names_and_empty_forms_are_answered(client: FlaskClient) -> None:
    assert "No document in your datasets has" in why(client, "zeppelin")
    offered = client.get("/search/why-not?q=alloy&d=1")
    assert offered.status_code == 200
    assert "Newest documents" in offered.text
    href = re.search(r'<a href="(/search/why-not\?[^"]+name=[^"]+)">', offered.text)
    assert href is not None
    assert "Newest documents" not in client.get(href[1].replace("&amp;", "&")).text
    assert "Enter what you searched for." in client.get("/search/why-not?name=alloy").text


def test_documents_of_others_are_neither_offered_nor_explained(
    own_client: FlaskClient, own_library: Braid, put: Put
) -> None:
    other = add_user(own_client.application, "bob")
    put(own_library.ledger.add_dataset(other.id, "Diary").id, "lab/secret.md", "The secret alloy.")
    assert "secret" not in own_client.get("/search/documents.json?name=lab").text
    assert "No document in your datasets" in why(own_client, "secret")
    (document,) = documents_named(own_library.ledger.database, {3}, "secret")
    assert own_client.get(f"/search/why-not?q=alloy&document={document.id}").status_code == 404
    assert own_library.ledger.document_with_id(document.id, {NOTES}) is None


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("lab/", ["lab/alloy.pdf", "lab/polymer.md"]),
        ("ALLOY", ["lab/alloy.pdf"]),
        ("garden", ["home/garden.docx"]),
        ("%", []),
        ("_", []),
        ("", []),
        ("\x00", []),
    ],
)
def test_names_are_offered_while_typing(client: FlaskClient, part: str, expected: list[str]) -> None:
    listed = client.get("/search/documents.json", query_string={"name": part}).json
    assert listed is not None
    assert [document["source"] for document in listed] == expected
