"""The HTTP API over a real Braid, on its own and inside another app; only the models are faked."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from openapi_spec_validator import validate
from sqlalchemy import select
from werkzeug.test import TestResponse

from braid.app.auth.access import rule_of
from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.app.opening import open_braid
from braid.config import models as config_models
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.chat.columns import stored_request
from braid.core.chat.store import ConversationStore
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.ingest.ingest import ingest_bytes
from braid.core.jobs.store import NewJob
from braid.core.ledger.tables import IdempotencyRow
from braid.core.models.model_servers import PROVIDERS
from braid.core.models.prompts import Prompts
from braid.core.types import Query, SearchResult
from tests.model_server import ModelServer, model_server
from tests.modes.apps import ALL
from tests.web import PASSWORD, add_user, bearer, csrf_token, make_app, sign_in, site_of
from tests.worlds import WAIT_S, document, eventually

API = "/api/v1"
Put = Callable[..., str]


class Caller:
    """A program with a token of one user."""

    def __init__(self, app: Flask, account: Account, *scopes: str) -> None:
        self.account = account
        self.client = app.test_client()
        self.headers = bearer(app, account, *scopes)

    def __call__(self, method: str, path: str, json: object = None, **headers: str) -> TestResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        arguments: dict[str, Any] = {} if json is None else {"json": json}
        path = path if path.startswith(API) else API + path
        return self.client.open(path, method=method, headers={**self.headers, **named}, **arguments)


@pytest.fixture
def app(braid: Braid) -> Flask:
    """The app with an administrator, and the user ann with a dataset (1) and a shared one (-1)."""
    made = make_app(braid)
    ann = add_user(made, "ann")
    braid.ledger.add_dataset(ann.id, "Notes")
    braid.registry.add("Handbook", "shared_main_db")
    braid.mirror_registry()
    return made


@pytest.fixture
def ann(app: Flask) -> Caller:
    """A user."""
    found = site_of(app).accounts.named("ann")
    assert found
    return Caller(app, found)


@pytest.fixture
def bob(app: Flask) -> Caller:
    """Another user, who owns nothing."""
    return Caller(app, add_user(app, "bob"))


@pytest.fixture
def admin(app: Flask) -> Caller:
    """An administrator."""
    return Caller(app, site_of(app).accounts.all()[0], "read", "write", "admin")


@pytest.fixture
def library(app: Flask, put: Put) -> None:
    """Two documents in each of ann's notes and the handbook."""
    put(1, "printer.md", "the printer shows error E-4711 when the tray is empty", file_type="md")
    put(1, "coffee.txt", "the coffee machine wants water")
    put(-1, "travel.md", "book trains through the travel office", "hotels need a receipt", file_type="md")


def sources(response: TestResponse) -> list[str]:
    assert response.status_code == 200, response.text
    return [hit["passage"]["source"] for hit in response.json["hits"]]


def problem(response: TestResponse, status: int, field: str = "") -> str:
    """What the problem says, which must be one."""
    assert response.status_code == status, response.text
    assert response.mimetype == "application/problem+json"
    found = response.json
    assert (found["status"], found.get("field", "")) == (status, field), found
    assert found["title"]
    return str(found.get("detail", ""))


