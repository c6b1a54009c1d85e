"""Turns as they are stored while they run: variants, states, history, and the search for words."""

from __future__ import annotations

import time
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from braid.core.chat.export import as_json, as_markdown
from braid.core.chat.store import ConversationStore
from braid.core.chat.turns import rows
from braid.core.chat.turns.find import fold, spoken
from braid.core.chat.turns.rows import StoredTurn
from braid.core.chat.turns.turn_store import TurnStore
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.datasets.registry import Registry
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.types import Query, SearchResult
from tests.databases import on_both_databases


@pytest.fixture
def store(ledger: Ledger, tmp_path: Path) -> ConversationStore:
    return ConversationStore(ledger, Registry(tmp_path / "shared_dbs.json", retired_ids=ledger.retired_shared_ids))


@pytest.fixture
def turns(ledger: Ledger) -> TurnStore:
    return TurnStore(ledger)


@pytest.fixture
def ann(ledger: Ledger) -> int:
    return ledger.add_user("ann").id


def said(text: str, *, stopped: bool = False) -> ChatResult:
    search = SearchResult(Query("q"), "basic", "none", ("q",), (), ())
    return ChatResult("question", "query", "none", search, text, "extractive", True, stopped=stopped)


def texts(store: ConversationStore, user_id: int, conversation_id: int) -> list[str]:
    return [message.text for message in store.messages(user_id, conversation_id)]


def turn(turns: TurnStore, user_id: int, conversation_id: int, question: str, answer: str) -> StoredTurn:
    ids = turns.begin(conversation_id, ChatRequest(user_id, question))
    turns.save(ids, said(answer), "complete")
    return ids


