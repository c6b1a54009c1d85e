"""Metadata and its filters on every surface: HTTP API, MCP tools, search page, exports, the owner's routes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from flask.testing import FlaskClient
from pydantic import TypeAdapter
from werkzeug.test import TestResponse

from braid.app.mcp.calls import Meter
from braid.app.mcp.tools import Tools
from braid.config.settings import Settings
from braid.core.accounts.usage import Usage
from braid.core.braid import Braid
from braid.core.ingest.exports.dataset_export import export_dataset
from braid.core.ingest.exports.dataset_import import import_dataset
from braid.core.ingest.exports.export_file import read_export
from braid.core.ingest.parse import parse_here
from braid.core.json_form import to_json
from braid.core.remote import RemoteBraid
from braid.core.types import Filters, SearchResult
from tests.web import bearer, make_app, serving, sign_in, site_of
from tests.worlds import WAIT_S

PUMPS: dict[str, dict[str, Any]] = {
    "new": {"year": 2024, "tenant": "x", "tags": ["a", "b"], "draft": False, "day": date(2026, 1, 31)},
    "old": {"year": 2019, "tenant": "x", "tags": ["b"], "draft": True},
    "text": {"year": "2024", "tenant": "y"},
    "bare": {"garbled_pages": "2", "running_heads": "Pumps"},
}
WHERE = {"tenant": "x", "year": {"$gte": 2020}, "tags": {"$contains": "a"}}


@pytest.fixture(scope="module")
def client(shelf: Braid) -> FlaskClient:
    """A browser in which ann is signed in, with a dataset of four pumps (1) and an empty one (2)."""
    ann = shelf.ledger.add_user("ann")
    pumps = shelf.ledger.add_dataset(ann.id, "Pumps")
    shelf.ledger.add_dataset(ann.id, "Empty")
    given = [
        {"source": name, "title": name, "text": f"The pump called {name}.", "metadata": metadata}
        for name, metadata in PUMPS.items()
    ]
    assert shelf.add(given, dataset=pumps).added == 4
    assert shelf.indexer.wait(WAIT_S)
    return sign_in(make_app(shelf, jobs=True))


@pytest.fixture(scope="module", autouse=True)
def closed(client: FlaskClient) -> Iterator[None]:
    yield
    site_of(client.application).close()


@pytest.fixture(scope="module")
def headers(client: FlaskClient) -> dict[str, str]:
    return bearer(client.application, site_of(client.application).accounts.all()[0], "read", "write")


@pytest.fixture(scope="module")
def tools(shelf: Braid, client: FlaskClient) -> Tools:
    account = site_of(client.application).accounts.all()[0]
    meter = Meter(Usage(shelf.ledger), account.id)
    return Tools(shelf, account, Settings(), meter, is_admin=True, parse=parse_here)


# ---------------------------------------------------------------- HTTP API


def post(client: FlaskClient, headers: dict[str, str], filters: object) -> TestResponse:
    body = {"query": "pump", "dataset_ids": [1], "filters": filters}
    return client.application.test_client().post("/api/v1/search", json=body, headers=headers)


def test_the_api_filters_and_returns_what_was_stored(client: FlaskClient, headers: dict[str, str]) -> None:
    answer = post(client, headers, {"metadata": WHERE})
    assert answer.status_code == 200, answer.text
    assert answer.json is not None
    (hit,) = answer.json["hits"]
    passage = hit.get("passage", hit)
    assert passage["metadata"] == {**PUMPS["new"], "day": {"$date": "2026-01-31"}}
    on_a_day = post(client, headers, {"metadata": {"day": {"$lte": {"$date": "2026-01-31"}}}})
    assert on_a_day.json is not None
    assert len(on_a_day.json["hits"]) == 1


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"year": {"$above": 1}}, "'$above' is no operator of 'year'; the operators are $eq"),
        ({"year": ["x"]}, "use $in for one of several values"),
        ({"$or": [{"a": n} for n in range(101)]}, "has 101 conditions; at most 100"),
    ],
)
def test_the_api_says_what_is_wrong_with_a_filter(
    client: FlaskClient, headers: dict[str, str], where: object, said: str
) -> None:
    answer = post(client, headers, {"metadata": where})
    assert answer.status_code == 400
    assert answer.json is not None
    assert said in answer.json["detail"]
    assert answer.json["field"] == "filters.metadata"


def test_a_document_is_put_with_metadata(client: FlaskClient, headers: dict[str, str]) -> None:
    api = client.application.test_client()

    def put(metadata: object) -> TestResponse:
        body = {"source": "noted", "text": "A note.", "metadata": metadata}
        return api.put("/api/v1/datasets/2/documents", json=body, headers=headers)

    given = {"year": 2026, "day": {"$date": "2026-01-31"}, "tags": ["a"], "open": True}
    stored = put(given)
    assert stored.status_code == 201, stored.text
    assert stored.json is not None
    assert stored.json["metadata"] == given
    listed = api.get("/api/v1/datasets/2/documents", headers=headers)
    assert listed.json is not None
    assert listed.json["items"][0]["metadata"] == given
    changed = put({"year": 2027})
    assert changed.json is not None
    assert changed.json["metadata"] == {"year": 2027}
    refused = put({"place": {"lat": 1}})
    assert refused.status_code == 400
    assert refused.json is not None
    assert "metadata.place is {'lat': 1}; a value is a text, a number" in refused.json["detail"]
    assert api.delete(f"/api/v1/datasets/2/documents/{stored.json['id']}", headers=headers).status_code == 204


# ---------------------------------------------------------------- MCP


def search(tools: Tools, where: dict[str, Any]) -> dict[str, Any]:
    return tools.search(
        "pump",
        top_k=5,
        file_type=None,
        include_documents=True,
        max_content_length=None,
        dataset_ids=[1],
        mode="hybrid",
        strategy="basic",
        where=where,
    )


def test_mcp_filters_lists_the_keys_and_stores(tools: Tools) -> None:
    found = search(tools, WHERE)
    assert [result["filepath"] for result in found["results"]] == ["new"]
    assert found["results"][0]["document_metadata"]["day"] == {"$date": "2026-01-31"}
    (passage,) = tools.explain("pump", "old", where={"year": {"$gte": 2020}})["passages"]
    assert passage["detail"] == 'The filter {"year": {"$gte": 2020}} leaves it out: its year is 2019.'
    refused = search(tools, {"year": {"$above": 1}})
    assert (refused["status"], refused["error_type"]) == ("error", "ValidationError")
    assert "'$above' is no operator of 'year'" in refused["message"]
    first, *_ = tools.list_datasets()["datasets"]
    assert first["metadata_keys"] == {
        "garbled_pages": "text",
        "running_heads": "text",
        "day": "date",
        "draft": "true or false",
        "tags": "list of texts",
        "tenant": "text",
        "year": "number or text",
    }
    for metadata in ({"year": 1}, {"year": 2}):
        put = tools.put_document("A note.", "note.md", file_type=None, dataset_id=2, metadata=metadata)
        assert put["status"] == "success"
        assert tools.list_datasets()["datasets"][1]["metadata_keys"] == {"year": "number"}
    wrong = tools.put_document("A note.", "note.md", file_type=None, dataset_id=2, metadata={"a": [1]})
    assert wrong["message"] == "metadata.a is 1; a list has texts alone, so make it one"
    assert tools.delete_document("note.md", dataset_id=2)["status"] == "success"


# ---------------------------------------------------------------- the search page


def titles(page: str) -> set[str]:
    return set(re.findall(r'<h\d id="title-\d+">.*?<a [^>]+>([^<]+)</a>', page))


def found_on_page(client: FlaskClient, *conditions: tuple[str, str, str]) -> set[str]:
    keys, comparisons, values = (list(each) for each in zip(*conditions, strict=True))
    arguments = {"q": "pump", "d": ["1"], "mode": "keyword", "mkey": keys, "mis": comparisons, "mvalue": values}
    response = client.get("/search", query_string=arguments)
    assert response.status_code == 200, response.text
    return titles(response.text)


@pytest.mark.parametrize(
    ("conditions", "sources"),
    [
        ([("year", "is", "2024")], {"new", "text"}),
        ([("year", "not", "2024")], {"old", "bare"}),
        ([("year", "most", "2023")], {"old"}),
        ([("tags", "is", "a")], {"new"}),
        ([("tags", "has", "b"), ("year", "least", "2020")], {"new"}),
        ([("tenant", "any", "")], {"new", "old", "text"}),
        ([("tenant", "none", "")], {"bare"}),
        ([("draft", "is", "Yes")], {"old"}),
        ([("day", "is", "2026-01-31")], {"new"}),
        ([("", "is", "ignored"), ("unknown", "is", "x")], set()),
        ([("", "is", "")], set(PUMPS)),
        ([("title", "is", "2024")], set()),  # what Braid knows is compared as what it is
        ([("dataset_id", "is", "1"), ("position", "most", "0")], set(PUMPS)),
        ([("page", "any", "")], set()),
        ([("tenant", "any", "")] * 5 + [("year", "most", "2023")], {"old"}),  # more than the form has rows
    ],
)
def test_the_page_filters(client: FlaskClient, conditions: list[tuple[str, str, str]], sources: set[str]) -> None:
    assert found_on_page(client, *conditions) == sources


def test_the_page_offers_the_keys_and_keeps_what_is_chosen(client: FlaskClient) -> None:
    page = client.get("/search", query_string={"d": ["2"]}).text
    assert re.findall(r'<optgroup label="([^"]+)">', page) == ["In other datasets"]
    arguments = {"q": "pump", "d": ["1"], "mkey": ["year"], "mis": ["least"], "mvalue": ["2020"]}
    page = client.get("/search", query_string=arguments).text
    assert re.findall(r'<optgroup label="([^"]+)">', page) == ["In the selected datasets"] * 2
    assert "<option selected>year</option>" in page
    assert "<option>tenant</option>" in page
    assert not re.search("garbled_pages|running_heads", page), "how a file was read"
    assert '<option value="least" selected>at least</option>' in page
    assert 'name="mvalue" value="2020"' in page
    (href,) = re.findall(r'href="(/search/compare\?[^"]+)"', page)[:1]
    assert "mkey=year&amp;mis=least&amp;mvalue=2020" in href


@pytest.mark.parametrize(
    "condition",
    [("year", "least", ""), ("draft", "is", "maybe"), ("year", "above", "1")],
)
def test_the_page_says_how_to_enter_a_value(client: FlaskClient, condition: tuple[str, str, str]) -> None:
    key, comparison, value = condition
    arguments = {"q": "pump", "d": ["1"], "mkey": key, "mis": comparison, "mvalue": value}
    response = client.get("/search", query_string=arguments)
    assert response.status_code == 400
    assert "Enter a value of the kind that the documents have" in response.text


# ---------------------------------------------------------------- exports, and the owner's routes


def test_an_import_has_the_values_of_the_export(shelf: Braid, client: FlaskClient, tmp_path: Any) -> None:
    file = io.BytesIO()
    export_dataset(shelf, 1, file)
    (tmp_path / "pumps.zip").write_bytes(file.getvalue())
    copy = shelf.ledger.add_dataset(1, "Copy").id
    import_dataset(shelf, copy, tmp_path / "pumps.zip", read=read_export, max_bytes=10**7)
    assert {document.source: document.metadata for document in shelf.ledger.documents(copy)} == PUMPS
    ids, _ = shelf.ledger.matching_documents([copy], Filters(metadata=WHERE))
    assert len(ids) == 1
    shelf.ledger.remove_dataset(copy)


def test_results_and_filters_pass_between_processes_with_their_types(shelf: Braid, client: FlaskClient) -> None:
    filters = Filters(metadata={"day": {"$gte": date(2026, 1, 1)}})
    assert TypeAdapter(Filters).validate_python(to_json(filters)) == filters
    result = shelf.search("pump", user_id=1, dataset_ids=[1], filters=filters)
    adapter = TypeAdapter(SearchResult)
    read = adapter.validate_json(adapter.dump_json(result))
    assert read.hits[0].passage.metadata == PUMPS["new"]
    assert read == result


def test_another_machine_filters_and_has_the_values(client: FlaskClient, headers: dict[str, str]) -> None:
    token = headers["Authorization"].removeprefix("Bearer ")
    with serving(client.application) as url, RemoteBraid(url, token) as remote:
        for filters in ({"day": {"$gte": date(2026, 1, 1)}}, Filters(metadata=WHERE)):
            (hit,) = remote.search("pump", dataset_ids=[1], filters=filters).hits
            assert hit.passage.metadata == PUMPS["new"]
