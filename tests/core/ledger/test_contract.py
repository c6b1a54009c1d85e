"""What differs between SQLite and PostgreSQL, on both: texts, orders, sequences, and statements of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date as day
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.document_writes import PutResult
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import DocumentRow
from braid.core.types import ChunkInput, DocumentInput, Filters
from tests.core.ledger.contents import ALL, counts, document, ids, passages, put_stored, selected, vectors
from tests.core.ledger.followers import follow_at_random
from tests.databases import all_on_both_databases

pytest_generate_tests = all_on_both_databases


@pytest.fixture
def log(ledger: Ledger) -> ChangeLog:
    return ChangeLog(ledger.database)


# ---------------------------------------------------------------- documents


def test_a_reason_is_read_back_with_its_template_and_parts(ledger: Ledger, dataset: int) -> None:
    inner = Reason("a %(format)s image", format="GIF\0")
    why = Reason("%(name)s is %(what)s; 100 %% of it", name='"猫".pdf', what=inner)
    put = partial(ledger.put_failed, dataset, title="", file_type="pdf")
    put("猫.pdf", error=why)
    put("old.pdf", error="old.pdf is damaged")
    stored, old = ledger.document(dataset, "猫.pdf"), ledger.document(dataset, "old.pdf")
    assert stored is not None
    assert old is not None
    assert isinstance(stored.error, Reason)
    assert (stored.error, stored.error.template) == ('"猫".pdf is a GIF image; 100 %% of it', why.template)
    what = stored.error.parts["what"]
    assert isinstance(what, Reason)
    assert what.parts == {"format": "GIF"}, "no database takes the NUL"
    assert (type(old.error), old.error) == (str, "old.pdf is damaged")
    assert ledger.documents(dataset)[0].error in (stored.error, old.error)


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
    assert ledger.parts_of(dataset, odd) == {}
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


def test_thousands_of_passages_in_one_call(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, document("a", *(f"passage {n}" for n in range(2500))))
    chunk_ids = list(ids(ledger, dataset, "a").values())
    ledger.store_embeddings("m", chunk_ids, vectors(*range(2500)))
    assert ledger.passages(chunk_ids, [dataset]).keys() == ledger.visible(chunk_ids, [dataset])
    assert ledger.embeddings("m", chunk_ids)[chunk_ids[2499]].tolist() == [2499.0, 0.0]
    assert ledger.put_document(dataset, document("a", "passage 7")).removed == 2499
    assert counts(ledger, dataset) == (1, 1)


def test_an_embedding_is_replaced_and_one_for_a_deleted_passage_is_dropped(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, document("a", "one"))
    (one,) = ids(ledger, dataset, "a").values()
    ledger.store_embeddings("m", [one], vectors(1))
    ledger.store_embeddings("m", ["gone", one], vectors(5, 2))
    assert {k: v.tolist() for k, v in ledger.embeddings("m", [one, "gone"]).items()} == {one: [2.0, 0.0]}


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


FILTERS = (
    (Filters(), set("abcdefghi")),  # none
    (Filters(frozenset({"pdf", "txt"})), set("bfg")),  # file types
    (Filters(frozenset({"docx"})), set()),  # a file type that nothing has
    (Filters(source_prefix="docs/"), set("ab")),  # prefix, case counts
    (Filters(source_prefix="100%/"), set("d")),  # prefix with %
    (Filters(source_prefix="a_b"), set("f")),  # prefix with _
    (Filters(source_prefix="back\\"), set("i")),  # prefix with a backslash
    (Filters(source_prefix="資料"), set("h")),  # Japanese prefix
    (Filters(source_prefix="ocs/"), set()),  # not a prefix
    (Filters(date_from=20.0, date_to=40.0), set("bce")),  # both dates, inclusive
    (Filters(date_from=60.0), set("ghi")),  # from a date
    (Filters(date_to=10.0), set("a")),  # to a date
    (Filters(frozenset({"md"}), "docs", 5.0, 15.0), set("a")),  # all of them
)


def test_filters_select(ledger: Ledger, dataset: int) -> None:
    for source, (file_type, date) in SOURCES.items():
        stem = source.split("/")[1][0]
        ledger.put_document(dataset, DocumentInput(source, "T", file_type, (ChunkInput(stem),), date=date))
    all_ids = [p.chunk_id for d in ledger.documents(dataset) for p in ledger.document_passages(d.id, [dataset])]
    for filters, expected in FILTERS:
        found = ledger.passages(all_ids, [dataset], filters)
        assert {passage.text for passage in found.values()} == expected, filters
        assert ledger.visible(all_ids, [dataset], filters) == found.keys()
        document_ids, chunks = ledger.matching_documents([dataset], filters, limit=100)
        assert set(document_ids) == {passage.document_id for passage in found.values()}
        assert chunks == len(expected)


SELECTED: tuple[tuple[Mapping[str, Any], set[str]], ...] = (
    ({"year": 2024}, {"number"}),
    ({"year": {"$eq": "2024"}}, {"text"}),
    ({"year": {"$ne": 2024}}, ALL - {"number"}),
    ({"year": {"$gte": 2024}}, {"number", "later"}),
    ({"year": {"$gt": 2024}}, {"later"}),
    ({"year": {"$lt": 2025.5}}, {"number"}),
    ({"year": {"$lte": 2025.5, "$gt": 2024}}, {"later"}),
    ({"year": {"$gte": "2"}}, {"text"}),
    ({"year": {"$in": [2024, "2024"]}}, {"number", "text"}),
    ({"year": {"$nin": [2024, "2024"]}}, {"later", "moment", "bare"}),
    ({"tenant": {"$gt": "x"}}, {"text"}),
    ({"tenant": {"$gte": "x", "$lte": "x"}}, {"number", "later"}),
    ({"tenant": {"$lt": "y"}}, {"number", "later"}),
    ({"tenant": {"$gte": "Y"}}, {"number", "text", "later"}),
    ({"tags": {"$contains": "a"}}, {"number", "text"}),
    ({"tags": {"$contains": "b"}}, {"number", "text"}),
    ({"tags": "a"}, set()),
    ({"tags": {"$exists": True}}, ALL - {"bare"}),
    ({"tags": {"$exists": False}}, {"bare"}),
    ({"open": True}, {"number"}),
    ({"open": 1}, {"moment"}),
    ({"open": {"$in": [True, False]}}, {"number", "later"}),
    ({"day": day(2026, 1, 31)}, {"later", "moment"}),
    ({"day": {"$gt": day(2026, 1, 31)}}, set()),
    ({"day": {"$lte": {"$date": "2026-01-31"}}}, {"later", "moment"}),
    ({"day": {"$gte": datetime(2026, 1, 31, 12)}}, {"moment"}),
    ({"day": {"$in": [day(2026, 1, 31), day(2027, 1, 1)]}}, {"later", "moment"}),
    ({"day": {"$exists": True}, "tenant": {"$exists": False}}, {"moment"}),
    ({"$or": [{"tenant": "y"}, {"open": 1}]}, {"text", "moment"}),
    ({"$and": [{"tenant": "x"}, {"$not": {"year": 2024}}]}, {"later"}),
    ({"year": {"$not": {"$gte": 2024}}}, {"text", "moment", "bare"}),
    ({"$not": {"$or": [{"tenant": "x"}, {"tenant": "y"}]}}, {"moment", "bare"}),
    ({"missing": "x"}, set()),
    ({"tenant": "x' OR 1=1 --"}, set()),
    ({"file_type": "pdf"}, {"number"}),
    ({"file_type": {"$ne": "pdf"}}, ALL - {"number"}),
    ({"source": {"$in": ["text", "bare"]}}, {"text", "bare"}),
    ({"title": {"$contains": "T "}}, {"text", "later", "bare"}),
    ({"title": "own"}, {"moment"}),
    ({"date": {"$lte": day(1970, 1, 1)}}, {"number"}),
    ({"date": {"$not": {"$lte": day(1970, 1, 1)}}}, ALL - {"number"}),
    ({"date": {"$exists": False}}, ALL - {"number"}),
    ({"source_prefix": "t", "tenant": "y"}, {"text"}),
    ({"dataset_id": 1, "tenant": "y"}, {"text"}),
    ({"dataset_id": {"$nin": [1, 2]}}, set()),
    ({"user_id": {"$in": [1]}}, ALL),
    ({"user_id": {"$gt": 1}}, set()),
    ({"collection": "user_1"}, ALL),
    ({"collection": {"$ne": "user_1"}}, set()),
    ({"document_id": {"$lte": 2}}, {"number", "text"}),
)


PAGED = (
    ChunkInput("cover"),
    ChunkInput("first", "Pumps", 1, 2, line=1, line_end=9),
    ChunkInput("second", "Pumps > Seals", 2, 2, line=10, line_end=12, confidence=0.5),
    ChunkInput("code", "start", chunk_kind="function"),
)


SELECTED_PASSAGES: tuple[tuple[dict[str, Any], str], ...] = (
    ({"page": 2}, "second own"),
    ({"page": {"$gte": 1}}, "first second own"),
    ({"page": {"$in": [1, 7]}}, "first"),
    ({"page": {"$lte": 2}, "page_end": {"$gte": 2}}, "first second"),
    ({"page": {"$exists": False}}, "cover code"),
    ({"page": {"$ne": 2}}, "cover first code"),
    ({"page": "2"}, ""),
    ({"heading_path": {"$contains": "Pumps"}}, "first second"),
    ({"heading_path": {"$exists": False}}, "cover own"),
    ({"line_end": {"$gt": 9}, "confidence": {"$lt": 0.9}}, "second"),
    ({"chunk_kind": "function"}, "code"),
    ({"chunk_kind": {"$exists": True}}, "code"),
    ({"position": 0}, "cover own"),
    ({"$or": [{"page": 1}, {"chunk_kind": "function"}], "source": "paged"}, "first code"),
    ({"page": 2, "chunk_kinds": ["function"]}, ""),
    ({"source_prefix": "own", "page": 1}, ""),
)


def test_a_filter_of_metadata_selects(ledger: Ledger) -> None:
    put_stored(ledger)
    for where, sources in SELECTED:
        assert selected(ledger, where) == sources, where


def test_a_filter_of_what_a_passage_shows_selects_passages(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, DocumentInput("paged", "T", "pdf", PAGED))
    ledger.put_document(dataset, DocumentInput("own", "T", "md", (ChunkInput("own", page=1),), metadata={"page": 2}))
    every = {p.chunk_id: p for number in (1, 2) for p in ledger.document_passages(number, [dataset])}
    by_text = {passage.text: chunk_id for chunk_id, passage in every.items()}
    cases = (*SELECTED_PASSAGES, ({"id": by_text["first"]}, "first"), ({"chunk_id": {"$ne": by_text["own"]}}, None))
    for where, texts in cases:
        expected = by_text.keys() - {"own"} if texts is None else set(texts.split())
        filters = Filters.of(where)
        assert filters.of_passages
        found = ledger.matching_passages([dataset], filters)
        assert {every[chunk_id].text for chunk_id in found} == expected, where
        assert (
            found == ledger.visible(list(every), [dataset], filters) == set(ledger.passages(every, [dataset], filters))
        )
        ids, chunks = ledger.matching_documents([dataset], filters)
        assert (sorted(ids.tolist()), chunks) == (sorted({every[each].document_id for each in found}), len(found)), (
            where
        )
        assert ledger.matching_passages([dataset + 1], filters) == frozenset()


def test_whole_documents_are_not_selected_by_what_their_passages_show(ledger: Ledger, dataset: int) -> None:
    ledger.put_document(dataset, DocumentInput("paged", "T", "pdf", PAGED))
    ledger.put_document(dataset, DocumentInput("own", "T", "md", (ChunkInput("own"),), metadata={"page": 2}))
    for where, documents in (({"page": 2}, [2]), ({"page": {"$ne": 2}}, [1]), ({"chunk_kinds": ["function"]}, [1])):
        ids, _ = ledger.matching_documents([dataset], Filters.of(where), whole_documents=True)
        assert ids.tolist() == documents, where


def test_every_follower_ends_with_the_ledger(ledger: Ledger) -> None:
    follow_at_random(ledger)


def test_all_vectors_of_a_collection_under_one_model(
    ledger: Ledger, log: ChangeLog, dataset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braid.core.ledger.change_log.VECTORS_PER_BATCH", 2)
    ledger.register_shared(-1, "Guide", "shared_a")
    gone = ledger.add_dataset(1, "gone").id
    for dataset_id in (dataset, -1, gone):
        ledger.put_document(dataset_id, document("a", "one", "two", "three", "bare"))
    places = {}
    for dataset_id in (dataset, -1, gone):
        document_id = ledger.documents(dataset_id)[0].id
        for passage in ledger.document_passages(document_id, [dataset_id])[:3]:
            places[passage.chunk_id] = (document_id, dataset_id, [float(dataset_id), float(passage.position)])
    ids = list(places)
    ledger.store_embeddings("m", ids, np.array([places[chunk_id][2] for chunk_id in ids], dtype=np.float32))
    ledger.store_embeddings("other", ids, np.zeros((len(ids), 5), dtype=np.float32))
    ledger.remove_dataset(gone)
    batches = list(log.vectors_of("user_1", "m"))
    assert [len(batch.chunk_ids) for batch in batches] == [2, 1]
    assert {batch.vectors.dtype for batch in batches} == {np.dtype(np.float32)}
    found = {
        chunk_id: (document_id, dataset_id, vector.tolist())
        for batch in batches
        for chunk_id, document_id, dataset_id, vector in zip(
            batch.chunk_ids, batch.document_ids, batch.dataset_ids, batch.vectors, strict=True
        )
    }
    assert found == {chunk_id: place for chunk_id, place in places.items() if place[1] == dataset}
    assert list(log.vectors_of("user_1", "unknown")) == []


def test_what_an_index_is_given(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    chunks = (ChunkInput("text", "A > B"), ChunkInput("plain"))
    document_id = ledger.put_document(dataset, DocumentInput("a", "Title", "md", chunks)).document_id
    first, second = (p.chunk_id for p in ledger.document_passages(document_id, [dataset]))
    ledger.store_embeddings("m", [first], np.array([[0.6, 0.8]], dtype=np.float32))
    given = {chunk.id: chunk for chunk in log.chunks("user_1", [first, second, "unknown"], "m")}
    assert {c.text for c in given.values()} == {"Title A > B text", "Title plain"}
    assert {(c.dataset_id, c.document_id, c.user_id) for c in given.values()} == {(dataset, document_id, 1)}
    vector = given[first].vector
    assert vector is not None
    assert vector.dtype == np.float32
    assert vector.tolist() == pytest.approx([0.6, 0.8])
    assert given[second].vector is None
    assert [c.vector for c in log.chunks("user_1", [first])] == [None]
    assert [c.vector for c in log.chunks("user_1", [first], "other")] == [None]
    assert log.chunks("shared_a", [first]) == []


def test_pruning_keeps_the_last_change(ledger: Ledger, log: ChangeLog, dataset: int) -> None:
    ledger.put_document(dataset, document("a", *"abcde"))
    assert (log.first_seqs(), log.pending("user_1", 2)) == ({"user_1": 1}, 3)
    log.prune("user_1", 3)
    assert [change.seq for change in log.after("user_1", 0, 100)] == [3, 4, 5]
    log.prune("user_1", 5)
    assert log.heads() == {"user_1": 5}
    assert [change.seq for change in log.after("user_1", 0, 100)] == [5]
    ledger.remove_document(dataset, "a")
    assert [change.seq for change in log.after("user_1", 5, 100)] == [6, 7, 8, 9, 10]


# ---------------------------------------------------------------- transactions


def test_a_block_within_a_block_is_part_of_it(ledger: Ledger, dataset: int) -> None:
    def named() -> set[str]:
        return {each.name for each in ledger.datasets(1)}

    def add_and_fail(name: str) -> None:
        with ledger.database.write():
            added = ledger.add_dataset(1, name)
            assert name in named(), "what is written is read in the same thread"
            assert ledger.dataset(added.id).name == name
            raise RuntimeError

    before = named()
    with pytest.raises(RuntimeError):
        add_and_fail("lost")
    assert named() == before
    with ledger.database.write():
        ledger.add_dataset(1, "kept")
        with pytest.raises(NotFoundError):
            ledger.remove_dataset(999)
        with pytest.raises(RuntimeError):
            add_and_fail("lost")
        assert named() == before | {"kept"}, "the inner block is undone alone"
    assert named() == before | {"kept"}
