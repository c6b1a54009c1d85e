"""What all answers together tell: questions in vain, cited documents of shared datasets, the use of models."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from braid.core.braid import Braid
from braid.core.chat.conversation import Conversation
from braid.core.chat.feedback import AnswerThumbs
from braid.core.chat.store import ConversationStore
from braid.core.chat.turns.tally import Tally
from braid.core.chat.types import ChatRequest

Put = Callable[..., str]


@pytest.fixture
def people(braid: Braid, put: Put) -> list[int]:
    """Four users, and a shared dataset beside the first one's own."""
    users = [braid.ledger.add_user(name).id for name in ("ann", "ben", "cid", "dea")]
    braid.ledger.add_dataset(users[0], "Notes")
    braid.registry.add("Handbook", "shared_all")
    braid.registry.add("Nothing yet", "shared_none")
    braid.mirror_registry()
    put(1, "own.md", "The safe opens with a silver key.", title="Own", wait=False)
    put(-1, "travel.md", "Book trains through the travel office.", title="Travel")
    return users


def ask(braid: Braid, user_id: int, text: str, *dataset_ids: int) -> tuple[int, int]:
    """The ids of the conversation and the answer."""
    store, request = (
        ConversationStore(braid.ledger, braid.registry),
        ChatRequest(user_id, text, dataset_ids=dataset_ids),
    )
    stored = store.add(store.create(user_id).id, request, Conversation(braid).ask(request))
    return stored.conversation_id, stored.answer_id


def test_what_three_users_asked_in_vain_is_told_and_what_fewer_asked_is_not(braid: Braid, people: list[int]) -> None:
    for user_id in people[:3]:
        ask(braid, user_id, "zyxwv qwrtp vacation", -2)
    ask(braid, people[0], "zyxwv qwrtp vacation please", -2)
    for _ in range(5):
        ask(braid, people[3], "kjhgf mnbvc salary", -2)
    tally = Tally(braid.ledger, braid.analyzer)
    found = tally.unanswered()
    assert [(each.question, each.askers, each.times) for each in found] == [("zyxwv qwrtp vacation", 3, 4)]
    assert found[0].wordings == ("zyxwv qwrtp vacation please", "zyxwv qwrtp vacation")
    assert tally.unanswered(days=0) == []


def test_cited_documents_are_those_of_shared_datasets(braid: Braid, people: list[int]) -> None:
    ask(braid, people[0], "What does the safe open with?", 1)
    conversation, answer = ask(braid, people[1], "How do I book trains?", -1)
    ask(braid, people[2], "How do I book trains?", -1)
    AnswerThumbs(braid.ledger).put(people[1], conversation, answer, "down")
    [cited] = Tally(braid.ledger, braid.analyzer).cited()
    assert (cited.dataset_id, cited.source, cited.title, cited.answers, cited.down) == (-1, "travel.md", "Travel", 2, 1)


def test_answers_are_counted_by_what_wrote_them(braid: Braid, people: list[int]) -> None:
    ask(braid, people[1], "How do I book trains?", -1)
    [used] = Tally(braid.ledger, braid.analyzer).models()
    assert (used.generator, used.answers, used.prompt_tokens) == ("extractive", 1, 0)
    assert used.answer_tokens > 0