def events(response: TestResponse) -> list[tuple[str, dict[str, Any]]]:
    assert response.mimetype == "text/event-stream", response.text
    blocks = [block.split("\n") for block in response.text.strip().split("\n\n")]
    return [(kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for kind, data in blocks]


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
    app: Flask, ann: Caller, bob: Caller, library: None, braid: Braid
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

    theirs = bob("POST", "/search", {**asked, "dataset_ids": "all"})
    assert {hit["passage"]["dataset_id"] for hit in theirs.json["hits"]} == {-1}
    assert {hit["passage"]["dataset_id"] for hit in ann("POST", "/search", asked).json["hits"]} == {1}

    chunk_id = next(hit["passage"]["chunk_id"] for hit in found.json["hits"] if hit["dataset"]["id"] == -1)
    explained = {**asked, "chunk_id": chunk_id}
    assert ann("POST", "/explain", {**explained, "dataset_ids": "all"}).json["found"]
    assert ann("POST", "/explain", explained).json["reason"] == "not_in_scope"
    assert "'all'" in problem(ann("POST", "/search", {**asked, "dataset_ids": "every"}), 422, "dataset_ids")


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


@pytest.mark.usefixtures("library")
def test_explain_says_why_a_passage_is_not_found(ann: Caller) -> None:
    query = {"query": "printer error", "dataset_ids": [1], "search_mode": "keyword"}
    hit = ann("POST", "/search", query).json["hits"][0]["passage"]["chunk_id"]
    other = ann("POST", "/search", {"query": "trains", "dataset_ids": [-1]}).json["hits"][0]["passage"]["chunk_id"]
    assert ann("POST", "/explain", {**query, "chunk_id": hit}).json["reason"] == "found"
    assert ann("POST", "/explain", {**query, "chunk_id": other}).json["reason"] == "not_in_scope"


# ---------------------------------------------------------------- models and keys


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model that always says the same."""
    with model_server("the tray is empty [1]") as server:
        yield server


@pytest.fixture
def with_model(braid: Braid, model: ModelServer) -> Caller:
    """A user of a site that has a model of its own, with its own key."""
    name, key = "openai:house", "site-key"
    settings = Settings(
        search_model=name,
        search_model_base_url=model.url,
        search_model_api_key=key,
        summary_model=name,
        summary_model_base_url=model.url,
        summary_model_api_key=key,
        model_retries=0,
    )
    made = make_app(braid, settings)
    account = add_user(made, "ann")
    braid.ledger.add_dataset(account.id, "Notes")
    return Caller(made, account)


@pytest.fixture
def at_openai(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's server is OpenAI's."""
    there = {**PROVIDERS, "openai": replace(PROVIDERS["openai"], base_url=model.url)}
    monkeypatch.setattr(config_models, "PROVIDERS", there)


@pytest.mark.usefixtures("at_openai")
def test_keys_are_used_for_their_request_and_forgotten(
    with_model: Caller, model: ModelServer, put: Put, braid: Braid, caplog: pytest.LogCaptureFixture
) -> None:
    put(1, "printer.md", "the printer shows error E-4711 when the tray is empty")
    question = {"message": "why does the printer show an error?", "generator": "feedback"}
    caplog.set_level(logging.DEBUG)
    mine = {**question, "summary_llm_model": "openai:mine"}
    own = with_model("POST", "/chat", mine, X_Summary_Model_Key="my-own-key-123")
    assert own.json["generator"] == "openai:mine"
    assert own.json["citations"][0]["source"] == "printer.md"
    with_model("POST", "/chat", question)
    assert [call.key for call in model.calls] == ["my-own-key-123", "site-key"]
    assert "my-own-key-123" not in caplog.text
    stored = b"".join(path.read_bytes() for path in braid.data_dir.rglob("*") if path.is_file())
    assert b"my-own-key-123" not in stored
    model.broken = 401
    failed = with_model("POST", "/chat", mine, X_Summary_Model_Key="my-own-key-123")
    assert failed.json["degraded"]
    assert "my-own-key-123" not in failed.text


def test_only_what_is_offered_or_paid_for_with_an_own_key_may_be_named(with_model: Caller) -> None:
    def ask(model: str, **headers: str) -> TestResponse:
        return with_model("POST", "/chat", {"message": "a", "summary_llm_model": model}, **headers)

    assert "openai:house" in problem(ask("openai:other"), 400, "summary_llm_model")
    problem(ask("ollama:llama", X_Summary_Model_Key="k"), 400, "summary_llm_model")
    problem(ask("bedrock:claude", X_Summary_Model_Key="k"), 400, "summary_llm_model")
    problem(ask("openai:house", X_Summary_Model_Key="two words"), 422, "X-Summary-Model-Key")
    told = problem(ask("openai:house", X_Summary_Model_Key="k"), 400, "summary_llm_model")
    assert "gets no key of yours" in told
    assert ask("openai:house").status_code == 200
    assert ask("none").json["generator"] == "extractive"


def test_the_search_model_and_custom_prompts_of_a_request_serve_its_strategy(
    with_model: Caller, model: ModelServer
) -> None:
    prompts = {"hyde": {"system": "Speak like a pirate.", "user": "{question}"}}
    body = {"query": "printer", "strategy": "hyde", "custom_prompts": prompts}
    found = with_model("POST", "/search", body).json
    assert found["generator"] == "openai:house"
    assert model.calls[-1].messages == (("system", "Speak like a pirate."), ("user", "printer"))


def test_a_custom_prompt_may_be_a_text_which_is_the_user_message(with_model: Caller, model: ModelServer) -> None:
    body = {"query": "printer", "strategy": "hyde", "custom_prompts": {"hyde": "As a pirate: {question}"}}
    assert with_model("POST", "/search", body).json["generator"] == "openai:house"
    assert model.calls[-1].messages[1] == ("user", "As a pirate: printer")
    assert model.calls[-1].messages[0] == ("system", Prompts().hyde.system)
    for wrong, status, field in (
        ("As a pirate.", 400, "custom_prompts"),
        ("", 422, "custom_prompts.hyde"),
        ({"assistant": "x"}, 422, "custom_prompts.hyde.assistant"),
        (5, 422, "custom_prompts.hyde"),
    ):
        problem(with_model("POST", "/search", {**body, "custom_prompts": {"hyde": wrong}}), status, field)


@pytest.mark.parametrize("path", ["/search", "/chat", "/explain"])
@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("openai_api_key", ("X-Search-Model-Key", "X-Summary-Model-Key")),
        ("cohere_api_key", ("X-Reranker-Key", "cohere:MODEL")),
        ("team_id", ("group", "allowed_groups", "dataset_ids")),
    ],
)
def test_keys_and_teams_in_the_body_are_led_to_the_header_and_the_group(
    ann: Caller, path: str, name: str, instead: tuple[str, ...]
) -> None:
    bodies = {"/search": {"query": "a"}, "/chat": {"message": "a"}, "/explain": {"query": "a", "chunk_id": "a"}}
    told = problem(ann("POST", path, {**bodies[path], name: "sk-secret"}), 422, name)
    assert all(part in told for part in instead)
    assert "sk-secret" not in told


