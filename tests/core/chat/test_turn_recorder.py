"""Turns that were stopped, over real indexes and a real model server, stored and read again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.export import as_markdown
from braid.core.chat.store import ConversationStore
from braid.core.chat.support.findings import Support
from braid.core.chat.turn_recorder import TurnRecorder
from braid.core.chat.types import AnswerText, ChatRequest, ChatResult, Event, Searched, SentenceChecked, event_json
from braid.core.errors import NotFoundError
from braid.core.models.chat import ChatModels, chat_models
from braid.core.types import ChunkInput, DocumentInput
from tests.model_server import ModelServer, model_server
from tests.worlds import catch_up

SAYS = "It fell in 1453 [1]. It was gone [9]. Then it was another empire for a long time [2]."


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(SAYS) as running:
        yield running


@pytest.fixture
def user_id(braid: Braid) -> int:
    user = braid.ledger.add_user("ann").id
    dataset = braid.ledger.add_dataset(user, "notes").id
    for source, text in (("a.md", "The empire fell in 1453."), ("b.md", "An empire lasts for a long time.")):
        braid.ledger.put_document(dataset, DocumentInput(source, source, "md", (ChunkInput(text),)))
    catch_up(braid)
    return user


def stopped_at(chat: Conversation, request: ChatRequest, last: type[Event], count: int) -> TurnRecorder:
    """The recorder of a turn whose stream is closed after so many events of a kind."""
    recorder, seen = TurnRecorder(request), 0
    with closing(chat.stream(request)) as events:  # type: ignore[type-var]
        for event in events:
            recorder.feed(event)
            seen += isinstance(event, last)
            if seen == count:
                break
    return recorder


def test_a_stopped_answer_is_kept_as_far_as_it_came(braid: Braid, user_id: int, server: ModelServer) -> None:
    chat = Conversation(braid, models=chat_models(None, server.settings("good")))
    request = ChatRequest(user_id, "When did the empire fall?", strategy="hyde", options={"k": 2})
    server.delay_s = 0.05
    result = stopped_at(chat, request, AnswerText, 6).result()
    assert result.stopped
    assert result.text.startswith("It fell in 1453 [1]")
    assert not result.text.endswith("[2].")
    assert [(c.number, c.passage.source) for c in result.citations] == [(1, "a.md")]
    assert (result.generator, result.found, result.query) == ("openai:good", True, request.text)
    assert len(result.search.hits) == 2

    store = ConversationStore(braid.ledger, braid.registry)
    stored = store.create(user_id)
    store.add(stored.id, request, result)
    question, answer = store.messages(user_id, stored.id)
    assert (question.text, answer.text) == (request.text, result.text)
    assert answer.settings["stopped"] is True
    assert [c.source for c in answer.citations] == ["a.md"]
    assert ", interrupted)" in "".join(as_markdown(stored, [question, answer]))
    assert [turn.role for turn in store.history(user_id, stored.id)] == ["user", "assistant"]


def test_a_turn_stopped_before_its_answer_is_a_question(braid: Braid, user_id: int, server: ModelServer) -> None:
    chat = Conversation(braid, models=chat_models(None, server.settings()))
    request = ChatRequest(user_id, "When did the empire fall?")
    searched = stopped_at(chat, request, Searched, 1).result()
    assert (searched.text, searched.generator, searched.found, searched.stopped) == ("", "none", False, True)
    assert len(searched.search.hits) == 2
    at_once = TurnRecorder(request).result()
    assert (at_once.question, at_once.query, at_once.search.hits) == (request.text, request.text, ())
    store = ConversationStore(braid.ledger, braid.registry)
    stored = store.create(user_id)
    store.add(stored.id, request, at_once)
    assert [turn.text for turn in store.history(user_id, stored.id)] == [request.text]


def test_a_turn_that_ends_has_its_own_result(braid: Braid, user_id: int, server: ModelServer) -> None:
    chat = Conversation(braid, models=chat_models(None, server.settings()))
    request = ChatRequest(user_id, "When did the empire fall?")
    recorder = TurnRecorder(request)
    events = list(chat.stream(request))
    for event in events:
        recorder.feed(event)
    assert recorder.result() is events[-1]
    assert not recorder.result().stopped
    assert event_json(events[-1])["stopped"] is False


def test_what_was_withdrawn_is_not_kept(braid: Braid, user_id: int, server: ModelServer) -> None:
    request = ChatRequest(user_id, "When did the empire fall?")
    server.broken = 500
    recorder = TurnRecorder(request)
    recorder.feed(AnswerText("A beginning [1]"))
    for event in Conversation(braid, models=chat_models(None, server.settings())).stream(request):
        if not isinstance(event, ChatResult):
            recorder.feed(event)
    result = recorder.result()
    assert "beginning" not in result.text
    assert (result.generator, result.found, result.stopped) == ("extractive", True, True)


@pytest.mark.parametrize("fails", [False, True])
def test_a_stopped_answer_says_how_it_was_made(braid: Braid, user_id: int, server: ModelServer, fails: bool) -> None:
    chat = Conversation(braid, models=chat_models(server.settings("search"), server.settings("good")))
    server.reply = lambda messages: SAYS if "passage-" in messages[-1][1] else "무엇입니까"
    request = ChatRequest(user_id, "When did the empire fall?")
    server.fails_after = 4 if fails else 0
    whole = chat.ask(request)
    recorder, asked = TurnRecorder(request), list(chat.stream(request))
    for event in asked[:-1]:
        recorder.feed(event)
    stopped = recorder.result()
    assert stopped.stopped
    assert stopped.prompt_tokens == pytest.approx(whole.prompt_tokens, abs=10)  # tags are made by chance
    assert (whole.prompt_tokens == 0) is fails
    assert stopped.degraded == whole.degraded
    assert len(whole.degraded) == 2 if fails else 1
    assert (stopped.generator, stopped.notes) == (whole.generator, whole.notes)


def test_the_settings_of_the_last_question(braid: Braid, user_id: int) -> None:
    store = ConversationStore(braid.ledger, braid.registry)
    stored = store.create(user_id)
    assert store.last_settings(user_id, stored.id) == {}
    chat = Conversation(braid, models=ChatModels())
    dataset = braid.ledger.datasets(user_id)[0].id
    for strategy, ids in (("basic", None), ("hyde", [dataset])):
        request = ChatRequest(
            user_id, "empire", strategy=strategy, dataset_ids=ids, options={"mode": "keyword", "k": 3}
        )
        store.add(stored.id, request, chat.ask(request))
    assert store.last_settings(user_id, stored.id) == {
        "dataset_ids": [dataset],
        "strategy": "hyde",
        "options": {"mode": "keyword", "k": 3},
        "language": "en",
    }
    stranger = braid.ledger.add_user("bob").id
    with pytest.raises(NotFoundError):
        store.last_settings(stranger, stored.id)


def test_what_was_checked_behind_the_end_of_a_text_that_was_cut_is_left_out() -> None:
    recorder = TurnRecorder(ChatRequest(1, "When did it fall?"))
    checked = [Support(0, 12, "open"), Support(13, 30, "open")]
    for event in (AnswerText("It was cold. It was", marks=()), *map(SentenceChecked, checked)):
        recorder.feed(event)
    assert recorder.result().support == (checked[0],)
