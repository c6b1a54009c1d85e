"""Fusion: every expected score is written as its formula."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from braid.core.errors import InvalidInputError
from braid.core.indexes.answers import Bm25Statistics
from braid.core.indexes.bm25 import bm25_idf
from braid.core.langchain import EnsembleRetriever
from braid.core.search.fusion import (
    add_contributions,
    by_score_then_appearance,
    by_score_then_id,
    min_max_contributions,
    pool,
    pooled_bm25_boosts,
    rrf_contributions,
    rrf_ties,
)
from braid.core.search.ranking import Ranking, fuse
from braid.core.search.strategies.base import QueryVariant
from braid.core.types import Filters, LegScore, Query, SearchOptions
from braid.core.types import ScoredChunk as Scored

DOCS = [Scored("a", 3.0), Scored("b", 2.0), Scored("c", 1.0)]


def ranking(ids: str) -> list[Scored]:
    """Best first: each letter is a chunk."""
    return [Scored(chunk_id, float(-rank)) for rank, chunk_id in enumerate(ids)]


# ---------------------------------------------------------------- reciprocal ranks


def test_rrf_adds_the_reciprocal_ranks() -> None:
    fused = add_contributions([rrf_contributions(ranking("xyab"), 1.0), rrf_contributions(ranking("bza"), 1.0)])
    assert fused == {
        "x": 1 / (60 + 1),
        "y": 1 / (60 + 2),
        "a": 1 / (60 + 3) + 1 / (60 + 3),
        "b": 1 / (60 + 4) + 1 / (60 + 1),
        "z": 1 / (60 + 2),
    }


def test_rrf_weighs_its_rankings() -> None:
    assert rrf_contributions(ranking("ab"), 0.25) == {"a": 0.25 / (60 + 1), "b": 0.25 / (60 + 2)}
    assert rrf_contributions(ranking("ab"), 1.0, c=0) == {"a": 1 / 1, "b": 1 / 2}


# ---------------------------------------------------------------- min-max


def test_min_max_stretches_scores_from_zero_to_the_weight() -> None:
    assert min_max_contributions([Scored("a", 5.0), Scored("b", 4.0), Scored("c", 1.0)], 0.5) == {
        "a": 0.5 * (5 - 1) / (5 - 1),
        "b": 0.5 * (4 - 1) / (5 - 1),
        "c": 0.0,
    }


@pytest.mark.parametrize("score", [-1.0, 0.0, 7.5])
def test_equal_scores_all_become_one(score: float) -> None:
    assert min_max_contributions([Scored("a", score), Scored("b", score)], 0.7) == {"a": 0.7 * 1.0, "b": 0.7 * 1.0}
    assert min_max_contributions([Scored("a", score)], 1.0) == {"a": 1.0}


def test_a_weighted_sum_of_two_legs() -> None:
    dense, bm25 = [Scored("a", 0.9), Scored("b", 0.8), Scored("c", 0.5)], [Scored("c", 12.0), Scored("b", 2.0)]
    alpha = 0.7
    fused = add_contributions([min_max_contributions(dense, alpha), min_max_contributions(bm25, 1 - alpha)])
    assert fused == pytest.approx(
        {
            "a": alpha * 1.0,
            "b": alpha * (0.8 - 0.5) / (0.9 - 0.5) + (1 - alpha) * 0.0,
            "c": alpha * 0.0 + (1 - alpha) * 1.0,
        }
    )


# ---------------------------------------------------------------- edges


@pytest.mark.parametrize(
    ("rankings", "expected"),
    [([], []), ([[], []], []), ([[], DOCS], ["a", "b", "c"]), ([DOCS, []], ["a", "b", "c"])],
    ids=["nothing", "two empty", "empty and docs", "docs and empty"],
)
def test_empty_rankings(rankings: Sequence[Sequence[Scored]], expected: list[str]) -> None:
    for shares_of in (rrf_contributions, min_max_contributions):
        fused = add_contributions(shares_of(ranking, 0.5) for ranking in rankings)
        assert [hit.chunk_id for hit in by_score_then_id(fused)] == expected
        assert [hit.chunk_id for hit in by_score_then_appearance(fused)] == expected
    assert [hit.chunk_id for hit in pool(rankings, 10)] == expected


def test_ties_break_by_id() -> None:
    fused = add_contributions([rrf_contributions(ranking("ba"), 1.0), rrf_contributions(ranking("ab"), 1.0)])
    assert [hit.chunk_id for hit in by_score_then_id(fused)] == ["a", "b"]
    assert [hit.chunk_id for hit in by_score_then_appearance(fused)] == ["b", "a"]


def test_pooling_is_by_score_then_id() -> None:
    first, second = [Scored("b", 0.9), Scored("d", 0.2)], [Scored("c", 0.9), Scored("a", 0.9), Scored("e", 0.1)]
    pooled = [Scored("a", 0.9), Scored("b", 0.9), Scored("c", 0.9), Scored("d", 0.2), Scored("e", 0.1)]
    assert pool([first, second], 10) == pool([second, first], 10) == pooled
    assert pool([first, second], 2) == pooled[:2]
    assert pool([first, second], 0) == []


# ---------------------------------------------------------------- LangChain's own ensemble

rankings_of_ids = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), min_size=1, max_size=5)
weights_for = st.lists(st.floats(0.01, 10.0), min_size=5, max_size=5)


@given(rankings_of_ids, st.one_of(st.none(), weights_for))
@settings(max_examples=300, deadline=None)
def test_without_pooling_the_order_is_that_of_the_stock_ensemble(
    rankings: list[list[str]], weights: list[float] | None
) -> None:
    n = len(rankings)
    used = [1 / n] * n if weights is None else weights[:n]
    stock = EnsembleRetriever(
        retrievers=[RunnableLambda(lambda _: [])] * n, weights=[] if weights is None else used, id_key="id"
    ).weighted_reciprocal_rank(
        [[Document(page_content="", metadata={"id": chunk_id}) for chunk_id in ids] for ids in rankings]
    )
    shares = [rrf_contributions(ranking("".join(ids)), weight) for ids, weight in zip(rankings, used, strict=True)]
    ours = by_score_then_appearance(add_contributions(shares))
    assert [hit.chunk_id for hit in ours] == [document.metadata["id"] for document in stock]


@given(rankings_of_ids)
@settings(deadline=None)
def test_a_fused_order_is_by_score(rankings: list[list[str]]) -> None:
    fused = add_contributions(rrf_contributions(ranking("".join(ids)), 1.0) for ids in rankings)
    for ordered in (by_score_then_id(fused), by_score_then_appearance(fused)):
        scores = [hit.score for hit in ordered]
        assert scores == sorted(scores, reverse=True)
        assert {hit.chunk_id for hit in ordered} == {chunk_id for ids in rankings for chunk_id in ids}


# ---------------------------------------------------------------- BM25 over several collections


def statistics_of(texts: Sequence[Sequence[str]]) -> Bm25Statistics:
    """As an index counts them."""
    terms = {term for text in texts for term in text}
    return Bm25Statistics(
        len(texts),
        sum(map(len, texts)) / len(texts) if texts else 0.0,
        {term: sum(term in text for text in texts) for term in terms},
    )


texts_of_terms = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), max_size=8)


@given(st.dictionaries(st.sampled_from(["one", "two", "three"]), texts_of_terms, min_size=1))
@settings(max_examples=200, deadline=None)
def test_boosted_terms_have_exactly_the_idf_of_one_merged_index(collections: dict[str, list[list[str]]]) -> None:
    merged = statistics_of([text for texts in collections.values() for text in texts])
    terms = {"a": 1.0, "b": 2.0, "nowhere": 1.0}
    statistics = {name: statistics_of(texts) for name, texts in collections.items()}
    boosts = pooled_bm25_boosts(statistics, terms)
    assert boosts.keys() == collections.keys()
    for name, (weights, _) in boosts.items():
        local = statistics[name]
        assert weights.keys() == {term for term in terms if local.document_frequency.get(term)}
        for term, weight in weights.items():
            local_idf = bm25_idf(local.documents, local.document_frequency[term])
            merged_idf = bm25_idf(merged.documents, merged.document_frequency[term])
            assert weight * local_idf == pytest.approx(terms[term] * merged_idf, rel=1e-12)


def test_the_factor_for_the_length_is_exact_for_a_passage_of_average_length() -> None:
    short, long = Bm25Statistics(30, 10.0, {"a": 3}), Bm25Statistics(10, 50.0, {"a": 3})
    average = (30 * 10 + 10 * 50) / 40
    boosts = pooled_bm25_boosts({"short": short, "long": long}, {"a": 1.0})

    def frequency_part(length: float, avgdl: float) -> float:
        return (1 * (1.2 + 1)) / (1 + 1.2 * (1 - 0.75 + 0.75 * length / avgdl))

    for name, length in (("short", 10.0), ("long", 50.0)):
        local_score = frequency_part(length, length)
        assert boosts[name][1] * local_score == pytest.approx(frequency_part(length, average))


def test_one_collection_keeps_its_own_scores() -> None:
    boosts = pooled_bm25_boosts({"one": Bm25Statistics(5, 7.0, {"a": 2})}, {"a": 3.0, "b": 1.0})
    ((weights, factor),) = boosts.values()
    assert weights == {"a": 3.0}
    assert factor == pytest.approx(1.0)


@pytest.mark.parametrize("empty", [{}, {"one": Bm25Statistics(0, 0.0, {})}])
def test_nothing_to_pool(empty: dict[str, Bm25Statistics]) -> None:
    boosts = pooled_bm25_boosts(empty, {"a": 1.0})
    assert [weights for weights, _ in boosts.values()] == [{} for _ in empty]


def test_idf_is_the_one_of_lucene() -> None:
    assert bm25_idf(10, 3) == math.log(1 + (10 - 3 + 0.5) / (3 + 0.5))
    assert bm25_idf(1, 1) > 0


def test_equal_rrf_scores_are_decided_by_the_scores_of_the_legs_before_the_id() -> None:
    dense = [Scored("both", 0.9), Scored("b: near the best", 0.89), Scored("x", 0.1)]
    bm25 = [Scored("both", 20.0), Scored("a: far from the best", 5.0), Scored("y", 1.0)]
    fused = add_contributions([rrf_contributions(dense, 0.5), rrf_contributions(bm25, 0.5)])
    assert fused["b: near the best"] == fused["a: far from the best"] == 0.5 / (60 + 2)
    ordered = by_score_then_id(fused, rrf_ties([(dense, 0.5), (bm25, 0.5)]))
    assert [hit.chunk_id for hit in ordered][:3] == ["both", "b: near the best", "a: far from the best"]
    assert [hit.chunk_id for hit in by_score_then_id(fused)][:3] == ["both", "a: far from the best", "b: near the best"]


def test_a_query_has_the_options_that_it_is_made_of() -> None:
    options = SearchOptions(k=2, fusion="auto", filters=Filters(source_prefix="a"), parameters={"overfetch": 2})
    assert options.for_text("pump") == Query(
        "pump", k=2, fusion="auto", filters=options.filters, parameters={"overfetch": 2}
    )
    with pytest.raises(InvalidInputError, match="empty"):
        options.for_text(" ")


def test_the_scores_of_the_legs_are_looked_up_by_chunk() -> None:
    query = SearchOptions(k=2).for_text("pump")
    variant = QueryVariant("pump")
    dense = Ranking("dense", variant, 0.5, tuple(ranking("ab")), "model")
    bm25 = Ranking("bm25", variant, 0.5, tuple(ranking("ca")))
    legs = fuse(query, [dense, bm25]).legs
    assert legs["a"] == (
        LegScore("dense", 1, -0.0, 0.5 / (60 + 1), "pump"),
        LegScore("bm25", 2, -1.0, 0.5 / (60 + 2), "pump"),
    )
    assert [score.leg for score in legs["c"]] == ["bm25"]
    assert (list(legs), len(legs), "b" in legs, legs.get("d")) == (["a", "b", "c"], 3, True, None)