def test_llm_model_still_stands_for_both_and_is_said_to_be_deprecated(with_model: Caller, model: ModelServer) -> None:
    body = {"message": "printer?", "llm_model": "openai:house"}
    assert with_model("POST", "/chat", body).headers["Deprecation"].startswith("@")
    assert "Deprecation" not in with_model("POST", "/chat", {"message": "printer?"}).headers
    told = problem(with_model("POST", "/search", {"query": "a", "llm_model": "openai:no"}), 400, "search_llm_model")
    assert "openai:no" in told


# ---------------------------------------------------------------- chat and conversations


@pytest.mark.usefixtures("library")
def test_chat_answers_as_json_and_as_events(ann: Caller) -> None:
    body = {"message": "what does the printer show?", "dataset_ids": [1]}
    whole = ann("POST", "/chat", body).json
    assert whole["found"]
    assert whole["citations"][0]["source"] == "printer.md"
    assert "[1]" in whole["text"]
    assert whole["search"]["hits"][0]["passage"]["source"] == "printer.md"
    streamed = events(ann("POST", "/chat", body, Accept="text/event-stream"))
    kinds = [kind for kind, _ in streamed]
    assert kinds[0] == "stage"
    assert {"query", "search", "token"} <= set(kinds)
    assert kinds[-1] == "answer"
    assert streamed[-1][1]["text"] == whole["text"]
    problem(ann("POST", "/chat", {**body, "dataset_ids": [0]}, Accept="text/event-stream"), 400, "dataset_ids")


@pytest.mark.usefixtures("library")
def test_each_sentence_of_an_answer_says_how_it_agrees_with_what_it_cites(ann: Caller) -> None:
    body = {"message": "what does the printer show?", "dataset_ids": [1]}
    whole = ann("POST", "/chat", body).json
    [quoted] = [each for each in whole["support"] if each["verdict"] == "stands"]
    cited = {each["number"]: each["text"] for each in whole["citations"]}
    [source] = quoted["sources"]
    assert cited[source["passage"]][source["start"] : source["end"]] in whole["text"][quoted["start"] : quoted["end"]]
    assert events(ann("POST", "/chat", body, Accept="text/event-stream"))[-1][1]["support"] == whole["support"]
    where = ann("POST", "/conversations", {}).headers["Location"]
    assert ann("POST", f"{where}/messages", body).json["support"] == whole["support"]
    assert ann("GET", where).json["messages"][1]["settings"]["support"] == whole["support"]


def test_a_text_of_another_program_is_checked(ann: Caller) -> None:
    passages = ["The pump is blue.", "Its warranty is 30 days."]
    body = {"text": "The pump is blue 【1】. Its warranty is 35 days [2]. It never breaks.", "passages": passages}
    found = ann("POST", "/check", body).json
    assert found["text"] == "The pump is blue [1]. Its warranty is 35 days [2]. It never breaks."
    assert [each["verdict"] for each in found["sentences"]] == ["stands", "differs", "uncited"]
    [finding] = found["sentences"][1]["findings"]
    assert (finding["said"], finding["there"], finding["passage"]) == ("35 days", "30 days", 2)
    assert passages[1][finding["there_start"] : finding["there_end"]] == "30 days"


@pytest.mark.parametrize(
    ("text", "passages", "field", "status"),
    [
        (" ", ["a"], "text", 422),
        ("a" * 100_001, ["a"], "text", 422),
        ("a [1].", [], "passages", 422),
        ("a [1].", ["a"] * 101, "passages", 422),
        ("a [1].", ["a" * 60_000, "b" * 60_000], "passages", 400),
    ],
)
def test_what_is_too_long_to_be_checked_is_refused(
    ann: Caller, text: str, passages: list[str], field: str, status: int
) -> None:
    problem(ann("POST", "/check", {"text": text, "passages": passages}), status, field)


