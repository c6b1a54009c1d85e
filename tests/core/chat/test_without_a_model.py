"""Turns that no model writes: quoted sentences, follow-ups, and what is wrong with a request."""

from __future__ import annotations

from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.chat.citations import Featured
from braid.core.chat.columns import result_settings
from braid.core.chat.comparison import ThreeFields
from braid.core.chat.conversation import Conversation
from braid.core.chat.quoting import match
from braid.core.chat.quoting.extractive import quotable
from braid.core.chat.texts import TEXTS, say
from braid.core.chat.types import (
    ChatRequest,
    ChatResult,
    QueryWritten,
    Searched,
    Turn,
    event_json,
)
from braid.core.errors import InvalidInputError
from braid.core.text.scripts import question_language
from braid.core.types import ChunkInput, DocumentInput
from tests.core.chat.scripted import HISTORY, Put, ScriptedModel, kinds, models
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S


def test_a_turn_without_a_model_is_answered_with_quoted_sentences(braid: Braid, user_id: int) -> None:
    events = list(Conversation(braid).stream(ChatRequest(user_id, "When did it fall?", history=HISTORY)))
    assert kinds(events) == [
        "normalize",
        "generate_query",
        "query",
        "search",
        "search",
        "answer",
        "begun",
        "token",
        "answer",
    ]
    query = next(e for e in events if isinstance(e, QueryWritten))
    assert query.generator == "feedback"
    assert {"Byzantine", "Empire"} <= set(query.query.split())
    result = events[-1]
    assert isinstance(result, ChatResult)
    quote = "**The Byzantine Empire fell in 1453**. Its religion was Christianity [7]. [1]"
    assert result.text == f"{say('extractive', 'en')}\n\n{quote}"
    assert result.featured == Featured(
        "The Byzantine Empire fell in 1453. Its religion was Christianity [7].", 0, 34, 1
    )
    assert (result.found, result.generator, result.removed_citations) == (True, "extractive", 0)
    assert [(c.number, c.passage.source) for c in result.citations] == [(1, "empire.md")]


def test_events_are_json(braid: Braid, user_id: int) -> None:
    import json

    for event in Conversation(braid).stream(ChatRequest(user_id, "When did the empire fall?")):
        assert json.loads(json.dumps(event_json(event)))["type"] == event.type


def test_a_question_that_stands_alone_is_left_as_it_is(braid: Braid, user_id: int) -> None:
    text = "How long do cats sleep during winter nights"
    result = Conversation(braid).ask(ChatRequest(user_id, text, history=HISTORY))
    assert result.query == text