@on_both_databases
def test_the_question_is_there_before_the_answer(
    store: ConversationStore, turns: TurnStore, ann: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = store.create(ann).id
    ids = turns.begin(conversation, ChatRequest(ann, "How long?"))
    question, answer = store.messages(ann, conversation)
    assert (question.text, answer.text, answer.state, answer.parent_id) == ("How long?", "", "running", question.id)
    assert store.conversation(ann, conversation).title == "How long?"
    assert store.history(ann, conversation) == store.history(ann, conversation, before=answer.id)
    turns.save(ids, said("Three y", stopped=True), "running")
    assert turns.interrupt_abandoned() == 0, "the process that writes it lives"
    monkeypatch.setattr(rows, "_named", {})  # another process now, which may have the same number
    assert turns.interrupt_abandoned() == 1
    assert turns.interrupt_abandoned() == 0
    answer = store.messages(ann, conversation)[1]
    assert (answer.text, answer.state) == ("Three y", "interrupted")


def test_only_what_is_not_complete_is_continued(store: ConversationStore, turns: TurnStore, ann: int) -> None:
    conversation = store.create(ann).id
    ids = turns.begin(conversation, ChatRequest(ann, "How long?"))
    with pytest.raises(InvalidInputError, match="is being written"):
        turns.resume(ann, conversation, ids.answer_id)
    turns.fail(ids, "the index is broken")
    failed = store.messages(ann, conversation)[1]
    assert (failed.state, failed.settings["error"]) == ("failed", "the index is broken")
    assert turns.resume(ann, conversation, ids.answer_id) == ids
    turns.save(ids, said("Three years."), "complete")
    with pytest.raises(InvalidInputError, match="is complete"):
        turns.resume(ann, conversation, ids.answer_id)
    with pytest.raises(NotFoundError):
        turns.resume(ann, conversation, ids.question_id)


@on_both_databases
def test_another_answer_is_a_variant_and_what_follows_hangs_below_it(
    store: ConversationStore, turns: TurnStore, ann: int
) -> None:
    conversation = store.create(ann).id
    first = turn(turns, ann, conversation, "Which pump?", "The red one.")
    turn(turns, ann, conversation, "How long?", "Three years.")
    again = turns.begin_variant(ann, conversation, first.answer_id)
    assert again.question_id == first.question_id
    turns.save(again, said("The blue one."), "complete")
    assert texts(store, ann, conversation) == ["Which pump?", "The blue one."]
    shown = store.messages(ann, conversation)[1]
    assert shown.variants == (first.answer_id, again.answer_id)
    assert [one.text for one in store.history(ann, conversation)] == ["Which pump?", "The blue one."]
    turn(turns, ann, conversation, "Why blue?", "Paint.")
    assert texts(store, ann, conversation)[2:] == ["Why blue?", "Paint."]
    turns.choose(ann, conversation, first.answer_id)
    assert texts(store, ann, conversation) == ["Which pump?", "The red one.", "How long?", "Three years."]
    others = [message.text for message in store.other_variants(ann, conversation)]
    assert others == ["The blue one.", "Why blue?", "Paint."]
    assert [one.text for one in store.history(ann, conversation, before=again.answer_id)] == ["Which pump?"]


def test_an_edited_question_is_a_branch(store: ConversationStore, turns: TurnStore, ann: int) -> None:
    conversation = store.create(ann).id
    first = turn(turns, ann, conversation, "Which pump?", "The red one.")
    later = turn(turns, ann, conversation, "How long?", "Three years.")
    edited = turns.begin(conversation, ChatRequest(ann, "How heavy?"), instead_of=later.question_id)
    turns.save(edited, said("Two tons."), "complete")
    assert texts(store, ann, conversation) == ["Which pump?", "The red one.", "How heavy?", "Two tons."]
    root = turns.begin(conversation, ChatRequest(ann, "Which valve?"), instead_of=first.question_id)
    turns.save(root, said("None."), "complete")
    assert texts(store, ann, conversation) == ["Which valve?", "None."]
    assert store.messages(ann, conversation)[0].variants == (first.question_id, root.question_id)
    turns.choose(ann, conversation, first.question_id)
    assert texts(store, ann, conversation)[2:] == ["How heavy?", "Two tons."]
    assert store.last_settings(ann, conversation)["strategy"] == "basic"
    with pytest.raises(NotFoundError, match="no question"):
        turns.begin(conversation, ChatRequest(ann, "No"), instead_of=first.answer_id)


def test_exports_have_the_chosen_variants_and_the_others_apart(
    store: ConversationStore, turns: TurnStore, ann: int
) -> None:
    conversation = store.create(ann).id
    first = turn(turns, ann, conversation, "Which pump?", "The red one.")
    again = turns.begin_variant(ann, conversation, first.answer_id)
    turns.save(again, said("The blue", stopped=True), "interrupted")
    found, messages = store.conversation(ann, conversation), store.messages(ann, conversation)
    others = store.other_variants(ann, conversation)
    markdown = "".join(as_markdown(found, messages))
    assert "interrupted, variant 2 of 2)" in markdown
    assert "The red one." not in markdown
    exported = "".join(as_json(found, messages, others))
    assert '"The red one."' in exported.partition('"other_variants"')[2]


def test_nobody_changes_the_turns_of_others(
    ledger: Ledger, store: ConversationStore, turns: TurnStore, ann: int
) -> None:
    bob = ledger.add_user("bob").id
    conversation = store.create(ann).id
    ids = turn(turns, ann, conversation, "Which pump?", "The red one.")
    for act in (
        lambda: turns.begin(conversation, ChatRequest(bob, "q")),
        lambda: turns.begin_variant(bob, conversation, ids.answer_id),
        lambda: turns.resume(bob, conversation, ids.answer_id),
        lambda: turns.choose(bob, conversation, ids.answer_id),
        lambda: turns.end(bob, conversation, ids.answer_id, "stopped"),
        lambda: store.pin(bob, conversation, True),
        lambda: store.other_variants(bob, conversation),
        lambda: store.ids(bob, conversation),
        lambda: turns.choose(ann, store.create(ann).id, ids.answer_id),
    ):
        with pytest.raises(NotFoundError):
            act()
    assert texts(store, ann, conversation) == ["Which pump?", "The red one."]


@on_both_databases
def test_an_answer_that_nothing_writes_any_more_is_interrupted(
    ledger: Ledger, store: ConversationStore, turns: TurnStore, ann: int
) -> None:
    conversation = store.create(ann).id
    turns.begin(conversation, ChatRequest(ann, "How long?"))
    with ledger.database.write() as connection:
        connection.exec_driver_sql("UPDATE messages SET created_at = created_at - 1900")
    assert store.messages(ann, conversation)[1].state == "interrupted"


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Why does this fail? ```python\nfor i in range(3): …\n```", "Why does this fail?"),
        ("## **Fees** of `P-10`\n> see [here](https://example.org/x)", "Fees of P-10 see here"),
        ("```\nprint(1)\n```", "print(1)"),
        ("Is 2 * 3 * 4 == 24, and a_b c_d?", "Is 2 * 3 * 4 == 24, and a_b c_d?"),
        ("# ", "#"),
        ("Dear all,\n" + "a line\n" * 20 + "ポンプの型番は？\nBest regards", "ポンプの型番は？"),
        ("Two lines?\nAnd more", "Two lines? And more"),
    ],
)
def test_a_title_is_what_is_asked_without_markdown(
    store: ConversationStore, turns: TurnStore, ann: int, question: str, title: str
) -> None:
    conversation = store.create(ann).id
    turn(turns, ann, conversation, question, "An answer.")
    assert store.conversation(ann, conversation).title == title


@on_both_databases
def test_pinned_conversations_come_first(store: ConversationStore, ann: int) -> None:
    ids = [store.create(ann, title).id for title in ("a", "b", "c")]
    assert store.pin(ann, ids[0], True).pinned
    assert [one.id for one in store.conversations(ann)] == [ids[0], ids[2], ids[1]]
    assert not store.pin(ann, ids[0], False).pinned
    assert [one.id for one in store.conversations(ann)] == [ids[2], ids[1], ids[0]]