@pytest.mark.usefixtures("library")
def test_a_conversation_keeps_its_turns(ann: Caller, bob: Caller) -> None:
    made = ann("POST", "/conversations", {})
    where = made.headers["Location"]
    assert made.status_code == 201
    assert where == f"{API}/conversations/1"
    question = {"message": "what does the printer show?", "dataset_ids": [1]}
    assert ann("POST", f"{where}/messages", question).status_code == 201
    assert events(ann("POST", f"{where}/messages", question, Accept="text/event-stream"))[-1][0] == "answer"
    kept = ann("GET", where).json
    assert kept["title"] == question["message"]
    assert [message["role"] for message in kept["messages"]] == ["user", "assistant"] * 2
    assert kept["messages"][1]["citations"][0]["source"] == "printer.md"
    answer = kept["messages"][1]
    assert ann("PUT", f"{where}/messages/{answer['id']}/thumb", {"kind": "up"}).status_code == 204
    assert [message["thumb"] for message in ann("GET", where).json["messages"]] == ["", "up", "", ""]
    assert ann("PATCH", where, {"title": "Printer"}).json["title"] == "Printer"
    assert ann("GET", f"{where}/export").text.startswith("# Printer\n")
    assert len(ann("GET", f"{where}/export?format=json").json["messages"]) == 4
    for method, path, body in (
        ("GET", where, None),
        ("PATCH", where, {"title": "mine"}),
        ("POST", f"{where}/messages", question),
        ("GET", f"{where}/export", None),
        ("PUT", f"{where}/messages/{answer['id']}/thumb", {"kind": "down"}),
        ("DELETE", where, None),
    ):
        problem(bob(method, path, body), 404)
    assert ann("DELETE", where).status_code == 204
    problem(ann("GET", where), 404)


def test_a_conversation_shows_its_variants_and_whether_it_is_pinned(app: Flask, ann: Caller) -> None:
    where = ann("POST", "/conversations", {}).headers["Location"]
    question = {"message": "what does the printer show?", "dataset_ids": [1]}
    assert ann("POST", f"{where}/messages", question).json["cut"] is False
    here, kept = site_of(app), ann("GET", where).json
    [conversation], [_, answer] = [kept["id"]], kept["messages"]
    added = here.turn_store.begin_variant(ann.account.id, conversation, answer["id"])
    here.turn_store.end(ann.account.id, conversation, added.answer_id, "interrupted")
    shown = ann("GET", where).json
    assert [message["state"] for message in shown["messages"]] == ["complete", "interrupted"]
    assert shown["messages"][1]["variants"] == [answer["id"], added.answer_id]
    assert [message["id"] for message in shown["other_variants"]] == [answer["id"]]
    assert shown["messages"][1]["parent_id"] == shown["messages"][0]["id"]
    exported = ann("GET", f"{where}/export?format=json").json
    assert [message["text"] for message in exported["other_variants"]] == [answer["text"]]
    assert not shown["pinned"]
    ann("POST", "/conversations", {"title": "Newer"})
    pinned = ann("PATCH", where, {"pinned": True}).json
    assert (pinned["pinned"], pinned["title"]) == (True, question["message"])
    assert [one["pinned"] for one in ann("GET", "/conversations").json["items"]] == [True, False]
    assert ann("PATCH", where, {"title": "Printer", "pinned": False}).json["pinned"] is False


def test_closing_the_stream_stops_the_model_and_keeps_what_there_is(
    with_model: Caller, model: ModelServer, put: Put
) -> None:
    put(1, "printer.md", "the printer shows error E-4711 when the tray is empty")
    model.reply, model.delay_s = lambda _: "the tray is empty " * 100, 0.02
    with_model("POST", "/conversations", {})
    response = with_model.client.post(
        f"{API}/conversations/1/messages",
        json={"message": "printer error?", "generator": "feedback"},
        headers={**with_model.headers, "Accept": "text/event-stream"},
    )
    for block in response.iter_encoded():
        if block.startswith(b"event: token"):
            break
    response.close()
    kept = with_model("GET", "/conversations/1").json["messages"]
    assert len(kept) == 2
    assert kept[1]["text"].startswith("the")
    assert len(kept[1]["text"]) < 500


# ---------------------------------------------------------------- datasets and documents


def test_datasets_are_made_renamed_and_deleted_by_their_owner(ann: Caller, bob: Caller) -> None:
    made = ann("POST", "/datasets", {"name": "Letters"})
    where = made.headers["Location"]
    assert made.status_code == 201
    assert made.json["kind"] == "personal"
    assert [each["name"] for each in ann("GET", "/datasets").json["items"]] == ["Notes", "Letters", "Handbook"]
    assert ann("PATCH", where, {"name": "Mail"}).json["name"] == "Mail"
    for method, body in (("GET", None), ("PATCH", {"name": "Mine"}), ("DELETE", None)):
        problem(bob(method, where, body), 404)
    assert ann("DELETE", where).status_code == 204
    problem(ann("GET", where), 404)
    problem(ann("DELETE", "/datasets/-1"), 403)


def test_a_text_becomes_a_document_that_is_found(ann: Caller, bob: Caller, braid: Braid) -> None:
    text = {"source": "memo.md", "text": "# Printer\n\nThe tray of the printer is empty.", "format": "md"}
    stored = ann("PUT", "/datasets/1/documents", text)
    where = stored.headers["Location"]
    assert stored.status_code == 201
    assert stored.json["title"] == "Printer"
    assert stored.json["state"] == "ready"
    assert braid.indexer.wait(WAIT_S)
    assert sources(ann("POST", "/search", {"query": "printer tray"})) == ["memo.md"]
    again = ann("PUT", "/datasets/1/documents", {**text, "text": "# Printer\n\nThe toner is empty."})
    assert again.status_code == 200
    assert again.json["id"] == stored.json["id"]
    passages = ann("GET", f"{where}/passages").json["items"]
    assert [passage["text"] for passage in passages] == ["The toner is empty."]
    for method, path in (("GET", where), ("GET", f"{where}/passages"), ("DELETE", where)):
        problem(bob(method, path), 404)
    problem(bob("PUT", "/datasets/1/documents", text), 404)
    assert ann("DELETE", where).status_code == 204
    assert sources(ann("POST", "/search", {"query": "printer"})) == []
    problem(ann("GET", where), 404)


