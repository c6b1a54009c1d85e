"""What a model looks up in a turn, as OpenAI's client is told of it: calls, ends, failures, stops, and the bill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import openai
import pytest

from braid.core.chat.lookups.loop import NOTHING_NEW, REPEATED
from tests.app.openai_api.test_openai_api import turns
from tests.app.openai_api.town import Town, ask
from tests.model_server import Calls, ModelServer
from tests.worlds import eventually

QUESTION = "Which error does the printer show?"
ANSWER = "The tray is empty [1]."


@contextmanager
def scripted(model: ModelServer, *replies: Calls) -> Iterator[list[str]]:
    """The model makes these calls, one reply after the other, then says DONE; what it was sent is recorded."""
    left, sent, before = list(replies), list[str](), model.reply

    def reply(messages: Sequence[tuple[str, str]]) -> str | Calls:
        if "call tools" not in messages[0][1]:
            return ANSWER if "passage-" in messages[-1][1] else QUESTION
        sent.append(messages[-1][1])
        return left.pop(0) if left else "DONE"

    model.reply = reply
    yield sent
    model.reply = before


def answer(client: openai.OpenAI, *, stream: bool = False, **options: Any) -> dict[str, Any]:
    """Return the field ``braid`` of the answer."""
    body = {"braid": {"strategy": "multi_query", "top_k": 1, **options}}
    asked: dict[str, Any] = {"model": "braid:2,-1", "messages": ask(QUESTION), "extra_body": body}
    if not stream:
        return client.chat.completions.create(**asked).braid  # type: ignore[no-any-return]
    chunks = list(client.chat.completions.create(**asked, stream=True))
    return next(chunk.braid for chunk in reversed(chunks) if getattr(chunk, "braid", None))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 6])
def test_each_call_is_told_and_billed(town: Town, eve: openai.OpenAI, count: int, stream: bool) -> None:
    calls: list[Calls] = [
        [("find_exact", {"text": text})] for text in ("E-4711", "tray", "error", "empty", "fair", "office")
    ]
    with scripted(town.model, *calls[:count]) as sent:
        braid = answer(eve, stream=stream)
    assert [(each["tool"], each["why"]) for each in braid["lookups"]] == [("find_exact", "model")] * count
    assert [each["asked"] for each in braid["lookups"]] == [call[0][1]["text"] for call in calls[:count]]
    assert braid["bill"]["model_calls"] == len(sent) == min(count + 1, 6)
    assert braid["bill"]["tokens"] == 2 * len(sent), "as the server counts them"
    assert braid["bill"]["searches"] == 1
    assert braid["generator"] == "openai:search-model"


def test_a_model_that_calls_for_ever_is_ended(town: Town, eve: openai.OpenAI) -> None:
    with scripted(town.model, *([("find_exact", {"text": f"word{n}"})] for n in range(40))) as sent:
        braid = answer(eve)
    assert len(braid["lookups"]) == 6
    assert len(sent) <= 6


def test_a_call_that_is_repeated_and_a_search_that_adds_nothing_are_said(town: Town, eve: openai.OpenAI) -> None:
    again = ("find_exact", {"text": "tray"})
    useless: Calls = [("search", {"query": QUESTION})]
    with scripted(town.model, [again], [again], useless, [("list_datasets", {})]):
        braid = answer(eve, top_k=5)
    assert [each["problem"] for each in braid["lookups"]] == ["", REPEATED, NOTHING_NEW]
    assert braid["bill"]["searches"] == 2


def test_a_call_that_fails_is_said_and_the_answer_goes_on(town: Town, eve: openai.OpenAI) -> None:
    with scripted(town.model, [("read", {"passage": 77})], [("nothing", {})]) as sent:
        braid = answer(eve)
    assert [bool(each["problem"]) for each in braid["lookups"]] == [True, True]
    assert [text.startswith("failed: ") for text in sent[1:]] == [True, True]
    assert braid["generator"] == "openai:search-model"


def test_calls_read_what_the_caller_may_read_alone(town: Town, ann: openai.OpenAI, eve: openai.OpenAI) -> None:
    with scripted(town.model, [("find_exact", {"text": "travel office"}), ("list_datasets", {})]) as sent:
        body = {"braid": {"strategy": "multi_query", "top_k": 1}}
        found = eve.chat.completions.create(model="braid:2", messages=ask(QUESTION), extra_body=body)
    assert "Trains" not in "".join(sent), "the handbook is hers to read, but was not asked"
    assert "Eve's" in "".join(sent)
    assert "Notes" not in "".join(sent)
    assert found.braid["lookups"][0]["new"] == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("phase", ["looking", "answering"])
def test_a_caller_who_goes_away_ends_the_turn_in_each_phase(town: Town, eve: openai.OpenAI, phase: str) -> None:
    with scripted(town.model, *([("find_exact", {"text": f"word{n}"})] for n in range(6))) as sent:
        town.model.delay_s = 0.2 if phase == "looking" else 0.0
        town.model.pause_after = 0 if phase == "looking" else 2
        body = {"braid": {"strategy": "multi_query", "top_k": 1}}
        try:
            stream = eve.chat.completions.create(model="braid:2", messages=ask(QUESTION), stream=True, extra_body=body)
            if phase == "looking":
                eventually(lambda: len(sent) > 0)
            else:
                next(chunk for chunk in stream if chunk.choices and chunk.choices[0].delta.content)
            stream.close()
        finally:
            town.model.delay_s, town.model.pause_after = 0.0, 0
            town.model.go_on.set()
        eventually(lambda: turns() == 0)
        assert len(sent) <= 6
    town.model.go_on.clear()
