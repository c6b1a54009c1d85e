"""A user loses a group while a model writes: no stream goes on, and what was written so far is on no surface."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.braid import Braid
from braid.core.chat import conversation
from tests.model_server import ModelServer, model_server
from tests.web import PASSWORD, add_user, bearer, make_app, post_form, serving, sign_in, site_of, text_of
from tests.worlds import WAIT_S, document, eventually

CODE = "north-4711"
LATER = "south-4712"
QUESTION = "What is the code of the vault?"
EVENTS = {"Accept": "text/event-stream"}


class Vault:
    """A vault whose code ann's group may read, a notice that everybody may, and a model that repeats what it reads."""

    def __init__(self, braid: Braid, model: ModelServer) -> None:
        roles: dict[str, Any] = {
            f"summary_model{part}": value
            for part, value in (("", "openai:search-model"), ("_base_url", model.url), ("_api_key", "secret-key"))
        }
        self.app: Flask = make_app(braid, Settings(**roles, api_rate_limit="100000/second"))
        self.model = model
        self.ann: Account = add_user(self.app, "ann", groups=("red",))
        self.vault = braid.registry.add("vault", "shared_vault", allowed_groups=("red",)).id
        self.notices = braid.registry.add("notices", "shared_notices").id
        braid.mirror_registry()
        text = f"The code of the vault is {CODE}, and from May on {LATER}."
        braid.ledger.put_document(self.vault, document("vault.md", text, title="Vault"))
        braid.ledger.put_document(self.notices, document("notice.md", "The vault opens at nine.", title="Notice"))
        assert braid.indexer.wait(WAIT_S)
        self.key = bearer(self.app, self.ann, "read", "write")

    def lose(self) -> None:
        """Take ann out of the group."""
        site_of(self.app).accounts.set_groups(self.ann.id, set())

    def surfaces(self, client: FlaskClient) -> dict[str, str]:
        """Whatever gives out stored answers."""
        found: dict[str, str] = {"list": text_of(client.get(f"/chat/conversations?find={CODE}").text)}
        for stored in site_of(self.app).conversations.conversations(self.ann.id):
            page, api = f"/chat/{stored.id}", f"/api/v1/conversations/{stored.id}"
            answers = site_of(self.app).conversations.path(self.ann.id, stored.id)[1::2]
            how = [f"{page}/messages/{id_}/how" for id_ in answers]
            paths = (page, *how, f"{page}/export.md", f"{page}/export.json")
            found |= {path: client.get(path).text for path in paths}
            apis = (api, f"{api}/export?format=md", f"{api}/export?format=json")
            found |= {path: client.get(path, headers=self.key).text for path in apis}
            found[f"{stored.id}, next prompt"] = repr(site_of(self.app).conversations.history(self.ann.id, stored.id))
        return found


def repeat(messages: Sequence[tuple[str, str]]) -> str:
    """What the model writes: the code from the passage, its mark, and many more words with the second code."""
    mark = mark_in(messages)
    return f"{CODE} it is {mark}, says the paper; " + f"then {LATER} {mark} " * 20


def mark_in(messages: Sequence[tuple[str, str]]) -> str:
    """The mark of the first passage."""
    return (re.search(r"\[p-[0-9a-f]{4}:1\]", messages[-1][1]) or [""])[0]