def test_shared_documents_are_the_administrators_to_change(ann: Caller, admin: Caller) -> None:
    text = {"source": "memo", "text": "Trains are booked by the office."}
    problem(ann("PUT", "/datasets/-1/documents", text), 403)
    where = admin("PUT", "/datasets/-1/documents", text).headers["Location"]
    assert ann("GET", where).status_code == 200
    problem(ann("DELETE", where), 403)
    assert admin("DELETE", where).status_code == 204


def test_an_unchanged_document_is_not_sent_again(ann: Caller, library: None) -> None:
    where = "/datasets/1/documents/1"
    tag = ann("GET", where).headers["ETag"]
    same = ann("GET", where, If_None_Match=tag)
    assert same.status_code == 304
    assert not same.data
    assert same.headers["ETag"] == tag
    passages = ann("GET", f"{where}/passages").headers["ETag"]
    assert ann("GET", f"{where}/passages", If_None_Match=passages).status_code == 304
    source = ann("GET", where).json["source"]
    ann("PUT", "/datasets/1/documents", {"source": source, "text": "another text"})
    assert ann("GET", where, If_None_Match=tag).status_code == 200
    assert ann("GET", f"{where}/passages", If_None_Match=passages).status_code == 200


def test_a_document_that_changed_meanwhile_is_not_written_over(ann: Caller) -> None:
    def put(text: str, **headers: str) -> TestResponse:
        return ann("PUT", "/datasets/1/documents", {"source": "a.txt", "text": text}, **headers)

    problem(put("The tray.", If_Match='"none"'), 412, "If-Match")
    problem(put("The tray.", If_Match="*"), 412, "If-Match")
    first = put("The tray.")
    where = first.headers["Location"]
    read = ann("GET", where).headers["ETag"]
    assert read == first.headers["ETag"]
    second = put("The tray is empty.", If_Match=read)
    assert (second.status_code, second.headers["ETag"] != read) == (200, True)
    assert "has changed" in problem(put("The tray is full.", If_Match=read), 412, "If-Match")
    problem(ann("DELETE", where, If_Match=read), 412, "If-Match")
    assert ann("GET", where).headers["ETag"] == second.headers["ETag"], "what is refused changes nothing"
    assert put("The tray is full.", If_Match="*").status_code == 200
    latest = f'"other", {ann("GET", where).headers["ETag"]}'
    assert ann("DELETE", where, If_Match=latest).status_code == 204
    problem(ann("GET", where), 404)


def test_files_are_read_in_the_background(app: Flask, ann: Caller, bob: Caller, braid: Braid) -> None:
    def upload(caller: Caller, *names: str, **headers: str) -> TestResponse:
        files = [(io.BytesIO(b"the printer wants paper, says " + name.encode()), name) for name in names]
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return caller.client.post(
            f"{API}/datasets/1/documents", data={"file": files}, headers={**caller.headers, **named}
        )

    queued = upload(ann, "notes/a.txt", "../../b.txt", Idempotency_Key="k")
    assert queued.status_code == 202
    assert [(job["title"], job["state"]) for job in queued.json["items"]] == [
        ("notes/a.txt", "queued"),
        ("b.txt", "queued"),
    ]
    assert upload(ann, "notes/a.txt", "../../b.txt", Idempotency_Key="k").json == queued.json
    problem(upload(ann, "c.txt", Idempotency_Key="k"), 409, "Idempotency-Key")
    problem(upload(bob, "c.txt"), 404)
    problem(upload(ann), 415)
    assert len(ann("GET", "/jobs").json["items"]) == 2
    first, second = (f"/jobs/{job['id']}" for job in queued.json["items"])
    problem(bob("GET", first), 404)
    problem(bob("POST", f"{first}/cancel"), 404)
    assert ann("POST", f"{second}/cancel").json["state"] == "cancelled"
    site_of(app).start_jobs()
    try:
        eventually(lambda: ann("GET", first).json["state"] == "done", pause_s=0.05)
        assert ann("POST", f"{second}/retry").json["state"] in ("queued", "running", "done")
        eventually(lambda: ann("GET", second).json["state"] == "done", pause_s=0.05)
    finally:
        site_of(app).close()
    problem(ann("POST", f"{first}/retry"), 400, "job_id")
    assert braid.indexer.wait(WAIT_S)
    assert set(sources(ann("POST", "/search", {"query": "paper"}))) == {"notes/a.txt", "b.txt"}
    assert "file" not in ann("GET", first).json["result"]


