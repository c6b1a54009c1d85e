"""What the interface of OpenAI refuses, in the form of its errors."""

from __future__ import annotations

import gzip
from typing import Any

import openai
import pytest

from braid.config.settings import Settings
from tests.app.openai_api.town import Town, ask
from tests.web import bearer, site_of


def test_a_wrong_key_is_refused(town: Town) -> None:
    with town.client("ann", "braid_wrong") as client, pytest.raises(openai.AuthenticationError) as refused:
        client.models.list()
    assert refused.value.code == "invalid_api_key"


def test_somebody_elses_dataset_is_a_model_that_there_is_not(ann: openai.OpenAI, town: Town) -> None:
    for model in ("braid:2", "braid:1,2", "braid:-9", "braid:nothing", "gpt-4o"):
        with pytest.raises(openai.NotFoundError) as refused:
            ann.chat.completions.create(model=model, messages=ask("printer?"))
        assert (refused.value.code, refused.value.param) == ("model_not_found", "model")
    with town.client("bob") as bob:
        found = bob.chat.completions.create(model="braid:all", messages=ask("printer tray E-4711"))
    assert {cited["dataset_id"] for cited in found.citations} <= {-1}  # type: ignore[attr-defined]


WRONG: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"n": 2}, "n", "one answer"),
    (
        {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required"},
        "tool_choice",
        "no tools",
    ),
    ({"response_format": {"type": "json_object"}}, "response_format", "Markdown"),
    ({"messages": []}, "messages", "at least 1"),
    ({"messages": [{"role": "assistant", "content": "Hi"}]}, "messages", "not a question"),
    ({"messages": [{"role": "tool", "content": "Hi", "tool_call_id": "1"}]}, "messages.0.role", "calls no tools"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
        "messages.0.content.0",
        "put pictures and files into a dataset",
    ),
    ({"messages": [{"role": "user", "content": "x" * 10_001}]}, "messages", "at most 10000"),
    ({"extra_body": {"braid": {"strategy": "magic"}}}, "strategy", "magic"),
    ({"extra_body": {"braid": {"dataset_ids": [1]}}}, "braid.dataset_ids", "model's id"),
    ({"stream": "yes"}, "stream", "boolean"),
)


@pytest.mark.parametrize(("changes", "param", "said"), WRONG, ids=[said for *_, said in WRONG])
def test_what_cannot_be_done_is_refused_in_words(
    ann: openai.OpenAI, changes: dict[str, Any], param: str, said: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=said) as refused:
        ann.chat.completions.create(**{"model": "braid:1", "messages": ask("printer?"), **changes})
    assert (refused.value.param, refused.value.type) == (param, "invalid_request_error")


@pytest.mark.parametrize(
    "given",
    [
        {"stop": ""},
        {"stop": ["", "###"]},
        {"max_tokens": 1000.0},
        {"n": 1.0},
        {"extra_body": {"braid": None}},
        {"messages": ask("And?") * 2_500 + ask("Which error does the printer show?")},
    ],
    ids=lambda given: str(given)[:40],
)
def test_what_forms_send_for_nothing_and_long_conversations_are_taken(
    ann: openai.OpenAI, given: dict[str, Any]
) -> None:
    asked = {"model": "braid:1", "messages": ask("Which error does the printer show?"), **given}
    assert "E-4711" in (ann.chat.completions.create(**asked).choices[0].message.content or "")


def test_a_compressed_body_is_refused_as_that(town: Town) -> None:
    headers = {**bearer(town.app, town.people["ann"]), "Content-Encoding": "gzip", "Content-Type": "application/json"}
    body = gzip.compress(b'{"model": "braid:1", "messages": [{"role": "user", "content": "x"}]}')
    refused = town.app.test_client().post("/v1/chat/completions", data=body, headers=headers)
    assert refused.status_code == 415
    assert refused.json is not None
    assert "the body has Content-Encoding: gzip; send it uncompressed" in refused.json["error"]["message"]


def test_other_errors_have_the_form_too(town: Town, ann: openai.OpenAI) -> None:
    with (
        town.client("ann", "", "write") as client,
        pytest.raises(openai.PermissionDeniedError, match="scope 'read'"),
    ):
        client.models.list()
    with pytest.raises(openai.APIStatusError) as refused:
        ann.post("/models", body={}, cast_to=object)
    assert refused.value.status_code == 405
    with pytest.raises(openai.NotFoundError, match="there is no POST /completions here") as unknown:
        ann.completions.create(model="braid", prompt="printer?")
    assert unknown.value.type == "invalid_request_error"
    here = site_of(town.app)
    here.settings, kept = Settings(api_rate_limit="1/minute"), here.settings
    try:
        with town.client("bob") as limited:
            limited.models.list()
            with pytest.raises(openai.RateLimitError) as late:
                limited.models.list()
    finally:
        here.settings = kept
    assert late.value.code == "rate_limit_exceeded"
    assert int(late.value.response.headers["Retry-After"]) > 0


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/v1/models", "/v1/%F0%9F%98%80", "/v1/a/" + "b" * 5_000])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_address_is_told_what_there_is(town: Town, path: str, method: str) -> None:
    refused = town.app.test_client().open(path, method=method, headers=bearer(town.app, town.people["ann"]))
    assert refused.status_code == 404
    assert refused.json is not None
    message = refused.json["error"]["message"]
    assert "GET /models, GET /models/<model>, POST /chat/completions" in message
    assert len(message) < 500


def test_a_body_that_is_too_long_without_its_pictures_is_refused(ann: openai.OpenAI) -> None:
    messages: Any = [*ask("a long text " * 200_000), {"role": "assistant", "content": "Hm"}, *ask("printer?")]
    with pytest.raises(openai.APIStatusError, match="at most 2,097,152 are read") as refused:
        ann.chat.completions.create(model="braid:1", messages=messages)
    assert (refused.value.status_code, refused.value.code) == (413, "request_too_large")


@pytest.mark.parametrize("content", [7, [7], {"text": "printer?"}])
def test_a_content_that_is_no_text_is_named(ann: openai.OpenAI, content: object) -> None:
    messages: Any = [{"role": "user", "content": content}]
    with pytest.raises(openai.BadRequestError) as refused:
        ann.chat.completions.create(model="braid:1", messages=messages)
    assert str(refused.value.param).startswith("messages.0.content")
    assert "[" not in str(refused.value.param), "a type of Python's is no name of a field"