@pytest.mark.parametrize(
    ("question", "language"),
    [("quantum chromodynamics lattice", "en"), ("量子色力学の格子計算", "ja"), ("양자색역학 격자 계산", "ko")],
)
def test_what_is_in_no_passage_is_said_not_to_be_found(
    braid: Braid, user_id: int, put: Put, question: str, language: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(match.SCALES, "fake:hash-64", match.CosineScale(0.1, 0.3, 0.5, 0.3))
    dataset = braid.ledger.datasets(user_id)[0].id
    put(dataset, "ja", "札幌市の人口は百九十万人です。")
    put(dataset, "ko", "서울의 인구는 구백만 명이다.")
    result = Conversation(braid).ask(ChatRequest(user_id, question))
    assert result.text == TEXTS["not_found"][language], "and nothing is quoted below it"
    assert not result.found
    assert question_language(question) == language


def test_what_could_not_be_searched_yet_is_not_said_to_be_missing(braid: Braid, user_id: int) -> None:
    """Documents that were uploaded a second ago are on their way into the indexes."""
    new = braid.ledger.add_dataset(user_id, "New").id
    braid.indexer.stop()
    braid.ledger.put_document(new, DocumentInput("a.md", "A", "md", (ChunkInput("The tray is empty."),)))
    result = Conversation(braid).ask(ChatRequest(user_id, "Is the tray empty?", dataset_ids=(new,)))
    assert (result.text, result.found) == (say("not_found_in_part", "en"), False)
    assert {part.leg for part in result.degraded} == {"dense", "bm25"}


def test_absence_is_not_claimed_where_the_model_s_cosines_mean_nothing(braid: Braid, user_id: int) -> None:
    result = Conversation(braid).ask(ChatRequest(user_id, "quantum chromodynamics lattice"))
    assert result.text.startswith(say("weak", "en"))
    assert (result.found, bool(result.citations)) == (True, True)


def test_passages_in_another_language_are_quoted_and_said_to_be(braid: Braid, user_id: int) -> None:
    result = Conversation(braid).ask(ChatRequest(user_id, "ビザンツ帝国はいつ滅びましたか"))
    assert result.text.startswith(say("in_en", "ja"))
    assert (result.found, bool(result.citations)) == (True, True)


def test_of_an_empty_scope_nothing_is_said_to_be_not_found(braid: Braid) -> None:
    stranger = braid.ledger.add_user("bob")
    result = Conversation(braid).ask(ChatRequest(stranger.id, "When did it fall?", history=HISTORY))
    assert (result.text, result.found, result.citations) == (say("nothing_to_search", "en"), False, ())


def test_another_users_dataset_is_left_out_and_listed(braid: Braid, user_id: int) -> None:
    stranger = braid.ledger.add_user("bob")
    theirs = braid.ledger.datasets(user_id)[0].id
    result = Conversation(braid).ask(ChatRequest(stranger.id, "Byzantine Empire", dataset_ids=[theirs]))
    assert result.search.unresolved_dataset_ids == (theirs,)
    assert "Byzantine" not in result.text


def test_evaluation_mode_stops_after_the_search(braid: Braid, user_id: int) -> None:
    summary = ScriptedModel("fake:summary")
    conversation = Conversation(braid, models=models(summary=summary))
    events = list(conversation.stream(ChatRequest(user_id, "When did the empire fall?", evaluation_mode=True)))
    assert kinds(events) == ["normalize", "generate_query", "query", "search", "search", "answer"]
    result = events[-1]
    assert isinstance(result, ChatResult)
    assert (result.text, result.generator, summary.sent) == ("", "none", [])
    assert result.search.hits


@pytest.mark.parametrize(("history", "question"), [
    (("札幌市について教えてください",), "その人口は?"),
    (("서울의 역사를 알려줘",), "그 인구는?"),
])  # fmt: skip
def test_japanese_and_korean_follow_ups_are_completed(
    braid: Braid, put: Put, history: tuple[str, ...], question: str
) -> None:
    user = braid.ledger.add_user("kim")
    dataset = braid.ledger.add_dataset(user.id, "cities").id
    put(
        dataset,
        "s",
        "札幌市の人口は百九十万人です。",
        "서울의 인구는 구백만 명이다. 서울의 역사는 길다.",
        "猫は魚が好きです。",
    )
    turns = tuple(Turn("user", text) for text in history)
    result = Conversation(braid).ask(ChatRequest(user.id, question, history=turns))
    assert result.query_generator == "feedback"
    assert any(city in result.query for city in ("札幌市", "서울의"))
    assert result.search.hits[0].passage.text[:2] in ("札幌", "서울")


@pytest.mark.parametrize(("given", "field"), [
    ({"text": ""}, "text"),
    ({"text": "a", "fields": ThreeFields("b")}, "text"),
    ({"text": "a" * 10_001}, "text"),
    ({"text": "a", "language": "tlh"}, "language"),
])  # fmt: skip
def test_wrong_requests_are_named(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        ChatRequest(1, **given)
    assert caught.value.field == field


@pytest.mark.parametrize(("given", "field"), [
    ({"options": {"colour": "red"}}, "colour"),
    ({"options": {"user_id": 2}}, "user_id"),
    ({"options": {"text": "dogs"}}, "text"),
    ({"options": {"generator": "nonsense"}}, "generator"),
    ({"options": {"mode": "telepathy"}}, "mode"),
    ({"options": {"k": 0}}, "k"),
    ({"options": {"engine": "langchain"}, "strategy": "step_back"}, "strategy"),
    ({"strategy": "nonsense"}, "strategy"),
    ({"dataset_ids": [0]}, "dataset_ids"),
    ({"dataset_ids": ["1"]}, "dataset_ids"),
])  # fmt: skip
def test_what_is_wrong_is_said_before_anything_happens(
    braid: Braid, user_id: int, given: dict[str, Any], field: str
) -> None:
    search, summary = ScriptedModel("fake:search"), ScriptedModel("fake:summary")
    chat = Conversation(braid, models=models(search, summary))
    request = ChatRequest(user_id, "cats", history=HISTORY, **given)
    for ask in (chat.stream, chat.ask):
        with pytest.raises(InvalidInputError) as caught:
            ask(request)
        assert caught.value.field == field
    assert (search.sent, summary.sent) == ([], [])


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
def test_mode_and_k_come_from_the_request(braid: Braid, user_id: int, mode: str) -> None:
    options = {"mode": mode, "k": 1}
    result = Conversation(braid).ask(ChatRequest(user_id, "Byzantine Empire", options=options))
    assert (result.search.query.mode, len(result.search.hits)) == (mode, 1)


def test_a_dead_leg_is_named_in_the_answer(braid: Braid, user_id: int, embeddings: HashEmbeddings) -> None:
    embeddings.failing = True
    result = Conversation(braid).ask(ChatRequest(user_id, "When did the Byzantine Empire fall?"))
    assert "dense" in [part.leg for part in result.degraded]
    assert result.found


def test_the_search_event_names_collections_and_passages(braid: Braid, user_id: int) -> None:
    events = list(Conversation(braid).stream(ChatRequest(user_id, "Byzantine Empire")))
    found = next(event for event in events if isinstance(event, Searched))
    shown = event_json(found)
    assert shown["collections"] == [f"user_{user_id}"]
    assert shown["passages"][0]["source"] == "empire.md"
    assert shown["queries"] == ["Byzantine Empire"]


@pytest.mark.parametrize(
    ("sentence", "quoted"),
    [
        ("4. The rankings are fused.", "The rankings are fused."),
        ("- 融合する。", "融合する。"),
        ("4.5 is enough.", "4.5 is enough."),
    ],
)
def test_a_quoted_sentence_leaves_the_mark_of_its_list_behind(sentence: str, quoted: str) -> None:
    assert quotable(sentence) == quoted


@pytest.mark.parametrize("asked", ["はいつまでに出せばよいですか", "はいつまでですか", "期限"])
def test_the_verb_of_a_question_leads_to_nothing_else(braid: Braid, put: Put, asked: str) -> None:
    """The kanji of 出せば is in 出席者, too, and names beside 申請 do not lead on to whoever was present."""
    user = braid.ledger.add_user("kim")
    dataset = braid.ledger.add_dataset(user.id, "rules").id
    put(dataset, "rules.md", "在宅勤務を希望する者は、希望日の3営業日前までに上長へ申請する。", title="在宅勤務規程")
    minutes = ("出席者：田中 愛子、鈴木 美咲", "翻訳の凍結は11月14日とする。", "鈴木：在宅勤務の申請数をまとめる。")
    put(dataset, "minutes.md", *minutes, title="議事録")
    assert braid.indexer.wait(WAIT_S)
    result = Conversation(braid).ask(ChatRequest(user.id, f"在宅勤務の申請{asked}"))
    assert result.featured is not None
    assert "3営業日前" in result.featured.text


@pytest.mark.parametrize(
    "question", ["And after that?", "Why?", "And the second one?", "その後は？", "なぜですか", "그 다음은요?"]
)
def test_a_question_that_refers_to_nothing_is_asked_back(braid: Braid, user_id: int, question: str) -> None:
    result = Conversation(braid).ask(ChatRequest(user_id, question))
    assert (result.found, result.citations) == (False, ())
    assert result.text == say("refers_to_nothing", question_language(question))
    assert result_settings(result)["asks_back"] is True


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is IT?", "IT is the department of information technology."),
        ("Is WHO in this?", "The WHO is the World Health Organization."),
        ("What happens next?", "What happens next? The invoice is sent to accounting."),
        ("その他", "その他の手当には通勤手当と住宅手当があります。"),
    ],
)
def test_a_first_question_of_small_words_may_be_one_about_the_documents(
    braid: Braid, put: Put, question: str, text: str
) -> None:
    user = braid.ledger.add_user("kim")
    put(braid.ledger.add_dataset(user.id, "rules").id, "rules.md", text)
    assert braid.indexer.wait(WAIT_S)
    result = Conversation(braid).ask(ChatRequest(user.id, question))
    assert result.text not in TEXTS["refers_to_nothing"].values()
    assert "asks_back" not in result_settings(result)


def test_a_first_question_of_small_words_that_finds_nothing_is_asked_back(braid: Braid, user_id: int) -> None:
    result = Conversation(braid).ask(ChatRequest(user_id, "What is it?"))
    assert result.text == say("refers_to_nothing", "en")


@pytest.mark.parametrize("question", ["When did it fall?", "Why did the empire fall?", "その帝国はいつ滅びましたか"])
def test_a_question_with_a_word_of_its_own_is_answered(braid: Braid, user_id: int, question: str) -> None:
    result = Conversation(braid).ask(ChatRequest(user_id, question))
    assert result.text not in TEXTS["refers_to_nothing"].values()
    assert "asks_back" not in result_settings(result)