def test_a_dataset_is_exported_and_imported_again(
    app: Flask, ann: Caller, bob: Caller, admin: Caller, library: None
) -> None:
    def send(caller: Caller, content: bytes, **more: Any) -> TestResponse:
        form = {"file": (io.BytesIO(content), "x.zip"), **more}
        return caller.client.post(f"{API}/imports", data=form, headers=caller.headers)

    def ended(caller: Caller, queued: TestResponse) -> dict[str, Any]:
        assert queued.status_code == 202, queued.text
        where = queued.headers["Location"]
        eventually(lambda: caller("GET", where).json["state"] not in ("queued", "running"), pause_s=0.05)
        return dict(caller("GET", where).json)

    site_of(app).start_jobs()
    try:
        job = ended(ann, ann("POST", "/datasets/1/exports"))
        assert (job["kind"], job["state"], job["result"]["filename"]) == ("export", "done", "Notes.zip")
        where = f"/datasets/1/exports/{job['id']}"
        with ann("GET", where) as download:
            assert (download.status_code, download.mimetype) == (200, "application/zip")
            content = download.data
        for caller, path in ((bob, where), (admin, where), (ann, f"/datasets/-1/exports/{job['id']}")):
            problem(caller("GET", path), 404)
        assert bob("POST", "/datasets/1/exports").status_code == 404
        assert ann("POST", "/datasets/-1/exports").status_code == 403
        found = ended(bob, send(bob, content, name="Copy"))
        assert (found["state"], found["result"]["documents"]) == ("done", 2)
        assert bob("GET", f"/datasets/{found['dataset_id']}").json["name"] == "Copy"
        ended(ann, ann("POST", "/datasets/1/exports"))
        problem(ann("GET", where), 404)  # the new one takes its place
        assert "no zip archive" in problem(send(bob, b"no zip"), 400, "file")
    finally:
        site_of(app).close()
    problem(send(bob, b"", other="x"), 422, "other")
    problem(bob("POST", "/imports", {}), 415)
    assert len(bob("GET", "/datasets").json["items"]) == 2  # the copy and the shared one


def test_imports_heed_the_quotas(braid: Braid) -> None:
    app = make_app(braid, Settings(max_user_datasets=1, max_import_mb=1))
    ann = Caller(app, add_user(app, "ann"))
    assert ann("POST", "/datasets", {"name": "Notes"}).status_code == 201

    def send(body: bytes) -> TestResponse:
        headers = {**ann.headers, "Content-Type": "multipart/form-data; boundary=x"}
        return ann.client.post(f"{API}/imports", data=body, headers=headers)

    assert "limit" in problem(send(b""), 400, "name")
    problem(send(bytes(3 * 2**20)), 413)


def test_a_job_is_tried_again_only_where_its_user_may_still_write(app: Flask, ann: Caller) -> None:
    here = site_of(app)
    page = NewJob("url", "https://example.org/", -1, {"url": "https://example.org/"})
    (job,) = here.background.store.add(ann.account.id, [page])
    assert ann("POST", f"/jobs/{job.id}/cancel").json["state"] == "cancelled"
    assert ann("POST", f"/jobs/{job.id}/retry").status_code == 403
    assert here.background.store.get(ann.account.id, job.id).state == "cancelled"
    here.accounts.set_admin(ann.account.id, True)
    assert Caller(app, ann.account, "read", "write")("POST", f"/jobs/{job.id}/retry").status_code == 403
    assert Caller(app, ann.account, "write", "admin")("POST", f"/jobs/{job.id}/retry").json["state"] == "queued"


def test_jobs_that_wait_have_a_limit_whatever_they_do(braid: Braid) -> None:
    app = make_app(braid, Settings(max_waiting_jobs=2))
    ann = Caller(app, add_user(app, "ann"))
    assert ann("POST", "/datasets", {"name": "Notes"}).status_code == 201
    asked = [ann("POST", "/datasets/1/reembed") for _ in range(2)]
    assert [answer.status_code for answer in asked] == [202, 202]
    assert ann("POST", f"/jobs/{asked[0].json['id']}/cancel").json["state"] == "cancelled"  # and may be tried again
    assert ann("POST", "/datasets/1/reembed").status_code == 400


def test_a_user_may_not_fill_the_disk(braid: Braid) -> None:
    app = make_app(braid, Settings(max_user_datasets=1, max_user_documents=1))
    ann, text = Caller(app, add_user(app, "ann")), {"source": "a", "text": "b"}
    assert ann("POST", "/datasets", {"name": "Notes"}).status_code == 201
    problem(ann("POST", "/datasets", {"name": "More"}), 400, "name")
    assert ann("PUT", "/datasets/1/documents", text).status_code == 201
    assert "limit" in problem(ann("PUT", "/datasets/1/documents", {**text, "source": "c"}), 400, "file")
    assert ann("PUT", "/datasets/1/documents", {**text, "text": "in its place"}).status_code == 200


