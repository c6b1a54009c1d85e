"""OpenAI's newer interface as its own client uses it; only the models are faked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.model_server import ModelServer, model_server
from tests.web import add_user, bearer, make_app, serving
from tests.worlds import WAIT_S, document

QUESTION = "Which error does the printer show?"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server("The tray is empty [1]. Fill it.") as server:
        yield server


@pytest.fixture
def client(braid: Braid, model: ModelServer) -> Iterator[openai.OpenAI]:
    settings = Settings(
        summary_model="openai:frail", summary_model_base_url=model.url, summary_model_api_key="key", model_retries=0
    )
    app = make_app(braid, settings)
    ann = add_user(app, "ann")
    notes = braid.ledger.add_dataset(ann.id, "Notes")
    braid.ledger.put_document(notes.id, document("printer.md", "The printer shows error E-4711.", title="Manual"))
    assert braid.indexer.wait(WAIT_S)
    key = bearer(app, ann)["Authorization"].removeprefix("Bearer ")
    with (
        serving(app) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0, timeout=WAIT_S) as opened,
    ):
        yield opened


def test_a_question_is_answered_with_links_to_what_is_cited(client: openai.OpenAI) -> None:
    found = client.responses.create(model="braid:all", input=QUESTION, tools=[{"type": "web_search"}])
    assert found.output_text.startswith("The tray is empty [^1]. Fill it.\n\n[^1]: [Manual")
    part: Any = found.output[0].content[0]  # type: ignore[union-attr]
    [mark] = part.annotations
    assert part.text[mark.start_index : mark.end_index] == "[^1]"
    assert mark.url == found.citations[0]["url"]  # type: ignore[attr-defined]
    assert found.status == "completed"
    assert "none was called" in found.braid["notes"][-1]  # type: ignore[attr-defined]


def test_a_stream_has_the_same_text_as_the_response_at_its_end(client: openai.OpenAI) -> None:
    events: list[Any] = list(client.responses.create(model="braid:all", input=QUESTION, stream=True))
    kinds = [each.type for each in events]
    assert kinds[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [each.sequence_number for each in events] == list(range(len(events)))
    text = "".join(each.delta for each in events if each.type == "response.output_text.delta")
    assert text == events[-1].response.output_text
    assert text.startswith("The tray is empty [^1]. Fill it.")
    assert events[-1].response.output[0].content[0].annotations


def test_earlier_items_and_instructions_reach_the_model(client: openai.OpenAI, model: ModelServer) -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    items: Any = [
        {"role": "user", "content": [{"type": "input_text", "text": "What is loud?"}, picture]},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "The printer."}]},
        {"type": "function_call_output", "call_id": "c", "output": "x"},
        {"role": "user", "content": QUESTION},
    ]
    client.responses.create(model="braid:all", input=items, instructions="Speak like a pirate.")
    prompt = "\n".join(text for _, text in model.calls[-1].messages)
    for said in ("Speak like a pirate.", "The printer.", "[picture left out]", QUESTION):
        assert said in prompt


@pytest.mark.parametrize("stream", [False, True])
def test_a_limit_makes_a_response_incomplete(client: openai.OpenAI, stream: bool) -> None:
    found: Any = client.responses.create(model="braid:all", input=QUESTION, max_output_tokens=3, stream=stream)
    response = list(found)[-1].response if stream else found
    assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")


@pytest.mark.parametrize("stream", [False, True])
def test_a_failed_model_is_an_error(client: openai.OpenAI, model: ModelServer, stream: bool) -> None:
    model.broken = 429
    with pytest.raises(openai.RateLimitError):
        client.responses.create(model="braid:all", input=QUESTION, stream=stream)


def test_a_model_that_fails_after_the_stream_has_begun_is_an_event(
    client: openai.OpenAI, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braid.app.web.live_turns.BEGIN_WITHIN_S", 0.0)
    model.broken = 500
    with pytest.raises(openai.APIError, match="the model openai:frail failed"):
        list(client.responses.create(model="braid:all", input=QUESTION, stream=True))


def test_a_model_that_fails_behind_a_text_is_an_event_behind_that_text(
    client: openai.OpenAI, model: ModelServer
) -> None:
    model.fails_after = 5
    said: list[str] = []
    begun = client.responses.create(model="braid:all", input=QUESTION, stream=True)
    with pytest.raises(openai.APIError, match="the model openai:frail failed"):
        said.extend(getattr(event, "delta", "") for event in begun)
    assert "".join(said).startswith("The tray is empty")


@pytest.mark.parametrize(
    ("given", "param", "said"),
    [
        ({"max_output_tokens": 0}, "max_output_tokens", "max_output_tokens is 0"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format", "text.format is 'json_object'"),
        ({"input": "x" * 10_001}, "input", "the question has 10001"),
        ({"input": [{"role": "assistant", "content": "Hi"}]}, "input", "question"),
        (
            {
                "instructions": "Be brief.",
                "input": [{"type": "reasoning"}, {"role": "user", "content": [{"type": "input_image"}]}],
            },
            "input.1.content.0",
            "input.1.content.0 is of the type",
        ),
    ],
)
def test_what_is_wrong_has_the_name_that_the_caller_gave_it(
    client: openai.OpenAI, given: dict[str, Any], param: str, said: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=said) as refused:
        client.responses.create(**{"model": "braid:all", "input": QUESTION, **given})
    assert refused.value.param == param


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"background": True}, "background"),
        ({"input": []}, "input"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input_image"),
        ({"input": [{"role": "nobody", "content": "x"}]}, "input.0"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"text": {"format": {"type": "json_object"}}}, "json_object"),
    ],
)
def test_what_is_not_done_is_refused_in_words(client: openai.OpenAI, given: dict[str, Any], named: str) -> None:
    with pytest.raises(openai.BadRequestError, match=named):
        client.responses.create(**{"model": "braid:all", "input": QUESTION, **given})
