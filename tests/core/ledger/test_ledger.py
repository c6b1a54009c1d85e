"""The ledger on SQLite and on PostgreSQL: users, datasets, documents and failures; the same tests for both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.document_writes import PutResult
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import DocumentRow
from braid.core.types import ChunkInput, DocumentInput, Filters
from tests.core.ledger.contents import counts, document, ids, passages, texts, vectors

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


def test_removing_a_dataset_takes_everything_with_it_at_once(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, document("a", "one", "two"))
    (one, two) = ids(ledger, dataset, "a").values()
    document_id = ledger.documents(dataset)[0].id
    ledger.store_embeddings("m", [one, two], vectors(1, 1))
    ledger.remove_dataset(dataset)
    assert ledger.passages([one, two], [dataset]) == {}
    assert ledger.visible([one, two], [dataset]) == set()
    assert ledger.document_passages(document_id, [dataset]) == []
    assert ledger.documents(dataset) == []
    assert ledger.embeddings("m", [one, two]) == {}
    assert ledger.all_datasets() == []
    with pytest.raises(NotFoundError):
        ledger.put_document(dataset, document("b", "late"))
    with pytest.raises(NotFoundError):
        ledger.remove_dataset(dataset)


def test_a_personal_id_is_never_given_again(database_url: str) -> None:
    given: list[int] = []
    for _ in range(3):
        ledger = Ledger(database_url)
        user = ledger.user_named("ann") or ledger.add_user("ann")
        given.append(ledger.add_dataset(user.id, "notes").id)
        ledger.remove_dataset(given[-1])
        ledger.close()
    assert len(set(given)) == 3


def test_a_shared_id_stays_retired(database_url: str) -> None:
    ledger = Ledger(database_url)
    ledger.register_shared(-1, "Guide", "shared_main")
    ledger.register_shared(-2, "Rules", "shared_main")
    ledger.remove_dataset(-1)
    ledger.close()
    ledger = Ledger(database_url)
    assert ledger.retired_shared_ids() == {-1}
    ledger.register_shared(-1, "Guide", "shared_main")  # an old copy of shared_dbs.json came back
    assert ledger.retired_shared_ids() == {-1}
    with pytest.raises(NotFoundError):
        ledger.put_document(-1, document("a", "x"))
    ledger.close()


def test_shared_and_personal_ids_do_not_disturb_each_other(ledger: Ledger, dataset: int) -> None:
    ledger.register_shared(-5, "Guide", "shared_main")
    assert ledger.add_dataset(1, "more").id == dataset + 1
    assert ledger.dataset(-5).shared
    assert [d.id for d in ledger.all_datasets()] == [-5, dataset, dataset + 1]
    assert [d.id for d in ledger.datasets_in(["shared_main"])] == [-5]


def test_a_shared_dataset_that_moves_takes_its_passages_and_embeddings_along(ledger: Ledger) -> None:
    ledger.register_shared(-1, "Guide", "shared_old")
    ledger.put_document(-1, document("a", "one"))
    (one,) = ids(ledger, -1, "a").values()
    ledger.store_embeddings("m", [one], vectors(1))
    ledger.register_shared(-1, "Guide", "shared_new")
    log = ChangeLog(ledger.database)
    assert ledger.passages([one], [-1])[one].collection == "shared_new"
    assert log.chunk_ids("shared_old") == set()
    assert log.embedded_ids("shared_new", "m") == {one}
    assert log.after("shared_old", 0, 10)[-1].chunk_id == log.after("shared_new", 0, 10)[-1].chunk_id == one


# ---------------------------------------------------------------- documents


def test_what_is_put_is_read_back(ledger: Ledger, dataset: int) -> None:
    chunk = ChunkInput("text", "A > B", page=2, page_end=3, line=10, line_end=12)
    metadata = {"author": "夏目漱石"}
    given = DocumentInput("猫.pdf", "吾輩は猫である", "pdf", (chunk,), "hash", 9, 1e9, metadata)
    result = ledger.put_document(dataset, given)
    assert (result.added, result.kept, result.removed, result.unchanged) == (1, 0, 0, False)
    stored = ledger.document(dataset, "猫.pdf")
    assert stored is not None
    assert (stored.id, stored.title, stored.file_type) == (result.document_id, "吾輩は猫である", "pdf")
    assert (stored.state, stored.error, stored.chunks, stored.size_bytes) == ("ready", "", 1, 9)
    assert (stored.content_hash, stored.date) == ("hash", 1e9)
    (passage,) = passages(ledger, dataset, "猫.pdf")
    assert (passage.text, passage.heading_path, passage.position) == ("text", "A > B", 0)
    assert (passage.page, passage.page_end, passage.line, passage.line_end) == (2, 3, 10, 12)
    assert (passage.source, passage.title, passage.file_type) == ("猫.pdf", "吾輩は猫である", "pdf")
    assert (passage.dataset_id, passage.collection, passage.date) == (dataset, "user_1", 1e9)
    assert passage.metadata == metadata


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


def test_an_equal_hash_with_another_date_changes_no_chunk(ledger: Ledger, dataset: int) -> None:
    given = document("a", "one", "two", content_hash="h")
    ledger.put_document(dataset, replace(given, date=5.0, metadata={"author": "Ann"}))
    before, heads = passages(ledger, dataset, "a"), ChangeLog(ledger.database).heads()
    for date, metadata in ((7.25, {"author": "Ann"}), (7.25, {"author": "Bob"}), (None, {})):
        result = ledger.put_document(dataset, replace(given, chunks=(), date=date, metadata=metadata))
        assert result.unchanged
        after = passages(ledger, dataset, "a")
        assert after == [replace(passage, date=date, metadata=metadata) for passage in before]
    assert ChangeLog(ledger.database).heads() == heads
    stored = ledger.document(dataset, "a")
    assert stored is not None
    ledger.set_date(stored.id, 9.5)
    assert [passage.date for passage in passages(ledger, dataset, "a")] == [9.5, 9.5]
    assert ledger.matching_documents([dataset], Filters(date_from=9.0))[0] == [stored.id]
    with pytest.raises(NotFoundError, match="there is no document 99"):
        ledger.set_date(99, 1.0)


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


@pytest.mark.parametrize("size", [1, 2, 3, 500])
def test_many_at_once_are_stored_as_if_one_after_another(
    ledger: Ledger, dataset: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same puts into two datasets, singly and in batches: the same results, passages, counts and changes."""
    monkeypatch.setattr("braid.core.ledger.document_batch.DOCUMENTS_PER_BATCH", size)
    first = [
        document("a", "one", "two", content_hash="h"),
        document("b", "three", "three"),
        document("失敗 '", "four \ud800", metadata={"k": "v\x00"}, date=1.0),
        document("empty"),
        document("gone", "five"),
    ]
    second = [
        document("b", "three", "six", "three"),
        document("a", "not read", content_hash="h", date=5.0, metadata={"k": "w"}),
        document("new", "seven"),
        document("gone"),
        document("new", "seven", "eight", title="T"),
        document("empty", "nine"),
        document("a", "ten", content_hash="i"),
    ]
    ledger.register_shared(-1, "Singly", "shared_singly")
    ledger.register_shared(-2, "Together", "shared_together")
    singly = [ledger.put_document(-1, each) for each in (*first, *second)]
    together = [*ledger.put_documents(-2, first), *ledger.put_documents(-2, iter(second))]

    def figures(results: list[PutResult]) -> list[tuple[int, int, int, bool]]:
        return [(each.added, each.kept, each.removed, each.unchanged) for each in results]

    def stored(dataset_id: int, collection: str) -> dict[str, Any]:
        found = {}
        head = ChangeLog(ledger.database).heads([collection])[collection]
        for each in ledger.documents(dataset_id):
            passages = [(p.text, p.position, p.metadata) for p in ledger.document_passages(each.id, [dataset_id])]
            found[each.source] = (each.title, each.state, each.chunks, each.content_hash, each.date, passages)
            with ledger.database.read() as connection:
                seq = connection.execute(select(DocumentRow.changed_seq).where(DocumentRow.id == each.id)).scalar_one()
            assert seq <= head
        return found

    def logged(collection: str) -> list[str]:
        log = ChangeLog(ledger.database)
        texts = {chunk.id: chunk.text for chunks in log.all_chunks(collection, 100) for chunk in chunks}
        return [texts.get(change.chunk_id, "gone") for change in log.after(collection, 0, 100)]

    assert figures(together) == figures(singly)
    assert stored(-2, "shared_together") == stored(-1, "shared_singly")
    assert counts(ledger, -2) == counts(ledger, -1)
    assert logged("shared_together") == logged("shared_singly")


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


def test_listing_documents(ledger: Ledger, dataset: int) -> None:
    for source in ("docs/b.md", "docs/a.md", "Docs/c.md", "x/docs/a.md"):
        ledger.put_document(dataset, document(source, source))
    ledger.put_failed(dataset, "docs/broken.pdf", title="broken", file_type="pdf", error="encrypted")
    listed = [d.source for d in ledger.documents(dataset)]
    assert listed == ["Docs/c.md", "docs/a.md", "docs/b.md", "docs/broken.pdf", "x/docs/a.md"]
    assert [d.source for d in ledger.documents(dataset, limit=2, offset=1)] == listed[1:3]
    assert [d.source for d in ledger.documents(dataset, offset=4)] == listed[4:]
    assert [d.source for d in ledger.documents(dataset, source_prefix="docs/")] == listed[1:4]
    assert [d.source for d in ledger.documents(dataset, state="failed")] == ["docs/broken.pdf"]


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
