"""Hits grouped by document: its best passage, the others counted; enough is read to find ``k`` documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from braid.core.errors import InvalidInputError
from braid.core.search.strategies import strategies
from braid.core.types import MAX_K, SearchResult
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, World, catch_up, fill

LONG = tuple(f"pump pump number {number}" for number in range(120))
BOTH = "The pump is described in two documents."
CONTENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "manuals": {
        "long.md": (*LONG, "The warranty of the pump lasts three years.", BOTH),
        "short.md": ("A pump and a valve are in the hall.", "Tea is served in the kitchen."),
        "copy.md": (BOTH, "Nothing about it here."),
        "last.md": ("The pump and the tank and the valve and the gate and the wall.",),
    },
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    embeddings = HashEmbeddings()
    with ByHand(tmp_path_factory.mktemp("documents"), embedding_model=embeddings) as braid:
        ids = fill(braid, CONTENTS, {})
        catch_up(braid)
        yield World(braid, embeddings, 1, ids)


def search(world: World, text: str, **options: Any) -> SearchResult:
    return world.braid.search(text, user_id=1, **{"group_by": "document", **options})


def sources(result: SearchResult) -> list[str]:
    return [hit.passage.source for hit in result.hits]


def test_a_documents_best_passage_stands_for_it_and_the_others_are_counted(world: World) -> None:
    passages = search(world, "warranty of the pump", group_by="passage", mode="keyword", k=200)
    documents = search(world, "warranty of the pump", mode="keyword", k=4)
    assert sources(documents) == list(dict.fromkeys(sources(passages)))[:4]
    first = documents.hits[0]
    assert (first.passage.text, first.score) == (CONTENTS["manuals"]["long.md"][120], passages.hits[0].score)
    assert (first.passage.source, first.more_in_document >= 40) == ("long.md", True)
    assert {hit.more_in_document for hit in passages.hits} == {0}
    assert next(hit for hit in documents.hits if hit.passage.source == "last.md").more_in_document == 0


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize("fusion", ["auto", "rrf", "weighted"])
def test_a_long_document_does_not_keep_others_out(world: World, mode: str, fusion: str) -> None:
    """The fifty passages that a search fetches are all of one document; a search for documents looks deeper."""
    options: dict[str, Any] = {"mode": mode, "fusion": fusion, "k": 3}
    assert set(sources(search(world, "pump number", group_by="passage", **{**options, "k": 20}))) == {"long.md"}
    found = search(world, "pump number", **options)
    assert (len(found.hits), len(set(sources(found))), found.notes) == (3, 3, ())
    assert found.hits[0].passage.source == "long.md"


@pytest.mark.parametrize("strategy", list(strategies()))
def test_every_strategy_gives_each_document_once(world: World, strategy: str) -> None:
    found = search(world, "the pump", strategy=strategy, k=4)
    assert sorted(sources(found)) == sorted(set(sources(found)))
    assert len(found.hits) >= 3


def test_a_text_that_is_in_two_documents_is_shown_for_both(world: World) -> None:
    first, second, *_ = search(world, BOTH, mode="keyword", k=4).hits
    assert first.passage.text == second.passage.text == BOTH
    assert {first.passage.source, second.passage.source} == {"long.md", "copy.md"}
    assert first.also_in == second.also_in == ()


def test_among_passages_it_is_one_with_both_places_on_every_surface(world: World) -> None:
    first = search(world, BOTH, mode="keyword", group_by="passage", k=4).hits[0]
    assert {first.passage.source, *(other.source for other in first.also_in)} == {"long.md", "copy.md"}
    found = world.braid.get_retriever(user_id=1, mode="keyword", k=4).invoke(BOTH)[0]
    (place,) = found.metadata["also_in"]
    assert {found.metadata["source"], place["source"]} == {"long.md", "copy.md"}
    assert set(place) == {"chunk_id", "dataset_id", "source", "title"}
    assert "also_in" not in world.braid.get_retriever(user_id=1, mode="keyword", k=20).invoke(BOTH)[-1].metadata


def test_a_note_says_when_the_bound_left_documents_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.core.search.pipeline.MAX_K", 25)  # fifty passages of each leg
    (note,) = search(world, "pump number", mode="keyword", k=3).notes
    assert note.startswith("the 50 best passages of each leg are of fewer than 3 documents")
    assert MAX_K == 1_000
    only = search(world, "pump number", mode="keyword", k=3, filters={"source_prefix": "long"})
    assert (sources(only), only.notes) == (["long.md"], ())  # there is no other


def test_explain_names_the_passage_that_stands_for_the_document(world: World) -> None:
    best, *_ = search(world, "pump number 7", mode="keyword", k=2).hits
    passages = search(world, "pump number 7", group_by="passage", mode="keyword", k=5).hits
    other = next(hit.passage for hit in passages if hit.passage.chunk_id != best.passage.chunk_id)
    why = world.braid.manager.explain(
        "pump number 7", chunk_id=other.chunk_id, user_id=1, mode="keyword", group_by="document", k=2
    )
    assert (why.found, why.reason, why.rank) == (False, "grouped", 1)
    assert best.passage.chunk_id in why.detail
    why = world.braid.manager.explain(
        "pump number 7", chunk_id=best.passage.chunk_id, user_id=1, mode="keyword", group_by="document", k=2
    )
    assert (why.found, why.rank) == (True, 1)


def test_what_cannot_be_grouped_is_refused(world: World) -> None:
    with pytest.raises(InvalidInputError, match="group_by is 'file'; choose one of passage, document"):
        search(world, "pump", group_by="file")
    with pytest.raises(InvalidInputError, match="engine 'langchain' gives passages only"):
        search(world, "pump", engine="langchain")


def test_a_retriever_gives_one_document_each(world: World) -> None:
    retriever = world.braid.get_retriever(user_id=1, group_by="document", k=3)
    found = [each.metadata["source"] for each in retriever.invoke("pump number")]
    assert len(found) == len(set(found)) == 3
