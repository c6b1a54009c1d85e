"""Passages: their ids, odd text, scopes and filters, on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.core.errors import InvalidInputError
from braid.core.ledger.ledger import Ledger
from braid.core.types import ChunkInput, DocumentInput, Filters
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
