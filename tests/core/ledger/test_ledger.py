"""The ledger on SQLite and on PostgreSQL: the same tests for both."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, insert, inspect, select
from sqlalchemy.exc import IntegrityError

from braid import __version__
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.database import Database
from braid.core.ledger.document_writes import PutResult
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.schema import newest_revision
from braid.core.ledger.tables import Base, DocumentRow, UserRow
from braid.core.types import ChunkInput, DocumentInput, Filters, Passage
from braid.core.vector import Vector
from tests import worlds
from tests.worlds import WAIT_S, add_notes

spawn = multiprocessing.get_context("spawn")


@pytest.fixture
def dataset(ledger: Ledger) -> int:
    return add_notes(ledger)


def document(source: str, *texts: str, title: str = "T", **values: Any) -> DocumentInput:
    return worlds.document(source, *texts, title=title, **values)


def passages(ledger: Ledger, dataset_id: int, source: str) -> list[Passage]:
    found = ledger.document(dataset_id, source)
    return [] if found is None else ledger.document_passages(found.id, [dataset_id])


def texts(ledger: Ledger, dataset_id: int, source: str) -> list[str]:
    return [passage.text for passage in passages(ledger, dataset_id, source)]


def ids(ledger: Ledger, dataset_id: int, source: str) -> dict[str, str]:
    """Text → chunk id."""
    return {passage.text: passage.chunk_id for passage in passages(ledger, dataset_id, source)}


def counts(ledger: Ledger, dataset_id: int) -> tuple[int, int]:
    found = ledger.dataset(dataset_id)
    return found.documents, found.chunks


def vectors(*firsts: float) -> Vector:
    return np.array([[first, 0.0] for first in firsts], dtype=np.float32)


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


# ---------------------------------------------------------------- passages and their ids


def test_ids_are_stable_while_text_moves(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, document("a", "one", "two", "three"))
    before = ids(ledger, dataset, "a")
    moved = (ChunkInput("zero"), ChunkInput("three", page=4, line=40), ChunkInput("one"))
    ledger.put_document(dataset, replace(document("a"), chunks=moved))
    after = ids(ledger, dataset, "a")
    assert (after["one"], after["three"]) == (before["one"], before["three"])
    assert texts(ledger, dataset, "a") == ["zero", "three", "one"]
    three = passages(ledger, dataset, "a")[1]
    assert (three.position, three.page, three.line) == (1, 4, 40)


def test_equal_passages_of_a_document_have_ids_of_their_own(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, document("a", "same", "same", "same"))
    before = [p.chunk_id for p in passages(ledger, dataset, "a")]
    assert len(set(before)) == 3
    ledger.put_document(dataset, document("a", "same", "new", "same"))
    assert [p.chunk_id for p in passages(ledger, dataset, "a")][::2] == before[:2]
    assert counts(ledger, dataset) == (1, 3)


def test_what_is_indexed_decides_the_id(ledger: Ledger, dataset: int) -> None:
    """Title and heading path are indexed with the text, so a passage under another of them is another one."""
    seen = set()
    for title, heading in (("T", ""), ("U", ""), ("T", "H")):
        chunks = (ChunkInput("one", heading),)
        ledger.put_document(dataset, replace(document("a", title=title), chunks=chunks))
        seen |= set(ids(ledger, dataset, "a").values())
    assert len(seen) == 3


def test_embeddings_are_kept_for_passages_that_stay(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, document("a", "one", "two"))
    before = ids(ledger, dataset, "a")
    ledger.store_embeddings("m", [before["one"], before["two"]], vectors(1, 2))
    ledger.store_embeddings("other", [before["one"]], vectors(9))
    ledger.put_document(dataset, document("a", "two", "three"))
    stored = ledger.embeddings("m", [*before.values(), *ids(ledger, dataset, "a").values()])
    assert {key: vector.tolist() for key, vector in stored.items()} == {before["two"]: [2.0, 0.0]}
    assert ledger.embeddings("other", before.values()) == {}


def test_an_embedding_is_replaced_and_one_for_a_deleted_passage_is_dropped(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, document("a", "one"))
    (one,) = ids(ledger, dataset, "a").values()
    ledger.store_embeddings("m", [one], vectors(1))
    ledger.store_embeddings("m", ["gone", one], vectors(5, 2))
    assert {k: v.tolist() for k, v in ledger.embeddings("m", [one, "gone"]).items()} == {one: [2.0, 0.0]}


def test_removing_a_document(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, document("a", "one", "two"))
    ledger.put_document(dataset, document("b", "three"))
    chunk_ids = ids(ledger, dataset, "a").values()
    ledger.store_embeddings("m", list(chunk_ids), vectors(1, 1))
    assert ledger.remove_document(dataset, "a")
    assert not ledger.remove_document(dataset, "a")
    assert ledger.document(dataset, "a") is None
    assert ledger.passages(chunk_ids, [dataset]) == {}
    assert ledger.embeddings("m", chunk_ids) == {}
    assert counts(ledger, dataset) == (1, 1)


def test_thousands_of_passages_in_one_call(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, document("a", *(f"passage {n}" for n in range(2500))))
    chunk_ids = list(ids(ledger, dataset, "a").values())
    ledger.store_embeddings("m", chunk_ids, vectors(*range(2500)))
    assert ledger.passages(chunk_ids, [dataset]).keys() == ledger.visible(chunk_ids, [dataset])
    assert ledger.embeddings("m", chunk_ids)[chunk_ids[2499]].tolist() == [2499.0, 0.0]
    assert ledger.put_document(dataset, document("a", "passage 7")).removed == 2499
    assert counts(ledger, dataset) == (1, 1)


# ---------------------------------------------------------------- odd text


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        pytest.param("a\x00b", "ab", id="NUL"),
        pytest.param("a\ud800b\udfff", "a?b?", id="lone surrogates"),
        pytest.param("한국어 日本語 🎉 \u202e", "한국어 日本語 🎉 \u202e", id="any script"),
        pytest.param("tab\tline\nreturn\r", "tab\tline\nreturn\r", id="white space"),
    ],
)
def test_any_text_can_be_stored(ledger: Ledger, dataset: int, given: str, stored: str) -> None:
    chunk = ChunkInput(f"t {given}", f"h {given}")
    ledger.put_document(dataset, DocumentInput(f"s {stored}", given, "md", (chunk,), metadata={given: given}))
    ledger.put_failed(dataset, f"f {given}", title=given, file_type="md", error=given)
    (passage,) = passages(ledger, dataset, f"s {stored}")
    assert (passage.text, passage.heading_path, passage.title) == (f"t {stored}", f"h {stored}", stored)
    assert passage.metadata == {stored: stored}
    assert {d.source for d in ledger.documents(dataset)} == {f"s {stored}", f"f {stored}"}
    assert len(ledger.documents(dataset, source_prefix=f"s {given}")) == 1
    assert ledger.remove_document(dataset, f"s {stored}")
    assert ledger.add_user(f"u {given}", [f"g {given}"]).groups == {f"g {stored}"}
    assert [user.groups for user in ledger.users()] == [set(), {f"g {stored}"}]


@pytest.mark.parametrize("odd", ["a\x00b", "a\ud800"])
def test_a_source_is_compared_as_it_is_given(ledger: Ledger, dataset: int, odd: str) -> None:
    for other in ("ab", "a?"):
        ledger.put_document(dataset, document(other, "one"))
    with pytest.raises(InvalidInputError, match="leave out NUL characters and halves"):
        ledger.put_document(dataset, document(odd, "two"))
    assert ledger.document(dataset, odd) is None
    assert ledger.stored_sources(dataset, [odd, "ab"]) == {"ab"}
    assert not ledger.remove_document(dataset, odd)
    assert counts(ledger, dataset)[0] == 2


@pytest.mark.parametrize("odd", ["", "\x00", "\ud800", "' OR 1=1 --", "あ" * 10_000])
def test_odd_ids_and_filters_find_nothing(ledger: Ledger, dataset: int, odd: str) -> None:
    ledger.put_document(dataset, document("a", "one"))
    (one,) = ids(ledger, dataset, "a").values()
    assert ledger.passages([odd], [dataset]) == {}
    assert ledger.passages([one], [dataset], Filters(frozenset({odd}))) == {}
    assert ledger.user_named(odd) is None
    assert ledger.document(dataset, f"x{odd}") is None


# ---------------------------------------------------------------- scope and filters


def test_passages_come_out_under_their_scope_alone(ledger: Ledger, dataset: int) -> None:
    other = ledger.add_dataset(ledger.add_user("bob").id, "secret").id
    ledger.put_document(dataset, document("a", "mine"))
    ledger.put_document(other, document("a", "theirs"))
    (mine,), (theirs,) = ids(ledger, dataset, "a").values(), ids(ledger, other, "a").values()
    both = [mine, theirs, "unknown"]
    assert ledger.passages(both, [dataset]).keys() == ledger.visible(both, [dataset]) == {mine}
    assert ledger.passages(both, [dataset, other]).keys() == {mine, theirs}
    assert ledger.passages(both, []) == {}
    assert ledger.visible(both, []) == set()
    assert ledger.passages([], [dataset]) == {}
    theirs_document = ledger.documents(other)[0].id
    assert ledger.document_passages(theirs_document, [dataset]) == []


SOURCES = {  # source → (file type, date)
    "docs/a.md": ("md", 10.0),
    "docs/b.pdf": ("pdf", 20.0),
    "Docs/c.md": ("md", 30.0),
    "100%/d.md": ("md", None),
    "1000/e.md": ("md", 40.0),
    "a_b/f.txt": ("txt", 50.0),
    "axb/g.txt": ("txt", 60.0),
    "資料/h.md": ("md", 70.0),
    "back\\slash/i.md": ("md", 80.0),
}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        pytest.param(Filters(), set("abcdefghi"), id="none"),
        pytest.param(Filters(frozenset({"pdf", "txt"})), set("bfg"), id="file types"),
        pytest.param(Filters(frozenset({"docx"})), set(), id="a file type that nothing has"),
        pytest.param(Filters(source_prefix="docs/"), set("ab"), id="prefix, case counts"),
        pytest.param(Filters(source_prefix="100%/"), set("d"), id="prefix with %"),
        pytest.param(Filters(source_prefix="a_b"), set("f"), id="prefix with _"),
        pytest.param(Filters(source_prefix="back\\"), set("i"), id="prefix with a backslash"),
        pytest.param(Filters(source_prefix="資料"), set("h"), id="Japanese prefix"),
        pytest.param(Filters(source_prefix="ocs/"), set(), id="not a prefix"),
        pytest.param(Filters(date_from=20.0, date_to=40.0), set("bce"), id="both dates, inclusive"),
        pytest.param(Filters(date_from=60.0), set("ghi"), id="from a date"),
        pytest.param(Filters(date_to=10.0), set("a"), id="to a date"),
        pytest.param(Filters(frozenset({"md"}), "docs", 5.0, 15.0), set("a"), id="all of them"),
    ],
)
def test_filters_select(ledger: Ledger, dataset: int, filters: Filters, expected: set[str]) -> None:
    for source, (file_type, date) in SOURCES.items():
        stem = source.split("/")[1][0]
        ledger.put_document(dataset, DocumentInput(source, "T", file_type, (ChunkInput(stem),), date=date))
    all_ids = [p.chunk_id for d in ledger.documents(dataset) for p in ledger.document_passages(d.id, [dataset])]
    found = ledger.passages(all_ids, [dataset], filters)
    assert {passage.text for passage in found.values()} == expected
    assert ledger.visible(all_ids, [dataset], filters) == found.keys()
    document_ids, chunks = ledger.matching_documents([dataset], filters, limit=100)
    assert set(document_ids) == {passage.document_id for passage in found.values()}
    assert chunks == len(expected)


def test_a_limit_of_matching_documents_does_not_limit_the_count(ledger: Ledger, dataset: int) -> None:
    for source in "abcd":
        ledger.put_document(dataset, document(source, "one", "two"))
    document_ids, chunks = ledger.matching_documents([dataset], Filters(frozenset({"md"})), limit=3)
    assert (len(document_ids), chunks) == (3, 8)


def test_dates_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"date_from 2\.0 is after date_to 1\.0; swap them") as caught:
        Filters(date_from=2.0, date_to=1.0)
    assert caught.value.field == "date_from"


# ---------------------------------------------------------------- several writers


def test_eight_threads_write_at_once(ledger: Ledger, dataset: int) -> None:
    other = ledger.add_dataset(1, "other").id

    def put(number: int) -> None:
        for step in range(4):
            source = f"{'shared' if step % 2 else number}"
            ledger.put_document((dataset, other)[number % 2], document(source, f"{number} {step}", "same"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(8)))
    for dataset_id in (dataset, other):
        stored = ledger.documents(dataset_id)
        assert len(stored) == 5
        chunks = sum(len(ledger.document_passages(d.id, [dataset_id])) for d in stored)
        assert counts(ledger, dataset_id) == (5, chunks) == (5, 10)


def test_embeddings_are_stored_while_passages_come_and_go(ledger: Ledger, dataset: int) -> None:
    """What the indexer and an ingest do at the same time."""
    names = [f"passage {n}" for n in range(60)]
    ledger.put_document(dataset, document("a", *names))
    chunk_ids = list(ids(ledger, dataset, "a").values())

    def replace_all(_: int) -> None:
        for step in range(10):
            ledger.put_document(dataset, document("a", *(names if step % 2 else names[::3])))

    def embed(turn: int) -> None:
        for _ in range(10):
            ledger.store_embeddings("m", chunk_ids[:: 1 - 2 * (turn % 2)], vectors(*range(60)))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(act, turn) for turn in range(2) for act in (replace_all, embed)]:
            done.result(timeout=WAIT_S)
    assert set(ledger.embeddings("m", chunk_ids)) <= set(ids(ledger, dataset, "a").values())
    assert counts(ledger, dataset) == (1, 60)


def start_process(target: Callable[..., None], *args: object) -> tuple[SpawnProcess, Queue[str]]:
    said: Queue[str] = spawn.Queue()
    process = spawn.Process(target=target, args=(*args, said))
    process.start()
    return process, said


def open_and_put(url: str, name: str, said: Queue[str]) -> None:
    """Runs in a process of its own."""
    try:
        ledger = Ledger(url)
        ledger.register_shared(-1, "Guide", "shared_main")
        for step in range(5):
            ledger.put_document(-1, document(f"{name}/{step}", name, "same"))
            ledger.put_document(-1, document("contested", name, str(step)))
        ledger.close()
        said.put("done")
    except Exception as error:  # told to the test
        said.put(repr(error))


def test_two_processes_open_and_write_at_once(database_url: str) -> None:
    """The database is new, so both find it without tables."""
    processes = [start_process(open_and_put, database_url, name) for name in ("one", "two")]
    assert [said.get(timeout=WAIT_S) for _, said in processes] == ["done", "done"]
    for process, _ in processes:
        process.join(WAIT_S)
    ledger = Ledger(database_url)
    stored = ledger.documents(-1)
    assert len(stored) == 11
    assert counts(ledger, -1) == (11, 22)
    assert len(ChangeLog(ledger.database).chunk_ids("shared_main")) == 22
    ledger.close()


@pytest.mark.usefixtures("migrating")
def test_many_threads_open_a_new_database_at_once(database_url: str) -> None:
    def open_it(number: int) -> None:
        ledger = Ledger(database_url)
        ledger.register_shared(-1, "Guide", "shared_main")
        ledger.add_user(f"user {number}")
        ledger.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(open_it, range(6)))
    ledger = Ledger(database_url)
    assert len(ledger.users()) == 6
    assert ledger.dataset(-1).name == "Guide"
    ledger.close()


# ---------------------------------------------------------------- the database


@pytest.mark.usefixtures("migrating")
def test_the_migrations_make_the_tables_of_the_models(database_url: str) -> None:
    database = Database(database_url)
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    database.close()


@pytest.mark.parametrize(
    ("revision", "remedy"),
    [
        ("0001", "run `python -m app doctor` on it once with the code of commit 24fc887"),
        ("0007", "or begin with another data directory; nothing was changed"),
        (
            "0099",
            rf"which a newer Braid wrote: this one \(braid {__version__}\) knows 0008 to {newest_revision()}; "
            "install the newer version again, or restore a backup from before the update; nothing was changed",
        ),
    ],
)
def test_tables_that_cannot_be_upgraded_are_refused_and_left_alone(
    database_url: str, revision: str, remedy: str
) -> None:
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{revision}')")
    with pytest.raises(InvalidInputError, match=f"has the tables of revision {revision}, .*{remedy}"):
        Database(database_url)
    assert inspect(engine).get_table_names() == ["alembic_version"]
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one() == revision
    engine.dispose()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("nonsense", r"database_url '\(not a URL\)' cannot be used"),
        ("oracle+nothing://host/db", r"that Braid does not use; give sqlite:///FILE or postgresql"),
        ("unset://set-me", r"^database_url 'unset://set-me' is of a kind"),
        ("postgresql+psycopg://ann:secret@127.0.0.1:1/db", r"ann:\*\*\*@127\.0\.0\.1:1/db cannot be opened"),
    ],
)
def test_a_database_that_cannot_be_opened_is_named_without_its_password(url: str, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason) as caught:
        Ledger(url)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_text("this is not a database, but long enough to have a header of one" * 10)
    with pytest.raises(
        InvalidInputError, match="cannot be opened: file is not a database: it is damaged; restore a back"
    ):
        Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")


def test_a_full_or_read_only_disk_at_the_start_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ledger.db").mkdir()  # SQLite says as little of it as of a disk

    def told() -> str:
        with pytest.raises(InvalidInputError) as caught:
            Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
        return str(caught.value)

    assert told().endswith("unable to open database file")
    with monkeypatch.context() as patch:
        patch.setattr("braid.core.ledger.outages.os.access", lambda *_, **__: False)
        assert told().endswith(f"Permission denied: {tmp_path}: let this user read and write it")
        patch.setattr("braid.core.ledger.permissions.os.statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
        assert "cannot be written to; mount it writable, or let this user write there" in told()
    with monkeypatch.context() as patch:
        patch.setattr("braid.core.ledger.outages.shutil.disk_usage", lambda _: SimpleNamespace(free=0))
        assert told().endswith("is full; free some space")


def test_the_folder_of_the_database_is_made(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'a' / 'b' / 'ledger.db'}")
    ledger.add_user("ann")
    ledger.close()


def test_an_error_of_the_database_does_not_quote_what_was_to_be_stored(ledger: Ledger) -> None:
    twice = [{"id": 1, "name": name, "created_at": 1.0} for name in ("a secret", "another secret")]
    with ledger.database.write() as connection, pytest.raises(IntegrityError) as caught:
        connection.execute(insert(UserRow), twice)
    assert "secret" not in str(caught.value)
