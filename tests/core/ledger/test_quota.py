"""Limits of what a user may have hold however many things are added at once, on SQLite and on PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from braid.core.accounts import credentials, idempotency
from braid.core.accounts.credentials import ApiTokens, WebSessions
from braid.core.accounts.idempotency import IdempotencyKeys, KeyInUseError
from braid.core.chat.feedback import Feedback, FeedbackStore
from braid.core.chat.store import ConversationStore
from braid.core.datasets.registry import Registry
from braid.core.errors import InvalidInputError
from braid.core.jobs.store import JobStore, NewJob
from braid.core.ledger.ledger import Ledger
from tests.worlds import WAIT_S, document

MOST = 3
AT_ONCE = 30

Add = Callable[[int], object]
"""Adds the nth one."""


def datasets(ledger: Ledger, user: int) -> Add:
    return lambda number: ledger.add_dataset(user, f"set {number}", most=MOST)


def documents(ledger: Ledger, user: int) -> Add:
    places = [ledger.add_dataset(user, name).id for name in ("one", "two")]
    return lambda number: ledger.put_document(places[number % 2], document(f"{number}.md", f"{number}"), most=MOST)


def failures(ledger: Ledger, user: int) -> Add:
    place = ledger.add_dataset(user, "one").id
    return lambda number: ledger.put_failed(place, f"{number}.pdf", title="", file_type="pdf", error="torn", most=MOST)


def conversations(ledger: Ledger, user: int) -> Add:
    store = ConversationStore(ledger, Registry(Path("none.json")))
    return lambda number: store.create(user, f"talk {number}", most=MOST)


def tokens(ledger: Ledger, user: int) -> Add:
    return lambda number: ApiTokens(ledger).add(user, f"token {number}", ("read",))


def feedback(ledger: Ledger, user: int) -> Add:
    store = FeedbackStore(ledger, most=MOST)
    return lambda number: store.add(user, Feedback("up", f"chunk{number}", "q", (1,), (f"chunk{number}",)))


def jobs(ledger: Ledger, user: int) -> Add:
    store, place = JobStore(ledger), ledger.add_dataset(user, "one").id
    return lambda number: store.add(user, [NewJob("upload", f"{number}.md", place)], most=MOST)


@pytest.mark.parametrize("kind", [datasets, documents, failures, conversations, tokens, feedback, jobs])
def test_however_many_are_added_at_once_the_limit_is_reached_and_not_passed(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, kind: Callable[[Ledger, int], Add]
) -> None:
    monkeypatch.setattr(credentials, "MAX_TOKENS", MOST)
    add, together = kind(ledger, ledger.add_user("ann").id), threading.Barrier(AT_ONCE)
    done: list[str] = []

    def run(number: int) -> None:
        together.wait(WAIT_S)
        try:
            add(number)
        except InvalidInputError as error:
            done.append(str(error))
        else:
            done.append("added")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done.count("added") == MOST
    assert len(done) == AT_ONCE
    assert all("limit" in said or "revoke one" in said for said in done if said != "added")
    ben = kind(ledger, ledger.add_user("ben").id)
    ben(100)


def test_what_replaces_a_document_is_not_counted_again(ledger: Ledger) -> None:
    place = ledger.add_dataset(ledger.add_user("ann").id, "one").id
    for _ in range(2):
        ledger.put_document(place, document("a.md", "first"), most=1)
    ledger.put_document(place, document("a.md", "second"), most=1)
    with pytest.raises(InvalidInputError, match="you have 1 documents, which is the limit; delete some first"):
        ledger.put_document(place, document("b.md", "first"), most=1)
    assert [found.source for found in ledger.documents(place)] == ["a.md"]


def test_a_program_stores_a_document_as_one_passage_however_long_it_is(ledger: Ledger) -> None:
    place = ledger.add_dataset(ledger.add_user("ann").id, "corpus").id
    ledger.put_document(place, document("a.md", "x" * 200_001))
    assert [found.chunks for found in ledger.documents(place)] == [1]


def test_the_newest_answers_are_kept_for_requests_that_are_repeated(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "MAX_KEYS", 2)
    keys, user = IdempotencyKeys(ledger), ledger.add_user("ann").id
    keys.begin(user, "runs", "hash")
    for number in range(4):
        keys.begin(user, f"key {number}", "hash")
        keys.finish(user, f"key {number}", 201, "{}")
    keys.begin(user, "another", "hash")
    with pytest.raises(KeyInUseError):
        keys.begin(user, "runs", "hash")
    kept = [name for name in ("key 3", "key 2") if keys.begin(user, name, "hash") is not None]
    assert kept == ["key 3", "key 2"]
    assert keys.begin(user, "key 0", "hash") is None, "it is done again"


def test_a_user_stays_signed_in_with_the_browsers_used_last(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "MAX_SESSIONS", 2)
    sessions, user = WebSessions(ledger), ledger.add_user("ann").id
    secrets = [sessions.open(user) for _ in range(4)]
    other = sessions.open(ledger.add_user("ben").id)
    assert [sessions.find(secret) is not None for secret in (*secrets, other)] == [False, False, True, True, True]