@pytest.fixture
def vault(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    monkeypatch.setattr(conversation, "LOOK_EVERY_S", 0.0)
    with model_server(repeat) as model:
        model.pause_after = 6
        yield Vault(braid, model)
        model.go_on.set()


class Streams:
    """Answers that are being written, each on a surface that streams, after their first words."""

    def __init__(
        self, agent: httpx.Client, opened: ExitStack, key: dict[str, str], chosen: Sequence[int], begin: str
    ) -> None:
        """Ask these datasets; each answer has its first words once ``begin`` was sent."""
        chat = f"braid:{','.join(map(str, chosen))}"
        asked = [{"role": "user", "content": QUESTION}]
        stored = agent.post("/api/v1/conversations", json={"title": ""}, headers=key).json()["id"]
        question = {"message": QUESTION, "dataset_ids": chosen}
        posts: dict[str, tuple[str, dict[str, Any]]] = {
            "api": ("/api/v1/chat", question),
            "api, stored": (f"/api/v1/conversations/{stored}/messages", question),
            "v1": ("/v1/chat/completions", {"model": chat, "messages": asked, "stream": True}),
            "v1, responses": ("/v1/responses", {"model": chat, "input": asked, "stream": True}),
        }
        self.parts: dict[str, Iterator[str]] = {}
        for name, (path, body) in posts.items():
            headers = {**key, **EVENTS}
            self.parts[name] = opened.enter_context(agent.stream("POST", path, json=body, headers=headers)).iter_text()
        self._browser = opened.enter_context(httpx.Client(base_url=agent.base_url, timeout=WAIT_S))
        self._send("/login", name="ann", password=PASSWORD)
        form = {"csrf_token": self._token("/account"), "text": QUESTION, "d": [str(each) for each in chosen]}
        self.parts["page"] = opened.enter_context(
            self._browser.stream("POST", "/chat/messages", data=form, headers=EVENTS)
        ).iter_text()
        begun = {name: sent(parts, begin) for name, parts in self.parts.items()}
        (self._events,) = re.findall(r'"follow": "([^"]+)"', begun["page"])

    def follow(self) -> str:
        """What somebody is sent who follows the page's answer now."""
        return self._browser.get(self._events, headers=EVENTS).text

    def _send(self, path: str, **form: str) -> None:
        assert self._browser.post(path, data={"csrf_token": self._token(path), **form}).status_code == 302

    def _token(self, path: str) -> str:
        found = re.search(r'name="csrf[-_]token" (?:content|value)="([^"]+)"', self._browser.get(path).text)
        assert found is not None
        return found[1]


def sent(parts: Iterator[str], until: str = "") -> str:
    """What is sent, to its end or until this was."""
    read = ""
    for part in parts:
        read += part
        if until and until in read:
            break
    assert until in read, read
    return read


def test_no_stream_goes_on_and_no_surface_has_what_was_written(vault: Vault) -> None:
    with serving(vault.app) as url, httpx.Client(base_url=url, timeout=WAIT_S) as agent, ExitStack() as opened:
        streams = Streams(agent, opened, vault.key, [vault.vault, vault.notices], CODE)
        vault.lose()
        late = streams.follow()
        assert CODE not in late, "the model is silent, and somebody looks at what it wrote before"
        assert "event: answer" in late
        vault.model.go_on.set()
        for name, parts in streams.parts.items():
            rest = sent(parts)
            assert LATER not in rest, name
            assert CODE not in rest, name
            assert "may no longer read" in rest, name
    for name, text in vault.surfaces(sign_in(vault.app, "ann")).items():
        assert CODE not in text, name
        assert LATER not in text, name
    here = site_of(vault.app).conversations
    messages = (
        message for stored in here.conversations(vault.ann.id) for message in here.messages(vault.ann.id, stored.id)
    )
    assert {each.state for each in messages if each.role == "assistant"} == {"failed"}


def test_an_answer_in_one_piece_is_not_given_to_who_lost_it_meanwhile(vault: Vault) -> None:
    client = vault.app.test_client()
    asked = [{"role": "user", "content": QUESTION}]
    posts: dict[str, dict[str, Any]] = {
        "/api/v1/chat": {"message": QUESTION, "dataset_ids": [vault.vault]},
        "/v1/chat/completions": {"model": f"braid:{vault.vault}", "messages": asked},
        "/v1/responses": {"model": f"braid:{vault.vault}", "input": asked},
    }
    with ThreadPoolExecutor() as pool:
        waiting = [
            pool.submit(vault.app.test_client().post, path, json=body, headers=vault.key)
            for path, body in posts.items()
        ]
        eventually(lambda: len(vault.model.calls) == len(posts))
        vault.lose()
        vault.model.go_on.set()
        for each in waiting:
            answer = each.result(WAIT_S)
            assert answer.status_code == 404
            assert "may no longer read" in answer.text
            assert CODE not in answer.text
    assert client.post("/v1/chat/completions", json=posts["/v1/chat/completions"], headers=vault.key).status_code == 404


def test_who_loses_a_group_that_nothing_was_found_of_gets_the_answer(vault: Vault) -> None:
    vault.model.pause_after = 0
    client, asked = vault.app.test_client(), {"message": QUESTION, "dataset_ids": [vault.notices]}
    vault.lose()
    answer = client.post("/api/v1/chat", json=asked, headers=vault.key)
    assert answer.status_code == 200


def test_another_answer_to_a_question_is_not_made_of_what_is_withheld(vault: Vault) -> None:
    """Asked again or continued, the model is not given what its user may no longer read."""
    vault.model.pause_after = 0
    client = sign_in(vault.app, "ann")
    asked = post_form(client, "/chat/messages", text=QUESTION, d=[str(vault.vault), str(vault.notices)])
    page = asked.headers["location"].partition("#")[0]
    (answer,) = site_of(vault.app).conversations.messages(vault.ann.id, int(page.rpartition("/")[2]))[1:]
    assert CODE in answer.text
    vault.lose()
    vault.model.calls.clear()
    post_form(client, f"{page}/messages/{answer.id}/again")
    post_form(client, f"{page}/messages", text="And the vault?", d=[str(vault.notices)])
    assert len(vault.model.calls) == 3, "and one that completes the question"
    assert CODE not in repr(vault.model.calls)


def test_a_later_answer_from_other_passages_does_not_give_what_its_model_had_read_before(vault: Vault) -> None:
    vault.model.pause_after = 0
    client = sign_in(vault.app, "ann")
    asked = post_form(client, "/chat/messages", text=QUESTION, d=[str(vault.vault)])
    page = asked.headers["location"].partition("#")[0]
    vault.model.reply = lambda messages: f"As said, it is {CODE}.\n\nThe vault opens at nine {mark_in(messages)}."
    post_form(client, f"{page}/messages", text="And when does the vault open?", d=[str(vault.notices)])
    later = site_of(vault.app).conversations.messages(vault.ann.id, int(page.rpartition("/")[2]))[3]
    assert CODE in later.text
    assert {each.dataset_id for each in later.citations} == {vault.notices}
    vault.lose()
    for name, text in vault.surfaces(client).items():
        assert CODE not in text, name
    assert "The vault opens at nine" in text_of(client.get(page).text), "what others alone say stays"


def test_a_query_that_was_rated_is_withheld_with_what_was_searched(vault: Vault) -> None:
    client, rated = vault.app.test_client(), {"kind": "up", "chunk_id": "a", "ranking": ["a"]}
    for dataset, query in ((vault.vault, f"Is {CODE} the code?"), (vault.notices, "When does it open?")):
        body = {**rated, "query": query, "dataset_ids": [dataset]}
        assert client.post("/api/v1/feedback", json=body, headers=vault.key).status_code == 201
    vault.lose()
    listed = client.get("/api/v1/feedback", headers=vault.key).json
    assert listed is not None
    assert [each["query"] for each in listed["items"]] == ["", "When does it open?"]
