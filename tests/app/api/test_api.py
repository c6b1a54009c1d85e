"""The HTTP API over a real Braid, on its own and inside another app; only the models are faked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.app.opening import open_braid
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.chat.columns import stored_request
from braid.core.ingest.ingest import ingest_bytes
from tests.app.api.callers import API, Caller, events, problem, sources
from tests.web import PASSWORD, add_user, make_app, sign_in, site_of
from tests.worlds import WAIT_S, document

# ---------------------------------------------------------------- search


@pytest.mark.usefixtures("library")
def test_a_search_says_where_each_hit_is_from_and_why(ann: Caller) -> None:
    response = ann("POST", "/search", {"query": "printer error E-4711", "dataset_ids": [1, -1], "top_k": 2})
    assert sources(response)[0] == "printer.md"
    found, first = response.json, response.json["hits"][0]
    assert found["search_mode"] == "hybrid"
    assert found["queries"] == ["printer error E-4711"]
    assert len(found["hits"]) == 2
    assert found["collections"] == [f"user_{ann.account.id}", "shared_main_db"]
    assert first["dataset"] == {"id": 1, "name": "Notes"}
    assert {leg["leg"] for leg in first["legs"]} == {"dense", "bm25"}
    assert sum(leg["share"] for leg in first["legs"]) == pytest.approx(first["score"])
    assert found["degraded"] == []
    assert found["timings_ms"]["total"] > 0
    assert found["answer"] is None


@pytest.mark.usefixtures("library")
def test_one_hit_per_document_with_its_other_passages_counted(ann: Caller) -> None:
    asked = {"query": "hotels and trains need a receipt", "dataset_ids": [1, -1], "top_k": 3}
    assert sources(ann("POST", "/search", asked)).count("travel.md") == 2
    response = ann("POST", "/search", {**asked, "group_by": "document"})
    assert sorted(sources(response)) == ["coffee.txt", "printer.md", "travel.md"]
    first = response.json["hits"][0]
    assert (first["passage"]["text"], first["more_in_document"]) == ("hotels need a receipt", 1)
    problem(ann("POST", "/search", {**asked, "group_by": "file"}), 422, "group_by")
    described = ann("GET", "/openapi.json").json["components"]["schemas"]["TextSearch"]["properties"]["group_by"]
    assert described["enum"] == ["passage", "document"]
    assert "top_k" in described["description"]


@pytest.mark.usefixtures("library")
def test_parts_of_programs_are_told_and_filtered(ann: Caller, braid: Braid) -> None:
    code = b"class Printer:\n    def tray(self): ...\n\ndef empty(): ...\n"
    assert ingest_bytes(braid, 1, "printer.py", code).state != "failed"
    assert braid.indexer.wait(WAIT_S)
    asked = {"query": "printer tray empty", "search_mode": "keyword"}
    kinds = [hit["passage"]["chunk_kind"] for hit in ann("POST", "/search", asked).json["hits"]]
    assert sorted(kinds) == ["", "class", "function", "method"]
    found = ann("POST", "/search", {**asked, "filters": {"chunk_kinds": ["method", "class"]}}).json["hits"]
    assert sorted(hit["passage"]["heading_path"] for hit in found) == ["Printer", "Printer > tray"]
    problem(ann("POST", "/search", {**asked, "filters": {"chunk_kinds": ["struct"]}}), 422, "filters.chunk_kinds.0")


@pytest.mark.usefixtures("library")
def test_all_searches_what_the_caller_may_read_and_counts_hits_by_dataset(
    app: Flask, admin: Caller, ann: Caller, bob: Caller, library: None, braid: Braid
) -> None:
    closed = braid.registry.add("Board", "shared_board", allowed_groups=["board"]).id
    braid.mirror_registry()
    asked = {"query": "trains hotels printer coffee water", "search_mode": "keyword", "top_k": 10}

    found = ann("POST", "/search", {**asked, "dataset_ids": "all"})
    assert sources(found).count("travel.md") == 2
    assert found.json["hits_by_dataset"] == [
        {"id": 1, "name": "Notes", "hits": 2},
        {"id": -1, "name": "Handbook", "hits": 2},
    ]
    assert found.json["unresolved_dataset_ids"] == []
    assert closed not in braid.manager.check(user_id=ann.account.id, dataset_ids="all").dataset_ids

    assert "join one" in problem(admin("GET", f"/datasets/{closed}"), 404)
    assert "there is no dataset" in problem(bob("GET", f"/datasets/{closed}"), 404)

    theirs = bob("POST", "/search", {**asked, "dataset_ids": "all"})
    assert {hit["passage"]["dataset_id"] for hit in theirs.json["hits"]} == {-1}
    assert {hit["passage"]["dataset_id"] for hit in ann("POST", "/search", asked).json["hits"]} == {1}

    chunk_id = next(hit["passage"]["chunk_id"] for hit in found.json["hits"] if hit["dataset"]["id"] == -1)
    explained = {**asked, "chunk_id": chunk_id}
    assert ann("POST", "/explain", {**explained, "dataset_ids": "all"}).json["found"]
    assert ann("POST", "/explain", explained).json["reason"] == "not_in_scope"
    for given in ("every", "1", None, 1):
        said = problem(ann("POST", "/search", {**asked, "dataset_ids": given}), 422, "dataset_ids")
        assert said == "dataset_ids: Input should be a list of ids, or 'all'"


def test_a_conversation_over_all_keeps_to_all(ann: Caller, library: None, app: Flask) -> None:
    made = ann("POST", "/conversations", {}).json["id"]
    asked = {"message": "How do I book trains?", "dataset_ids": "all"}
    answered = ann("POST", f"/conversations/{made}/messages", asked)
    assert "travel.md" in {citation["source"] for citation in answered.json["citations"]}
    [question, _] = ann("GET", f"/conversations/{made}").json["messages"]
    assert question["settings"]["everything"] is True
    stored = stored_request(ann.account.id, question["text"], question["settings"], ())
    assert (stored.dataset_ids, stored.everything) == ("all", True)


@pytest.mark.one_app
def test_what_is_asked_is_counted_once(ann: Caller, app: Flask) -> None:
    ann("POST", "/search", {"query": "printer"})
    ann("POST", "/chat", {"message": "printer error?"})
    assert events(ann("POST", "/chat", {"message": "printer error?"}, Accept="text/event-stream"))
    assert site_of(app).usage.by_user(days=1) == [(ann.account.id, "chat", 2), (ann.account.id, "search", 1)]
    assert 'braid_searches_total{mode="hybrid",strategy="basic"} 3.0' in site_of(app).metrics.text().decode()


def test_a_calculated_answer_has_its_sql_and_the_rows_it_used(ann: Caller, app: Flask) -> None:
    braid = site_of(app).braid
    dataset = braid.ledger.add_dataset(ann.account.id, "staff").id
    table = document("staff.csv", "Name | Pay\nAnna | 10 EUR\nBo | 32 EUR", title="staff", file_type="csv")
    braid.ledger.put_document(dataset, table)
    assert braid.indexer.wait(WAIT_S)
    asked = {"message": "What is the total pay?", "dataset_ids": [dataset]}
    answer = ann("POST", "/chat", asked).json
    assert answer["text"].startswith("Total of Pay: **42 EUR** [1]")
    assert answer["calculation"]["sql"] == 'SELECT SUM("Pay") FROM "staff"'
    assert answer["calculation"]["used"]["rows"] == [["Anna", "10 EUR"], ["Bo", "32 EUR"]]
    streamed = events(ann("POST", "/chat", asked, Accept="text/event-stream"))
    assert streamed[-1][1]["calculation"] == answer["calculation"]
    assert ann("POST", "/chat", {**asked, "message": "Who is Anna?"}).json["calculation"] is None


@pytest.mark.usefixtures("library")
def test_three_fields_become_one_query_and_are_compared_with_what_was_found(ann: Caller) -> None:
    fields = {"purpose": "find the printer error", "materials": "empty tray", "dataset_ids": [1]}
    response = ann("POST", "/search", fields)
    assert sources(response)[0] == "printer.md"
    assert response.json["search_mode"] == "semantic"
    assert response.json["answer"]["generator"] == "extractive"
    assert response.json["answer"]["citations"]
    stopped = ann("POST", "/search", {**fields, "evaluation_mode": True, "search_mode": "keyword"})
    assert sources(stopped) == ["printer.md"]
    assert stopped.json["answer"] is None
    assert stopped.json["search_mode"] == "keyword"


@pytest.mark.usefixtures("library")
def test_alpha_fuses_by_weighted_scores(ann: Caller) -> None:
    query = {"query": "printer error", "dataset_ids": [1]}
    by_meaning = ann("POST", "/search", {**query, "hybrid_alpha": 1.0}).json["hits"][0]
    assert {leg["leg"]: leg["share"] for leg in by_meaning["legs"]} == {"dense": 1.0, "bm25": 0.0}
    by_keyword = ann("POST", "/search", {**query, "hybrid_alpha": 0.0}).json["hits"][0]
    assert {leg["leg"]: leg["share"] for leg in by_keyword["legs"]} == {"dense": 0.0, "bm25": 1.0}
    by_rank = ann("POST", "/search", {**query, "fusion": "rrf"}).json["hits"][0]
    assert all(leg["share"] == pytest.approx(0.5 / 61) for leg in by_rank["legs"])
    automatic = ann("POST", "/search", {**query, "fusion": "auto"}).json["hits"][0]
    assert automatic["legs"] == ann("POST", "/search", query).json["hits"][0]["legs"] != by_rank["legs"]
    problem(ann("POST", "/search", {**query, "fusion": "sum"}), 422, "fusion")


@pytest.mark.usefixtures("library")
def test_filters_restrict_the_search(ann: Caller) -> None:
    query = {"query": "the", "search_mode": "semantic", "dataset_ids": [1, -1]}
    assert set(sources(ann("POST", "/search", {**query, "filters": {"file_types": ["txt"]}}))) == {"coffee.txt"}
    assert set(sources(ann("POST", "/search", {**query, "filters": {"source_prefix": "prin"}}))) == {"printer.md"}
    assert sources(ann("POST", "/search", {**query, "filters": {"date_from": "2020-01-01"}})) == []
    wrong = ann("POST", "/search", {**query, "filters": {"date_to": "2026-02-30"}})
    assert "2026-02-30" in problem(wrong, 400, "filters.date_to")
    problem(ann("POST", "/search", {**query, "filters": {"date_to": "yesterday"}}), 422, "filters.date_to")


def test_what_is_not_the_callers_is_listed_and_not_searched(bob: Caller, library: None) -> None:
    response = bob("POST", "/search", {"query": "printer", "dataset_ids": [1, -1, -7]})
    assert "printer.md" not in sources(response)
    assert response.json["unresolved_dataset_ids"] == [1, -7]


WRONG = (
    ({}, 422, "query"),
    ({"query": "  "}, 422, "query"),
    ({"query": 7}, 422, "query"),
    ({"query": "a", "querry": "b"}, 422, "querry"),
    ({"query": "a", "purpose": "b"}, 422, "query"),
    ({"purpose": " "}, 400, "purpose"),
    ({"query": "a", "hybrid_alpha": 1.5}, 422, "hybrid_alpha"),
    ({"query": "a", "top_k": "5"}, 422, "top_k"),
    ({"query": "a", "dataset_ids": [0]}, 400, "dataset_ids"),
    ({"query": "a", "strategy": "magic"}, 400, "strategy"),
    ({"query": "a", "search_mode": "psychic"}, 422, "search_mode"),
    ({"query": "a", "custom_prompts": {"hyde": {"user": "no placeholder"}}}, 400, "custom_prompts"),
    ({"query": "a", "reranker": "local:/etc"}, 400, "reranker"),
    ({"query": "a", "search_llm_model": "openai:x"}, 400, "search_llm_model"),
    ({"query": "a", "embedding_model": "other:model"}, 400, "embedding_model"),
)


def test_wrong_requests_name_the_field(ann: Caller) -> None:
    for body, status, field in WRONG:
        assert problem(ann("POST", "/search", body), status, field)


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        ("POST", "/search", {"query": "a", "k": 3}, "k: there is no such field; give fusion, "),
        ("POST", "/search", {"query": "a", "mode": "x"}, "mode: there is no such field; give fusion, "),
        (
            "POST",
            "/search",
            {"query": "a", "filters": {"year": 1}},
            "filters.year: there is no such field; give file_types, source_prefix, date_from, date_to, metadata, ",
        ),
        (
            "POST",
            "/chat",
            {"message": "a", "history": [{"role": "user", "text": "x", "content": "x"}]},
            "history.0.content: there is no such field; give role, text",
        ),
        ("GET", "/datasets?size=3", None, "size: there is no such field; give limit, offset"),
        ("GET", "/me?x=3", None, "x: there is no such field; give none"),
        (
            "POST",
            "/search",
            {"query": "a", "filters": {"date_from": "yesterday"}},
            "filters.date_from: write a day, such as 2026-01-31, or a time, such as 2026-01-31T09:00Z",
        ),
    ],
)
def test_what_may_be_sent_is_said_where_a_name_or_a_text_is_wrong(
    ann: Caller, method: str, path: str, body: Any, told: str
) -> None:
    assert told in problem(ann(method, path, body), 422, told.partition(":")[0])


def test_many_wrong_names_are_told_at_once(ann: Caller) -> None:
    """The document of the request is made once, not once a name."""
    body = {"query": "a", **{f"name{number}": number for number in range(900)}}
    told = problem(ann("POST", "/search", body), 422, "name0")
    assert told.count("there is no such field") == 20
    assert ", search_mode, " in told


def test_the_embedding_model_must_be_the_collections_own(ann: Caller) -> None:
    told = problem(ann("POST", "/search", {"query": "a", "embedding_model": "openai:ada"}), 400, "embedding_model")
    assert "openai:ada" in told
    assert "fake:hash-64" in told
    assert ann("POST", "/search", {"query": "a", "embedding_model": "fake:hash-64"}).status_code == 200


def test_a_body_that_is_not_json_is_refused(ann: Caller) -> None:
    send = ann.client.post
    problem(send(f"{API}/search", data="query=a", headers=ann.headers), 415)
    headers = {**ann.headers, "Content-Type": "application/json"}
    assert "not JSON" in problem(send(f"{API}/search", data="{", headers=headers), 400)
    problem(send(f"{API}/search", data='"{}"', headers=headers), 422)
    problem(send(f"{API}/datasets", data=json.dumps({"name": "a" * 3_000_000}), headers=headers), 413)


def test_what_cannot_be_routed_or_read_is_told_what_can(ann: Caller) -> None:
    headers = {**ann.headers, "Content-Type": "application/json"}
    long = ann.client.post(f"{API}/search", data=b"{" * 20_000_000, headers=headers)
    assert re.fullmatch(r"at most [\d,]+ bytes are accepted at once; split it", problem(long, 413))
    assert problem(ann("DELETE", "/search"), 405) == "DELETE is not answered here; use OPTIONS or POST"
    assert problem(ann("GET", "/datasts"), 404).startswith("there is no /api/v1/datasts; ")


@pytest.mark.usefixtures("library")
def test_explain_says_why_a_passage_is_not_found(ann: Caller) -> None:
    query = {"query": "printer error", "dataset_ids": [1], "search_mode": "keyword"}
    hit = ann("POST", "/search", query).json["hits"][0]["passage"]["chunk_id"]
    other = ann("POST", "/search", {"query": "trains", "dataset_ids": [-1]}).json["hits"][0]["passage"]["chunk_id"]
    assert ann("POST", "/explain", {**query, "chunk_id": hit}).json["reason"] == "found"
    assert ann("POST", "/explain", {**query, "chunk_id": other}).json["reason"] == "not_in_scope"


# ---------------------------------------------------------------- shared databases, users, feedback


def test_administrators_manage_shared_databases(ann: Caller, admin: Caller, app: Flask) -> None:
    new = {"name": "Board", "collection_name": "shared_board", "allowed_groups": ["board"]}
    problem(ann("POST", "/shared-databases", new), 403)
    where = admin("POST", "/shared-databases", new).headers["Location"]
    names = [entry["name"] for entry in ann("GET", "/shared-databases").json["items"]]
    assert names == ["Handbook"]
    problem(ann("GET", where), 404)
    site_of(app).accounts.set_groups(ann.account.id, ["board"])
    assert ann("GET", where).json["collection_name"] is None
    assert admin("PATCH", where, {"enabled": False, "description": "minutes"}).json["enabled"] is False
    problem(ann("GET", where), 404)
    assert admin("GET", where).json["description"] == "minutes"
    problem(admin("POST", "/shared-databases", {**new, "collection_name": "user_1"}), 422, "collection_name")
    problem(admin("PATCH", where, {"embedding_model": "no such form"}), 400, "embedding_model")
    assert admin("DELETE", where).status_code == 204
    problem(admin("GET", where), 404)
    acts = [entry.action for entry in site_of(app).audit.entries()]
    assert acts[:3] == ["shared_db.removed", "shared_db.changed", "shared_db.added"]


def test_administrators_manage_users(ann: Caller, admin: Caller, app: Flask) -> None:
    problem(ann("GET", "/users"), 403)
    made = admin("POST", "/users", {"name": "cleo", "password": PASSWORD, "groups": ["board"]})
    where = made.headers["Location"]
    assert made.status_code == 201
    assert made.json["groups"] == ["board"]
    assert PASSWORD not in made.text
    assert sign_in(app, "cleo")
    problem(admin("POST", "/users", {"name": "cleo"}), 400, "name")
    assert admin("PATCH", where, {"disabled": True, "groups": []}).json["disabled"] is True
    assert site_of(app).accounts.verify("cleo", PASSWORD) is None
    assert admin("DELETE", where).status_code == 204
    problem(admin("GET", where), 404)
    me = f"/users/{admin.account.id}"
    for body in ({"is_admin": False}, {"disabled": True}):
        assert "themselves" in problem(admin("PATCH", me, body), 409)
    problem(admin("DELETE", me), 409)
    assert admin("GET", "/me").status_code == 200


@pytest.mark.usefixtures("library")
def test_feedback_is_kept_for_its_user(ann: Caller, bob: Caller) -> None:
    chunk = ann("POST", "/search", {"query": "printer", "dataset_ids": [1]}).json["hits"][0]["passage"]["chunk_id"]
    said = {"kind": "up", "chunk_id": chunk, "query": "printer", "dataset_ids": [1], "ranking": [chunk]}
    assert ann("POST", "/feedback", said).status_code == 201
    (kept,) = ann("GET", "/feedback").json["items"]
    assert {name: kept[name] for name in said} == said
    assert bob("GET", "/feedback").json["items"] == []
    problem(ann("POST", "/feedback", {**said, "ranking": ["another"]}), 400, "ranking")


@pytest.mark.usefixtures("library")
def test_feedback_is_bounded_paged_and_deleted(ann: Caller) -> None:
    said = {"kind": "up", "chunk_id": "c1", "query": "printer", "dataset_ids": [1], "ranking": ["c1"]}
    for number in range(3):
        assert ann("POST", "/feedback", {**said, "query": f"q{number}"}).status_code == 201
    problem(ann("POST", "/feedback", {**said, "chunk_id": "\u20ac", "ranking": ["\u20ac"]}), 422, "chunk_id")
    page = ann("GET", "/feedback?limit=2").json
    assert [one["query"] for one in page["items"]] == ["q0", "q1"]
    rest = ann("GET", page["next"].removeprefix(API)).json
    assert ([one["query"] for one in rest["items"]], rest["next"]) == (["q2"], None)
    assert ann("DELETE", "/feedback").status_code == 204
    assert ann("GET", "/feedback").json["items"] == []


def test_parameters_of_strategies_are_listed_and_chosen_by_a_request(braid: Braid, ann: Caller) -> None:
    by_name = {each["name"]: each["parameters"] for each in ann("GET", "/strategies").json["items"]}
    assert by_name["basic"] == {}
    assert set(by_name["multi_query"]) == {
        "variants",
        "original_weight",
        "feedback_passages",
        "feedback_terms",
        "feedback_weight",
    }
    passages = by_name["hyde"]["feedback_passages"]
    assert passages.pop("meaning")
    assert passages == {"value": 3, "default": 3, "lowest": 1, "highest": 50, "whole": True}

    asked = {"query": "printer", "strategy": "hyde", "parameters": {"feedback_passages": 5.0}}
    assert ann("POST", "/search", asked).json["parameters"] == {"feedback_passages": 5, "feedback_weight": 0.2}
    for wrong, field in (
        ({"feedback_passages": 51}, "parameters.feedback_passages"),
        ({"passages": 5}, "parameters.passages"),
    ):
        assert field in problem(ann("POST", "/search", {**asked, "parameters": wrong}), 400, field)
    problem(
        ann("POST", "/search", {**asked, "parameters": {"feedback_passages": "5"}}), 422, "parameters.feedback_passages"
    )
    chatted = {"message": "printer?", "strategy": "hyde", "parameters": {"feedback_weight": 0.5}}
    assert ann("POST", "/chat", chatted).json["search"]["parameters"]["feedback_weight"] == 0.5


def test_the_settings_give_parameters_of_strategies(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", strategies={"hyde": {"feedback_passages": 7}})
    with open_braid(settings) as braid:
        app = make_app(braid, settings)
        caller = Caller(app, add_user(app, "ann"))
        [hyde] = [each for each in caller("GET", "/strategies").json["items"] if each["name"] == "hyde"]
        passages = hyde["parameters"]["feedback_passages"]
        assert (passages["value"], passages["default"]) == (7, 3)
        asked = {"query": "x", "strategy": "hyde", "search_mode": "keyword"}
        assert caller("POST", "/search", asked).json["parameters"]["feedback_passages"] == 7


def test_depths_are_chosen_by_a_request_and_by_the_settings(app: Flask, braid: Braid, ann: Caller) -> None:
    for number in range(60):
        braid.ledger.put_document(1, document(f"{number:02}.md", "pump " + "word " * number))
    assert braid.indexer.wait(WAIT_S)
    asked = {"query": "pump", "search_mode": "keyword", "top_k": 60}
    last = ann("POST", "/search", asked).json["hits"][-1]["passage"]["chunk_id"]
    asked |= {"top_k": 5, "chunk_id": last}
    assert ann("POST", "/explain", asked).json["reason"] == "not_reached"
    assert ann("POST", "/explain", {**asked, "leg_depth": 100, "reranker_depth": 10}).json["reason"] == "cut_by_k"
    problem(ann("POST", "/search", {"query": "a", "leg_depth": 1001}), 422, "leg_depth")
    problem(ann("POST", "/search", {"query": "a", "reranker_depth": -1}), 422, "reranker_depth")

    deep = Caller(make_app(braid, Settings(leg_depth=100)), ann.account)
    assert deep("POST", "/explain", asked).json["reason"] == "cut_by_k"
    assert deep("POST", "/explain", {**asked, "leg_depth": 0}).json["reason"] == "not_reached"


# ---------------------------------------------------------------- the document


def require_valid(document: Any) -> None:
    """Raise what is wrong with a document of OpenAPI."""
    from openapi_spec_validator import validate  # which takes a second to load

    validate(document)


def test_the_document_is_valid_and_lists_every_route(app: Flask) -> None:
    found = app.test_client().get(f"{API}/openapi.json").json
    require_valid(found)
    documented = {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}
    assert len(documented) >= 30
    assert ("POST", "/search") in documented
    assert found["servers"] == [{"url": API}]
    assert found["components"]["securitySchemes"]["session"]["name"] == "braid_session"
    assert found["paths"]["/users"]["get"]["security"][0] == {"token": ["admin"]}
    served = sum(rule.endpoint.startswith("braid.api.") for rule in app.url_map.iter_rules())
    assert served == len(documented) + 2


def test_the_page_shows_each_operation_with_a_command(app: Flask) -> None:
    page = app.test_client().get(f"{API}/docs")
    assert page.status_code == 200
    assert page.mimetype == "text/html"
    found = app.test_client().get(f"{API}/openapi.json").json
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            assert f"{method.upper()} {path}" in page.text
            assert f'id="{operation["operationId"]}"' in page.text
    assert page.text.count("<code>curl ") == sum(len(methods) for methods in found["paths"].values())
    assert re.search("<script(?! src=)", page.text) is None
    assert "style=" not in page.text
    assert re.search(r"/imports\S* .* -F file=@notes\.zip</code>", page.text)
    assert re.search(r"/exports/1\S* .* -o notes\.zip</code>", page.text)


def test_in_another_app_the_api_works_under_its_prefix(braid: Braid) -> None:
    host = Flask("host")
    host.secret_key = "host"
    register_braid(host, lambda: HostUser("zoe"), braid=braid, settings=Settings(), url_prefix="/tools/braid")
    client, where = host.test_client(), "/tools/braid/api/v1"
    found = client.get(f"{where}/openapi.json").json
    require_valid(found)
    assert found["servers"] == [{"url": where}]
    assert found["components"]["securitySchemes"]["session"]["name"] == "session"
    assert client.get(f"{where}/me").json["name"] == "zoe"
    problem(client.get(f"{where}/datasets?limit=0"), 422, "limit")
    assert client.get(f"{where}/docs").status_code == 200