def test_a_blank_query_is_refused_in_words(ann: Caller) -> None:
    for blank in (" ", "\u3000\n", "\x85"):
        assert problem(ann("POST", "/search", {"query": blank}), 422, "query") == "query: it is blank; write something"


def test_pages_of_private_networks_are_not_fetched(ann: Caller) -> None:
    for url in ("file:///etc/passwd", "http://localhost:22/", "ftp://example.org/"):
        problem(ann("POST", "/datasets/1/pages", {"url": url}), 400, "url")
    assert ann("GET", "/jobs").json["items"] == []


def test_lists_come_in_pages(ann: Caller, put: Put) -> None:
    for number in range(5):
        put(1, f"note-{number}", f"note number {number}")
    path, seen = "/datasets/1/documents?limit=2&source_prefix=note", list[str]()
    while path:
        page = ann("GET", path)
        seen += [document["source"] for document in page.json["items"]]
        path = page.json["next"]
        assert page.headers.get("Link") == (f'<{path}>; rel="next"' if path else None)
    assert seen == [f"note-{number}" for number in range(5)]
    for wrong in ("limit=201", "limit=0", "limit=many", "offset=-1"):
        problem(ann("GET", f"/datasets?{wrong}"), 422, wrong.partition("=")[0])
    problem(ann("GET", "/datasets?limit=1&limit=2"), 422, "limit")
    problem(ann("GET", "/datasets?page=2"), 422, "page")


@pytest.mark.usefixtures("library")
def test_statistics_count_by_format(ann: Caller) -> None:
    found = ann("GET", "/datasets/1/statistics").json
    assert (found["documents"], found["chunks"], found["failed"]) == (2, 2, 0)
    assert [(each["file_type"], each["documents"]) for each in found["formats"]] == [("md", 1), ("txt", 1)]
    assert {(leg["leg"], leg["state"], leg["pending"]) for leg in found["indexes"]} == {
        ("bm25", "ready", 0),
        ("dense", "ready", 0),
    }


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


def answer_to(store: ConversationStore, talk: int, caller: Caller, question: str, answer: str) -> None:
    """Store a turn."""
    found = SearchResult(Query("q"), "basic", "none", ("q",), (), ())
    asked = ChatRequest(caller.account.id, question)
    store.add(talk, asked, ChatResult(question, "q", "none", found, answer, "model", True))


def test_a_long_conversation_comes_in_pages_of_about_a_million_characters(braid: Braid, ann: Caller) -> None:
    store = ConversationStore(braid.ledger, braid.registry)
    talk = store.create(ann.account.id).id
    for number in range(8):
        answer_to(store, talk, ann, f"question {number}", f"{number}" * 150_000)
    seen, following, pages = list[str](), f"/conversations/{talk}", 0
    while following:
        answer = ann("GET", following.removeprefix(API))
        assert len(answer.data) < 1_500_000
        seen += [message["text"][:12] for message in answer.json["messages"]]
        following, pages = answer.json["next"], pages + 1
    assert seen == [text for number in range(8) for text in (f"question {number}", f"{number}" * 12)]
    assert pages == 2
    assert [one["text"] for one in ann("GET", f"/conversations/{talk}?limit=1&offset=2").json["messages"]] == [
        "question 1"
    ]


