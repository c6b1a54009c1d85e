"""Dify's External Knowledge API: requests as Dify's versions send them, over a real Braid; only the model is faked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.chat.quoting.match import SCALES
from braid.core.errors import EmbeddingError
from tests.fakes import HashEmbeddings
from tests.web import add_user, bearer, make_app, site_of
from tests.worlds import WAIT_S, document

PRINTER = "The printer shows error E-4711 when the tray is empty."
HOTEL = "Hotels need a receipt from the travel office."
DOCUMENTS: dict[str, dict[str, Any]] = {
    "printer.md": {"year": 2026, "team": "ops", "tags": ["device", "paper"], "signed": {"$date": "2026-02-01"}},
    "hotel.md": {"year": 2024, "team": "travel office", "done": True, "signed": {"$date": "2024-05-31"}},
    "bare.md": {},
}


@dataclass
class Dify:
    """Dify with a key of ann's."""

    app: Flask
    key: str

    def post(self, body: object = None, **headers: str) -> TestResponse:
        """Send what Dify sends: JSON as text, with a bearer token."""
        sent = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", **headers}
        return self.app.test_client().post("/dify/retrieval", data=json.dumps(body), headers=sent)

    def records(self, query: str = "printer hotel", **more: Any) -> list[dict[str, Any]]:
        body = {"knowledge_id": "all", "query": query, "retrieval_setting": {"top_k": 5, "score_threshold": 0.0}}
        response = self.post({**body, **more})
        assert response.status_code == 200, response.text
        assert response.json is not None
        found: list[dict[str, Any]] = response.json["records"]
        return found

    def paths(self, *conditions: dict[str, Any], **more: Any) -> set[str]:
        condition = {"logical_operator": "and", "conditions": list(conditions), **more}
        return {record["metadata"]["path"] for record in self.records(metadata_condition=condition)}


@pytest.fixture(scope="module")
def dify(shelf: Braid) -> Dify:
    app = make_app(shelf, Settings(api_rate_limit="100000/second"))
    ann, eve = add_user(app, "ann"), add_user(app, "eve")
    for account in (ann, eve):
        shelf.ledger.add_dataset(account.id, "Notes")
    texts = {"printer.md": PRINTER, "hotel.md": HOTEL, "bare.md": "Of printer and hotel nothing is known."}
    for source, metadata in DOCUMENTS.items():
        shelf.ledger.put_document(1, document(source, texts[source], title=source.upper(), metadata=metadata))
    shelf.ledger.put_document(2, document("eves.md", PRINTER))
    assert shelf.indexer.wait(WAIT_S)
    return Dify(app, bearer(app, ann, "read")["Authorization"].removeprefix("Bearer "))


def test_a_passage_is_a_record_with_a_score_and_metadata(dify: Dify) -> None:
    first = dify.records("printer error E-4711")[0]
    assert first.keys() == {"content", "score", "title", "metadata"}
    assert (first["content"], first["title"]) == (PRINTER, "PRINTER.MD")
    assert 0 < first["score"] <= 1
    found = first["metadata"]
    assert (found["path"], found["year"], found["tags"]) == ("printer.md", 2026, ["device", "paper"])
    assert isinstance(found["document_id"], str)
    assert found["url"].startswith("http://localhost/documents/passage/")


VARIANTS: tuple[dict[str, Any], ...] = (
    {},  # 0.9–1.0: no condition at all
    {"metadata_condition": None},  # 1.2 and later send null
    {"metadata_condition": {}},
    {"metadata_condition": {"logical_operator": "and", "conditions": []}},
    {"metadata_condition": {"logical_operator": None, "conditions": None}},
    {"retrieval_setting": {"top_k": None, "score_threshold": None}},  # nothing is set in Dify
    {"retrieval_setting": {"top_k": 4, "score_threshold": 0}},  # a whole number, not 0.0
    {"retrieval_setting": {"top_k": 4, "score_threshold": 0.0, "reranking_enable": False}, "user": "abc"},
)


@pytest.mark.parametrize("more", VARIANTS, ids=json.dumps)
def test_what_dify_leaves_out_or_adds_is_no_filter(dify: Dify, more: dict[str, Any]) -> None:
    assert len(dify.records(**more)) == 3


def test_when_dify_is_given_the_address_it_sends_nothing_but_the_key(dify: Dify) -> None:
    def status(key: str) -> int:
        return dify.app.test_client().post("/dify/retrieval", headers={"Authorization": f"Bearer {key}"}).status_code

    assert status(dify.key) not in (200, 403, 404, 502)
    assert status("braid_wrong") == 403


