"""Assistants: made, shared and asked on pages, by programs and by MCP; and never more than who asks may read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.datasets.assistants import Assistant
from braid.core.datasets.shares import Share
from tests.model_server import ModelServer, model_server
from tests.web import add_user, bearer, make_app, post_form, serving, sign_in, site_of, text_of
from tests.worlds import WAIT_S, document

QUESTION = "What is the pressure of the pump?"
OPEN, CLOSED = "runs at 4711 bar", "runs at 8822 bar"


@dataclass
class World:
    """Ann has an assistant over two datasets; the first one and the assistant are shared with Ben."""

    app: Flask
    braid: Braid
    ann: Account
    ben: Account
    datasets: tuple[int, int]
    assistant: Assistant

    def browser(self, name: str) -> FlaskClient:
        return sign_in(self.app, name)

    def call(
        self, account: Account, method: str, path: str, body: Mapping[str, Any] | None = None, base: str = "/api/v1"
    ) -> Any:
        answer = self.app.test_client().open(
            f"{base}{path}", method=method, json=body, headers=bearer(self.app, account)
        )
        return answer.json if answer.is_json else answer.status_code

    def take_back(self, what: str) -> None:
        """Take the assistant or the dataset back from Ben."""
        shared = self.assistant if what == "assistant" else self.braid.ledger.dataset(self.datasets[0])
        self.braid.shares.remove(shared, "user", "ben", by="ann")


def make_world(braid: Braid, settings: Settings | None = None, **values: Any) -> World:
    app = make_app(braid, settings or Settings(api_rate_limit="100000/second"))
    ann, ben = add_user(app, "ann"), add_user(app, "ben", groups=("lab",))
    facts = {"Open": OPEN, "Secret plans": CLOSED}
    ids = []
    for name, fact in facts.items():
        ids.append(braid.ledger.add_dataset(ann.id, name).id)
        text = f"The pump {fact}, which is its pressure."
        braid.ledger.put_document(ids[-1], document(f"{name}.md", text, title="Pump"))
    braid.ledger.put_document(
        braid.ledger.add_dataset(ben.id, "Own").id, document("own.md", "The pump of Ben has a pressure of 99 bar.")
    )
    assert braid.indexer.wait(WAIT_S)
    given: dict[str, Any] = {
        "description": "All about pumps",
        "sign": "🔧",
        "instruction": "Answer like a plumber.",
        "questions": (QUESTION,),
        **values,
    }
    made = site_of(app).assistants.add(ann.id, Assistant("Pumps", tuple(ids), **given))
    braid.shares.put(braid.ledger.dataset(ids[0]), Share("user", "ben"), by="ann")
    braid.shares.put(made, Share("user", "ben"), by="ann")
    return World(app, braid, ann, ben, (ids[0], ids[1]), made)


@pytest.fixture
def world(braid: Braid) -> World:
    return make_world(braid)


def ask(client: FlaskClient, assistant: object, path: str = "/chat/messages", **more: object) -> Any:
    return post_form(client, path, text=QUESTION, assistant=assistant, **more)


# ---------------------------------------------------------------- pages


def test_one_is_made_changed_and_deleted_on_the_page(world: World) -> None:
    ann = world.browser("ann")
    form = {
        "name": "Valves",
        "sign": "",
        "color": "green",
        "description": "About valves",
        "instruction": "Be brief.",
        "d": [str(each) for each in world.datasets],
        "question": ["Which valve?", "", ""],
        "strategy": "multi_query",
        "k": "7",
        "kind": ["text"],
        "source": "manuals/",
    }
    made = post_form(ann, "/assistants", **form)
    address = made.headers["location"].partition("#")[0]
    page = ann.get(address).text
    assert "“Valves” is ready." in text_of(page)
    assert 'value="Which valve?"' in page
    (found,) = [
        each.assistant
        for each in site_of(world.app).assistants.of_user(world.ann.id)
        if each.assistant.name == "Valves"
    ]
    assert (found.sign, found.color, found.strategy, found.options["k"]) == ("V", "green", "multi_query", 7)
    assert found.options["filters"].source_prefix == "manuals/"
    assert "md" in found.options["filters"].file_types
    post_form(
        ann, address, **{**form, "name": "Valves and taps", "k": "", "kind": [], "source": "", "d": form["d"][:1]}
    )
    found = site_of(world.app).assistants.get(world.ann.id, found.id).assistant
    assert (found.name, found.dataset_ids, dict(found.options)) == ("Valves and taps", world.datasets[:1], {})
    gone = post_form(ann, f"{address}/delete")
    assert "Valves and taps" not in text_of(ann.get("/assistants").text).replace("“Valves and taps” is deleted", "")
    assert gone.status_code == 302


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"name": " "}, "Enter a name of 1 to 200 visible characters."),
        ({"d": []}, "Choose at least one dataset."),
        ({"sign": "a whole word"}, "Enter one letter or one emoji."),
        ({"k": "many"}, "k is &#39;many&#39;; it must be a number"),
        ({"model": "made:up"}, "is not offered here"),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_is_kept(world: World, form: dict[str, object], told: str) -> None:
    given = {"name": "Valves", "color": "red", "d": [str(world.datasets[0])], "instruction": "Be brief."}
    page = post_form(world.browser("ann"), "/assistants", **{**given, **form})
    assert page.status_code == 400
    assert told in page.text
    assert ">Be brief.</textarea>" in page.text


def test_datasets_of_others_cannot_be_put_in(world: World) -> None:
    for chosen in (world.datasets[1], 999, -1):
        form = {"name": "Mine", "color": "red", "d": [str(chosen)]}
        assert post_form(world.browser("ben"), "/assistants", **form).status_code == 400
        body = {"name": "Mine", "dataset_ids": [chosen]}
        assert world.call(world.ben, "POST", "/assistants", body)["status"] == 400


def test_who_uses_it_sees_what_is_closed_but_not_its_name(world: World) -> None:
    ben = world.browser("ben")
    page = ben.get(f"/assistants/{world.assistant.id}").text
    assert "ann shares this assistant with you. You can use it." in text_of(page)
    assert "Not open to you: 1 of its 2 datasets." in text_of(page)
    assert "Open" in page
    everything = page + ben.get("/assistants").text + ben.get("/chat").text
    assert "Secret plans" not in everything
    assert "plumber" not in everything
    assert 'name="instruction"' not in page
    post_form(ben, f"/assistants/{world.assistant.id}/ask-access")
    assert [each.dataset_id for each in site_of(world.app).shares.requests(world.datasets)] == [world.datasets[1]]
    assert "You have asked for access." in text_of(ben.get(f"/assistants/{world.assistant.id}").text)


def test_the_instruction_is_shown_where_the_owner_says_so(braid: Braid) -> None:
    world = make_world(braid, shows_instruction=True)
    ben = world.browser("ben")
    assert "Answer like a plumber." in ben.get(f"/assistants/{world.assistant.id}").text
    assert "Answer like a plumber." in ben.get("/chat").text


def test_an_editor_changes_it_and_keeps_what_is_hidden_from_them(world: World) -> None:
    world.braid.shares.put(world.assistant, Share("user", "ben", may_write=True), by="ann")
    ben = world.browser("ben")
    page = ben.get(f"/assistants/{world.assistant.id}").text
    assert "Answer like a plumber." in page
    assert "Secret plans" not in page
    own = [each.id for each in world.braid.ledger.datasets(world.ben.id)]
    form = {"name": "Pumps", "color": "blue", "d": [str(each) for each in own], "instruction": "Be kind."}
    assert post_form(ben, f"/assistants/{world.assistant.id}", **form).status_code == 302
    changed = site_of(world.app).assistants.get(world.ann.id, world.assistant.id).assistant
    assert changed.dataset_ids == (*own, world.datasets[1])
    assert changed.instruction == "Be kind."
    for act in ("share", "unshare", "delete", "hand-over"):
        assert post_form(ben, f"/assistants/{world.assistant.id}/{act}", name="ben", kind="user").status_code == 403


def test_who_only_uses_it_changes_nothing(world: World) -> None:
    ben = world.browser("ben")
    form = {"name": "Mine", "color": "blue", "d": [str(world.datasets[0])]}
    assert post_form(ben, f"/assistants/{world.assistant.id}", **form).status_code == 403
    assert world.call(world.ben, "PATCH", f"/assistants/{world.assistant.id}", {"name": "Mine"})["status"] == 403
    assert world.call(world.ben, "DELETE", f"/assistants/{world.assistant.id}")["status"] == 403
    assert site_of(world.app).assistants.get(world.ann.id, world.assistant.id).assistant == world.assistant


def test_it_is_shared_left_and_handed_over(world: World) -> None:
    ann, ben, address = world.browser("ann"), world.browser("ben"), f"/assistants/{world.assistant.id}"
    assert "Besides you, ben can use this assistant." in text_of(ann.get(address).text)
    post_form(ann, f"{address}/share", kind="group", name="lab", may_write="1")
    assert "Of these, the group “lab” can also change it." in text_of(ann.get(address).text)
    post_form(ann, f"{address}/unshare", kind="group", name="lab")
    assert "There is nobody named “nobody”" in post_form(ann, f"{address}/share", kind="user", name="nobody").text
    assert post_form(ben, f"{address}/leave").headers["location"].endswith("/assistants")
    assert ben.get(address).status_code == 404
    post_form(ann, f"{address}/hand-over", name="ben")
    assert ann.get(address).status_code == 404
    assert "Only you can use this assistant." in text_of(ben.get(address).text)
    actions = [entry.action for entry in site_of(world.app).audit.entries()]
    assert {"assistant.shared", "assistant.unshared", "assistant.transferred"} <= set(actions)


# ---------------------------------------------------------------- the chat


def test_who_has_one_assistant_begins_with_it(world: World) -> None:
    ben = world.browser("ben")
    page = ben.get("/chat").text
    assert f'name="assistant" value="{world.assistant.id}"' in page
    assert QUESTION in page
    assert "Not open to you: 1 of its 2 datasets." in text_of(page)
    assert 'id="picker"' not in page
    own = ben.get("/chat?assistant=0").text
    assert 'id="picker"' in own
    assert "All about pumps" in own, "the cards are there to choose from"
    post_form(ben, "/chat/messages", text=QUESTION, d="all", pace="fast")
    assert 'id="picker"' in ben.get("/chat").text, "the last choice counts"
    ask(ben, world.assistant.id)
    assert 'id="picker"' not in ben.get("/chat").text


def test_a_conversation_remembers_its_assistant(world: World) -> None:
    ben = world.browser("ben")
    asked = ask(ben, world.assistant.id)
    address = asked.headers["location"].partition("#")[0]
    page = ben.get(address).text
    assert OPEN in page
    assert "99 bar" not in page
    assert f'name="assistant" value="{world.assistant.id}"' in page
    number = int(address.rpartition("/")[2])
    question, answer = site_of(world.app).conversations.path(world.ben.id, number)
    for path in (f"{address}/messages/{answer}/again", f"{address}/messages/{question}/edit"):
        assert post_form(ben, path, text=QUESTION).status_code == 303
    for message in site_of(world.app).conversations.messages(world.ben.id, number):
        if message.role == "user":
            assert message.settings["assistant_id"] == world.assistant.id
            assert message.settings["dataset_ids"] == [world.datasets[0]]
            assert "plumber" not in repr(message.settings)
        else:
            assert "not open to you: 1 of the 2 datasets of this assistant" in message.settings["notes"]
    assert 'id="picker"' in ben.get(f"{address}?assistant=0").text


@pytest.mark.parametrize("what", ["assistant", "dataset"])
def test_what_is_taken_back_refuses_the_next_question_of_an_open_tab(world: World, what: str) -> None:
    ben = world.browser("ben")
    address = ask(ben, world.assistant.id).headers["location"].partition("#")[0]
    number = int(address.rpartition("/")[2])
    question, answer = site_of(world.app).conversations.path(world.ben.id, number)
    world.take_back(what)
    paths = (
        "/chat/messages",
        f"{address}/messages",
        f"{address}/messages/{answer}/again",
        f"{address}/messages/{question}/edit",
    )
    for path in paths:
        refused = ben.post(
            path,
            data={"text": QUESTION, "assistant": str(world.assistant.id)},
            headers={"Accept": "application/json", "X-CSRFToken": token_of(ben)},
        )
        assert refused.status_code == 400, path
        told = "no longer open to you" if what == "assistant" else "none of the datasets of this assistant is open"
        assert told in refused.text.lower() or told in refused.text, path
    assert len(site_of(world.app).conversations.path(world.ben.id, number)) == 2
    page = ben.get(address).text
    assert OPEN not in page or what == "assistant"
    if what == "assistant":
        assert "The assistant is no longer open to you." in text_of(page)
        assert 'id="picker"' in page


def token_of(client: FlaskClient) -> str:
    found = re.search(r'name="csrf-token" content="([^"]+)"', client.get("/account").text)
    assert found
    return found[1]


def test_a_deleted_dataset_is_no_closed_one(world: World) -> None:
    world.braid.remove_dataset(world.datasets[1])
    assert "Not open to you" not in world.browser("ben").get(f"/assistants/{world.assistant.id}").text
    world.braid.remove_dataset(world.datasets[0])
    page = world.browser("ann").get(f"/assistants/{world.assistant.id}").text
    assert "All of its datasets have been deleted." in text_of(page)


# ---------------------------------------------------------------- programs


def test_programs_make_change_and_share_it(world: World) -> None:
    body = {
        "name": "Valves",
        "dataset_ids": [world.datasets[0]],
        "filters": {"file_types": ["md"], "date_from": "2026-01-31"},
        "top_k": 3,
        "questions": ["Which?"],
    }
    made = world.call(world.ann, "POST", "/assistants", body)
    path = f"/assistants/{made['id']}"
    assert made["filters"] == {"file_types": ["md"], "date_from": "2026-01-31T00:00:00+00:00"}
    assert (made["model"], made["owner"], made["may_edit"]) == (f"braid:assistant:{made['id']}", "", True)
    changed = world.call(world.ann, "PATCH", path, {"name": "Taps", "filters": None, "strategy": "hyde"})
    assert (changed["name"], changed["filters"], changed["top_k"], changed["strategy"]) == ("Taps", None, 3, "hyde")
    shared = world.call(world.ann, "POST", f"{path}/shares", {"name": "ben"})
    assert shared == {"shares": [{"kind": "user", "name": "ben", "may_write": False}]}
    listed = world.call(world.ben, "GET", "/assistants")["items"]
    assert [(each["name"], each["owner"], each["instruction"]) for each in listed] == [
        ("Pumps", "ann", None),
        ("Taps", "ann", None),
    ]
    assert (listed[0]["dataset_ids"], listed[0]["closed_datasets"]) == ([world.datasets[0]], 1)
    assert world.call(world.ann, "POST", f"{path}/shares/delete", {"name": "ben"}) == {"shares": []}
    assert world.call(world.ben, "GET", path)["status"] == 404
    assert world.call(world.ann, "DELETE", path) == 204
    assert world.call(world.ann, "GET", path)["status"] == 404


def test_programs_ask_it(world: World) -> None:
    body = {"message": QUESTION, "assistant": world.assistant.id}
    found = world.call(world.ben, "POST", "/chat", body)
    assert OPEN in repr(found["citations"])
    assert "99 bar" not in repr(found)
    assert CLOSED not in repr(found)
    assert "not open to you: 1 of the 2 datasets of this assistant" in found["notes"]
    everything = world.call(world.ann, "POST", "/chat", body)
    assert CLOSED in repr(everything["search"])
    for more in ({"dataset_ids": [1]}, {"top_k": 3}, {"strategy": "hyde"}, {"summary_llm_model": "none"}):
        refused = world.call(world.ben, "POST", "/chat", {**body, **more})
        assert refused["status"] == 400
        assert "beside an assistant" in refused["detail"]
    stored = world.call(world.ben, "POST", "/conversations", {})["id"]
    world.call(world.ben, "POST", f"/conversations/{stored}/messages", body)
    settings = world.call(world.ben, "GET", f"/conversations/{stored}")["messages"][0]["settings"]
    assert settings["assistant_id"] == world.assistant.id


def test_filters_and_strategy_are_those_of_the_assistant(world: World) -> None:
    only = {"filters": {"source_prefix": "nowhere/"}}
    world.call(world.ann, "PATCH", f"/assistants/{world.assistant.id}", only)
    found = world.call(world.ann, "POST", "/chat", {"message": QUESTION, "assistant": world.assistant.id})
    assert found["search"]["hits"] == []


def test_it_is_a_model_of_openais_interface(world: World) -> None:
    model = f"braid:assistant:{world.assistant.id}"
    listed = world.call(world.ben, "GET", "/models", base="/v1")["data"]
    assert {"id": model, "name": "Pumps"}.items() <= next(each for each in listed if each["id"] == model).items()
    assert world.call(world.ben, "GET", f"/models/{model}", base="/v1")["name"] == "Pumps"
    body = {"model": model, "messages": [{"role": "user", "content": QUESTION}]}
    found = world.call(world.ben, "POST", "/chat/completions", body, base="/v1")
    assert OPEN in repr(found["citations"])
    assert "99 bar" not in repr(found)
    assert CLOSED not in repr(found)
    assert "not open to you: 1 of the 2 datasets of this assistant" in found["braid"]["notes"]
    refused = world.call(world.ben, "POST", "/chat/completions", {**body, "braid": {"top_k": 3}}, base="/v1")
    assert "beside an assistant" in refused["error"]["message"]
    world.take_back("assistant")
    assert model not in repr(world.call(world.ben, "GET", "/models", base="/v1"))
    for wrong in (model, "braid:assistant:", "braid:assistant:x", "braid:assistant:99999999999", "braid:assistant:0"):
        refused = world.call(world.ben, "POST", "/chat/completions", {**body, "model": wrong}, base="/v1")
        assert refused["error"]["code"] == "model_not_found", wrong


def test_it_has_a_server_of_mcp(world: World) -> None:
    key = bearer(world.app, world.ben, "read", "write")
    key["Accept"] = "application/json, text/event-stream"

    def call(agent: httpx.Client, method: str, number: object = world.assistant.id, **params: Any) -> httpx.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return agent.post(f"/mcp/assistants/{number}", json=message, headers=key)

    search = {"name": "search", "arguments": {"query": QUESTION}}
    with serving(world.app) as url, httpx.Client(base_url=url, timeout=WAIT_S) as agent:
        tools = call(agent, "tools/list").json()["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["search", "fetch"]
        found = call(agent, "tools/call", **search).text
        assert OPEN in found
        assert "99 bar" not in found
        assert CLOSED not in found
        own = next(iter(world.braid.ledger.documents(world.braid.ledger.datasets(world.ben.id)[0].id)))
        fetched = call(agent, "tools/call", name="fetch", arguments={"id": str(own.id)}).json()["result"]
        assert fetched["isError"], "a document of Ben's that the assistant does not have"
        assert call(agent, "tools/list", 99).status_code == 404
        assert call(agent, "tools/list", 10**12).status_code == 404
        world.take_back("dataset")
        refused = call(agent, "tools/call", **search)
        assert refused.status_code == 403
        assert "none of the datasets of this assistant is open" in refused.text
        world.take_back("assistant")
        assert call(agent, "tools/call", **search).status_code == 404


def test_it_is_in_a_frame_of_another_app(braid: Braid) -> None:
    world = make_world(braid, Settings(frame_ancestors=("https://app.example.org",)))
    page = world.browser("ben").get(f"/embed/chat?assistant={world.assistant.id}").text
    assert f'name="assistant" value="{world.assistant.id}"' in page
    assert "Own selection" not in page


# ---------------------------------------------------------------- with a model


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server(lambda messages: "It is high.") as server:
        yield server


def test_the_model_gets_the_instruction_as_such(braid: Braid, model: ModelServer) -> None:
    roles: dict[str, Any] = {
        f"summary_model{part}": value
        for part, value in (("", "openai:search-model"), ("_base_url", model.url), ("_api_key", "secret-key"))
    }
    world = make_world(braid, Settings(**roles), instruction="Answer like a {plumber}.", model="openai:gone")
    ask(world.browser("ben"), world.assistant.id)
    system = dict(model.calls[-1].messages)["system"]
    assert "has instructed:\nAnswer like a {plumber}." in system
    assert system.index("plumber") < system.index("write the mark of its passage"), "the rules come behind it"
    assert "plumber" not in dict(model.calls[-1].messages)["user"]
    conversation = next(site_of(world.app).conversations.all(world.ben.id))
    answer = site_of(world.app).conversations.messages(world.ben.id, conversation.id)[-1]
    assert (
        "the assistant's model openai:gone is not offered any more; yours is used instead" in answer.settings["notes"]
    )
    body = {
        "model": f"braid:assistant:{world.assistant.id}",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}],
    }
    world.call(world.ben, "POST", "/chat/completions", body, base="/v1")
    assert "Answer like a {plumber}.\n\nBe brief." in dict(model.calls[-1].messages)["system"]
