"""OpenAI's interface as its own client uses it, against a running server; only the models are faked."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
from flask import Flask

from braid.app.api.framework.requests import MAX_BODY_BYTES
from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.app.openai_api.completions import Chunks, Head, Sent
from braid.app.openai_api.footnotes import footnotes, with_footnotes
from braid.app.openai_api.turns import AnswerLimits, limited, required
from braid.app.web.markdown import answer_html
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.chat.citations import Citation
from braid.core.chat.support.check import check
from braid.core.chat.types import AnswerText, AnswerWithdrawn, ChatRequest, ChatResult, Event, StageStarted
from braid.core.models.embeddings import embed_passages
from braid.core.models.prompts import Prompts
from braid.core.types import Passage
from tests.app.openai_api.town import Town, ask
from tests.app.web.test_withheld_streams import mark_in
from tests.fakes import HashEmbeddings
from tests.model_server import ModelServer
from tests.web import bearer, site_of
from tests.worlds import WAIT_S, eventually

# ---------------------------------------------------------------- models


def test_there_is_a_model_for_each_choice_of_datasets(town: Town, ann: openai.OpenAI) -> None:
    site_of(town.app).accounts.set_preferences(town.people["ann"].id, {"choice:work": [1, -1]})
    named = {model.id: model.model_extra["name"] for model in ann.models.list()}  # type: ignore[index]
    assert named == {
        "braid": "Braid",
        "braid:all": "Braid: everything",
        "braid:work": "Braid: work",
        "braid:1": "Braid: Notes",
        "braid:-1": "Braid: Handbook",
    }
    for model in (*named, "braid:-1,1"):
        assert ann.models.retrieve(model).id == model


def test_a_choice_is_saved_under_a_name_and_asked_by_it(town: Town, ann: openai.OpenAI) -> None:
    client, headers = town.app.test_client(), bearer(town.app, town.people["ann"])
    choices = "/api/v1/me/choices"
    assert client.put(f"{choices}/trips", json={"dataset_ids": [-1]}, headers=headers).status_code == 200
    assert client.get(choices, headers=headers).json["items"][0] == {"name": "trips", "dataset_ids": [-1]}  # type: ignore[index]
    found = ann.chat.completions.create(model="braid:trips", messages=ask("printer fair?"))
    assert {cited["dataset_id"] for cited in found.citations} == {-1}  # type: ignore[attr-defined]
    for name, ids in (("all", [1]), ("7", [1]), ("a:b", [1]), ("mine", [])):
        assert client.put(f"{choices}/{name}", json={"dataset_ids": ids}, headers=headers).status_code in (400, 422)
    assert client.put(f"{choices}/eves", json={"dataset_ids": [2]}, headers=headers).status_code == 404
    assert client.delete(f"{choices}/trips", headers=headers).status_code == 204
    with pytest.raises(openai.NotFoundError, match="no choice of datasets 'trips'"):
        ann.chat.completions.create(model="braid:trips", messages=ask("printer fair?"))


# ---------------------------------------------------------------- chat


def test_an_answer_over_two_datasets_is_streamed_with_footnotes_and_citations(ann: openai.OpenAI) -> None:
    chunks = list(
        ann.chat.completions.create(
            model="braid:1,-1",
            messages=ask("Which error does the printer show, and who books trains to the printer fair?"),
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "Quoted without a language model" in text
    assert "[^1]" in text.partition("[^1]:")[0]
    *_, last, usage = chunks
    assert last.choices[0].finish_reason == "stop"
    cited = last.citations  # type: ignore[attr-defined]
    assert {each["dataset_id"] for each in cited} == {1, -1}
    assert last.braid["generator"] == "extractive"  # type: ignore[attr-defined]
    assert usage.usage is not None
    assert usage.usage.completion_tokens > 10
    notes = [line for line in text.splitlines() if line.startswith("[^") and "]: " in line]
    assert [note.partition("]: ")[0] for note in notes] == [f"[^{each['number']}" for each in cited]
    assert any("travel.md](http" in note for note in notes)
    assert "](http://evil.example" not in text


def test_without_a_model_the_answer_is_that_of_the_api(town: Town, ann: openai.OpenAI) -> None:
    found = ann.chat.completions.create(model="braid:1", messages=ask("Which error does the printer show?"))
    body = {"message": "Which error does the printer show?", "dataset_ids": [1]}
    headers = bearer(town.app, town.people["ann"])
    theirs = town.app.test_client().post("/api/v1/chat", json=body, headers=headers).json
    assert theirs is not None
    content = found.choices[0].message.content or ""
    assert content.partition("\n\n[^1]:")[0].replace("[^1]", "[1]") == theirs["text"]
    assert found.braid["generator"] == theirs["generator"] == "extractive"  # type: ignore[attr-defined]
    assert {**found.citations[0], "url": ""} == {**theirs["citations"][0], "url": ""}  # type: ignore[attr-defined]
    page = found.citations[0]["url"]  # type: ignore[attr-defined]
    assert page == f"{town.address}/documents/passage/{theirs['citations'][0]['chunk_id']}"


def test_the_program_in_the_docs_runs(town: Town, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "connected-apps.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    key = bearer(town.app, town.people["ann"], "read")["Authorization"].removeprefix("Bearer ")
    for shown, here in (
        ("http://127.0.0.1:8000", town.address),
        ("braid_…", key),
        ("How long is the warranty of the pump?", "Which error does the printer show?"),
    ):
        assert shown in program
        program = program.replace(shown, here)
    exec(compile(program, "docs/connected-apps.md", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert any("E-4711" in line for line in printed)
    assert printed[-1] == "printer.md extractive"


def test_earlier_turns_say_what_is_meant(ann: openai.OpenAI) -> None:
    earlier = ann.chat.completions.create(model="braid:1", messages=ask("What does the printer show?"))
    messages = [
        *ask("What does the printer show?"),
        {"role": "assistant", "content": earlier.choices[0].message.content},
        *ask("And why?"),
    ]
    found = ann.chat.completions.create(model="braid:1", messages=messages)  # type: ignore[arg-type]
    assert "printer" in found.braid["query"]  # type: ignore[attr-defined]
    assert "evil" not in found.braid["query"]  # type: ignore[attr-defined]


def test_a_chat_model_gets_history_and_its_citations_become_footnotes(town: Town, eve: openai.OpenAI) -> None:
    found = eve.chat.completions.create(
        model="braid:2,-1",
        messages=[
            {"role": "system", "content": "Answer like {a pirate}."},
            *ask("Hello?"),
            {"role": "assistant", "content": "Ahoy there [^1].\n\n[^1]: Old note"},
            {"role": "user", "content": [{"type": "text", "text": "Which error does the printer show?"}]},
        ],
        temperature=0.3,
        seed=7,
        extra_body={"braid": {"top_k": 2}, "chat_id": "of another app"},
    )
    content = found.choices[0].message.content or ""
    assert content.startswith("The tray is empty [^1]. The fair is far [^2]. Nothing.\n\n[^1]: ")
    assert found.braid["generator"] == "openai:search-model"  # type: ignore[attr-defined]
    prompts = [dict(call.messages) for call in town.model.calls]
    assert "has instructed:\nAnswer like {a pirate}." in prompts[-1]["system"]
    assert "Assistant: Ahoy there.\n" in prompts[0]["user"]
    assert all("Old note" not in prompt["user"] for prompt in prompts)


def test_instructions_go_with_a_prompt_that_is_given_as_a_text(town: Town, eve: openai.OpenAI) -> None:
    user = f"{Prompts().answer.user}\nBe brief."
    eve.chat.completions.create(
        model="braid:2",
        messages=[{"role": "system", "content": "Answer like a pirate."}, *ask("Which error does the printer show?")],
        extra_body={"braid": {"custom_prompts": {"answer": user}}},
    )
    prompt = dict(town.model.calls[-1].messages)
    assert prompt["user"].endswith("Be brief.")
    assert "has instructed:\nAnswer like a pirate." in prompt["system"]


def test_tools_that_may_be_called_are_not_and_that_is_noted(ann: openai.OpenAI) -> None:
    tools: Any = [{"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}]
    choices: Any = (
        *("auto", "none", {"type": "auto"}, {"type": "allowed_tools", "mode": "auto", "tools": []}),
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": tools}},
    )
    for more in ({}, *({"tool_choice": each} for each in choices)):
        found = ann.chat.completions.create(model="braid:1", messages=ask("Which error?"), tools=tools, **more)
        assert found.citations  # type: ignore[attr-defined]
        assert any("tools are given" in note for note in found.braid["notes"])  # type: ignore[attr-defined]


def test_a_picture_or_a_tool_earlier_in_the_conversation_is_left_out(town: Town, eve: openai.OpenAI) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    messages: Any = [
        {"role": "user", "content": [{"type": "text", "text": "Which printer is this?"}, picture]},
        {"role": "assistant", "content": "The one in hall 3."},
        {"role": "tool", "content": "12:30", "tool_call_id": "1"},
        *ask("Which error does it show?"),
        {"role": "system", "content": "Be brief."},
    ]
    eve.chat.completions.create(model="braid:2", messages=messages)
    prompts = [dict(call.messages) for call in town.model.calls]
    assert "Which printer is this? [picture left out]" in prompts[0]["user"]
    assert "12:30" not in prompts[0]["user"]
    assert "has instructed:\nBe brief." in prompts[-1]["system"]


@pytest.mark.parametrize("behind", [(), ({"role": "system", "content": "Be brief."},)])
def test_a_stopped_answer_behind_the_question_is_written_again(
    town: Town, eve: openai.OpenAI, behind: tuple[dict[str, str], ...]
) -> None:
    messages: Any = [
        *ask("Which error does the printer show?"),
        {"role": "assistant", "content": "The printer"},
        *behind,
    ]
    found = eve.chat.completions.create(model="braid:2", messages=messages)
    assert found.citations  # type: ignore[attr-defined]
    assert any("end with an answer" in note for note in found.braid["notes"])  # type: ignore[attr-defined]
    assert "Assistant: The printer" not in dict(town.model.calls[-1].messages)["user"]


def test_a_stream_says_what_counts_where_a_mark_shows_that_brackets_before_it_are_none(
    town: Town, eve: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(town.model, "reply", lambda sent: f"Press the red one [1]. It beeps {mark_in(sent)}.")
    asked = ask("Which error does the printer show?")
    whole = eve.chat.completions.create(model="braid:2", messages=asked).choices[0].message
    chunks = eve.chat.completions.create(model="braid:2", messages=asked, stream=True)
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert whole.content.startswith("Press the red one [1]. It beeps [^1].\n\n[^1]: ")
    assert streamed.startswith("Press the red one [^1].")
    assert streamed.endswith(f"replaces it:*\n\n{whole.content}")


def test_a_photo_of_megabytes_earlier_in_the_conversation_is_left_out(town: Town, eve: openai.OpenAI) -> None:
    photo = "data:image/jpeg;base64," + "/9j+" * (MAX_BODY_BYTES // 4)
    shapes: Any = (
        {"type": "image_url", "image_url": {"url": photo}},
        {"type": "input_audio", "input_audio": {"data": photo.partition(",")[2], "format": "wav"}},
    )
    for part in shapes:
        messages: Any = [
            {"role": "user", "content": [{"type": "text", "text": "Which printer is this?"}, part]},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot see it."}]},
            *ask("Which error does it show?"),
        ]
        town.model.calls.clear()
        eve.chat.completions.create(model="braid:2", messages=messages)
        prompt = dict(town.model.calls[0].messages)["user"]
        assert "Which printer is this? [" in prompt
        assert "left out]" in prompt
        assert "I cannot see it." in prompt
        with pytest.raises(openai.BadRequestError, match="put pictures and files into a dataset"):
            eve.chat.completions.create(model="braid:2", messages=messages[:1])


def test_parts_of_a_message_may_be_plain_texts(town: Town, eve: openai.OpenAI) -> None:
    messages: Any = [{"role": "user", "content": ["Which error", {"type": "text", "text": "does the printer show?"}]}]
    assert eve.chat.completions.create(model="braid:2", messages=messages).citations  # type: ignore[attr-defined]
    assert "Which error\ndoes the printer show?" in dict(town.model.calls[-1].messages)["user"]


@pytest.mark.parametrize("stream", [False, True])
def test_citations_are_annotations_with_the_place_of_their_mark(ann: openai.OpenAI, stream: bool) -> None:
    asked = ask("Which error does the printer show, and who books trains to the printer fair?")
    found: Any = ann.chat.completions.create(model="braid:1,-1", messages=asked, stream=stream)
    if stream:
        chunks = list(found)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        annotations, citations = chunks[-1].choices[0].delta.annotations, chunks[-1].citations
    else:
        message = found.choices[0].message
        text, citations = message.content, found.citations
        annotations = [each.model_dump() for each in message.annotations]
    assert annotations
    for each in annotations:
        cited = each["url_citation"]
        number = text[cited["start_index"] : cited["end_index"]]
        assert cited["url"] == next(c["url"] for c in citations if f"[^{c['number']}]" == number)
        assert f"]({cited['url']})" in text, "the note is a link to it"


@pytest.mark.parametrize("stream", [False, True])
def test_checked_sentences_have_their_place_in_the_message(eve: openai.OpenAI, stream: bool) -> None:
    found: Any = eve.chat.completions.create(model="braid:2,-1", messages=ask("Which error?"), stream=stream)
    if stream:
        chunks = list(found)
        text, last = "".join(chunk.choices[0].delta.content or "" for chunk in chunks), chunks[-1]
    else:
        text, last = found.choices[0].message.content, found
    support = last.braid["support"]
    assert [text[each["start"] : each["end"]] for each in support] == [
        "The tray is empty [^1].",
        "The fair is far [^2].",
        "Nothing.",
    ]
    assert [each["cited"] for each in support] == [[1], [2], []]


def test_findings_have_their_place_behind_a_text_that_was_withdrawn() -> None:
    checked = check("Pumps are loud [1][1]. The warranty is 35 days [1].", ["Pumps are loud. The warranty is 30 days."])
    text, places = with_footnotes(checked.text, checked.marks)
    before = "Pum\n\n*The answer above broke off:*\n\n"
    sent = Sent(before + text, [len(before) + place for place in places], len(before))
    [_, second] = checked.sentences
    [finding] = second.findings
    for part, said in ((second, "The warranty is 35 days [^1]."), (finding, "35 days")):
        start, end = (sent.place_of(place, checked.marks) for place in (part.start, part.end))
        assert sent.text[start:end] == said


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("state", "kind"), [(500, openai.InternalServerError), (429, openai.RateLimitError)])
def test_a_failed_model_is_an_error_that_clients_retry(
    town: Town, eve: openai.OpenAI, state: int, kind: type[openai.APIStatusError], stream: bool
) -> None:
    town.model.broken = state
    frail = {"braid": {"summary_llm_model": "openai:frail", "search_llm_model": "none"}}
    told = r"is busy; try again in \d+ s" if state == 429 else "failed"
    with pytest.raises(kind, match=f"the model openai:frail {told}") as caught:
        eve.chat.completions.create(model="braid:2", messages=ask("Which error?"), extra_body=frail, stream=stream)
    assert caught.value.status_code == (429 if state == 429 else 503)
    assert "Rate limit reached" not in caught.value.message, "a provider's own words may say whose key it is"
    assert int(caught.value.response.headers["Retry-After"]) > 0


def test_a_model_that_fails_after_the_stream_has_begun_is_an_event(
    town: Town, eve: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braid.app.web.live_turns.BEGIN_WITHIN_S", 0.0)
    town.model.broken = 500
    frail = {"braid": {"summary_llm_model": "openai:frail", "search_llm_model": "none"}}
    begun = eve.chat.completions.create(model="braid:2", messages=ask("Which error?"), extra_body=frail, stream=True)
    with pytest.raises(openai.APIError, match="the model openai:frail failed"):
        list(begun)


def test_a_model_that_fails_behind_a_text_is_an_event_behind_that_text(town: Town, eve: openai.OpenAI) -> None:
    town.model.fails_after = 5
    frail = {"braid": {"summary_llm_model": "openai:frail", "search_llm_model": "none"}}
    begun = eve.chat.completions.create(model="braid:2", messages=ask("Which error?"), extra_body=frail, stream=True)
    said: list[str] = []
    with pytest.raises(openai.APIError, match="the model openai:frail failed") as caught:
        said.extend(chunk.choices[0].delta.content or "" for chunk in begun)
    assert "".join(said).startswith("The tray is empty")
    assert caught.value.body["type"] == "server_error"  # type: ignore[index]


@pytest.mark.parametrize("limit", [{"stop": " The fair"}, {"max_tokens": 3}])
def test_an_answer_that_is_ended_says_how_it_was_made(eve: openai.OpenAI, limit: dict[str, Any]) -> None:
    asked: Any = {"model": "braid:2", "messages": ask("რა შეცდომას აჩვენებს პრინტერი?")}  # the query is not in Georgian
    whole = eve.chat.completions.create(**asked)
    ended = eve.chat.completions.create(**asked, **limit)
    assert ended.usage is not None
    assert whole.usage is not None
    assert ended.usage.prompt_tokens == pytest.approx(whole.usage.prompt_tokens, abs=10)  # tags are made by chance
    assert ended.usage.prompt_tokens > 100
    assert ended.usage.completion_tokens < whole.usage.completion_tokens
    assert [each["why"] for each in ended.braid["lookups"]] == ["language"]  # type: ignore[attr-defined]
    for name in ("degraded", "notes", "generator", "query"):
        assert ended.braid[name] == whole.braid[name]  # type: ignore[attr-defined]


def test_an_answer_that_is_ended_ends_its_turn() -> None:
    closed: list[str] = []

    def events() -> Iterator[Event]:
        try:
            yield from (AnswerText(f"word {number} ") for number in range(100))
        finally:
            closed.append("closed")

    turn = events()  # referred to until the end, so that nothing but closing closes it
    happened = list(limited(ChatRequest(1, "Which?"), required(turn), AnswerLimits(stop=("3",))))
    assert closed == ["closed"]
    assert isinstance(happened[-1], ChatResult)
    assert happened[-1].text == "word 0 word 1 word 2 word"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("limit", "reason", "text"),
    [
        ({"stop": " The fair"}, "stop", "The tray is empty [^1]."),
        ({"stop": ["nowhere", "empty"]}, "stop", "The tray is "),
        ({"max_tokens": 3}, "length", "The tray"),
        ({"max_completion_tokens": 3, "max_tokens": 500}, "length", "The tray"),
        ({"max_tokens": 500, "stop": "nowhere"}, "stop", "The tray is empty [^1]. The fair is far"),
    ],
)
def test_an_answer_ends_where_it_is_to_end(
    eve: openai.OpenAI, stream: bool, limit: dict[str, Any], reason: str, text: str
) -> None:
    found: Any = eve.chat.completions.create(model="braid:2", messages=ask("Which error?"), stream=stream, **limit)
    if stream:
        chunks = list(found)
        written, finish = "".join(c.choices[0].delta.content or "" for c in chunks), chunks[-1].choices[0].finish_reason
    else:
        written, finish = found.choices[0].message.content, found.choices[0].finish_reason
    assert finish == reason
    body = written.partition("\n\n[^1]:")[0]
    if limit.get("stop") == "nowhere":
        assert body.startswith(text)
    else:
        assert body.strip() == text.strip()


def test_limits_that_are_none_are_refused(ann: openai.OpenAI) -> None:
    for limit in ({"stop": ["a"] * 17}, {"max_tokens": 0}):
        with pytest.raises(openai.BadRequestError, match=next(iter(limit))):
            ann.chat.completions.create(model="braid:1", messages=ask("Which error?"), extra_body=limit)


def test_a_model_that_is_cut_short_is_said_to_be(town: Town, eve: openai.OpenAI) -> None:
    town.model.unfinished = 3
    found = eve.chat.completions.create(model="braid:2", messages=ask("Which error?"), stream=True)
    assert [chunk.choices[0].finish_reason for chunk in found][-1] == "length"


@pytest.mark.parametrize(
    ("mark", "reason", "incomplete"),
    [("content_filter", "content_filter", "content_filter"), ("length", "length", "max_output_tokens")],
)
def test_an_answer_that_a_filter_has_ended_is_told_from_one_that_was_too_long(
    town: Town, eve: openai.OpenAI, mark: str, reason: str, incomplete: str
) -> None:
    town.model.finish = mark
    found = eve.chat.completions.create(model="braid:2", messages=ask("Which error?"))
    assert found.choices[0].message.content
    assert found.choices[0].finish_reason == reason
    assert any(("provider's filter" in note) is (mark == "content_filter") for note in found.braid["notes"])
    chunks = eve.chat.completions.create(model="braid:2", messages=ask("Which error?"), stream=True)
    assert [chunk.choices[0].finish_reason for chunk in chunks][-1] == reason
    response = eve.responses.create(model="braid:2", input="Which error?")
    assert (response.status, response.incomplete_details.reason) == ("incomplete", incomplete)


def test_an_answer_of_which_a_filter_left_nothing_says_so(
    town: Town, eve: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.model.finish = "content_filter"
    monkeypatch.setattr(town.model, "reply", lambda _: "")
    with pytest.raises(openai.APIStatusError, match="was ended by its provider's filter"):
        eve.with_options(max_retries=0).chat.completions.create(model="braid:2", messages=ask("Which error?"))


def test_what_is_withdrawn_from_a_stream_is_said_not_to_count() -> None:
    chunks = Chunks(Head("braid", "en"))
    happened = (
        StageStarted("normalize"),
        AnswerText("The tray "),
        AnswerWithdrawn("it broke"),
        AnswerText("No [2]."),
    )
    lines = "".join(map(chunks.event, happened))
    written = [json.loads(line.removeprefix("data: ")) for line in lines.splitlines() if line]
    text = "".join(each["choices"][0]["delta"]["content"] for each in written)
    assert text == "The tray \n\n*The answer above broke off; this one replaces it:*\n\nNo [^2]."
    assert Chunks(Head("braid", "en")).event(AnswerWithdrawn("nothing was written yet")) == ""


def test_code_of_a_withdrawn_text_does_not_turn_what_follows_inside_out() -> None:
    chunks = Chunks(Head("braid", "en"))
    happened = (
        StageStarted("normalize"),
        AnswerText("Look:\n```py\nprint("),
        AnswerWithdrawn("it broke"),
        AnswerText("```\n![chart](http://evil.example/c)\n```"),
    )
    lines = "".join(map(chunks.event, happened))
    written = [json.loads(line.removeprefix("data: ")) for line in lines.splitlines() if line]
    text = "".join(each["choices"][0]["delta"]["content"] for each in written)
    before, _, after = text.partition("\n\n*The answer above broke off; this one replaces it:*\n\n")
    assert before == "Look:\n```py\nprint(\n```"
    assert after == "```\n![chart](http://evil.example/c)\n```", "in code, no picture"


@pytest.mark.parametrize("title", ["``` ![c](http://evil.example/c)", "~~~ ![c](http://evil.example/c)", "<img src=x>"])
def test_a_footnote_is_text_however_its_title_begins(title: str) -> None:
    passage = Passage("c", 1, 1, "user_1", "a.md", title, "md", "", "text", 0, 3, 3, None, None, None, {})
    written = footnotes(
        (Citation(1, passage, "text"), Citation(2, passage, "text")), lambda cited: "https://braid.example/p"
    )
    first, second = written.splitlines()
    assert first.startswith("[^1]: [")
    assert second.startswith("[^2]: ")
    assert first.endswith(" · p. 3 · a.md](https://braid.example/p)")
    html = str(answer_html(written.replace("[^1]: ", "").replace("[^2]: ", "")))
    assert html.count("<a ") == html.count('href="https://braid.example/p"') == 2
    assert "<img" not in html
    assert "<code" not in html


def test_closing_the_stream_ends_the_turn(town: Town, eve: openai.OpenAI) -> None:
    with (
        model_that_talks(town.model),
        eve.chat.completions.create(
            model="braid:2", messages=ask("Which error does the printer show?"), stream=True
        ) as stream,
    ):
        next(chunk for chunk in stream if chunk.choices and chunk.choices[0].delta.content)
        assert turns() == 1
    eventually(lambda: turns() == 0)


def test_a_caller_who_does_not_wait_ends_a_turn_that_is_not_streamed(town: Town, eve: openai.OpenAI) -> None:
    with model_that_talks(town.model):
        asking = threading.Thread(target=lambda: impatient(eve), daemon=True)
        asking.start()
        eventually(lambda: turns() == 1)
        asking.join(WAIT_S)
        eventually(lambda: turns() == 0)


def impatient(client: openai.OpenAI) -> None:
    with pytest.raises(openai.APITimeoutError):
        client.chat.completions.create(model="braid:2", messages=ask("Which error?"), timeout=0.5)


def turns() -> int:
    """How many run, also such as nobody waits for."""
    return sum(thread.name == "braid-turn" for thread in threading.enumerate())


@contextmanager
def model_that_talks(model: ModelServer) -> Iterator[None]:
    """The model says a lot, word by word."""
    before, model.reply, model.delay_s = model.reply, lambda _: "the tray is empty " * 200, 0.05
    yield
    model.reply, model.delay_s = before, 0.0


# ---------------------------------------------------------------- embeddings


def test_texts_are_embedded_by_the_sites_model(ann: openai.OpenAI) -> None:
    own = embed_passages(HashEmbeddings(), ["the pump", "der Drucker"])
    found = ann.embeddings.create(model="fake:hash-64", input=["the pump", "der Drucker"])  # base64, read by the client
    assert [each.index for each in found.data] == [0, 1]
    assert np.allclose([each.embedding for each in found.data], own, atol=1e-6)
    one = ann.embeddings.create(model="fake:hash-64", input="the pump", encoding_format="float", dimensions=64)
    assert np.allclose(one.data[0].embedding, found.data[0].embedding, atol=1e-6)
    assert one.usage.prompt_tokens > 0
    with pytest.raises(openai.NotFoundError, match=r"no embedding model 'text-embedding-3-small'; give .*fake:hash-64"):
        ann.embeddings.create(model="text-embedding-3-small", input="a")
    with pytest.raises(openai.BadRequestError, match="not tokens"):
        ann.embeddings.create(model="fake:hash-64", input=[[1, 2]])
    with pytest.raises(openai.BadRequestError, match="have 64"):
        ann.embeddings.create(model="fake:hash-64", input="a", dimensions=8)


# ---------------------------------------------------------------- errors


def test_in_a_host_app_it_is_below_the_prefix(braid: Braid) -> None:
    host = Flask("host")
    host.secret_key = "not to be guessed"
    register_braid(host, lambda: HostUser("ann"), braid=braid, settings=Settings())
    client = host.test_client()
    assert client.get("/braid/v1/models").json["data"][0]["id"] == "braid"  # type: ignore[index]
    assert client.get("/braid/v1/openapi.json").json["servers"] == [{"url": "/braid/v1"}]  # type: ignore[index]
    forged = client.post("/braid/v1/chat/completions", json={"model": "braid", "messages": ask("printer?")})
    assert forged.status_code == 400
    assert forged.json["error"]["type"] == "invalid_request_error"  # type: ignore[index]
    assert client.get("/v1/models").status_code == 404