@pytest.mark.parametrize(
    ("knowledge", "paths"),
    [
        ("1", {"printer.md", "hotel.md", "bare.md"}),
        (" 1 ", {"printer.md", "hotel.md", "bare.md"}),
        ("", {"printer.md", "hotel.md", "bare.md"}),
        ("mine", {"printer.md", "hotel.md", "bare.md"}),
    ],
)
def test_the_knowledge_names_datasets(dify: Dify, knowledge: str, paths: set[str]) -> None:
    accounts = site_of(dify.app).accounts
    ann = accounts.named("ann")
    assert ann
    accounts.set_preferences(ann.id, {"choice:mine": [1]})
    assert {record["metadata"]["path"] for record in dify.records(knowledge_id=knowledge)} == paths


# ---------------------------------------------------------------- scores


def test_a_score_is_the_same_whatever_else_is_found(dify: Dify) -> None:
    alone = dify.records("printer error E-4711", retrieval_setting={"top_k": 1})
    among = dify.records("printer error E-4711", retrieval_setting={"top_k": 5})
    assert alone[0] == among[0]
    assert dify.records(PRINTER.lower())[0]["score"] > 0.5  # RRF's is 0.016 at most


def test_passages_below_the_threshold_are_left_out(dify: Dify) -> None:
    scores = sorted(record["score"] for record in dify.records("printer error"))
    setting = {"top_k": 5, "score_threshold": scores[1]}
    kept = dify.records("printer error", retrieval_setting=setting)
    assert sorted(record["score"] for record in kept) == scores[1:]
    assert dify.records("printer error", retrieval_setting={"top_k": 5, "score_threshold": 1.0}) == []


def test_a_hit_of_the_keyword_leg_alone_has_its_exact_cosine(dify: Dify, shelf: Braid, monkeypatch: Any) -> None:
    expected = {record["metadata"]["path"]: record["score"] for record in dify.records("printer error")}
    search = site_of(dify.app).braid.manager.search
    monkeypatch.setattr(
        site_of(dify.app).braid.manager, "search", lambda *given, **more: search(*given, **{**more, "mode": "keyword"})
    )
    found = {record["metadata"]["path"]: record["score"] for record in dify.records("printer error")}
    assert found
    assert all(score == pytest.approx(expected[path], abs=1e-6) for path, score in found.items())


def test_cosines_of_a_known_model_are_stretched_over_the_whole_range() -> None:
    (scale,) = SCALES.values()
    assert [round(scale.share(cosine), 3) for cosine in (0.5, 0.80, 0.83, 0.86, 0.93, 1.0)] == [
        0,
        0,
        0.25,
        0.5,
        0.75,
        1,
    ]


def test_an_outage_is_named_and_not_shown_as_nothing(dify: Dify, shelf: Braid, monkeypatch: Any) -> None:
    def fail(*_: object) -> None:
        raise EmbeddingError("the embedding server is gone")

    monkeypatch.setattr(HashEmbeddings, "embed_query", fail)
    monkeypatch.setattr(HashEmbeddings, "embed_queries", fail, raising=False)
    body = {"knowledge_id": "all", "query": "printer outage 1"}
    found = dify.post(body)
    assert found.status_code == 200, found.text
    assert found.json is not None
    assert found.json["records"][0]["content"]
    assert "the embedding server is gone" in found.json["degraded"][0]["reason"]
    strict = dify.post({**body, "retrieval_setting": {"top_k": 5, "score_threshold": 0.5}})
    assert strict.status_code == 503
    assert "the embedding server is gone" in strict.json["error_msg"]  # type: ignore[index]


# ---------------------------------------------------------------- conditions


def named(name: str | list[str], operator: str, value: Any = None) -> dict[str, Any]:
    return {"name": name, "comparison_operator": operator, "value": value}


CONDITIONS: tuple[tuple[dict[str, Any], set[str]], ...] = (
    (named("team", "contains", "office"), {"hotel.md"}),
    (named("tags", "contains", "paper"), {"printer.md"}),
    (named("team", "not contains", "office"), {"printer.md", "bare.md"}),
    (named("team", "start with", "trav"), {"hotel.md"}),
    (named("team", "is", "ops"), {"printer.md"}),
    (named("year", "is", "2026"), {"printer.md"}),  # Dify sends numbers as texts
    (named("done", "is", "true"), {"hotel.md"}),
    (named("signed", "is", "2024-05-31"), {"hotel.md"}),
    (named("team", "is not", "ops"), {"hotel.md", "bare.md"}),
    (named("team", "in", ["ops", "x"]), {"printer.md"}),
    (named("team", "in", "x, ops"), {"printer.md"}),
    (named("year", "not in", ["2024"]), {"printer.md", "bare.md"}),
    (named("year", "empty"), {"bare.md"}),
    (named("year", "not empty", ""), {"printer.md", "hotel.md"}),
    (named("year", "null"), {"bare.md"}),  # of older versions
    (named("year", "=", 2024), {"hotel.md"}),
    (named("year", "=", "2024"), {"hotel.md"}),
    (named("year", "≠", 2024), {"printer.md", "bare.md"}),
    (named("year", ">", "2024"), {"printer.md"}),
    (named("year", "<", 2026.0), {"hotel.md"}),
    (named("year", "≥", 2024), {"printer.md", "hotel.md"}),
    (named("year", ">=", 2026), {"printer.md"}),
    (named("year", "≤", 2024), {"hotel.md"}),
    (named("signed", "≥", "2025-01-01"), {"printer.md"}),
    (named("signed", "before", "2025-01-01"), {"hotel.md"}),
    (named("signed", "before", 1735689600), {"hotel.md"}),  # Dify's own dates are seconds
    (named("signed", "after", "1735689600000"), {"printer.md"}),
    (named(["team", "tags"], "contains", "paper"), {"printer.md"}),  # several names, as an older document has it
    (named(["team", "year"], "empty"), {"bare.md"}),
    (named("title", "is", "HOTEL.MD"), {"hotel.md"}),
)


