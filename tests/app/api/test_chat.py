"""Models, keys, chat and conversations over the API."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from braid.config import models as config_models
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.chat.store import ConversationStore
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.models.model_servers import PROVIDERS
from braid.core.models.prompts import Prompts
from braid.core.types import Query, SearchResult
from tests.app.api.callers import API, Caller, Put, events, problem
from tests.model_server import ModelServer, model_server
from tests.web import add_user, make_app, site_of


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
    body = {"text": "The pump is blue 【1】. Its warranty is 35 days [2]. It never breaks [9].", "passages": passages}
    found = ann("POST", "/check", body).json
    assert found["removed_citations"] == 1
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
        ("a [1].", "a text", "passages", 422),
        ("a [1].", ["a", 1], "passages.1", 422),
        ("a [1].", {"1": "a"}, "passages", 422),
        (None, ["a"], "text", 422),
        ("a [1].", ["a" * 60_000, "b" * 60_000], "passages", 400),
    ],
)
def test_what_cannot_be_checked_is_refused(ann: Caller, text: Any, passages: Any, field: str, status: int) -> None:
    problem(ann("POST", "/check", {"text": text, "passages": passages}), status, field)


@pytest.mark.parametrize("other", ["passage", "citations", "k"])
def test_a_key_that_a_check_does_not_have_is_refused(ann: Caller, other: str) -> None:
    problem(ann("POST", "/check", {"text": "a [1].", "passages": ["a"], other: ["a"]}), 422, other)


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
    assert ann("GET", f"{where}/export?format=docx").data.startswith(b"PK")
    assert ann("GET", f"{where}/export?format=pdf").data.startswith(b"%PDF")
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


def test_the_choices_are_listed(with_model: Caller) -> None:
    named = {each["name"]: each["description"] for each in with_model("GET", "/strategies").json["items"]}
    assert set(named) >= {"basic", "multi_query", "hyde", "compression"}
    assert all(named.values())
    assert with_model("GET", "/models").json["summary"] == ["openai:house"]
    assert with_model("GET", "/me").json["scopes"] == ["read", "write"]


def test_a_deleted_conversation_is_restored_or_deleted_for_good_by_its_owner(ann: Caller, bob: Caller) -> None:
    where = ann("POST", "/conversations", {"title": "Pumps"}).headers["Location"]
    number = int(where.rpartition("/")[2])
    assert ann("DELETE", where).status_code == 204
    problem(ann("GET", where), 404)
    problem(ann("GET", f"{where}/export"), 404)
    assert number not in [one["id"] for one in ann("GET", "/conversations").json["items"]]
    [listed] = ann("GET", "/conversations?deleted=true").json["items"]
    assert (listed["id"], listed["deleted_at"] is not None) == (number, True)
    assert bob("GET", "/conversations?deleted=true").json["items"] == []
    problem(bob("POST", f"{where}/restore"), 404)
    assert ann("POST", f"{where}/restore").json["deleted_at"] is None
    assert ann("DELETE", f"{where}?permanently=true").status_code == 204
    problem(ann("POST", f"{where}/restore"), 404)
    assert ann("GET", "/conversations?deleted=true").json["items"] == []
