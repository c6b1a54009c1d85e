"""The glossary of a dataset: its page, its CSV file, the API, and what a page says of the forms that were added."""

from __future__ import annotations

import io

import pytest
from flask.testing import FlaskClient

from braid.core.braid import Braid
from tests.web import csrf_token, make_app, post_form, sign_in
from tests.worlds import WAIT_S, document


@pytest.fixture
def client(braid: Braid) -> FlaskClient:
    user = braid.ledger.add_user("local")
    dataset = braid.ledger.add_dataset(user.id, "Notes").id
    text = "The Service Level Agreement (SLA) is renewed in March."
    braid.ledger.put_document(dataset, document("contract.md", text, title="Contract"))
    braid.ledger.put_document(dataset, document("leave.md", "Paid time off is granted by the office.", title="Leave"))
    assert braid.indexer.wait(WAIT_S)
    return sign_in(make_app(braid))


def test_a_term_is_added_found_and_removed(client: FlaskClient) -> None:
    page = client.get("/datasets/1/glossary").text
    assert "Service Level Agreement" in page
    assert "The glossary is empty." in page
    assert post_form(client, "/datasets/1/glossary", short="PTO", long="Paid time off").status_code == 302
    assert "Paid time off" in client.get("/datasets/1/glossary").text
    assert "Also searched: PTO → Paid time off" in client.get("/search", query_string={"q": "PTO"}).text
    post_form(client, "/datasets/1/glossary/remove", short="PTO", long="Paid time off")
    assert "PTO" not in client.get("/datasets/1/glossary").text


def test_a_name_that_documents_write_in_several_ways_is_shown_once(braid: Braid, client: FlaskClient) -> None:
    for number, written in enumerate(("service level agreement", "Service Level Agreement Annex", "Sister Location A")):
        braid.ledger.put_document(1, document(f"{number}.md", f"The {written} (SLA) is kept.", title="Kept"))
    page = client.get("/datasets/1/glossary").text
    assert page.count("ervice ") == page.count("Service Level Agreement") == 1
    assert "Sister Location A" in page


def test_a_csv_file_goes_in_and_out(client: FlaskClient) -> None:
    data = {"csrf_token": csrf_token(client), "file": (io.BytesIO("short,long\r\n規則,就業規則\r\n".encode()), "g.csv")}
    assert client.post("/datasets/1/glossary", data=data).status_code == 302
    assert client.get("/datasets/1/glossary.csv").text == "\ufeffshort,long\r\n規則,就業規則\r\n"


def test_a_wrong_term_or_file_is_said_on_the_page(client: FlaskClient) -> None:
    refused = post_form(client, "/datasets/1/glossary", short="PTO", long="pto")
    assert refused.status_code == 400
    assert "Both forms are" in refused.text
    data = {"csrf_token": csrf_token(client), "file": (io.BytesIO(b"\xff\xfe\x00"), "g.csv")}
    assert "not in UTF-8" in client.post("/datasets/1/glossary", data=data).text


def test_the_api_replaces_a_glossary_and_tells_what_was_added(client: FlaskClient) -> None:
    token = {"X-CSRFToken": csrf_token(client)}
    terms = [{"short": "PTO", "long": "Paid time off"}]
    put = client.put("/api/v1/datasets/1/glossary", json={"terms": terms}, headers=token)
    assert put.json == {"terms": terms, "of_documents": [{"short": "SLA", "long": "Service Level Agreement"}]}
    assert client.get("/api/v1/datasets/1/glossary").json == put.json
    found = client.post("/api/v1/search", json={"query": "PTO"}, headers=token).json
    assert found["added_forms"] == [{"said": "PTO", "added": "Paid time off"}]
    wrong = client.put("/api/v1/datasets/1/glossary", json={"terms": [{"short": "A", "long": "a"}]}, headers=token)
    assert wrong.status_code == 400


def test_a_chat_says_what_was_searched_too(client: FlaskClient) -> None:
    asked = {"text": "When is the SLA renewed?", "csrf_token": csrf_token(client)}
    page = client.post("/chat/messages", data=asked, headers={"Accept": "text/html"}, follow_redirects=True).text
    assert "Also searched: SLA → Service Level Agreement" in page
