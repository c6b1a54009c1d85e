"""The ledger: users, datasets, documents and failures; what both databases must do alike is in test_contract."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import DocumentRow
from braid.core.types import ChunkInput
from tests.core.ledger.contents import counts, document, ids, texts

# ---------------------------------------------------------------- users


def test_a_user_is_found_by_id_and_by_name(ledger: Ledger) -> None:
    ann = ledger.add_user("ann", ["staff", "legal"])
    bob = ledger.add_user("bob")
    assert ledger.users() == [ann, bob]
    assert ledger.user(ann.id) == ledger.user_named("ann") == ann
    assert ann.groups == {"staff", "legal"}
    assert ledger.user(99) is None
    assert ledger.user_named("carl") is None


@pytest.mark.parametrize("name", ["山田太郎", "김철수", "O'Brien; DROP TABLE users", "x" * 200, "a b"])
def test_a_name_is_kept_as_it_is(ledger: Ledger, name: str) -> None:
    user = ledger.add_user(name)
    dataset = ledger.add_dataset(user.id, name)
    assert ledger.user_named(name) == user
    assert ledger.dataset(dataset.id).name == name


@pytest.mark.parametrize("name", ["", "  ", "\x00", "x" * 201])
def test_a_name_that_is_none_is_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(InvalidInputError, match="must have 1 to 200 characters") as caught:
        ledger.add_user(name)
    assert caught.value.field == "name"
    with pytest.raises(InvalidInputError, match="the dataset's name"):
        ledger.add_dataset(ledger.add_user("ann").id, name)


@pytest.mark.parametrize("name", ["a\r\nb", "a\tb", "a\u2028b"])
def test_a_name_with_control_characters_is_refused(ledger: Ledger, name: str) -> None:
    user_id = ledger.add_user("ann").id
    dataset_id = ledger.add_dataset(user_id, "社内\u3000文書 👩\u200d💻").id
    with pytest.raises(InvalidInputError, match="control character") as caught:
        ledger.add_dataset(user_id, name)
    assert caught.value.field == "name"
    with pytest.raises(InvalidInputError, match="control character"):
        ledger.rename_dataset(dataset_id, name)


def test_a_taken_name_is_refused_and_the_ledger_still_writes(ledger: Ledger) -> None:
    ledger.add_user("ann", ["staff"])
    with pytest.raises(InvalidInputError, match="'ann' exists already; choose another"):
        ledger.add_user(" ann ", ["legal"])
    assert [(user.name, user.groups) for user in ledger.users()] == [("ann", frozenset({"staff"}))]
    ledger.add_user("bob")


# ---------------------------------------------------------------- datasets


def test_datasets_belong_to_their_user(ledger: Ledger) -> None:
    ann, bob = ledger.add_user("ann"), ledger.add_user("bob")
    first, other, second = (ledger.add_dataset(u.id, n) for u, n in ((ann, "a"), (bob, "b"), (ann, "a")))
    assert ledger.datasets(ann.id) == [first, second]
    assert ledger.datasets(bob.id) == [other]
    assert (first.collection, first.user_id, first.shared) == (f"user_{ann.id}", ann.id, False)
    assert ledger.rename_dataset(first.id, "資料").name == "資料"


def test_an_unknown_dataset_is_not_found(ledger: Ledger) -> None:
    for act in (
        lambda: ledger.dataset(7),
        lambda: ledger.rename_dataset(7, "x"),
        lambda: ledger.remove_dataset(7),
        lambda: ledger.put_document(7, document("a", "x")),
        lambda: ledger.put_failed(7, "a", title="a", file_type="md", error="e"),
        lambda: ledger.remove_document(7, "a"),
    ):
        with pytest.raises(NotFoundError, match="there is no dataset 7"):
            act()
    with pytest.raises(NotFoundError, match="there is no user 7; add one first"):
        ledger.add_dataset(7, "x")


def test_shared_and_personal_ids_do_not_disturb_each_other(ledger: Ledger, dataset: int) -> None:
    ledger.register_shared(-5, "Guide", "shared_main")
    assert ledger.add_dataset(1, "more").id == dataset + 1
    assert ledger.dataset(-5).shared
    assert [d.id for d in ledger.all_datasets()] == [-5, dataset, dataset + 1]
    assert [d.id for d in ledger.datasets_in(["shared_main"])] == [-5]


# ---------------------------------------------------------------- documents


def test_putting_again_replaces(ledger: Ledger, dataset: int) -> None:
    first = ledger.put_document(dataset, document("a", "one", "two"))
    again = ledger.put_document(dataset, document("a", "two", "three", "four"))
    assert again.document_id == first.document_id
    assert (again.added, again.kept, again.removed) == (2, 1, 1)
    assert texts(ledger, dataset, "a") == ["two", "three", "four"]
    assert counts(ledger, dataset) == (1, 3)


def test_the_same_source_in_two_datasets_is_two_documents(ledger: Ledger, dataset: int) -> None:
    other = ledger.add_dataset(1, "other").id
    ledger.put_document(dataset, document("a", "one"))
    ledger.put_document(other, document("a", "one"))
    assert ids(ledger, dataset, "a") != ids(ledger, other, "a")
    ledger.remove_document(other, "a")
    assert texts(ledger, dataset, "a") == ["one"]


def test_an_equal_hash_means_nothing_to_do(ledger: Ledger, dataset: int) -> None:
    given = document("a", "one", "two", content_hash="h")
    ledger.put_document(dataset, given)
    before = ledger.document(dataset, "a")
    result = ledger.put_document(dataset, replace(given, chunks=()))
    assert (result.unchanged, result.kept, result.added) == (True, 2, 0)
    assert ledger.document(dataset, "a") == before


@pytest.mark.parametrize(
    "changed", [{"title": "New"}, {"content_hash": "other"}, {"content_hash": ""}], ids=["title", "hash", "no hash"]
)
def test_anything_else_is_a_replacement(ledger: Ledger, dataset: int, changed: dict[str, Any]) -> None:
    given = document("a", "one", content_hash="h")
    ledger.put_document(dataset, given)
    result = ledger.put_document(dataset, replace(given, chunks=(ChunkInput("two"),), **changed))
    assert not result.unchanged
    assert texts(ledger, dataset, "a") == ["two"]


def test_many_in_one_transaction_are_all_stored_or_none(ledger: Ledger, dataset: int) -> None:
    results = ledger.put_documents(dataset, [document("a", "one"), document("b", "two"), document("a", "three")])
    assert [result.added for result in results] == [1, 1, 1]
    assert texts(ledger, dataset, "a") == ["three"]
    with pytest.raises(InvalidInputError, match="source is empty"):
        ledger.put_documents(dataset, [document("c", "four"), document(" ", "five")])
    assert [d.source for d in ledger.documents(dataset)] == ["a", "b"]
    assert counts(ledger, dataset) == (2, 2)


def test_a_document_of_a_batch_is_done_when_its_changes_are_applied(ledger: Ledger, dataset: int) -> None:
    ledger.put_documents(dataset, [document(source, "one", content_hash="h") for source in "abc"])
    ledger.put_documents(dataset, [document("a", "one", content_hash="h"), document("b", "two"), document("d")])
    log = ChangeLog(ledger.database)
    last = {chunk.chunk_id: chunk.seq for chunk in log.after("user_1", 0, 100)}
    with ledger.database.read() as connection:
        rows = connection.execute(select(DocumentRow.source, DocumentRow.changed_seq))
        marked: dict[str, int] = {row.source: row.changed_seq for row in rows}
    for source in "abc":
        assert marked[source] >= max(last[chunk_id] for chunk_id in ids(ledger, dataset, source).values())
    assert marked["a"] < log.heads()["user_1"]  # it has not changed since
    assert marked["d"] == 0


def test_a_document_without_passages(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, document("empty"))
    assert counts(ledger, dataset) == (1, 0)
    ledger.put_document(dataset, document("empty", "now one"))
    ledger.put_document(dataset, document("empty"))
    assert counts(ledger, dataset) == (1, 0)
    assert texts(ledger, dataset, "empty") == []


# ---------------------------------------------------------------- failures


def put_failed(ledger: Ledger, dataset_id: int, source: str, *, content_hash: str = "bad") -> int:
    return ledger.put_failed(
        dataset_id, source, title="New", file_type="pdf", error="it is encrypted", content_hash=content_hash
    )


def test_a_failure_is_recorded_with_its_reason(ledger: Ledger, dataset: int) -> None:
    document_id = put_failed(ledger, dataset, "a.pdf")
    stored = ledger.document(dataset, "a.pdf")
    assert stored is not None
    assert (stored.id, stored.state, stored.error, stored.chunks) == (document_id, "failed", "it is encrypted", 0)
    assert counts(ledger, dataset) == (1, 0)
    assert put_failed(ledger, dataset, "a.pdf") == document_id
    assert counts(ledger, dataset) == (1, 0)


def test_a_failure_keeps_what_was_readable_before(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, document("a.pdf", "one", title="Old", content_hash="good"))
    before = ids(ledger, dataset, "a.pdf")
    put_failed(ledger, dataset, "a.pdf")
    stored = ledger.document(dataset, "a.pdf")
    assert stored is not None
    assert (stored.state, stored.chunks, stored.title) == ("failed", 1, "Old")
    assert ids(ledger, dataset, "a.pdf") == before
    assert counts(ledger, dataset) == (1, 1)


def test_a_document_is_readable_again_after_a_failure(ledger: Ledger, dataset: int) -> None:
    """Also when the bytes are the same: the reader may have learnt the format meanwhile."""
    put_failed(ledger, dataset, "a.pdf", content_hash="same")
    result = ledger.put_document(dataset, document("a.pdf", "one", content_hash="same"))
    assert not result.unchanged
    stored = ledger.document(dataset, "a.pdf")
    assert stored is not None
    assert (stored.state, stored.error, stored.chunks) == ("ready", "", 1)
    assert counts(ledger, dataset) == (1, 1)
