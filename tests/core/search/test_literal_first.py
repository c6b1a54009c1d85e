"""A query that is one identifier: passages that have it come first, in every fusion, and the explanation says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.types import Fusion
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, World, fill

# A word-hash embedding is nearest to the shortest passage with the word, and BM25 has no large letters: by score alone
# the passages about a wall of stones come first.
CONTENTS = {
    "notes": {
        "walls.md": ("wal", "a wal", "wal and wal", "the old wal", "wal of the mill"),
        "database.md": (
            "When a page is changed the database first writes to the WAL what it is about to do, then the page.",
            "Every morning somebody writes down how long the archive needs for the WAL files of the last day.",
            "A WALK along the canal takes an hour if nobody is tired and the gate near the mill is open on that day.",
        ),
    }
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    embeddings = HashEmbeddings()
    with Braid(tmp_path_factory.mktemp("literal"), embedding_model=embeddings) as braid:
        ids = fill(braid, CONTENTS, {})
        assert braid.indexer.wait(WAIT_S)
        yield World(braid, embeddings, 1, ids)


def texts(world: World, query: str, **options: Any) -> list[str]:
    result = world.braid.search(query, user_id=1, dataset_ids=[world.ids["notes"]], **options)
    return [hit.passage.text for hit in result.hits]


WITH_IT = set(CONTENTS["notes"]["database.md"][:2])


@pytest.mark.parametrize("fusion", ["auto", "rrf", "weighted"])
@pytest.mark.parametrize("query", ["WAL", "「ＷＡＬ」?"])
def test_passages_with_the_identifier_come_first(world: World, fusion: Fusion, query: str) -> None:
    found = texts(world, query, fusion=fusion, k=8)
    assert set(found[:2]) == WITH_IT
    assert len(found) > 2


def test_both_groups_keep_the_order_of_the_fusion(world: World) -> None:
    hits = world.braid.search("WAL", user_id=1, dataset_ids=[world.ids["notes"]], fusion="rrf", k=8).hits
    scores = [hit.score for hit in hits]
    assert scores[:2] == sorted(scores[:2], reverse=True)
    assert scores[2:] == sorted(scores[2:], reverse=True)
    assert scores != sorted(scores, reverse=True), "by score alone the others would come between"


def test_other_questions_and_searches_by_meaning_alone_are_as_they_were(world: World) -> None:
    assert texts(world, "WAL now", fusion="rrf", k=8) == texts(world, "WAL now", fusion="rrf", pooling="none", k=8)
    assert texts(world, "WAL", mode="semantic", k=8) == texts(world, "WAL", mode="semantic", pooling="none", k=8)


def test_the_explanation_says_so(world: World) -> None:
    options: dict[str, Any] = {"user_id": 1, "dataset_ids": [world.ids["notes"]], "k": 8}
    hits = world.braid.search("WAL", **options).hits
    first, last = hits[0].passage.chunk_id, hits[-1].passage.chunk_id
    said = world.braid.manager.explain("WAL", chunk_id=first, **options)
    assert said.rank == 1
    assert said.detail == "It is at rank 1. It has 'WAL' as it is written, and so comes before passages without it."
    said = world.braid.manager.explain("WAL", chunk_id=last, **options)
    assert said.detail.endswith("Passages that have 'WAL' as it is written come before it.")
    assert "as it is written" not in world.braid.manager.explain("database page", chunk_id=first, **options).detail
