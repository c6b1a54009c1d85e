"""Own data: texts, objects and LangChain documents, stored with metadata, and what is said of each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from langchain_core.documents import Document

from braid.core.adding.add import AddProgress, add_documents
from braid.core.braid import Braid
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ingest.ingest import ingest_bytes
from braid.core.types import Filters
from tests.worlds import WAIT_S, catch_up


@pytest.fixture(scope="module")
def user(shelf: Braid) -> int:
    return shelf.ledger.add_user("ann").id


@pytest.fixture
def dataset(shelf: Braid, user: int) -> Iterator[int]:
    added = shelf.ledger.add_dataset(user, "own").id
    yield added
    shelf.ledger.remove_dataset(added)


def sources(braid: Braid, dataset: int) -> list[str]:
    return [document.source for document in braid.ledger.documents(dataset)]


def test_texts_objects_and_langchain_documents_are_stored(shelf: Braid, dataset: int) -> None:
    given = [
        "The tank holds 40 litres.",
        {"source": "pump.md", "text": "---\nauthor: ann\n---\n# Pump\n\nIt runs.", "file_type": "md"},
        {"id": "valve-7", "source": "https://example.org/v", "title": "Valve", "text": "It closes.", "date": 86_400},
        Document("A page of notes.", metadata={"source": "notes.txt", "page": "7", "year": 2024, "author": None}),
        Document("A record.", id="record-1", metadata={"source": "table.csv"}),
    ]
    report = shelf.add(given, dataset=dataset, metadata={"tenant": "x", "author": "team"})
    assert [each.state for each in report.documents] == ["added"] * 5
    assert (report.added, report.changed, report.unchanged, report.refused, report.chunks) == (5, 0, 0, (), 5)
    named = {document.source: document for document in shelf.ledger.documents(dataset)}
    assert [each.source for each in report.documents][1:] == ["pump.md", "valve-7", "notes.txt", "record-1"]
    assert named["pump.md"].title == "Pump"
    assert named["pump.md"].metadata == {"tenant": "x", "author": "team"}
    assert (named["valve-7"].title, named["valve-7"].date) == ("Valve", 86_400.0)
    assert named["valve-7"].metadata["source"] == "https://example.org/v"
    assert named["notes.txt"].title == "notes"
    assert named["notes.txt"].metadata == {
        "tenant": "x",
        "author": "team",
        "source": "notes.txt",
        "page": "7",
        "year": 2024,
    }
    again = shelf.add(given, dataset=dataset, metadata={"tenant": "x", "author": "team"})
    assert (again.added, again.changed, again.unchanged, again.chunks) == (0, 0, 5, 0)


def test_one_text_or_one_document_is_enough(shelf: Braid, dataset: int) -> None:
    for one in ("A text.", {"text": "An object."}, Document("A document.")):
        assert shelf.add(one, dataset=shelf.dataset(dataset)).added == 1
    assert shelf.add([], dataset=dataset).documents == ()


def test_what_changed_is_told_from_what_did_not(shelf: Braid, dataset: int) -> None:
    def put(**values: Any) -> str:
        report = shelf.add([{"source": "a", "text": "one", **values}], dataset=dataset)
        return report.documents[0].state

    assert put() == "added"
    assert put() == "unchanged"
    assert put(metadata={"year": 1}) == "changed"
    assert put(metadata={"year": 1}) == "unchanged"
    assert put(text="two", metadata={"year": 1}) == "changed"
    assert put(text="two", metadata={"year": 1}, title="T") == "changed"
    assert sources(shelf, dataset) == ["a"]


def test_without_source_and_id_text_and_metadata_are_the_identity(shelf: Braid, dataset: int) -> None:
    assert shelf.add(["one", "two", "one"], dataset=dataset, metadata={"tenant": "x"}).added == 2
    assert shelf.add(["one"], dataset=dataset, metadata={"tenant": "x"}).unchanged == 1
    assert shelf.add(["one"], dataset=dataset, metadata={"tenant": "y"}).added == 1
    tenants = [document.metadata["tenant"] for document in shelf.ledger.documents(dataset)]
    assert sorted(map(str, tenants)) == ["x", "x", "y"]


def test_several_documents_of_one_source_are_its_parts(shelf: Braid, dataset: int) -> None:
    def pages(count: int) -> list[Document]:
        return [Document(f"page {n}", metadata={"source": "r.pdf", "page": n}) for n in range(count)]

    other = {"source": "r.pdf.notes", "text": "another"}
    assert shelf.add([*pages(4), other], dataset=dataset).added == 5
    assert sources(shelf, dataset) == ["r.pdf", "r.pdf#part=2", "r.pdf#part=3", "r.pdf#part=4", "r.pdf.notes"]
    fewer = shelf.add(iter(pages(2)), dataset=dataset)
    assert (fewer.unchanged, fewer.removed) == (2, 0)
    fewer = shelf.add(iter(pages(2)), dataset=dataset, replace_sources=True)
    assert (fewer.unchanged, fewer.removed) == (2, 2)
    assert sources(shelf, dataset) == ["r.pdf", "r.pdf#part=2", "r.pdf.notes"]


def test_pieces_of_a_source_are_kept_however_many_calls_add_them(shelf: Braid, dataset: int) -> None:
    pages = [Document(f"page {n % 5}", metadata={"source": "r.pdf", "page": n}) for n in range(7)]
    for page in pages:
        assert shelf.add(page, dataset=dataset).added == 1
    again = shelf.add([*pages[3:], Document("page 8", metadata={"source": "r.pdf", "page": 8})], dataset=dataset)
    assert (again.unchanged, again.added) == (4, 1)
    assert again.documents[-1].source == "r.pdf#part=8"
    assert len(sources(shelf, dataset)) == 8
    shelf.ledger.remove_document(dataset, "r.pdf#part=3")
    assert shelf.add(Document("page 9", metadata={"source": "r.pdf"}), dataset=dataset).added == 1
    assert len(sources(shelf, dataset)) == 8, "no part was replaced"


def test_a_source_is_removed_with_its_parts_alone(shelf: Braid, dataset: int) -> None:
    shelf.add([Document(f"page {n}", metadata={"source": "r.pdf"}) for n in range(12)], dataset=dataset)
    shelf.add([{"id": each, "text": each} for each in ("r.pdf#part=2b", "r.pdf.notes", "r.pdf#")], dataset=dataset)
    assert shelf.ledger.remove_document(dataset, "r.pdf")
    assert sources(shelf, dataset) == ["r.pdf#", "r.pdf#part=2b", "r.pdf.notes"]
    assert shelf.ledger.dataset(dataset).documents == 3


def test_removed_parts_of_objects_are_told(shelf: Braid, dataset: int, caplog: pytest.LogCaptureFixture) -> None:
    shelf.add([{"source": "a", "text": f"{n}"} for n in range(4)], dataset=dataset)
    assert shelf.add([{"source": "a", "text": "0"}], dataset=dataset).removed == 3
    assert "3 parts of 'a' that an earlier call stored were removed" in caplog.text


def test_values_of_a_data_frame_are_stored_and_filtered_by(shelf: Braid, dataset: int) -> None:
    metadata = {
        "year": np.int64(2024),
        "rank": np.float32(0.5),
        "open": np.True_,
        "day": np.datetime64("2026-01-31"),
        "at": np.datetime64("2026-01-31T12:00:00.000000000"),
        "price": Decimal("1.5"),
        "of": UUID(int=7),
        "tags": [PurePosixPath("x/y"), "z"],
    }
    shelf.add({"id": "a", "text": "text", "metadata": metadata}, dataset=dataset)
    [stored] = shelf.get(["a"], dataset=dataset)
    assert dict(stored.metadata) == {
        "year": 2024,
        "rank": 0.5,
        "open": True,
        "day": date(2026, 1, 31),
        "at": datetime(2026, 1, 31, 12),
        "price": 1.5,
        "of": str(UUID(int=7)),
        "tags": ["x/y", "z"],
    }
    for key, value in metadata.items():
        asked = {"$contains": PurePosixPath("x/y")} if key == "tags" else {"$in": [value]}
        for condition in (asked, {"$not": {"$ne": value}}) if key != "tags" else (asked,):
            assert [each.id for each in shelf.get(dataset=dataset, filter={key: condition})] == ["a"], (key, condition)
    assert shelf.get(dataset=dataset, filter={"year": {"$gt": np.int64(2024)}}) == []
    assert shelf.get(dataset=dataset, filter={"none": {"$exists": np.True_}}) == []


def test_what_a_loader_says_is_kept_but_for_what_cannot_be(
    shelf: Braid, dataset: int, caplog: pytest.LogCaptureFixture
) -> None:
    metadata = {"source": "a", "box": [1, 2], "loc": {"from": 1}, "score": float("nan"), "price": Decimal("1.5")}
    more = {"id": UUID(int=7), "path": PurePosixPath("x/y"), "rank": np.float32(0.5), "n": np.int64(3), "none": None}
    report = shelf.add(Document("text", metadata={**metadata, **more}), dataset=dataset)
    assert [each.split(" is ")[0] for each in report.documents[0].left_out] == [
        "metadata.box",
        "metadata.loc",
        "metadata.score",
    ]
    assert "keys of metadata were left out of 3 documents: metadata.box is 1" in caplog.text
    [stored] = shelf.ledger.documents(dataset)
    assert dict(stored.metadata) == {
        "source": "a",
        "price": 1.5,
        "id": str(UUID(int=7)),
        "path": "x/y",
        "rank": 0.5,
        "n": 3,
    }


def test_what_was_found_can_be_added_elsewhere(shelf: Braid, user: int, dataset: int) -> None:
    other = shelf.ledger.add_dataset(user, "copy").id
    shelf.add([{"id": "a", "text": "pump", "metadata": {"site": "north"}}, "a pump and a valve"], dataset=dataset)
    catch_up(shelf)
    found = shelf.get_retriever(user_id=user, dataset_ids=[dataset]).invoke("pump")
    assert shelf.add(found, dataset=other).added == 2
    stored = [dict(each.metadata) for each in shelf.ledger.documents(other)]
    assert {"site": "north", "source": "a"} in stored
    assert all(each.keys() <= {"site", "source"} for each in stored)


@pytest.mark.parametrize("given", ["1", None, 1.5, True])
def test_a_dataset_that_is_none_is_refused(shelf: Braid, given: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"dataset is .*; give a dataset, or its id, a whole number"):
        shelf.add(["x"], dataset=given)


def test_an_entry_of_the_shared_datasets_is_a_dataset(shelf: Braid) -> None:
    assert shelf.add(["x"], dataset=shelf.registry.add("n", "shared_n")).added == 1


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("  ", "the text is empty; leave the document out"),
        ("\x00\x01", "the text has no characters that can be read"),
        ({"text": b"bytes"}, r"the text is b'bytes'; give a str, and bytes to ingest_bytes"),
        ({"source": "a"}, "the text is None; give a str"),
        ({"text": "x", "tenant": "y"}, "there is no field 'tenant'; the fields are text, id, source, title"),
        ({"text": "x", "source": 5}, "source is 5; give a text"),
        ({"text": "x", "date": "yesterday"}, "date is 'yesterday'; give a date, or seconds"),
        ({"text": "x", "metadata": {"a": {}}}, "metadata.a is {}; a value is a text"),
        ({"text": "x", "metadata": "a"}, "metadata is 'a'; give an object"),
        ({"text": "x", "file_type": "exe"}, "has the type .exe that is not known"),
        ({"text": "x", "id": "a\x00b"}, "id is 'a\\x00b'; leave out NUL characters and halves"),
        ({"text": "x", "source": "a\ud83d"}, "source is 'a\\ud83d'; leave out NUL characters and halves"),
        (5, "it is of the type int; give a text"),
        (b"x", "it is of the type bytes; give a text"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_the_reason_and_the_rest_is_stored(
    shelf: Braid, dataset: int, given: Any, reason: str
) -> None:
    report = shelf.add(["before", given, "after"], dataset=dataset)
    assert [each.state for each in report.documents] == ["added", "refused", "added"]
    assert reason in report.refused[0].reason
    assert len(sources(shelf, dataset)) == 2


def test_wrong_arguments_raise_before_anything_is_stored(shelf: Braid, dataset: int) -> None:
    with pytest.raises(NotFoundError, match="no dataset 4711"):
        shelf.add(["x"], dataset=4711)
    with pytest.raises(InvalidInputError, match="documents is of the type int"):
        shelf.add(5, dataset=dataset)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="documents is of the type bytes"):
        shelf.add(b"x", dataset=dataset)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"metadata.tenant is \[1\]|metadata.tenant is 1"):
        shelf.add(["x"], dataset=dataset, metadata={"tenant": [1]})
    assert sources(shelf, dataset) == []


def test_progress_counts_batches_and_a_long_text_is_split(shelf: Braid, dataset: int) -> None:
    seen: list[AddProgress] = []
    long = " ".join(f"Sentence number {n} of a long text." for n in range(200))
    report = shelf.add([*(f"text {n}" for n in range(700)), "", long], dataset=dataset, on_progress=seen.append)
    assert [(each.done, each.total, each.added, each.refused) for each in seen] == [
        (500, 702, 500, 0),
        (702, 702, 701, 1),
    ]
    stored = shelf.ledger.document_with_id(report.documents[-1].document_id or 0, [dataset])
    assert stored is not None
    assert stored.chunks > 4
    assert report.chunks == 700 + stored.chunks


def test_the_indexers_progress_is_counted(shelf: Braid, dataset: int) -> None:
    counts: list[tuple[int, int]] = []
    add_documents(shelf, [f"text {n}" for n in range(30)], dataset=dataset)
    assert shelf.indexer.wait(WAIT_S, on_progress=lambda done, total: counts.append((done, total)))
    assert counts
    assert counts == sorted(counts)
    done, total = counts[-1]
    assert done == total


def test_langchain_documents_in_and_a_retriever_with_filters_out(shelf: Braid, user: int, dataset: int) -> None:
    own = {"source": "report.pdf", "page": "7", "id": "mine", "score": "high", "year": 2024, "day": date(2026, 1, 31)}
    documents = [
        Document("The pump runs at 12 bar.", metadata={**own, "tags": ["a", "b"], "tenant": "x"}),
        Document("The pump runs at 9 bar.", metadata={"source": "old.pdf", "year": 2019, "tags": ["b"], "tenant": "x"}),
        Document("The pump runs at 3 bar.", metadata={"source": "other.pdf", "year": 2025, "tenant": "y"}),
    ]
    shelf.add(documents, dataset=dataset)
    catch_up(shelf)
    retriever = shelf.get_retriever(user_id=user, dataset_ids=[dataset])
    where = {"tenant": "x", "year": {"$gte": 2024}, "tags": {"$contains": "a"}}
    (found,) = retriever.invoke("pump", filters=where)
    assert {key: found.metadata[key] for key in own} == own
    assert found.metadata["tags"] == ["a", "b"]
    ours = found.metadata["braid"]
    assert (ours["source"], ours["page"], ours["dataset_id"]) == ("report.pdf", None, dataset)
    assert ours["id"] == found.id
    assert found.metadata["collection"] == ours["collection"]
    for mode in ("semantic", "keyword", "hybrid"):
        for filters in (where, Filters(metadata=where)):
            hits = retriever.invoke("pump", filters=filters, mode=mode)
            assert [hit.page_content for hit in hits] == ["The pump runs at 12 bar."]
        assert len(retriever.invoke("pump", filters={"year": {"$ne": 2024}}, mode=mode)) == 2
    assert [hit.metadata["source"] for hit in retriever.invoke("pump", filters={"file_type": "md"})] == []
    with pytest.raises(InvalidInputError, match="'\\$above' is no operator of 'year'"):
        retriever.invoke("pump", filters={"year": {"$above": 5}})


def test_an_explanation_names_the_filter_that_leaves_a_passage_out(shelf: Braid, user: int, dataset: int) -> None:
    report = shelf.add([{"text": "The pump.", "metadata": {"year": 2023}}], dataset=dataset)
    catch_up(shelf)
    (passage,) = shelf.ledger.document_passages(report.documents[0].document_id or 0, [dataset])

    def why(filters: Any) -> str:
        explanation = shelf.manager.explain(
            "pump", chunk_id=passage.chunk_id, user_id=user, dataset_ids=[dataset], filters=filters
        )
        assert explanation.reason == "filtered"
        return explanation.detail

    assert why({"year": {"$gte": 2024}, "file_type": "txt"}) == (
        'The filter {"year": {"$gte": 2024}} leaves it out: its year is 2023.'
    )
    assert why({"tenant": "x"}) == 'The filter {"tenant": "x"} leaves it out: it has no tenant.'
    assert why({"$not": {"year": 2023}}) == 'The filter {"$not": {"year": 2023}} leaves it out.'
    assert why({"file_type": "md"}) == 'The filter {"file_type": "md"} leaves it out: its file_type is "txt".'
    both = why(Filters(file_types=frozenset({"pdf"}), source_prefix="a/", date_from=5.0))
    assert "The filter of file types, pdf, leaves it out: it is txt." in both
    assert "The filter of sources, 'a/', leaves it out: its source is 'text:" in both
    assert "The filter of dates leaves it out." in both


@pytest.mark.parametrize("content", ["a text", Document("a document")])
def test_ingest_bytes_says_where_texts_go(shelf: Braid, dataset: int, content: Any) -> None:
    with pytest.raises(InvalidInputError, match="give bytes, or texts and LangChain documents to braid"):
        ingest_bytes(shelf, dataset, "a.txt", content)


def test_files_have_metadata_of_their_own_and_the_hosts(shelf: Braid, dataset: int) -> None:
    content = b"---\nauthor: ann\ntags: [a, b]\n---\nText."
    ingest_bytes(shelf, dataset, "a.md", content)
    ingest_bytes(shelf, dataset, "a.md", content, metadata={"author": "bob", "year": 2024})
    stored = shelf.ledger.document(dataset, "a.md")
    assert stored is not None
    assert stored.metadata["author"] == "bob"
    assert stored.metadata["year"] == 2024


def test_replacing_a_source_removes_all_its_parts_also_beyond_a_gap(shelf: Braid, dataset: int) -> None:
    pages = [Document(f"page {n}", metadata={"source": "s"}) for n in range(5)]
    shelf.add(pages, dataset=dataset)
    assert shelf.ledger.parts_of(dataset, "s").keys() == {2, 3, 4, 5}
    assert shelf.delete([shelf.ledger.parts_of(dataset, "s")[2]], dataset=dataset) == 1
    report = shelf.add(pages[:1], dataset=dataset, replace_sources=True)
    assert (report.removed, [each.id for each in shelf.get(dataset=dataset, source="s")]) == (3, ["s"])
