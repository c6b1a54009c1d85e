"""What the interface of OpenAI refuses, in the form of its errors."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from braid.config.settings import Settings
from tests.app.openai_api.town import Town, ask
from tests.web import site_of


def test_a_wrong_key_is_refused(town: Town) -> None:
    with pytest.raises(openai.AuthenticationError) as refused:
        town.client("ann", "braid_wrong").models.list()
    assert refused.value.code == "invalid_api_key"


def test_somebody_elses_dataset_is_a_model_that_there_is_not(ann: openai.OpenAI, town: Town) -> None:
    for model in ("braid:2", "braid:1,2", "braid:-9", "braid:nothing", "gpt-4o"):
        with pytest.raises(openai.NotFoundError) as refused:
            ann.chat.completions.create(model=model, messages=ask("printer?"))
        assert (refused.value.code, refused.value.param) == ("model_not_found", "model")
    found = town.client("bob").chat.completions.create(model="braid:all", messages=ask("printer tray E-4711"))
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


def test_other_errors_have_the_form_too(town: Town, ann: openai.OpenAI) -> None:
    with pytest.raises(openai.PermissionDeniedError, match="scope 'read'"):
        town.client("ann", "", "write").models.list()
    with pytest.raises(openai.APIStatusError) as refused:
        ann.post("/models", body={}, cast_to=object)
    assert refused.value.status_code == 405
    with pytest.raises(openai.NotFoundError, match=r"no /v1/completions; there are /v1/chat/completions, ") as unknown:
        ann.completions.create(model="braid", prompt="printer?")
    assert unknown.value.type == "invalid_request_error"
    here = site_of(town.app)
    here.settings, kept = Settings(api_rate_limit="1/minute"), here.settings
    try:
        limited = town.client("bob")
        limited.models.list()
        with pytest.raises(openai.RateLimitError) as late:
            limited.models.list()
    finally:
        here.settings = kept
    assert late.value.code == "rate_limit_exceeded"
    assert int(late.value.response.headers["Retry-After"]) > 0
