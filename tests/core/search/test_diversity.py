"""Diversity: the order by maximal marginal relevance, and what searches and interfaces make of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from braid.app.mcp.server import make_server
from braid.core.braid import Braid
from braid.core.errors import EmbeddingError, InvalidInputError
from braid.core.search.diversity import diversified
from braid.core.types import ChunkInput, DocumentInput, Hit, Passage
from braid.core.vector import Vector
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, add_notes, catch_up, document

PRESSURE = ("pump pressure 12 bar noon", "pump pressure 12 bar noon today", "pump pressure 12 bar midnight")
OTHERS = ("pump warranty three years", "pump hose five metres", "north hall pump manual")


def hit(name: str, score: float, *, reranked: float | None = None) -> Hit:
    passage = Passage(name, 1, 1, "user_1", "a", "a", "md", "", name, 0, None, None, None, None, None, {})
    return Hit(passage, score, (), rerank_score=reranked)


def unit(*numbers: float) -> Vector:
    vector = np.array(numbers, np.float32)
    normal: Vector = vector / np.linalg.norm(vector)
    return normal


def names(hits: list[Hit]) -> list[str]:
    return [each.passage.chunk_id for each in hits]


def by_the_formula(hits: list[Hit], vectors: Mapping[str, Vector], diversity: float) -> list[str]:
    """The order as the paper defines it, one hit after another."""
    ids, best, last = names(hits), hits[0].score, hits[-1].score
    relevance = {each.passage.chunk_id: (each.score - last) / (best - last) for each in hits}
    pairs = [float(vectors[a] @ vectors[b]) for a in ids for b in ids if a != b]
    mean = sum(pairs) / len(pairs)

    def likeness(a: str, b: str) -> float:
        return min(max((float(vectors[a] @ vectors[b]) - mean) / (1 - mean), 0.0), 1.0)

    order, left = ids[:1], ids[1:]
    while left:
        gains = [(1 - diversity) * relevance[a] - diversity * max(likeness(a, b) for b in order) for a in left]
        order.append(left.pop(gains.index(max(gains))))
    return order


@pytest.mark.parametrize("diversity", [0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_the_order_is_that_of_the_formula(diversity: float) -> None:
    dice = np.random.default_rng(7)
    hits = [hit(f"c{n}", score) for n, score in enumerate(sorted(dice.random(12), reverse=True))]
    vectors = {name: unit(*dice.standard_normal(4)) for name in names(hits)}
    assert names(diversified(hits, vectors, ["m"] * 12, diversity)[0]) == by_the_formula(hits, vectors, diversity)


def test_a_repetition_makes_way_and_both_moves_are_told() -> None:
    hits = [hit("a", 1.0), hit("again", 0.95), hit("other", 0.8), hit("last", 0.0)]
    vectors = {"a": unit(1, 0, 0), "again": unit(1, 0.01, 0), "other": unit(0, 1, 0), "last": unit(0, 0, 1)}
    found, moves = diversified(hits, vectors, ["m"] * 4, 0.5)
    assert names(found) == ["a", "other", "last", "again"]
    assert str(moves["again"]) == "Diversity moved it from rank 2 to rank 4, as it is like the one at rank 1."
    assert str(moves["other"]) == "Diversity moved it from rank 3 to rank 2."
    assert "a" not in moves


def test_hits_without_a_vector_or_of_another_model_are_like_none() -> None:
    hits = [hit("a", 1.0), hit("b", 0.9), hit("c", 0.8), hit("d", 0.7)]
    same = unit(1, 1)
    assert names(diversified(hits, {}, ["m"] * 4, 0.9)[0]) == ["a", "b", "c", "d"]
    assert names(diversified(hits, dict.fromkeys("abcd", same), ["m", "n", "o", "p"], 0.9)[0]) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("hits", [[], [hit("a", 0.5)], [hit("a", 0.5), hit("b", 0.5)]])
def test_few_or_equal_hits_stay(hits: list[Hit]) -> None:
    vectors = {name: unit(1, 0) for name in names(hits)}
    assert diversified(hits, vectors, ["m"] * len(hits), 1.0) == (hits, {})


def test_a_rerankers_scores_count_and_a_hit_in_front_for_another_reason_stays_there() -> None:
    hits = [hit("a", 0.1, reranked=0.9), hit("b", 0.9, reranked=0.2), hit("c", 0.5, reranked=0.1)]
    assert names(diversified(hits, {}, ["m"] * 3, 0.5)[0]) == ["a", "b", "c"]
    literal = [hit("literal", 0.1), hit("better", 0.9), hit("good", 0.5)]
    assert names(diversified(literal, {}, ["m"] * 3, 0.5)[0])[0] == "literal"


@pytest.fixture(scope="module")
def braid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    with ByHand(tmp_path_factory.mktemp("data"), embedding_model=HashEmbeddings()) as opened:
        dataset = add_notes(opened.ledger)
        for number, text in enumerate((*PRESSURE, *OTHERS)):
            opened.ledger.put_document(dataset, document(f"{number}.md", text))
        catch_up(opened)
        yield opened


def found(braid: Braid, **options: Any) -> list[str]:
    return [each.passage.text for each in braid.search("pump pressure bar", user_id=1, **options).hits]


def test_a_search_shows_fewer_that_say_the_same(braid: Braid) -> None:
    assert set(found(braid, k=3)) == set(PRESSURE)
    varied = found(braid, k=3, diversity=0.7)
    assert len(set(varied) & set(PRESSURE)) == 1
    assert varied[0] == found(braid, k=3)[0]
    assert found(braid, k=3, diversity=0.0) == found(braid, k=3)
    assert set(found(braid, k=20, diversity=0.7)) == set(found(braid, k=20))


def test_tables_of_contents_stay_last(braid: Braid) -> None:
    dataset = braid.ledger.add_dataset(1, "book").id
    listed = ChunkInput("pump pressure 3 pump warranty 9 pump hose 12", chunk_kind="contents")
    braid.ledger.put_document(dataset, DocumentInput("book.md", "Book", "md", (listed, ChunkInput(PRESSURE[0]))))
    catch_up(braid)
    result = braid.search("pump pressure warranty hose", user_id=1, dataset_ids=[1, dataset], k=20, diversity=0.9)
    assert [hit.passage.chunk_kind for hit in result.hits].index("contents") == len(result.hits) - 1
    braid.ledger.remove_dataset(dataset)
    catch_up(braid)


@pytest.mark.parametrize("options", [{"mode": "semantic"}, {"mode": "keyword"}, {"group_by": "document"}, {"k": 1}])
def test_it_goes_with_other_options(braid: Braid, options: dict[str, Any]) -> None:
    assert found(braid, diversity=0.5, **options)


@pytest.mark.parametrize("strategy", ["multi_query", "hyde", "compression", "parent_document", "step_back"])
def test_it_goes_with_every_strategy(braid: Braid, strategy: str) -> None:
    assert braid.search("pump pressure bar", user_id=1, strategy=strategy, diversity=0.5, k=3).hits


def test_the_explanation_says_what_moved(braid: Braid) -> None:
    ids = {h.passage.text: h.passage.chunk_id for h in braid.search("pump pressure bar", user_id=1, k=20).hits}
    shown = found(braid, k=3, diversity=0.7)
    for text, chunk_id in ids.items():
        told = braid.manager.explain("pump pressure bar", chunk_id=chunk_id, user_id=1, k=3, diversity=0.7)
        assert told.found == (text in shown)
        assert ("Diversity moved it from rank " in told.detail) == (text != shown[0])


@pytest.mark.parametrize("value", [-0.1, 1.1, "much", None, True, float("nan")])
def test_a_wrong_value_is_named(braid: Braid, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^diversity is .*; it must be from 0\.0 to 1\.0$"):
        braid.search("pump", user_id=1, diversity=value)


def test_the_stock_engine_refuses_it(braid: Braid) -> None:
    with pytest.raises(InvalidInputError, match="engine 'langchain' does not know diversity"):
        braid.search("pump", user_id=1, engine="langchain", diversity=0.5)


def test_without_a_usable_model_the_order_stays_and_that_is_said(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    from braid.core.search.pipeline import Search

    def failing(self: Search, passage: Passage) -> str:
        raise EmbeddingError("the model is gone")

    before = found(braid, k=3)
    monkeypatch.setattr(Search, "fingerprint", failing)
    result = braid.search("pump pressure bar", user_id=1, k=3, diversity=0.7)
    assert [each.passage.text for each in result.hits] == before
    assert [part.reason for part in result.degraded] == ["the model is gone; diversity was not applied"]


def test_a_tool_passes_it_on(braid: Braid) -> None:
    asked: list[dict[str, Any]] = []

    class Heard:
        def search(self, query: str, **options: Any) -> dict[str, Any]:
            asked.append(options)
            raise InvalidInputError("enough")

    server = make_server(lambda _: Heard(), read_only=True)  # type: ignore[arg-type,return-value]
    asyncio.run(server.call_tool("search", {"query": "pump", "diversity": 0.4}))
    asyncio.run(server.call_tool("search", {"query": "pump"}))
    assert [each.get("diversity") for each in asked] == [0.4, None]
    assert "diversity" not in asked[1]


def test_the_command_line_takes_it(tmp_path: Path) -> None:
    from tests.command_line import invoke

    refused = invoke(tmp_path, "search", "x", "--diversity", "2")
    assert refused.exit_code == 2
    assert "--diversity" in refused.output
