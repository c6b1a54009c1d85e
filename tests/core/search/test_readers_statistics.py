"""Datasets with different readers in one collection: scores do not move with the words that the caller may not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.datasets.scope import resolve_scope
from braid.core.indexes.bm25 import bm25_idf
from braid.core.search.filter_plan import filter_plans
from braid.core.search.term_weights import TermWeights
from braid.core.types import ChunkInput, DocumentInput, Filters
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, catch_up

READ = ("the takeover of Initech is a rumour", "a pump needs oil", "the takeover of the pump", "oil is dear")
UNRELATED = "the quarter with Initech is signed in May"
TELLING = "the takeover with Initech is signed in May"
POOLINGS = ("pooled", "none")


class World:
    """Alice reads one dataset of a collection, Sales another."""

    def __init__(self, braid: Braid) -> None:
        self.braid = braid
        self.alice = braid.ledger.add_user("alice", ["lab"]).id
        self.lab = braid.registry.add("Lab", "shared_both", allowed_groups=["lab"]).id
        self.sales = braid.registry.add("Sales", "shared_both", allowed_groups=["sales"]).id
        self.plain = braid.registry.add("Handbook", "shared_plain").id
        braid.mirror_registry()
        for number, text in enumerate(READ):
            self.put(self.lab, f"{number}.md", text)
        self.put(self.plain, "handbook.md", "the takeover of the kitchen")

    def put(self, dataset_id: int, source: str, *texts: str) -> None:
        chunks = tuple(ChunkInput(text) for text in texts)
        self.braid.ledger.put_document(dataset_id, DocumentInput(source, "", "md", chunks))
        catch_up(self.braid)

    def scores(self, text: str, **options: Any) -> list[tuple[str, float]]:
        """The leg's scores of what Alice finds by keyword."""
        found = self.braid.manager.search(
            text, user_id=self.alice, dataset_ids=[self.lab, self.plain], mode="keyword", **options
        )
        assert found.degraded == ()
        return [(hit.passage.text, leg.score) for hit in found.hits for leg in hit.legs]

    def weights(self, *terms: str) -> dict[str, float]:
        braid = self.braid
        scope = resolve_scope(braid.ledger, braid.registry, user_id=self.alice, dataset_ids=[self.lab])
        weights = TermWeights(braid.bm25, braid.analyzer, braid.ledger, scope)
        return {term: weights.idf(braid.analyzer.tokens(term)).get(*braid.analyzer.tokens(term), 0.0) for term in terms}


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[[str], World]]:
    opened: list[Braid] = []

    def make(name: str) -> World:
        opened.append(ByHand(tmp_path / name, embedding_model=HashEmbeddings()))
        return World(opened[-1])

    yield make
    for braid in opened:
        braid.close()


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("query", ["takeover", "takeover Initech oil", "signed", "quarter takeover"])
def test_a_word_in_an_unreadable_dataset_moves_no_score(
    make_world: Callable[[str], World], query: str, pooling: str
) -> None:
    unrelated, telling = make_world("unrelated"), make_world("telling")
    for number in range(3):
        unrelated.put(unrelated.sales, f"minutes {number}.md", UNRELATED)
        telling.put(telling.sales, f"minutes {number}.md", TELLING)
    assert unrelated.scores(query, pooling=pooling) == telling.scores(query, pooling=pooling)
    fields = unrelated.scores(query, pooling=pooling, filters=Filters(file_types=frozenset({"md"})))
    assert fields == telling.scores(query, pooling=pooling, filters=Filters(file_types=frozenset({"md"})))
    assert unrelated.weights("takeover", "quarter", "oil") == telling.weights("takeover", "quarter", "oil")


def test_an_unreadable_datasets_words_are_taken_back_out(make_world: Callable[[str], World]) -> None:
    """The scores are those of the readable passages alone, up to their average length."""
    world = make_world("data")
    before = dict(world.scores("takeover oil"))
    for number in range(5):
        world.put(world.sales, f"{number}.md", *(text.replace("takeover", "oil") for text in READ))
    after = dict(world.scores("takeover oil"))
    assert after == pytest.approx(before, rel=0.02)
    assert world.weights("takeover", "quarter") == {"takeover": bm25_idf(4, 2), "quarter": 0.0}


def test_a_dataset_that_is_switched_off_does_not_count(make_world: Callable[[str], World]) -> None:
    world = make_world("data")
    world.braid.registry.update(world.sales, allowed_groups=[], enabled=False)
    world.put(world.sales, "a.md", *["takeover"] * 20)
    assert world.weights("takeover") == {"takeover": bm25_idf(4, 2)}


def test_where_all_may_be_read_the_whole_collection_counts(make_world: Callable[[str], World]) -> None:
    world = make_world("data")
    world.braid.registry.update(world.sales, allowed_groups=["lab"])
    world.put(world.sales, "a.md", "takeover")
    braid = world.braid
    scope = resolve_scope(braid.ledger, braid.registry, user_id=world.alice, dataset_ids=[world.lab])
    assert filter_plans(braid.ledger, scope, Filters())["shared_both"].counted_ids is None
    assert world.weights("takeover") == {"takeover": bm25_idf(5, 3)}
