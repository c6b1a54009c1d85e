"""Documents by ids, source or filters over the API: `POST …/documents/get` and `…/delete`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from braid.app.api import selected_documents
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.web import add_user, bearer, make_app, site_of

Call = Callable[..., TestResponse]
PAGES = [{"source": "pump.pdf", "text": f"Page {n} of the pump.", "metadata": {"page": n}} for n in range(3)]


@pytest.fixture
def app(braid: Braid) -> Flask:
    """Ann has dataset 1 with a source of three parts and two notes, Ben has dataset 2; -1 is shared."""
    made = make_app(braid)
    for name in ("ann", "ben"):
        braid.ledger.add_dataset(add_user(made, name).id, "Notes")
    braid.registry.add("Handbook", "shared_main_db")
    braid.mirror_registry()
    braid.add(PAGES, dataset=1)
    braid.add([{"id": "a", "text": "The cat.", "metadata": {"kind": "cat"}}, {"id": "b", "text": "A dog."}], dataset=1)
    braid.add({"id": "shared", "text": "For all."}, dataset=-1)
    return made


@pytest.fixture
def call(app: Flask) -> Call:
    def send(path: str, body: dict[str, Any], user: str = "ann", *scopes: str) -> TestResponse:
        account = site_of(app).accounts.named(user)
        assert account
        headers = bearer(app, account, *scopes)
        return app.test_client().post(f"/api/v1/datasets/{path}", json=body, headers=headers)

    return send


def sources(answer: TestResponse) -> list[str]:
    assert answer.status_code == 200, answer.json
    return [each["source"] for each in answer.json["items"]]


def test_ids_source_and_filters_name_documents(call: Call, braid: Braid) -> None:
    number = braid.ledger.document(1, "b").id  # type: ignore[union-attr]
    chunk = braid.ledger.document_passages(number, [1])[0].chunk_id
    assert sources(call("1/documents/get", {"ids": ["a", "nothing", number]})) == ["a", "b"]
    assert sources(call("1/documents/get", {"ids": [chunk, chunk]})) == ["b"]
    assert sources(call("1/documents/get", {"source": "pump.pdf"})) == [
        "pump.pdf",
        "pump.pdf#part=2",
        "pump.pdf#part=3",
    ]
    found = call("1/documents/get", {"filters": {"metadata": {"kind": "cat"}}}).json["items"][0]
    assert (found["source"], found["text"], found["complete"], found["metadata"]) == (
        "a",
        "The cat.",
        True,
        {"kind": "cat"},
    )


def test_what_is_deleted_is_gone_and_nothing_else(call: Call, braid: Braid) -> None:
    assert call("1/documents/delete", {"filters": {"metadata": {"page": 0}}}).json == {"deleted": 1}
    assert len(braid.ledger.documents(1)) == 4
    assert call("1/documents/delete", {"source": "pump.pdf"}).json == {"deleted": 2}
    assert call("1/documents/delete", {"ids": ["a", "nothing"]}).json == {"deleted": 1}
    assert [each.source for each in braid.ledger.documents(1)] == ["b"]
    assert len(braid.ledger.documents(-1)) == 1


@pytest.mark.parametrize("action", ["get", "delete"])
@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 400, "nothing says which documents"),
        ({"ids": ["a"], "source": "b"}, 400, "ids and source are given; give one"),
        ({"filters": {}}, 400, '"filters: it is empty, which selects everything; name a condition"'),
        ({"filters": {"metadata": {"year": {"$foo": 1}}}}, 400, "$foo"),
        ({"ids": []}, 422, "at least 1 item"),
        ({"ids": [True]}, 422, '"ids.0: Input should be a valid string or a valid integer"'),
        ({"ids": ["a", None, ""]}, 422, '"field": "ids.1"'),
        ({"ids": ["a", ""]}, 422, '"ids.1: String should have at least 1 character"'),
        ({"ids": [-1]}, 422, '"ids.0: Input should be greater than or equal to 0"'),
        ({"source": "b", "limit": 5}, 422, "limit: there is no such field; give ids, source, filters"),
        ({"sources": ["a"]}, 422, "sources: there is no such field; give ids, source, filters"),
    ],
)
def test_documents_are_named_in_one_way(
    call: Call, braid: Braid, action: str, body: dict[str, Any], status: int, words: str
) -> None:
    answer = call(f"1/documents/{action}", body)
    assert (answer.status_code, words in answer.get_data(as_text=True)) == (status, True), answer.json
    assert len(braid.ledger.documents(1)) == 5


def test_only_those_who_may_reach_them(call: Call, braid: Braid) -> None:
    everything = {"filters": {"metadata": {"none": {"$exists": False}}}}
    for action in ("get", "delete"):
        assert call(f"1/documents/{action}", everything, "ben").status_code == 404
    number = braid.ledger.document(1, "b").id  # type: ignore[union-attr]
    assert sources(call("2/documents/get", {"ids": [number, "b"]}, "ben")) == []
    assert call("2/documents/delete", {"ids": [number, "b"]}, "ben").json == {"deleted": 0}
    assert sources(call("-1/documents/get", {"ids": ["shared"]})) == ["shared"]
    assert call("-1/documents/delete", {"ids": ["shared"]}).status_code == 403
    assert sources(call("1/documents/get", {"ids": ["a"]}, "ann", "read")) == ["a"]
    assert call("1/documents/delete", {"ids": ["a"]}, "ann", "read").status_code == 403
    assert len(braid.ledger.documents(1)) == 5


def test_pages_end_at_many_characters_and_texts_are_cut(
    call: Call, braid: Braid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selected_documents, "MAX_TEXT_CHARS", 30)
    monkeypatch.setattr(selected_documents, "MAX_PAGE_CHARS", 50)
    long = DocumentInput("long", "", "txt", tuple(ChunkInput(f"passage number {n}") for n in range(9)))
    braid.ledger.put_document(1, long)
    found, body, path = [], {"ids": ["long", "pump.pdf", "a", "b"]}, "1/documents/get"
    while path:
        answer = call(path, body)
        found.append([(each["source"], len(each["text"]), each["complete"]) for each in answer.json["items"]])
        path = (answer.json["next"] or "").rpartition("/datasets/")[2]
    assert found == [
        [("long", 30, False), ("pump.pdf", 19, True)],
        [("a", 8, True), ("b", 6, True)],
    ]
    assert sources(call("1/documents/get?limit=1&offset=1", {"source": "pump.pdf"})) == ["pump.pdf#part=2"]
