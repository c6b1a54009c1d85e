"""Conversations in the ledger."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event, func, select

from braid.core.chat import feedback
from braid.core.chat.citations import Citation
from braid.core.chat.comparison import ThreeFields
from braid.core.chat.export import as_json, as_markdown
from braid.core.chat.feedback import AnswerThumbs, RatedDown, Thumb, ThumbCount
from braid.core.chat.query_writing import history_text
from braid.core.chat.store import ConversationStore
from braid.core.chat.turns import rows
from braid.core.chat.turns.turn_store import TurnStore
from braid.core.chat.types import LANGUAGES, ChatRequest, ChatResult
from braid.core.datasets.registry import Registry
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import CitationRow, MessageRow
from braid.core.types import ChunkInput, Degraded, DocumentInput, Filters, Passage, Query, SearchResult
from tests.databases import on_both_databases


@pytest.fixture
def registry(ledger: Ledger, tmp_path: Path) -> Registry:
    return Registry(tmp_path / "shared_dbs.json", retired_ids=ledger.retired_shared_ids)


@pytest.fixture
def store(ledger: Ledger, registry: Registry) -> ConversationStore:
    return ConversationStore(ledger, registry)


def put(ledger: Ledger, dataset_id: int, *texts: str, source: str = "a.md") -> list[Passage]:
    document = DocumentInput(source, "Title", "md", tuple(ChunkInput(text, "Head", page=3, line=7) for text in texts))
    put_result = ledger.put_document(dataset_id, document)
    return ledger.document_passages(put_result.document_id, [dataset_id])


def result(text: str, *passages: Passage) -> ChatResult:
    search = SearchResult(Query("q"), "basic", "none", ("q",), (), ("user_1",))
    citations = tuple(Citation(number, passage, passage.text) for number, passage in enumerate(passages, start=1))
    return ChatResult(
        "question", "query", "feedback", search, text, "extractive", True, citations,
        degraded=(Degraded("dense", "", "slow"),),
    )  # fmt: skip


@on_both_databases
def test_a_turn_is_stored_with_settings_and_citations(ledger: Ledger, store: ConversationStore) -> None:
    ann = ledger.add_user("ann").id
    dataset = ledger.add_dataset(ann, "notes").id
    passages = put(ledger, dataset, "One.", "Two.")
    conversation = store.create(ann)
    options = {"k": 3, "filters": Filters(frozenset({"md"}), date_from=1.0)}
    request = ChatRequest(ann, "What  is\none?", dataset_ids=[dataset], strategy="hyde", options=options)
    store.add(conversation.id, request, result("One [1]. Two [2].", *passages))
    question, answer = store.messages(ann, conversation.id)
    assert (question.role, question.text, question.citations) == ("user", "What  is\none?", ())
    assert question.settings == {
        "dataset_ids": [dataset],
        "strategy": "hyde",
        "options": {
            "k": 3,
            "filters": {
                "file_types": ["md"],
                "source_prefix": "",
                "date_from": 1.0,
                "date_to": None,
                "metadata": {},
                "chunk_kinds": [],
            },
        },
        "language": "en",
    }
    assert (answer.role, answer.text) == ("assistant", "One [1]. Two [2].")
    assert answer.settings["degraded"] == [{"leg": "dense", "collection": "", "reason": "slow"}]
    assert [(c.number, c.text, c.page, c.line, c.deleted) for c in answer.citations] == [
        (1, "One.", 3, 7, False),
        (2, "Two.", 3, 7, False),
    ]
    assert store.conversation(ann, conversation.id).title == "What is one?"
    assert [turn.role for turn in store.history(ann, conversation.id)] == ["user", "assistant"]


@on_both_databases
def test_an_earlier_answer_is_told_without_its_citations_and_else_to_the_letter(
    ledger: Ledger, store: ConversationStore
) -> None:
    ann = ledger.add_user("ann").id
    (passage,) = put(ledger, ledger.add_dataset(ann, "notes").id, "One.")
    conversation = store.create(ann).id
    text = "Press [1]. It beeps [1]. In [2, 3]."
    for marks in ((20,), None):  # as answers were stored before their marks were
        store.add(conversation, ChatRequest(ann, "Which?"), replace(result(text, passage), marks=marks))
    exactly, roughly = history_text(store.history(ann, conversation)).splitlines()[1::2]
    assert exactly == "Assistant: Press [1]. It beeps. In [2, 3]."
    assert roughly == "Assistant: Press. It beeps. In [2, 3]."


def test_a_stored_turn_is_found_by_its_ids(ledger: Ledger, store: ConversationStore) -> None:
    ann = ledger.add_user("ann").id
    conversation = store.create(ann).id
    passages = put(ledger, ledger.add_dataset(ann, "notes").id, "One.")
    request = ChatRequest(ann, "Which?")
    first = store.add(conversation, request, result("One [1].", *passages))
    second = store.add(conversation, request, result("Two."))  # the same question, as from another tab
    assert first.conversation_id == second.conversation_id == conversation
    question, answer = store.messages(ann, conversation, ids=first.message_ids)
    assert (question.id, question.text) == (first.question_id, "Which?")
    assert (answer.id, answer.text, len(answer.citations)) == (first.answer_id, "One [1].", 1)
    everything = store.messages(ann, conversation)
    assert [message.id for message in everything] == [*first.message_ids, *second.message_ids]
    assert store.messages(ann, store.create(ann).id, ids=first.message_ids) == []


@on_both_databases
def test_thumbs_on_answers_are_each_users_own_and_counted_by_who_answered(
    ledger: Ledger, store: ConversationStore
) -> None:
    ann, bob = ledger.add_user("ann").id, ledger.add_user("bob").id
    thumbs = AnswerThumbs(ledger)
    answers = []
    for user, writer in ((ann, "extractive"), (bob, "extractive"), (bob, "writer")):
        conversation = store.create(user).id
        store.add(conversation, ChatRequest(user, "Why?"), replace(result("So."), generator=writer))
        answers.append((user, conversation, store.messages(user, conversation)[1].id))
    given: tuple[Thumb, ...] = ("up", "down", "up")
    for (user, conversation, answer), kind in zip(answers, given, strict=True):
        thumbs.put(user, conversation, answer, kind)
    assert thumbs.counts() == [ThumbCount("extractive", 1, 1), ThumbCount("writer", 1, 0)]

    _, conversation, answer = answers[0]
    with pytest.raises(NotFoundError):
        thumbs.put(bob, conversation, answer, "down")
    with pytest.raises(NotFoundError):
        thumbs.put(bob, answers[1][1], answer, "down")
    assert store.messages(ann, conversation)[1].thumb == "up"
    thumbs.put(ann, conversation, answer, "none")
    assert thumbs.counts() == [ThumbCount("extractive", 0, 1), ThumbCount("writer", 1, 0)]


@on_both_databases
def test_what_is_wrong_with_an_answer_is_kept_with_its_thumb(ledger: Ledger, store: ConversationStore) -> None:
    ann, thumbs = ledger.add_user("ann").id, AnswerThumbs(ledger)
    conversation = store.create(ann).id
    store.add(conversation, ChatRequest(ann, "Why?"), replace(result("So."), generator="writer"))
    answer = store.messages(ann, conversation)[1].id
    thumbs.put(ann, conversation, answer, "down")
    assert list(thumbs.faults()) == []
    thumbs.put(ann, conversation, answer, "down", fault="unsupported", comment=" Page 3 says 5. ")
    assert list(thumbs.faults()) == [RatedDown("unsupported", "Page 3 says 5.", "writer")]
    message = store.messages(ann, conversation)[1]
    assert (message.thumb, message.fault, message.comment) == ("down", "unsupported", "Page 3 says 5.")
    for wrong in ({"fault": "ugly"}, {"comment": "x" * 501}):
        with pytest.raises(InvalidInputError):
            thumbs.put(ann, conversation, answer, "down", **wrong)  # type: ignore[arg-type]
    assert list(thumbs.faults(days=0)) == []
    thumbs.put(ann, conversation, answer, "up", fault="wrong", comment="not kept")
    assert list(thumbs.faults()) == []
    assert thumbs.fault_counts() == {}
    assert store.messages(ann, conversation)[1].comment == ""


@on_both_databases
def test_what_is_wrong_is_counted_and_read_of_all_answers(
    ledger: Ledger, store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedback, "FAULTS_PER_READ", 2)
    ann, thumbs = ledger.add_user("ann").id, AnswerThumbs(ledger)
    conversation = store.create(ann).id
    for number in range(5):
        store.add(conversation, ChatRequest(ann, "Why?"), result("So."))
        comment = f"comment {number}" if number % 2 else ""
        answer = store.messages(ann, conversation)[-1].id
        thumbs.put(ann, conversation, answer, "down", fault="wrong" if number < 4 else "incomplete", comment=comment)
    assert thumbs.fault_counts() == {"wrong": (4, 2), "incomplete": (1, 0)}
    assert [each.fault for each in thumbs.faults()] == ["incomplete", *["wrong"] * 4]
    assert [each.comment for each in thumbs.faults(commented=True)] == ["comment 3", "comment 1"]
    assert thumbs.fault_counts(days=0) == {}


@on_both_databases
def test_a_cited_passage_that_was_deleted_since_is_marked_and_kept_as_cited(
    ledger: Ledger, store: ConversationStore
) -> None:
    ann = ledger.add_user("ann").id
    dataset = ledger.add_dataset(ann, "notes").id
    passages = put(ledger, dataset, "One.", "Two.")
    conversation = store.create(ann)
    store.add(conversation.id, ChatRequest(ann, "q"), result("[1][2]", *passages))
    put(ledger, dataset, "One.", "Two, changed.")
    changed = store.messages(ann, conversation.id)[1].citations
    assert [(c.deleted, c.fate) for c in changed] == [(False, "current"), (True, "changed")]
    assert changed[1].now == ledger.document_passages(passages[0].document_id, [dataset])[0].chunk_id
    ledger.remove_document(dataset, "a.md")
    citations = store.messages(ann, conversation.id)[1].citations
    assert [(c.text, c.fate) for c in citations] == [("One.", "deleted"), ("Two.", "deleted")]
    ledger.remove_dataset(dataset)
    citations = store.messages(ann, conversation.id)[1].citations
    assert [(c.text, c.fate) for c in citations] == [("One.", "deleted"), ("Two.", "deleted")]


def test_a_shared_passage_that_may_no_longer_be_read_is_marked(
    ledger: Ledger, store: ConversationStore, registry: Registry
) -> None:
    ann = ledger.add_user("ann", ["lab"]).id
    entry = registry.add("manual", "shared_manual", allowed_groups=("lab",))
    ledger.register_shared(entry.id, entry.name, entry.collection_name)
    passages = put(ledger, entry.id, "One.")
    conversation = store.create(ann)
    store.add(conversation.id, ChatRequest(ann, "q"), result("[1]", *passages))
    assert [c.deleted for c in store.messages(ann, conversation.id)[1].citations] == [False]
    registry.update(entry.id, allowed_groups=("board",))
    assert [c.deleted for c in store.messages(ann, conversation.id)[1].citations] == [True]


def test_another_users_conversation_is_not_found(ledger: Ledger, store: ConversationStore) -> None:
    ann, bob = ledger.add_user("ann").id, ledger.add_user("bob").id
    conversation = store.create(ann, "mine")
    for wrong in (conversation.id, 999, 0, -1, 2**40):
        for call in (
            lambda id_=wrong: store.conversation(bob, id_),
            lambda id_=wrong: store.messages(bob, id_),
            lambda id_=wrong: store.history(bob, id_),
            lambda id_=wrong: store.rename(bob, id_, "stolen"),
            lambda id_=wrong: store.delete(bob, id_),
            lambda id_=wrong: store.add(id_, ChatRequest(bob, "q"), result("a")),
        ):
            with pytest.raises(NotFoundError, match="there is no conversation"):
                call()
    assert store.conversations(bob) == []
    assert [c.title for c in store.conversations(ann)] == ["mine"]


def test_the_conversation_used_last_comes_first(ledger: Ledger, store: ConversationStore) -> None:
    ann = ledger.add_user("ann").id
    ids = [store.create(ann, title).id for title in ("a", "b", "c")]
    store.add(ids[0], ChatRequest(ann, "q"), result("a"))
    assert [c.id for c in store.conversations(ann)] == [ids[0], ids[2], ids[1]]
    assert [c.id for c in store.conversations(ann, limit=1, offset=1)] == [ids[2]]


@on_both_databases
def test_renaming_and_deleting(ledger: Ledger, store: ConversationStore) -> None:
    ann = ledger.add_user("ann").id
    dataset = ledger.add_dataset(ann, "notes").id
    conversation = store.create(ann)
    store.add(conversation.id, ChatRequest(ann, "q"), result("[1]", *put(ledger, dataset, "One.")))
    assert store.rename(ann, conversation.id, " 新しい\n題 ").title == "新しい 題"
    for title in ("", " \x00 ", "x" * 201):
        with pytest.raises(InvalidInputError):
            store.rename(ann, conversation.id, title)
    store.delete(ann, conversation.id)
    assert store.conversations(ann) == []
    with ledger.database.read() as connection:
        for table in (MessageRow, CitationRow):
            assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 0


@on_both_databases
def test_what_was_deleted_is_in_no_list_until_it_is_restored(
    ledger: Ledger, store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, ben = ledger.add_user("ann").id, ledger.add_user("ben").id
    first, second, third = (store.create(ann, title).id for title in ("pump", "seal", "valve"))
    dataset = ledger.add_dataset(ann, "notes").id
    store.add(first, ChatRequest(ann, "pump?"), result("[1]", *put(ledger, dataset, "One.")))
    store.arrange(ann, [first], label="Plant")
    token = store.links.share(ann, first)
    thumbs, answer = AnswerThumbs(ledger), store.messages(ann, first)[1].id
    thumbs.put(ann, first, answer, "up")
    store.discard(ann, first)
    assert [one.title for one in store.conversations(ann)] == [one.title for one in store.all(ann)][::-1]
    assert (store.find(ann, "pump", limit=9), store.labels(ann), store.arrange(ann, [first], label="x")) == ([], [], [])
    with pytest.raises(NotFoundError):
        store.links.find(token)
    with pytest.raises(NotFoundError):
        thumbs.put(ann, first, answer, "down")
    with pytest.raises(NotFoundError):
        TurnStore(ledger).begin(first, ChatRequest(ann, "and then?"))
    assert thumbs.counts() == []
    assert store.restore(ben, [first]) == []
    with pytest.raises(InvalidInputError, match="you have 3 conversations, which is the limit"):
        store.restore(ann, [first], most=2)
    assert [one.id for one in store.deleted(ann)] == [first], "what is refused changes nothing"
    assert store.restore(ann, [first], most=3) == [first]
    assert [one.conversation.title for one in store.find(ann, "pump", limit=9)] == ["pump"]
    assert (len(store.messages(ann, first)), store.labels(ann), store.links.token(ann, first)) == (2, ["Plant"], token)
    assert store.links.find(token).conversation_id == first
    assert [count.up for count in thumbs.counts()] == [1]
    monkeypatch.setattr("braid.core.chat.store.MOST_DISCARDED", 2)
    for one in (second, first, third):
        store.discard(ann, one)
    assert [one.id for one in store.deleted(ann)] == [third, first]


@on_both_databases
def test_any_text_can_be_stored(ledger: Ledger, store: ConversationStore) -> None:
    ann = ledger.add_user("ann").id
    conversation = store.create(ann)
    odd = "nul \x00 lone \ud800 emoji 🎉"
    request = ChatRequest(ann, odd, options={"mode": odd})
    store.add(conversation.id, request, result(odd))
    assert store.messages(ann, conversation.id)[0].text == "nul  lone ? emoji 🎉"


def test_a_three_field_search_is_stored_with_its_fields(ledger: Ledger, store: ConversationStore) -> None:
    ann = ledger.add_user("ann").id
    conversation = store.create(ann)
    store.add(conversation.id, ChatRequest(ann, fields=ThreeFields("heat", "water", "", "be brief")), result("a"))
    question = store.messages(ann, conversation.id)[0]
    assert question.text == "Purpose: heat\nMaterials: water\nInstruction: be brief"
    assert ChatRequest(ann, fields=ThreeFields("加熱", "", "", "")).typed_text == "目的: 加熱"
    assert question.settings["fields"] == {"purpose": "heat", "materials": "water", "instruction": "be brief"}


def test_export_as_markdown_and_json(ledger: Ledger, store: ConversationStore) -> None:
    ann = ledger.add_user("ann").id
    dataset = ledger.add_dataset(ann, "notes").id
    conversation = store.create(ann, "Numbers")
    passages = put(ledger, dataset, "One.\nStill one.", "Two.")
    store.add(conversation.id, ChatRequest(ann, "q"), result("One [1]. Two [2].", *passages))
    put(ledger, dataset, "One.\nStill one.")
    stored, messages = store.conversation(ann, conversation.id), store.messages(ann, conversation.id)
    markdown = "".join(as_markdown(stored, messages))
    assert markdown.startswith("# Numbers\n\n## Question (")
    assert "**[1]** Title · Head · a.md · page 3 · line 7\n\n> One.\n> Still one." in markdown
    assert "**[2]** Title · Head · a.md · page 3 · line 7 (changed since)\n\n> Two." in markdown
    in_japanese, in_korean = ("".join(as_markdown(stored, messages, language=each)) for each in LANGUAGES[1:])
    assert "## 質問 (" in in_japanese
    assert "**[2]** Title · Head · a.md · 3 ページ · 7 行目 (その後変更されました)" in in_japanese
    assert "**[2]** Title · Head · a.md · 3페이지 · 7행 (이후 변경됨)" in in_korean
    exported = json.loads("".join(as_json(stored, messages)))
    assert exported["title"] == "Numbers"
    assert [c["deleted"] for c in exported["messages"][1]["citations"]] == [False, True]


def test_only_users_have_conversations(ledger: Ledger, store: ConversationStore) -> None:
    with pytest.raises(NotFoundError, match="there is no user 5"):
        store.create(5)
    conversation = store.create(ledger.add_user("ann").id)
    with pytest.raises(InvalidInputError, match="user_id"):
        store.add(conversation.id, ChatRequest(None, "q"), result("a"))


@on_both_databases
def test_a_copy_takes_as_few_statements_for_many_messages_as_for_few(ledger: Ledger, store: ConversationStore) -> None:
    ann, ben = ledger.add_user("ann").id, ledger.add_user("ben").id
    shared = ledger.add_dataset(ann, "notes").id
    passages = put(ledger, shared, "One.", "Two.")
    written: list[str] = []
    engine = ledger.database.engine

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        written.extend([statement] if statement.startswith(("INSERT", "UPDATE", "DELETE")) else [])

    def copied(turns: int) -> tuple[list[str], int]:
        id_ = store.create(ann).id
        for number in range(turns):
            store.add(id_, ChatRequest(ann, f"q{number}", dataset_ids=[shared]), result(f"a{number}", *passages))
        found = store.links.find(store.links.share(ann, id_))
        written.clear()
        event.listen(engine, "before_cursor_execute", note)
        try:
            copy = store.copy(ben, found)
        finally:
            event.remove(engine, "before_cursor_execute", note)
        return list(written), copy.id

    few, _ = copied(2)
    many, copy_id = copied(5)
    assert len(many) == len(few) > 2
    messages = store.messages(ben, copy_id)
    assert [each.text for each in messages[::2]] == [f"q{number}" for number in range(5)]
    assert [each.parent_id for each in messages] == [None, *(each.id for each in messages[:-1])]
    assert [hit.conversation.id for hit in store.find(ben, "q4", limit=5)] == [copy_id]
    turn = store.add(copy_id, ChatRequest(ben, "on", everything=True), result("b"))
    assert store.path(ben, copy_id)[-2:] == list(turn.message_ids)


def test_a_copy_that_fails_leaves_no_conversation(
    ledger: Ledger, store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, ben = ledger.add_user("ann").id, ledger.add_user("ben").id
    id_ = store.create(ann).id
    store.add(id_, ChatRequest(ann, "one", everything=True), result("a"))
    found = store.links.find(store.links.share(ann, id_))
    monkeypatch.setattr(rows, "MAX_MESSAGES", 1)
    with pytest.raises(InvalidInputError, match="the limit"):
        store.copy(ben, found)
    assert store.conversations(ben) == []
