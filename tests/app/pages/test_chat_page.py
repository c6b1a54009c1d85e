"""The chat page over a real Braid: asking, streaming, stopping, feedback, and what belongs to whom."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from braid.app import first_start
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.chat.store import ConversationStore, StoredMessage
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.model_server import ModelServer, model_server
from tests.web import add_user, csrf_token, make_app, sign_in, site_of
from tests.worlds import WAIT_S, eventually

Put = Callable[..., str]
STREAM = {"Accept": "text/event-stream"}
QUESTION = "How are rankings fused?"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server("They are fused by rank [1].") as server:
        yield server


@pytest.fixture
def model_client(library: Braid, model: ModelServer) -> FlaskClient:
    """With a model that writes the answers."""
    settings = replace(
        Settings(), summary_model="openai:writer", summary_model_base_url=model.url, summary_model_api_key="k"
    )
    return sign_in(make_app(library, settings))


def ask(client: FlaskClient, text: str = QUESTION, path: str = "/chat/messages", **fields: Any) -> TestResponse:
    """Ask as the page's script does."""
    fields = {"text": text, "d": ["1"], **fields}
    return client.post(path, data=fields, headers={**STREAM, "X-CSRFToken": csrf_token(client)}, buffered=True)


def events(response: TestResponse) -> list[tuple[str, dict[str, Any]]]:
    """Kind and values of each event."""
    return parsed(response.get_data(as_text=True))


def parsed(text: str) -> list[tuple[str, dict[str, Any]]]:
    return [(kind, json.loads(values)) for kind, values in re.findall(r"event: (\w+)\ndata: (.*)\n\n", text)]


def last(response: TestResponse, kind: str = "answer") -> dict[str, Any]:
    found = [values for name, values in events(response) if name == kind]
    assert found, events(response)
    return found[-1]


def stored(braid: Braid, conversation_id: int = 1, user_id: int = 1) -> list[StoredMessage]:
    return ConversationStore(braid.ledger, braid.registry).messages(user_id, conversation_id)


def post(client: FlaskClient, path: str, **fields: Any) -> TestResponse:
    """Submit a form as a browser without scripts does."""
    headers = {"Accept": "text/html"}
    return client.post(path, data={**fields, "csrf_token": csrf_token(client)}, headers=headers)


# ---------------------------------------------------------------- asking


def test_the_first_page_leads_to_the_chat(client: FlaskClient) -> None:
    assert client.get("/").location == "/chat"


def test_an_answer_is_streamed_with_citations_and_stored(client: FlaskClient, library: Braid) -> None:
    response = ask(client)
    assert response.mimetype == "text/event-stream"
    kinds = [kind for kind, _ in events(response)]
    assert kinds[0] == "turn"
    assert kinds[-1] == "answer"
    assert {"stage", "query", "search"} <= set(kinds)
    assert "Notes" in last(response, "search")["text"]
    answer = last(response)
    assert 'class="cite"' in answer["html"]
    assert "/documents/passage/" in answer["html"]
    assert answer["conversation"] == "/chat/1"
    question, written = stored(library)
    assert (question.text, question.settings["dataset_ids"]) == (QUESTION, [1])
    assert [citation.source for citation in written.citations] == ["fusion.md"]


def test_a_reloaded_page_shows_what_was_streamed(client: FlaskClient) -> None:
    shown = last(ask(client))["html"]
    page = client.get("/chat/1").get_data(as_text=True)
    for part in ("Rankings are fused by rank", "How this was found", "Notes", "/chat/1/messages/2/how"):
        assert part in shown
        assert part in page
    how = client.get("/chat/1/messages/2/how").get_data(as_text=True)
    for part in ("Searched for", "Notes", "contribution ", "/documents/passage/"):
        assert part in how
    assert client.get("/chat/1/messages/1/how").status_code == 404, "a question"


def test_a_citation_opens_its_passage(client: FlaskClient) -> None:
    href = re.search(r'class="cite" href="([^"#]+)', last(ask(client))["html"])
    assert href
    page = client.get(href[1].replace("&amp;", "&")).get_data(as_text=True)
    assert "Cited passage" in page
    assert '<mark id="cited">' in page


