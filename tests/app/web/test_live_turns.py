"""Answers have one bound, whoever asks and however they are sent; beyond it they are cut, and that is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.models.chat import MAX_ANSWER_CHARS
from tests.model_server import model_server
from tests.web import bearer, csrf_token, make_app, sign_in, site_of
from tests.worlds import WAIT_S, document

LINES = [f"{'word ' * 2_000}[1]" for _ in range(30)]
"""Of an answer that is half as long again as the bound."""


@pytest.fixture
def app(shelf: Braid) -> Iterator[Flask]:
    with model_server("\n".join(LINES)) as model:
        given: dict[str, Any] = {
            "summary_model": "openai:endless",
            "summary_model_base_url": model.url,
            "summary_model_api_key": "none",
            "summary_model_timeout_s": WAIT_S,
        }
        made = make_app(shelf, Settings(**given))
        here = site_of(made)
        notes = shelf.ledger.add_dataset(here.accounts.all()[0].id, "Notes")
        shelf.ledger.put_document(notes.id, document("valve.md", "The valve is blue."))
        assert shelf.indexer.wait(WAIT_S)
        yield made


def posted(app: Flask, path: str, body: dict[str, Any], accept: str) -> str:
    headers = bearer(app, site_of(app).accounts.all()[0]) | {"Accept": accept}
    answer = app.test_client().post(path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.text


def events_of(stream: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


QUESTION = {"message": "Which valve is blue?"}
ASKED = {"model": "braid", "messages": [{"role": "user", "content": "Which valve is blue?"}]}


def test_the_api_answers_within_the_bound(app: Flask) -> None:
    whole = json.loads(posted(app, "/api/v1/chat", QUESTION, "application/json"))
    assert MAX_ANSWER_CHARS * 0.9 < len(whole["text"]) <= MAX_ANSWER_CHARS
    assert whole["cut"]
    assert any("200,000 characters" in note for note in whole["notes"])


def test_streams_of_the_api_end_at_the_bound(app: Flask) -> None:
    events = events_of(posted(app, "/api/v1/chat", QUESTION, "text/event-stream"))
    written = "".join(event["text"] for event in events if set(event) >= {"text"} and "query" not in event)
    assert MAX_ANSWER_CHARS * 0.9 < len(written) <= MAX_ANSWER_CHARS
    assert events[-1]["cut"]


@pytest.mark.parametrize("stream", [False, True])
def test_the_interface_of_openai_answers_within_the_bound(app: Flask, stream: bool) -> None:
    text = posted(app, "/v1/chat/completions", ASKED | {"stream": stream}, "*/*")
    if stream:
        choices = [event["choices"][0] for event in events_of(text) if event["choices"]]
        written = "".join(choice["delta"].get("content") or "" for choice in choices)
    else:
        choices = json.loads(text)["choices"]
        written = choices[0]["message"]["content"]
    assert MAX_ANSWER_CHARS * 0.9 < len(written) <= MAX_ANSWER_CHARS + 1_000, "with its list of sources"
    assert choices[-1]["finish_reason"] == "length"


def test_a_page_shows_and_stores_an_answer_within_the_bound(app: Flask) -> None:
    client = sign_in(app)
    asked = client.post("/chat/messages", data={"text": "Which valve is blue?", "csrf_token": csrf_token(client)})
    assert asked.status_code == 303
    here = site_of(app)
    user = here.accounts.all()[0].id
    (talk,) = here.conversations.conversations(user)
    answer = here.conversations.messages(user, talk.id)[-1]
    assert MAX_ANSWER_CHARS * 0.9 < len(answer.text) <= MAX_ANSWER_CHARS
    assert answer.state == "cut"
