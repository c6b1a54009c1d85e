"""Limits of what a user may have; test_writers has those at once."""

from __future__ import annotations

import pytest

from braid.core.accounts.credentials import WebSessions
from braid.core.accounts.idempotency import IdempotencyKeys, KeyInUseError
from braid.core.errors import InvalidInputError
from braid.core.ledger.ledger import Ledger
from tests.databases import on_both_databases
from tests.worlds import document


def test_what_replaces_a_document_is_not_counted_again(ledger: Ledger) -> None:
    place = ledger.add_dataset(ledger.add_user("ann").id, "one").id
    for _ in range(2):
        ledger.put_document(place, document("a.md", "first"), most=1)
    ledger.put_document(place, document("a.md", "second"), most=1)
    with pytest.raises(InvalidInputError, match=r"you have 1 documents, .* the limit; delete some permanently"):
        ledger.put_document(place, document("b.md", "first"), most=1)
    assert [found.source for found in ledger.documents(place)] == ["a.md"]


def test_a_program_stores_a_document_as_one_passage_however_long_it_is(ledger: Ledger) -> None:
    place = ledger.add_dataset(ledger.add_user("ann").id, "corpus").id
    ledger.put_document(place, document("a.md", "x" * 200_001))
    assert [found.chunks for found in ledger.documents(place)] == [1]


@on_both_databases
def test_the_newest_answers_are_kept_for_requests_that_are_repeated(
    ledger: Ledger,
) -> None:
    keys, user = IdempotencyKeys(ledger, most=2), ledger.add_user("ann").id
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


@on_both_databases
def test_a_user_stays_signed_in_with_the_browsers_used_last(ledger: Ledger) -> None:
    sessions, user = WebSessions(ledger, most=2), ledger.add_user("ann").id
    secrets = [sessions.open(user) for _ in range(4)]
    other = sessions.open(ledger.add_user("ben").id)
    assert [sessions.find(secret) is not None for secret in (*secrets, other)] == [False, False, True, True, True]