def test_questions_follow_each_other_in_a_conversation(client: FlaskClient, library: Braid) -> None:
    answer = last(ask(client))
    again = last(ask(client, "And why?", path=answer["messages"]))
    assert again["conversation"] == answer["conversation"]
    assert [message.role for message in stored(library)] == ["user", "assistant"] * 2


def test_without_scripts_the_form_answers_with_a_page(client: FlaskClient) -> None:
    response = post(client, "/chat/messages", text=QUESTION, d="1")
    assert response.status_code == 303
    assert response.location == "/chat/1#message-2"
    assert "Rankings are fused by rank" in client.get("/chat/1").get_data(as_text=True)


def test_without_a_model_the_answer_says_so_and_leads_administrators_to_the_models(client: FlaskClient) -> None:
    html = last(ask(client))["html"]
    assert "Word for word from the documents:" in html
    assert 'href="/admin/models"' in html
    assert "Quoted without a language model:" in client.get("/chat/1/export.md").text, "what is stored stays"
    for address in ("/chat/1", "/chat/1/print"):
        page = client.get(address, headers={"Accept-Language": "ja"}).text
        assert "文書からそのまま引用しました：" in page
        assert "Quoted without" not in page


def test_no_dataset_means_all_personal_ones_by_name(client: FlaskClient, library: Braid) -> None:
    ask(client, d=[])
    assert stored(library)[0].settings["dataset_ids"] == [1, 2]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"text": " "}, "text"),
        ({"mode": "loud"}, "mode"),
        ({"strategy": "magic"}, "strategy"),
        ({"alpha": "much"}, "alpha"),
        ({"k": "0"}, "k"),
        ({"d": ["one"]}, "dataset_ids"),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(common_client: FlaskClient, fields: dict[str, Any], field: str) -> None:
    response = ask(common_client, **fields)
    assert response.status_code == 400
    assert response.get_json()["field"] == field
    assert "Your conversations will appear here" in common_client.get("/chat/conversations").get_data(as_text=True)


def test_a_question_needs_its_token_against_forgery(client: FlaskClient) -> None:
    assert client.post("/chat/messages", data={"text": QUESTION}, headers=STREAM).status_code == 400


# ---------------------------------------------------------------- a model that writes


def test_the_answer_of_a_model_is_rendered_safely(model_client: FlaskClient, model: ModelServer) -> None:
    model.reply = lambda _: "**By rank** [1]. <script>alert(1)</script> ![x](https://evil.example/p.png)"
    html = last(ask(model_client))["html"]
    assert "<strong>By rank</strong>" in html
    assert "<script" not in html
    assert "<img" not in html
    assert "writer" in model_client.get("/chat/1/messages/2/how").text


def test_an_answer_links_to_no_address_of_the_model_anywhere(model_client: FlaskClient, model: ModelServer) -> None:
    model.reply = lambda _: "By rank [1]. ![x](https://evil.example/p.png) [bank](https://evil.example/?q=secret)"
    response = ask(model_client)
    shown = response.get_data(as_text=True)
    assert "evil.example" in shown
    assert 'href=\\"https://evil.example' not in shown, "while it is written neither"
    conversation = last(response)["conversation"]
    assert "https://evil.example" not in "".join(re.findall(r'href="([^"]*)"', model_client.get(conversation).text))
    exported = model_client.get(f"{conversation}/export.md").get_data(as_text=True)
    assert r"\![x] (https://evil.example/p.png) [bank] (https://evil.example/?q=secret)" in exported