FOUND = (
    ("mushroom", ["en"]),
    ("MUSHROOM soup", ["en"]),
    ("soup toast", []),
    ("きのこ", ["ja"]),
    ("ｷﾉｺ", ["ja"]),
    ("キノコのスープ", ["ja"]),
    ("버섯", ["ko"]),
    ("버섯 수프", ["ko"]),
    ("ＭＵＳＨＲＯＯＭ", ["en"]),
    ("100%", ["en"]),
    ("1_0", []),
    ("100", ["en"]),
    ("Straße", ["de"]),
    ("STRASSE", ["de"]),
    (" ", []),
    ("\x00", []),
    ("mush\x00room", ["en"]),
    ("Pinned title", ["de"]),
)


@on_both_databases
def test_conversations_are_found_by_the_words_of_their_messages(
    ledger: Ledger, store: ConversationStore, turns: TurnStore, ann: int
) -> None:
    answers = {
        "en": "A Mushroom is 100% in the soup.",
        "ja": "きのこのスープとキノコのスープ。",
        "ko": unicodedata.normalize("NFD", "버섯으로 만든 수프."),
        "de": "In der Straße.",
    }
    bob = ledger.add_user("bob").id
    for owner in (bob, ann):
        for name, answer in answers.items():
            conversation = store.create(owner, "Pinned title" if name == "de" else name).id
            turn(turns, owner, conversation, "What?", answer)
    by_text = {answers[name]: name for name in answers}
    for typed, found in FOUND:
        hits = store.find(ann, typed, limit=10)
        assert {hit.conversation.user_id for hit in hits} <= {ann}
        all_texts = [texts(store, ann, hit.conversation.id) for hit in hits]
        assert [next(by_text[text] for text in one if text in by_text) for one in all_texts] == found, typed
        assert all(hit.excerpt or fold(typed) in fold(hit.conversation.title) for hit in hits)


@on_both_databases
def test_an_excerpt_of_an_answer_has_no_markdown(store: ConversationStore, turns: TurnStore, ann: int) -> None:
    answer = "# Rooms\n\n- A room costs **120 \\*euros\\***, see [the *rules*](https://a.example/b).\n- `x__y` | two\n"
    turn(turns, ann, store.create(ann, "Prices").id, "Is a**b a glob?", answer)
    (hit,) = store.find(ann, "room", limit=10)
    assert hit.excerpt == "Rooms A room costs 120 euros, see the rules. x__y two"
    turn(turns, ann, store.create(ann, "Signs").id, "Is a**b a glob?", answer)
    assert {each.excerpt for each in store.find(ann, "glob", limit=10)} == {"Is a**b a glob?"}


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("call `__init__` first", "__init__"),
        ("see [the page](https://example.org/price-list) now", "price-list"),
        ("either a|b or neither", "a|b"),
    ],
)
def test_an_excerpt_has_what_is_searched_for_though_it_is_a_sign_or_an_address(
    store: ConversationStore, turns: TurnStore, ann: int, written: str, word: str
) -> None:
    turn(
        turns, ann, store.create(ann, "Signs").id, "What?", f"{'**Set** it. ' * 40}Then {written}.{' It is set.' * 40}"
    )
    (hit,) = store.find(ann, word, limit=10)
    assert word in hit.excerpt
    (hit,) = store.find(ann, "then", limit=10)
    assert "**" not in hit.excerpt


def test_a_long_line_to_fill_in_is_soon_an_excerpt() -> None:
    line = f"Name{'_' * 200_000}x"
    begun = time.process_time()
    assert spoken(f"__{line}__ ___and___ a__b__ _") == f"{line} and a__b _"
    assert time.process_time() - begun < 10.0, "it takes milliseconds, or a quarter of an hour"


@on_both_databases
def test_what_a_long_answer_says_is_shown_in_an_excerpt(store: ConversationStore, turns: TurnStore, ann: int) -> None:
    conversation = store.create(ann, "Cooking").id
    turn(
        turns, ann, conversation, "What?", f"{'Before that, water. ' * 20}Then the Mushroom.{' After that, salt.' * 20}"
    )
    (hit,) = store.find(ann, "mushroom", limit=10)
    assert "Mushroom" in hit.excerpt
    assert hit.excerpt.startswith("…")
    assert hit.excerpt.endswith("…")
    assert len(hit.excerpt) < 130
    ids = turns.begin(conversation, ChatRequest(ann, "And?"))
    turns.save(ids, replace(said("A chanterelle"), stopped=True), "running")
    assert store.find(ann, "chanterelle", limit=10) == []
    turns.save(ids, said("A chanterelle, too."), "complete")
    assert store.find(ann, "chanterelle", limit=10)[0].excerpt == "A chanterelle, too."
    store.delete(ann, conversation)
    assert store.find(ann, "chanterelle", limit=10) == []
