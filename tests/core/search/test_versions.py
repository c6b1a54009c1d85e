"""Versions in a search: the one in force first, the year asked for wins, equal texts are shown as the newest's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S

LIMITS = {"2023": 90, "2024": 110, "2025": 125}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Braid, int, int]]:
    with Braid(tmp_path_factory.mktemp("versions"), embedding_model=HashEmbeddings()) as braid:
        user = braid.ledger.add_user("ann").id
        dataset = braid.ledger.add_dataset(user, "policies").id
        for year, limit in LIMITS.items():
            chunks = (
                ChunkInput(f"The hotel limit per night is {limit} euros, and {'hotel ' * (2026 - int(year))}"),
                ChunkInput("Taxis are paid after ten in the evening."),
            )
            facts = {"valid_from": f"{year}-03-01"}
            document = DocumentInput(f"travel-{year}.md", f"Travel policy {year}", "md", chunks, metadata=facts)
            braid.ledger.put_document(dataset, document)
        assert braid.indexer.wait(WAIT_S)
        yield braid, user, dataset


def sources(place: tuple[Braid, int, int], question: str, **options: Any) -> list[str]:
    braid, user, dataset = place
    hits = braid.search(question, user_id=user, dataset_ids=[dataset], k=3, **options).hits
    return [hit.passage.source for hit in hits]


def test_the_version_in_force_comes_first(place: tuple[Braid, int, int]) -> None:
    assert sources(place, "hotel limit per night") == [f"travel-{year}.md" for year in ("2025", "2024", "2023")]
    assert sources(place, "hotel limit per night", pooling="none")[0] != "travel-2025.md", "by score alone"


def test_the_year_asked_for_wins(place: tuple[Braid, int, int]) -> None:
    assert sources(place, "hotel limit per night in 2024")[0] == "travel-2024.md"


def test_an_equal_text_is_shown_as_that_of_the_newest(place: tuple[Braid, int, int]) -> None:
    braid, user, dataset = place
    first = braid.search("taxis after ten in the evening", user_id=user, dataset_ids=[dataset], k=1).hits[0]
    assert first.passage.source == "travel-2025.md"
    assert {other.source for other in first.also_in} == {"travel-2024.md", "travel-2023.md"}
    assert [score.leg for score in first.legs] == ["dense", "bm25"]


def test_the_explanation_has_the_same_ranks(place: tuple[Braid, int, int]) -> None:
    braid, user, dataset = place
    options: dict[str, Any] = {"user_id": user, "dataset_ids": [dataset], "k": 3}
    hits = braid.search("hotel limit per night", **options).hits
    ranks = [
        braid.manager.explain("hotel limit per night", chunk_id=hit.passage.chunk_id, **options).rank for hit in hits
    ]
    assert ranks == [1, 2, 3]
