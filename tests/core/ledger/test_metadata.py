"""Metadata in the ledger: what a filter selects, on SQLite and on PostgreSQL, by its index and hit by hit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, get_args

import pytest

from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from braid.core.ledger.ledger import Ledger
from braid.core.types import Engine, Filters
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, add_notes, document

STORED: Mapping[str, Mapping[str, Any]] = {
    "number": {"year": 2024, "tenant": "x", "tags": ["a", "b"], "open": True},
    "text": {"year": "2024", "tenant": "y", "tags": "a, b", "open": "true"},
    "later": {"year": 2025.5, "tenant": "x", "tags": ["ab"], "open": False, "day": date(2026, 1, 31)},
    "moment": {"day": datetime(2026, 1, 31, 18, tzinfo=UTC), "tags": [], "open": 1, "title": "own"},
    "bare": {},
}
ALL = set(STORED)


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    dataset = add_notes(ledger)
    documents = [
        document(source, f"the text of {source}", title=f"T {source}", metadata=metadata)
        for source, metadata in STORED.items()
    ]
    documents[0] = document("number", "the text", file_type="pdf", date=100.0, metadata=STORED["number"])
    ledger.put_documents(dataset, documents)
    return ledger


def selected(ledger: Ledger, where: Mapping[str, Any], dataset: int = 1) -> set[str]:
    """The sources of documents that a filter selects, which the index and each single hit must agree on."""
    filters = Filters.of(where)
    ids, chunks = ledger.matching_documents([dataset], filters)
    passages = {p.chunk_id: p for document in range(1, 20) for p in ledger.document_passages(document, [dataset])}
    read = ledger.passages(list(passages), [dataset], filters)
    assert ledger.visible(list(passages), [dataset], filters) == set(read)
    assert {passage.document_id for passage in read.values()} == set(ids.tolist())
    assert chunks == len(read)
    return {passage.source for passage in read.values()}


@pytest.mark.parametrize(
    ("where", "sources"),
    [
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
        ({"day": date(2026, 1, 31)}, {"later", "moment"}),
        ({"day": {"$gt": date(2026, 1, 31)}}, set()),
        ({"day": {"$lte": {"$date": "2026-01-31"}}}, {"later", "moment"}),
        ({"day": {"$gte": datetime(2026, 1, 31, 12)}}, {"moment"}),
        ({"day": {"$in": [date(2026, 1, 31), date(2027, 1, 1)]}}, {"later", "moment"}),
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
        ({"date": {"$lte": date(1970, 1, 1)}}, {"number"}),
        ({"date": {"$not": {"$lte": date(1970, 1, 1)}}}, ALL - {"number"}),
        ({"date": {"$exists": False}}, ALL - {"number"}),
        ({"source_prefix": "t", "tenant": "y"}, {"text"}),
        ({"dataset_id": 1, "tenant": "y"}, {"text"}),
        ({"dataset_id": {"$nin": [1, 2]}}, set()),
        ({"user_id": {"$in": [1]}}, ALL),
        ({"user_id": {"$gt": 1}}, set()),
        ({"collection": "user_1"}, ALL),
        ({"collection": {"$ne": "user_1"}}, set()),
    ],
)
def test_a_filter_selects(filled: Ledger, where: Mapping[str, Any], sources: set[str]) -> None:
    assert selected(filled, where) == sources


def test_values_follow_a_document_that_is_put_again_renamed_or_removed(ledger: Ledger) -> None:
    dataset = add_notes(ledger)
    first = document("a", "one", content_hash="1", metadata={"year": 1, "tags": ["x", "y"]})
    assert ledger.put_document(dataset, first).is_new
    again = document("a", "one", content_hash="1", metadata={"year": 2, "tags": ["y"]})
    put = ledger.put_document(dataset, again)
    assert (put.unchanged, put.refreshed, put.is_new) == (True, True, False)
    assert not ledger.put_document(dataset, again).refreshed
    assert selected(ledger, {"year": 1}) == set()
    assert selected(ledger, {"year": 2, "tags": {"$contains": "y"}}) == {"a"}
    assert selected(ledger, {"tags": {"$contains": "x"}}) == set()
    ledger.put_document(dataset, document("a", "two", content_hash="2", metadata={"year": 3}))
    assert selected(ledger, {"year": 3}) == {"a"}
    assert selected(ledger, {"tags": {"$exists": True}}) == set()
    ledger.rename_document(dataset, "a", document("b", "two", content_hash="2", metadata={"year": 3}))
    assert selected(ledger, {"year": 3}) == {"b"}
    ledger.remove_document(dataset, "b")
    assert ledger.database.rows("SELECT COUNT(*) FROM document_metadata") == [(0,)]


def test_a_filter_reads_the_selected_datasets_alone(filled: Ledger) -> None:
    other = filled.add_dataset(1, "other").id
    filled.put_document(other, document("theirs", "the text", metadata={"tenant": "x"}))
    assert selected(filled, {"tenant": "x"}) == {"number", "later"}
    assert selected(filled, {"tenant": {"$ne": "x"}}, other) == set()
    assert selected(filled, {"tenant": "x"}, other) == {"theirs"}


def test_values_come_back_as_they_were(filled: Ledger) -> None:
    read = {
        passage.source: passage.metadata
        for document_id in range(1, 6)
        for passage in filled.document_passages(document_id, [1])
    }
    assert read == STORED


def test_a_value_that_cannot_be_stored_is_named_and_nothing_is_stored(ledger: Ledger) -> None:
    dataset = add_notes(ledger)
    with pytest.raises(InvalidInputError, match=r"metadata.place is \{'x': 1\}; a value is a text"):
        ledger.put_documents(dataset, [document("a", "one"), document("b", "two", metadata={"place": {"x": 1}})])
    assert ledger.documents(dataset) == []


def test_filters_of_one_shape_are_one_statement(filled: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    run = filled.database._rows
    monkeypatch.setattr(filled.database, "_rows", lambda text, values: (asked.append(text), run(text, values))[1])
    for number in range(20):
        filled.matching_documents([1], Filters.of({f"key{number}": {"$gte": number}, "tenant": f"t{number}"}))
    assert len(set(asked)) == 2


@pytest.mark.parametrize("key", ["id", "page", "heading_path"])
def test_what_is_a_passages_own_is_refused_unless_documents_have_such_a_key(tmp_path: Path, key: str) -> None:
    with Braid(tmp_path, embedding_model=HashEmbeddings()) as braid:
        dataset = add_notes(braid.ledger)
        braid.ledger.put_document(dataset, document("a.md", "the pump"))
        assert braid.indexer.wait(WAIT_S)
        for where in ({key: 1}, {"$or": [{"x": 1}, {"$not": {key: {"$gt": 1}}}]}):
            for engine in get_args(Engine):
                with pytest.raises(InvalidInputError, match=f"metadata with the key '{key}'") as refused:
                    braid.search("pump", user_id=1, filters=where, engine=engine)
                assert refused.value.field == "filters.metadata"
            with pytest.raises(InvalidInputError, match=f"metadata with the key '{key}'"):
                braid.delete(dataset=dataset, filter=where)
        braid.add({"id": "b", "text": "the pump", "metadata": {key: 1}}, dataset=dataset)
        assert braid.indexer.wait(WAIT_S)
        (hit,) = braid.search("pump", user_id=1, filters={key: 1}).hits
        assert hit.passage.source == "b"
