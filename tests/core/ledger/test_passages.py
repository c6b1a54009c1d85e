"""Passages: their ids, limits and filters; odd text and scopes are in test_contract, for both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.core.errors import InvalidInputError
from braid.core.ledger.ledger import Ledger
from braid.core.types import ChunkInput, Filters
from tests.core.ledger.contents import counts, document, ids, passages, texts, vectors

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


# ---------------------------------------------------------------- scope and filters


def test_a_limit_of_matching_documents_does_not_limit_the_count(ledger: Ledger, dataset: int) -> None:
    for source in "abcd":
        ledger.put_document(dataset, document(source, "one", "two"))
    document_ids, chunks = ledger.matching_documents([dataset], Filters(frozenset({"md"})), limit=3)
    assert (len(document_ids), chunks) == (3, 8)


def test_dates_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"date_from 2\.0 is after date_to 1\.0; swap them") as caught:
        Filters(date_from=2.0, date_to=1.0)
    assert caught.value.field == "date_from"