@pytest.mark.parametrize(("condition", "paths"), CONDITIONS, ids=[json.dumps(each) for each, _ in CONDITIONS])
def test_every_operator_of_difys_filters(dify: Dify, condition: dict[str, Any], paths: set[str]) -> None:
    assert dify.paths(condition) == paths


def test_conditions_are_joined(dify: Dify) -> None:
    both = (named("year", "≥", 2024), named("team", "is", "ops"))
    assert dify.paths(*both) == {"printer.md"}
    assert dify.paths(*both, logical_operator="or") == {"printer.md", "hotel.md"}
    assert dify.paths(*both, logical_operator=None) == {"printer.md"}


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (named("team", "end with", "s"), "'end with', which Braid does not search by; use one of contains,"),
        (named("team", "sounds like", "s"), "'sounds like'"),
        (named("team", "is", None), "conditions.0.value is 'None' with 'is'; give a text"),  # an unassigned variable
        (named("year", ">", "soon"), "give a number, or a date as 2026-01-31"),
        (named("year", "=", "soon"), "give a number"),
        (named("year", "=", 10**400), "give a number"),
        (named([], "is", "a"), "has no name"),
        (named("$or", "is", "a"), "$or"),
    ],
)
def test_a_condition_that_cannot_be_searched_by_is_refused(dify: Dify, condition: dict[str, Any], said: str) -> None:
    body = {"knowledge_id": "1", "query": "printer", "metadata_condition": {"conditions": [condition]}}
    response = dify.post(body)
    assert response.status_code == 400
    assert response.json is not None
    assert response.json["error_code"] == 400
    assert said in response.json["error_msg"]


# ---------------------------------------------------------------- errors

GOOD = {"knowledge_id": "1", "query": "printer", "retrieval_setting": {"top_k": 3, "score_threshold": 0.5}}
ERRORS: tuple[tuple[dict[str, Any], dict[str, str], int, int], ...] = (
    (GOOD, {"Authorization": "Basic abc"}, 403, 1001),
    (GOOD, {"Authorization": ""}, 403, 1001),
    (GOOD, {"Authorization": "Bearer"}, 403, 1001),
    (GOOD, {"Authorization": "Bearer braid_wrong"}, 403, 1002),
    ({**GOOD, "knowledge_id": "2"}, {}, 404, 2001),  # eve's
    ({**GOOD, "knowledge_id": "-9"}, {}, 404, 2001),
    ({**GOOD, "knowledge_id": "AAA-BBB-CCC"}, {}, 404, 2001),
    ({**GOOD, "query": " "}, {}, 400, 400),
    ({"query": "printer"}, {}, 400, 400),
    ({**GOOD, "retrieval_setting": {"top_k": 0}}, {}, 400, 400),
    ({**GOOD, "retrieval_setting": {"top_k": 3, "score_threshold": 7}}, {}, 400, 400),
)


@pytest.mark.parametrize(("body", "headers", "status", "code"), ERRORS)
def test_errors_have_difys_codes(
    dify: Dify, body: dict[str, Any], headers: dict[str, str], status: int, code: int
) -> None:
    response = dify.post(body, **headers)
    assert response.status_code == status
    assert response.json is not None
    assert response.json["error_code"] == code
    assert len(response.json["error_msg"]) > 10


def test_a_token_that_may_not_read_is_refused(dify: Dify) -> None:
    ann = site_of(dify.app).accounts.named("ann")
    assert ann
    response = dify.post(GOOD, **bearer(dify.app, ann, "write"))
    assert response.status_code == 403
    assert response.json is not None
    assert response.json["error_code"] == 1002
    assert "scope 'read'" in response.json["error_msg"]