def test_the_featured_passage_is_under_its_title_with_the_answering_sentence_in_bold(
    library: Braid, client: FlaskClient, put: Put
) -> None:
    text = "The hall is old. The gasket of the pump is changed every year. Only trained persons do it."
    put(1, "pump.md", text, title="Manual of the pump")
    put(1, "other.md", "The gasket of another pump is changed twice.", title="Another manual")
    html = last(ask(client, "How often is the gasket of the pump changed?"))["html"]
    featured, _, others = html.partition("Also in")
    assert 'class="source featured"' in featured
    assert featured.index("Manual of the pump") < featured.index(
        "<strong>The gasket of the pump is changed every year."
    )
    assert "Another manual" in others
    page = client.get("/chat/1").get_data(as_text=True)
    assert 'class="source featured"' in page, "it is stored"
    places = {text[int(start) : int(end)] for start, end in re.findall(r"said=(\d+)-(\d+)", featured)}
    assert {place.strip() for place in places} == {"The gasket of the pump is changed every year."}


def test_a_quote_of_markdown_is_shown_without_its_signs(library: Braid, client: FlaskClient, put: Put) -> None:
    text = "The hall is `old`. The **gasket** of the pump is [changed](https://a.example) every year. Keep snake_case."
    put(1, "pump.md", text, title="Manual of the pump")
    html = last(ask(client, "How often is the gasket of the pump changed?"))["html"]
    assert "<strong>The gasket of the pump is changed every year." in html
    assert "Keep snake_case." in html
    put(1, "motor.txt", "The **belt** of the motor is changed monthly.", title="Motor")
    html = last(ask(client, "How often is the belt of the motor changed?"))["html"]
    assert "The belt of the motor is changed monthly." in html, "plain text is written so, too"


def test_what_is_only_related_is_shown_once_among_the_sources(library: Braid, client: FlaskClient, put: Put) -> None:
    put(1, "gate.md", "The gate of the yard is open from 6:30 to 19:00.", title="The gate")
    html = last(ask(client, "What is the telephone number of the gate of the yard?"))["html"]
    assert "This was not found. The closest passages:" in html
    assert html.count("open from 6:30 to 19:00") == 1
    assert html.index("closest passages:") < html.index("open from 6:30") < html.index("What may help")
    assert "Show the closest passages" not in html, "they stand above"
    assert "next-questions" not in html, "there is nothing to go on with"


def test_a_question_that_goes_on_from_nothing_is_asked_back(library: Braid, client: FlaskClient, put: Put) -> None:
    put(1, "gate.md", "The gate of the yard is open from 6:30 to 19:00 after that.", title="The gate")
    html = last(ask(client, "And after that?"))["html"]
    assert "Please name what it is about." in html
    assert "open from" not in html
    assert "What may help" not in html


def test_what_was_not_found_can_be_asked_again_when_a_document_has_come_since(
    library: Braid, client: FlaskClient, put: Put
) -> None:
    put(1, "gate.md", "The gate of the yard is open from 6:30 to 19:00.", title="The gate")
    last(ask(client, "What is the telephone number of the gate of the yard?"))
    page = "/chat/1"
    assert not stored(library)[1].settings["found"]
    assert "answered before all passages" not in client.get(page).text
    put(1, "telephones.md", "The gate of the yard has the telephone number 4711.")
    assert "answered before all passages" in client.get(page).text


def test_a_failing_model_is_named_and_the_passages_are_quoted(model_client: FlaskClient, model: ModelServer) -> None:
    model.broken = 500
    html = last(ask(model_client))["html"]
    assert "The language model could not be used." in html
    assert "Rankings are fused by rank" in html


def test_a_model_that_is_busy_is_said_to_be_with_a_way_to_ask_again(
    model_client: FlaskClient, model: ModelServer
) -> None:
    model.broken = 429
    page = ask(model_client)
    html = last(page)["html"]
    assert re.search(r"The language model is busy. Try again in \d+ seconds.", html)
    assert 'formaction="/chat/1/messages/2/again">Ask again</button>' in html
    assert "Choose a model in the settings" not in html
    assert "Rate limit reached" not in page.get_data(as_text=True)
    assert "Rate limit reached" not in model_client.get("/chat/1/messages/2/how").text


