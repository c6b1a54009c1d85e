"""Answers that are stopped, cut, interrupted, continued or written anew, and several at once."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.core.braid import Braid
from braid.core.chat.store import ConversationStore
from tests.app.pages.chat.asked import QUESTION, STREAM, Put, ask, events, last, parsed, post, stored
from tests.model_server import ModelServer
from tests.web import add_user, csrf_token, sign_in, site_of
from tests.worlds import WAIT_S, eventually


class Stream:
    """An answer that is being read in a thread of its own, as in a server; `close` hangs up."""

    def __init__(self, client: FlaskClient, path: str = "/chat/messages") -> None:
        self.text = ""
        self._client, self._path = client, path
        self._headers = {**STREAM, "X-CSRFToken": csrf_token(client)}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def until(self, text: str) -> None:
        """Wait for a text."""
        eventually(lambda: text in self.text, pause_s=0.01)

    def stop(self, client: FlaskClient) -> bool:
        """Ask to stop, as this browser; whether that was granted."""
        self.until("event: turn")
        headers = {"X-CSRFToken": csrf_token(client), "Accept": "application/json"}
        return client.post(parsed(self.text)[0][1]["stop"], headers=headers).status_code == 200

    def close(self) -> None:
        """Hang up."""
        self._closing.set()
        self._thread.join(WAIT_S)

    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """All events, when the answer has come to its end."""
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()
        return parsed(self.text)

    def _read(self) -> None:
        data = {"text": QUESTION, "d": ["1"]}
        response = self._client.post(self._path, data=data, headers=self._headers)
        for piece in response.response:
            self.text += piece if isinstance(piece, str) else piece.decode()
            if self._closing.is_set():
                break
        response.close()


def test_a_stopped_answer_is_stored_as_far_as_it_came(
    model_client: FlaskClient, model: ModelServer, library: Braid
) -> None:
    model.reply = lambda _: "They are fused by rank [1]. " + "And so on. " * 200
    model.delay_s = 0.05
    streamed = Stream(model_client)
    streamed.until("[1]")
    assert streamed.stop(sign_in(model_client.application))
    assert "You stopped this answer." in streamed.events()[-1][1]["html"]
    answer = stored(library)[1]
    assert answer.settings["stopped"]
    assert answer.citations
    assert len(answer.text.split()) < 200
    assert "You stopped this answer." in model_client.get("/chat/1").get_data(as_text=True)


def test_a_sentence_that_differs_is_marked_while_the_next_ones_are_written(
    model_client: FlaskClient, model: ModelServer
) -> None:
    model.reply = lambda _: "Rankings are not fused by rank, which needs no tuning [1]. " + "And so on. " * 200
    model.delay_s = 0.05
    streamed = Stream(model_client)
    streamed.until("event: checked")
    assert "event: answer" not in streamed.text
    html = next(values["html"] for kind, values in parsed(streamed.text) if kind == "checked")
    assert html.startswith('<ul class="checked"')
    differs = "<em>not fused</em>, there <em>fused</em>"
    assert differs in html
    shown = [values["html"] for kind, values in parsed(streamed.text) if kind == "text"]
    assert any('<mark class="differs">' in part for part in shown)
    assert streamed.stop(sign_in(model_client.application))
    assert differs in streamed.events()[-1][1]["html"]


@pytest.mark.one_app
def test_a_closed_connection_does_not_end_the_answer(
    model_client: FlaskClient, model: ModelServer, library: Braid, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pause in ("core.chat.turns.running.LOOK_S", "app.web.event_stream.HEARTBEAT_S"):
        monkeypatch.setattr(f"braid.{pause}", 0.05)  # the next comment shows that the browser has gone
    model.reply, model.pause_after = (lambda _: " ".join(f"word{number}" for number in range(60))), 5
    streamed = Stream(model_client)
    streamed.until("event: text")
    streamed.close()
    question, answer = stored(library)
    assert (question.text, answer.state) == (QUESTION, "running")
    assert 'data-follow="/chat/1/messages/2/events"' in model_client.get("/chat/1").text
    model.go_on.set()
    followed = events(model_client.get("/chat/1/messages/2/events", headers=STREAM))
    assert [kind for kind, _ in followed if kind in ("stage", "query", "search")][:3] == ["stage", "stage", "query"]
    assert followed[-1][0] == "answer"
    answer = stored(library)[1]
    assert answer.state == "complete"
    assert answer.text.split() == [f"word{number}" for number in range(60)]
    assert "data-follow" not in model_client.get("/chat/1").text


def test_who_comes_back_is_told_only_what_is_new(model_client: FlaskClient, model: ModelServer) -> None:
    model.reply = lambda _: "word " * 40
    model.delay_s = 0.05
    streamed = Stream(model_client)
    streamed.until("event: text")
    streamed.close()
    seen = max(int(number) for number in re.findall(r"^id: (\d+)$", streamed.text, re.MULTILINE))
    again = model_client.get("/chat/1/messages/2/events", headers={**STREAM, "Last-Event-ID": str(seen)})
    kinds = [kind for kind, _ in events(again)]
    assert not {"stage", "query", "search"} & set(kinds)
    assert kinds[0] == "turn"
    assert kinds[-1] == "answer"


@pytest.mark.one_app
def test_an_answer_that_was_interrupted_says_so_and_is_continued(
    model_client: FlaskClient, model: ModelServer, library: Braid
) -> None:
    model.reply = lambda _: "They are fused by rank [1]. " + "And so on. " * 200
    model.delay_s = 0.05
    streamed = Stream(model_client)
    streamed.until("And so")
    site_of(model_client.application).end_turns()  # as the server does at its end
    html = streamed.events()[-1][1]["html"]
    assert "This answer was interrupted." in html
    assert "You stopped" not in html
    before = stored(library)[1]
    assert (before.state, before.citations[0].source) == ("interrupted", "fusion.md")
    model.delay_s = 0.0
    model.reply = lambda messages: "and on, until the end [1]." if messages[-1][1].startswith("Your answer") else "No."
    response = post(model_client, "/chat/1/messages/2/continue")
    assert response.location == "/chat/1#message-2"
    after = stored(library)[1]
    assert after.state == "complete"
    assert after.text.startswith("They are fused by rank [1]. And")
    assert after.text.endswith("and on, until the end [1].")
    assert len(stored(library)) == 2
    assert model.calls[-1].messages[-2][0] == "assistant"
    assert "interrupted" not in model_client.get("/chat/1").text
    assert post(model_client, "/chat/1/messages/2/continue").status_code == 400


def test_an_answer_from_other_passages_is_not_continued_but_written_anew(
    model_client: FlaskClient, model: ModelServer, library: Braid, put: Put
) -> None:
    model.reply = lambda _: "They are fused by rank [1]. " + "And so on. " * 200
    model.delay_s = 0.05
    streamed = Stream(model_client)
    streamed.until("And so")
    assert streamed.stop(model_client)
    put(1, "newer.md", "How are rankings fused? Rankings are fused by score.", title="Newer")
    model.delay_s, model.reply = 0.0, lambda _: "By score [1]."
    post(model_client, "/chat/1/messages/2/continue")
    answer = stored(library)[1]
    assert (answer.text, answer.state) == ("By score [1].", "complete")
    assert answer.citations[0].source == "newer.md"


def test_a_stream_without_its_finish_mark_is_said_to_be_cut(
    model_client: FlaskClient, model: ModelServer, library: Braid
) -> None:
    model.unfinished = 5
    html = last(ask(model_client))["html"]
    assert "The language model stopped before the answer was complete." in html
    assert "Continue" in html
    assert (stored(library)[1].state, stored(library)[1].text) == ("cut", "They are fused by rank")
    model.unfinished, model.reply = 0, lambda _: "rank [1]."
    post(model_client, "/chat/1/messages/2/continue")
    assert (stored(library)[1].state, stored(library)[1].text) == ("complete", "They are fused by rank [1].")


def test_a_model_that_fails_while_it_continues_costs_nothing(
    model_client: FlaskClient, model: ModelServer, library: Braid
) -> None:
    model.unfinished = 5
    ask(model_client)
    model.broken = 500
    post(model_client, "/chat/1/messages/2/continue")
    assert (stored(library)[1].state, stored(library)[1].text) == ("cut", "They are fused by")


def test_regenerating_keeps_both_answers_and_the_next_turn_sees_the_chosen_one(
    model_client: FlaskClient, model: ModelServer, library: Braid
) -> None:
    ask(model_client)
    model.reply = lambda messages: "Once more [1]." if "once more" in messages[-1][1] else "No."
    html = last(ask(model_client, path="/chat/1/messages/2/again"))["html"]
    assert "2/2" in html
    assert [message.text for message in stored(library)] == [QUESTION, "Once more [1]."]
    assert post(model_client, "/chat/1/messages/2/choose").location == "/chat/1#message-2"
    page = model_client.get("/chat/1").text
    assert "1/2" in page
    assert "Once more" not in page
    model.reply = lambda _: "Third."
    ask(model_client, "And why is that so?", path="/chat/1/messages")
    prompt = "\n".join(text for _, text in model.calls[-1].messages)
    assert "They are fused by rank" in prompt
    assert "Once more" not in prompt
    markdown = model_client.get("/chat/1/export.md").text
    assert "They are fused by rank" in markdown
    assert "variant 1 of 2" in markdown
    assert "Once more" not in markdown
    exported = model_client.get("/chat/1/export.json").get_json()
    assert [message["text"] for message in exported["other_variants"]] == ["Once more [1]."]
    assert exported["messages"][1]["variants"] == [2, 3]


def test_an_edited_question_is_a_branch_and_the_old_one_stays(client: FlaskClient, library: Braid) -> None:
    ask(client, k="7")
    ask(client, "And why?", path="/chat/1/messages")
    response = post(client, "/chat/1/messages/1/edit", text="Does it need tuning?")
    assert response.status_code == 303
    messages = stored(library)
    assert [message.text for message in messages if message.role == "user"] == ["Does it need tuning?"]
    assert messages[0].settings["options"]["k"] == 7, "as the question before it"
    assert messages[0].variants == (1, messages[0].id)
    post(client, "/chat/1/messages/1/choose")
    assert [message.text for message in stored(library) if message.role == "user"] == [QUESTION, "And why?"]
    ask(client, "And how?", path="/chat/1/messages/3/edit", mode="keyword", k="3")
    assert [message.text for message in stored(library)][::2] == [QUESTION, "And how?"]
    assert stored(library)[2].settings["options"]["mode"] == "keyword"


@pytest.mark.one_app
def test_a_turn_that_fails_is_there_and_can_be_asked_again(
    app: Flask, client: FlaskClient, library: Braid, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("a document's words")

    with monkeypatch.context() as patched:
        patched.setattr(library.manager, "search_in", fail)
        shown = last(ask(client))["html"]
    assert "The question could not be answered." in shown
    assert "a document's words" not in shown
    assert [message.state for message in stored(library)] == ["complete", "failed"]
    post(client, "/chat/1/messages/2/continue")
    assert "Rankings are fused by rank" in stored(library)[1].text


@pytest.mark.one_app
def test_too_many_questions_at_once_are_refused(model_client: FlaskClient, model: ModelServer, library: Braid) -> None:
    turns = site_of(model_client.application).turns
    turns._most_of_a_user = 1
    model.reply, model.pause_after = (lambda _: "word " * 40), 1
    streamed = Stream(model_client)
    streamed.until("event: text")
    refused = ask(model_client)
    assert refused.status_code == 429
    assert "wait for one" in refused.get_json()["detail"]
    assert len(stored(library)) == 2
    assert streamed.stop(model_client)
    model.go_on.set()
    eventually(lambda: ask(model_client).status_code == 200, pause_s=0.1)


def test_stopping_takes_no_longer_than_a_moment(model_client: FlaskClient, model: ModelServer, library: Braid) -> None:
    model.reply, model.pause_after = (lambda _: "word " * 40), 1
    streamed = Stream(model_client)
    streamed.until("event: text")
    token = csrf_token(model_client)
    started = time.monotonic()
    response = model_client.post("/chat/1/messages/2/stop", data={"csrf_token": token}, headers={"Accept": "text/html"})
    took = time.monotonic() - started
    model.go_on.set()
    assert response.location == "/chat/1#message-2"
    assert stored(library)[1].state == "stopped"
    assert took < WAIT_S, "the next word has not come"


def test_another_user_cannot_stop_an_answer(library: Braid, model_client: FlaskClient, model: ModelServer) -> None:
    model.reply = lambda _: "word " * 40
    model.delay_s = 0.05
    add_user(model_client.application, "eve")
    eve = sign_in(model_client.application, "eve")
    streamed = Stream(model_client)
    assert not streamed.stop(eve)
    assert eve.get("/chat/1/messages/2/events", headers=STREAM).status_code == 404
    assert streamed.events()[-1][0] == "answer"
    assert stored(library)[1].state == "complete"


def test_an_error_in_the_middle_is_an_event(model_client: FlaskClient, model: ModelServer, library: Braid) -> None:
    ask(model_client)
    model.reply, model.pause_after = (lambda _: "word " * 40), 1
    streamed = Stream(model_client, "/chat/1/messages")
    streamed.until("event: text")
    ConversationStore(library.ledger, library.registry).delete(1, 1)  # in another tab
    model.go_on.set()
    kind, values = streamed.events()[-1]
    assert kind == "error"
    assert values["status"] == 404
    assert "conversation 1" in values["detail"]


def test_two_tabs_lose_no_turn(app: Flask, library: Braid) -> None:
    one, other = sign_in(app), sign_in(app)
    path = last(ask(one))["messages"]
    with ThreadPoolExecutor(2) as tabs:
        answers = list(tabs.map(lambda tab: ask(tab[0], tab[1], path=path), [(one, "From one"), (other, "From two")]))
    texts = [message.text for message in stored(library) if message.role == "user"]
    assert sorted(texts) == sorted([QUESTION, "From one", "From two"])
    assert "From one" in last(answers[0])["html"]
    assert "From two" in last(answers[1])["html"]
