"""Metadata in the ledger: what a filter selects, by its index and hit by hit; test_contract has the filters."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from braid.core.errors import InvalidInputError
from braid.core.ledger.ledger import Ledger
from braid.core.metadata.where import conditions_of, parse_where
from braid.core.types import Engine, Filters
from tests.core.ledger.contents import STORED, put_stored, selected
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, add_notes, catch_up, document


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    return put_stored(ledger)


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
def test_whole_documents_are_named_by_a_passages_key_only_if_they_have_it_themselves(tmp_path: Path, key: str) -> None:
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        dataset = add_notes(braid.ledger)
        braid.ledger.put_document(dataset, document("a.md", "the pump"))
        for where in ({key: 1}, {"$or": [{"x": 1}, {"$not": {key: {"$gt": 1}}}]}):
            for call in (braid.get, braid.delete):
                with pytest.raises(InvalidInputError, match=f"'{key}' is a passage's") as refused:
                    call(dataset=dataset, filter=where)
                assert refused.value.field == "filters.metadata"
        braid.add({"id": "b", "text": "the pump", "metadata": {key: 1}}, dataset=dataset)
        assert braid.delete(dataset=dataset, filter={key: 1}) == 1
        assert [each.source for each in braid.ledger.documents(dataset)] == ["a.md"]


@pytest.mark.parametrize(
    ("where", "remedy"),
    [
        ({"page": "3"}, "'page' is compared with a text, such as \"a\"; give a number, such as 3"),
        ({"dataset_id": {"$in": ["1", "2"]}}, "'dataset_id' is compared with a text"),
        ({"date": {"$gte": "2026-01-31"}}, r"'date' is compared with .* give a date, such as \{.\$date"),
        ({"$not": {"title": 2024}}, "'title' is compared with a number, such as 3; give a text"),
        ({"heading_path": True}, "'heading_path' is compared with true or false; give a text"),
        ({"page": {"$contains": "3"}}, "'page' is compared with a text"),
    ],
)
def test_what_one_of_braids_facts_never_is_selects_nothing_and_is_refused(
    tmp_path: Path, where: dict[str, object], remedy: str
) -> None:
    key = next(conditions_of(parse_where(where))).key
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        dataset = add_notes(braid.ledger)
        braid.ledger.put_document(dataset, document("a.md", "the pump"))
        catch_up(braid)
        for engine in get_args(Engine):
            with pytest.raises(InvalidInputError, match=remedy) as refused:
                braid.search("pump", user_id=1, filters=where, engine=engine)
            assert refused.value.field == "filters.metadata"
        braid.search("pump", user_id=1, filters={"$or": [where, {key: {"$exists": True}}]})
        braid.add({"id": "own", "text": "the pump", "metadata": {key: "3"}}, dataset=dataset)
        braid.search("pump", user_id=1, filters=where)