@pytest.mark.parametrize("kind", ["json", "md"])
def test_a_conversation_is_exported_a_message_at_a_time(
    braid: Braid, ann: Caller, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ConversationStore(braid.ledger, braid.registry)
    talk = store.create(ann.account.id).id
    for number in range(40):
        answer_to(store, talk, ann, f"question {number}", f"answer {number}")
    read, whole = list[int](), ConversationStore.messages

    def watched(self: ConversationStore, *given: Any, ids: Any = None) -> Any:
        read.append(len(ids))
        return whole(self, *given, ids=ids)

    monkeypatch.setattr(ConversationStore, "messages", watched)
    answer = ann.client.get(f"{API}/conversations/{talk}/export?format={kind}", headers=ann.headers)
    pieces = answer.iter_encoded()
    first = next(pieces)
    assert sum(read) < 80, "not all is read before the first piece is sent"
    text = b"".join([first, *pieces]).decode()
    assert all(f"answer {number}" in text for number in range(40))
    assert sum(read) == 80
    assert max(read) < 80
    if kind == "json":
        assert len(json.loads(text)["messages"]) == 80


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


def test_the_choices_are_listed(with_model: Caller) -> None:
    named = {each["name"]: each["description"] for each in with_model("GET", "/strategies").json["items"]}
    assert set(named) >= {"basic", "multi_query", "hyde", "compression"}
    assert all(named.values())
    assert with_model("GET", "/models").json["summary"] == ["openai:house"]
    assert with_model("GET", "/me").json["scopes"] == ["read", "write"]


# ---------------------------------------------------------------- writes, limits, access


def test_a_write_that_is_sent_again_is_not_done_again(ann: Caller, bob: Caller) -> None:
    def add(caller: Caller, name: str, key: str) -> TestResponse:
        return caller("POST", "/datasets", {"name": name}, Idempotency_Key=key)

    first, second = add(ann, "Letters", "k1"), add(ann, "Letters", "k1")
    assert (second.status_code, second.json) == (201, first.json)
    assert second.headers["Location"] == first.headers["Location"]
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert len(ann("GET", "/datasets").json["items"]) == 3
    assert "another request" in problem(add(ann, "Mail", "k1"), 409, "Idempotency-Key")
    assert add(bob, "Letters", "k1").json["id"] != first.json["id"]
    problem(add(ann, "  ", "k2"), 422, "name")
    assert add(ann, "Mail", "k2").status_code == 201, "what failed was not done, so its key is free"
    problem(add(ann, "Mail", "two words"), 422, "Idempotency-Key")
    where = first.headers["Location"]
    assert ann("DELETE", where, Idempotency_Key="k3").status_code == 204
    assert ann("DELETE", where, Idempotency_Key="k3").status_code == 204


def test_a_password_cannot_be_tried_out_on_what_is_kept_of_a_write(admin: Caller, app: Flask, braid: Braid) -> None:
    body = {"name": "mika", "password": PASSWORD}
    first = admin("POST", "/users", body, Idempotency_Key="k")
    assert first.status_code == 201
    assert admin("POST", "/users", body, Idempotency_Key="k").json == first.json
    problem(admin("POST", "/users", {**body, "password": "another horse"}, Idempotency_Key="k"), 409, "Idempotency-Key")
    with braid.ledger.database.read() as connection:
        row = connection.execute(select(IdempotencyRow.__table__)).one()
    assert PASSWORD not in str(row)
    for each in app.extensions.get(ALL, [app]):  # with another secret the same request is not recognized
        site_of(each).secret = bytes(32)
    problem(admin("POST", "/users", body, Idempotency_Key="k"), 409, "Idempotency-Key")


def test_each_user_has_a_limit_and_is_told_of_it(braid: Braid) -> None:
    app = make_app(braid, Settings(api_rate_limit="3/minute"))
    ann, bob = Caller(app, add_user(app, "ann")), Caller(app, add_user(app, "bob"))
    left = [ann("GET", "/me").headers["RateLimit-Remaining"] for _ in range(3)]
    assert left == ["2", "1", "0"]
    refused = ann("GET", "/me")
    problem(refused, 429)
    assert refused.headers["RateLimit-Limit"] == "3"
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert int(refused.headers["RateLimit-Reset"]) <= 60
    assert bob("GET", "/me").status_code == 200


def test_a_token_needs_the_scope(app: Flask) -> None:
    reader = Caller(app, add_user(app, "cleo"), "read")
    assert reader("POST", "/search", {"query": "a"}).status_code == 200
    assert "write" in problem(reader("POST", "/datasets", {"name": "a"}), 403)
    boss = Caller(app, site_of(app).accounts.all()[0], "read", "write")
    assert "admin" in problem(boss("GET", "/users"), 403)
    problem(boss("PUT", "/datasets/-1/documents", {"source": "a", "text": "b"}), 403)


def test_nobody_gets_a_problem_not_a_page(app: Flask) -> None:
    client = app.test_client()
    assert "sign in" in problem(client.get(f"{API}/me"), 401)
    problem(client.get(f"{API}/me", headers={"Authorization": "Bearer braid_wrong"}), 401)
    problem(client.get(f"{API}/nothing"), 404)
    problem(client.put(f"{API}/search"), 405)


def test_a_browser_needs_its_token_for_what_changes_something(app: Flask) -> None:
    browser = sign_in(app, "ann")
    assert browser.get(f"{API}/me").json["name"] == "ann"
    problem(browser.post(f"{API}/datasets", json={"name": "a"}), 400, field="csrf_token")
    headers = {"X-CSRFToken": csrf_token(browser)}
    assert browser.post(f"{API}/datasets", json={"name": "a"}, headers=headers).status_code == 201


def test_ids_that_no_column_holds_are_not_found(ann: Caller) -> None:
    for path in (
        f"/datasets/{10**30}",
        f"/datasets/-{10**30}",
        f"/conversations/{2**40}",
        f"/datasets/1/documents/{2**70}",
    ):
        problem(ann("GET", path), 404)


def test_every_operation_states_its_rule(app: Flask) -> None:
    with app.app_context():
        for endpoint in app.view_functions:
            if endpoint.startswith("braid.api."):
                assert rule_of(endpoint) is not None, endpoint


# ---------------------------------------------------------------- the document


def test_the_document_is_valid_and_lists_every_route(app: Flask) -> None:
    found = app.test_client().get(f"{API}/openapi.json").json
    validate(found)
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
    validate(found)
    assert found["servers"] == [{"url": where}]
    assert found["components"]["securitySchemes"]["session"]["name"] == "session"
    assert client.get(f"{where}/me").json["name"] == "zoe"
    problem(client.get(f"{where}/datasets?limit=0"), 422, "limit")
    assert client.get(f"{where}/docs").status_code == 200