def test_a_model_is_advised_below_a_quote_until_one_is_chosen(model_client: FlaskClient, put: Put) -> None:
    accounts, advice = site_of(model_client.application).accounts, "Choose a model in the settings"
    accounts.set_preferences(1, {"summary_model": "none"})
    put(1, "staff.csv", "Name | Pay\nAnna | 10 EUR\nBo | 32 EUR", title="staff", file_type="csv")
    calculated = last(ask(model_client, "What is the total pay?"))["html"]
    assert "<strong>42 EUR</strong>" in calculated
    assert advice not in calculated
    assert "SELECT" not in calculated
    assert '<code dir="ltr">SELECT SUM(&#34;Pay&#34;)' in model_client.get("/chat/1/messages/2/how").text
    assert advice in last(ask(model_client))["html"]
    accounts.set_preferences(1, {"summary_model": None})
    assert advice not in model_client.get("/chat/2").text


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


# ---------------------------------------------------------------- choices


def test_a_conversation_keeps_its_choices_and_a_new_one_only_how_to_search(client: FlaskClient) -> None:
    ask(client, d=["-1"], mode="hybrid", fusion="weighted", alpha="0.25", strategy="multi_query", k="7")
    ask(client, d=["1"], mode="keyword")
    first, new = (client.get(path).get_data(as_text=True) for path in ("/chat/1", "/chat"))
    assert checked(first, "mode", "strategy", "fusion", "d") == ["-1", "hybrid", "weighted", "multi_query"]
    assert 'value="0.25"' in first
    assert 'name="k" min="1" max="1000" value="7"' in first
    assert checked(new, "mode", "d") == ["1", "2", "-1", "keyword"]


def checked(page: str, *names: str) -> list[str]:
    """Values of the ticked boxes and radios of these names, in the order of the page."""
    inputs = re.findall(r'<input type="(?:radio|checkbox)"[^>]*name="(\w+)" value="([^"]+)" checked', page)
    return [value for name, value in inputs if name in names]


def test_the_picker_shows_both_kinds_with_sizes_and_states(client: FlaskClient) -> None:
    page = client.get("/chat").get_data(as_text=True)
    personal, shared = (page.split(f'data-kind="{kind}"')[1].split("</fieldset>")[0] for kind in ("personal", "shared"))
    assert "Notes" in personal
    assert "Handbook" not in personal
    assert "1 document" in personal
    assert 'class="state' not in personal  # only what is not ready is said
    assert "empty" in personal
    assert "Handbook" in shared


def test_the_picker_names_the_languages_of_each_dataset(client: FlaskClient, library: Braid, put: Put) -> None:
    put(-1, "旅行.md", "出張の切符は、総務部の旅行窓口で予約してください。")
    put(-1, "출장.md", "출장 기차표는 총무부 여행 창구에서 예약해 주세요.")

    def languages(path: str) -> list[str]:
        return re.findall(r'<span class="languages">([^<]+)</span>', client.get(path).text)

    assert languages("/chat") == ["English", "English, Japanese, Korean"]
    assert languages("/search") == ["English", "English, Japanese, Korean"]
    assert languages("/chat?lang=ja") == ["英語", "英語、日本語、韓国語"]


def test_the_picker_says_what_is_not_indexed_yet(
    client: FlaskClient, library: Braid, embeddings: HashEmbeddings
) -> None:
    embeddings.failing = True
    library.ledger.put_document(1, DocumentInput("late.md", "Late", "md", (ChunkInput("This comes late."),)))
    eventually(lambda: "state failed" in client.get("/chat").get_data(as_text=True), pause_s=0.1)


def test_examples_are_offered_in_the_language_of_the_page(app: Flask, library: Braid) -> None:
    page = sign_in(app).get("/chat?lang=ja").get_data(as_text=True)
    assert 'value="「Fusion」はどんな内容ですか？"' in page
    assert "Braid" not in "".join(re.findall(r'name="example" value="([^"]*)"', page))


def test_the_sample_has_three_examples(braid: Braid) -> None:
    first_start.prepare(braid)
    client = sign_in(make_app(braid))
    page = client.get("/chat").get_data(as_text=True)
    assert page.count('name="example"') == 3
