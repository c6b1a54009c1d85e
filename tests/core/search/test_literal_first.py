"""A query that is one identifier: passages that have it come first, in every fusion, and the explanation says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.types import Fusion
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, World, fill

# A word-hash embedding is nearest to the shortest passage that shares a word: here one with a part of the code alone.
CONTENTS = {
    "faults": {
        "parts.md": ("E", "104", "104 104", "104 E", "E 104 E"),
        "faults.md": (
            "When the tank has run dry for more than a minute the panel shows E-104 and the pump stops at once.",
            "Every morning somebody writes down what the panel shows; e-104 is seldom among it.",
            "Faults such as E-1040 and PE-104 are of another series.",
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
    result = world.braid.search(query, user_id=1, dataset_ids=[world.ids["faults"]], **options)
    return [hit.passage.text for hit in result.hits]


WITH_IT = set(CONTENTS["faults"]["faults.md"][:2])


@pytest.mark.parametrize("fusion", ["auto", "rrf", "weighted"])
@pytest.mark.parametrize("query", ["E-104", "「Ｅ－１０４」"])
def test_passages_with_the_identifier_come_first(world: World, fusion: Fusion, query: str) -> None:
    found = texts(world, query, fusion=fusion, k=8)
    assert set(found[:2]) == WITH_IT
    assert len(found) > 2


def test_both_groups_keep_the_order_of_the_fusion(world: World) -> None:
    by_score = texts(world, "E-104", fusion="rrf", pooling="none", k=8)
    found = texts(world, "E-104", fusion="rrf", k=8)
    assert found[:2] == [text for text in by_score if text in WITH_IT]
    assert found[2:] == [text for text in by_score if text not in WITH_IT]


def test_other_questions_and_searches_by_meaning_alone_are_as_they_were(world: World) -> None:
    assert texts(world, "E-104 now", fusion="rrf", k=8) == texts(world, "E-104 now", fusion="rrf", pooling="none", k=8)
    assert texts(world, "E-104", mode="semantic", k=8) == texts(world, "E-104", mode="semantic", pooling="none", k=8)


def test_the_explanation_says_so(world: World) -> None:
    options: dict[str, Any] = {"user_id": 1, "dataset_ids": [world.ids["faults"]], "k": 8}
    hits = world.braid.search("E-104", **options).hits
    first, last = hits[0].passage.chunk_id, hits[-1].passage.chunk_id
    said = world.braid.manager.explain("E-104", chunk_id=first, **options)
    assert said.rank == 1
    assert said.detail == "It is at rank 1. It has 'E-104' as it is written, and so comes before passages without it."
    said = world.braid.manager.explain("E-104", chunk_id=last, **options)
    assert said.detail.endswith("Passages that have 'E-104' as it is written come before it.")
    assert "as it is written" not in world.braid.manager.explain("tank dry", chunk_id=first, **options).detail
