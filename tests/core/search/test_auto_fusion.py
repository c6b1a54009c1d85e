"""Fusion ``auto``: by hand, its properties, the spread of a query's cosines, and figures on a judged set."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.core.evaluation.beir import VECTORS, read_sets, read_vectors
from braid.core.evaluation.tuning import AUTO, Config, ndcg_scores
from braid.core.evaluation.tuning_rankings import Judged
from braid.core.indexes.bm25 import Bm25Index
from braid.core.indexes.vector_block import SAMPLE, Selection
from braid.core.ledger.change_log import IndexedChunk
from braid.core.search.fusion import bm25_standout, dense_standout, standout_contributions
from braid.core.search.ranking import LegHits, Ranking, fuse, pooled_rankings
from braid.core.search.strategies.base import QueryVariant
from braid.core.text.analyzer import Analyzer
from braid.core.types import AUTO_DENSE_WEIGHT, Leg, Query, ScoredChunk, indexed_text
from braid.core.vector import Vector
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, World, catch_up, document, fill

QUERY = Query("cat", fusion="auto")
DEPTH = QUERY.fetch_k
WORDS = QueryVariant("cat")
JUDGED = Path(__file__).resolve().parents[4] / "shared" / "eval" / "gimphelp-ko"


def hits(scores: Mapping[str, float]) -> tuple[ScoredChunk, ...]:
    return tuple(sorted((ScoredChunk(*item) for item in scores.items()), key=lambda hit: (-hit.score, hit.chunk_id)))


def ranking(leg: Leg, scores: Mapping[str, float], *, spread: float = 0.02, model: str = "") -> Ranking:
    weight = QUERY.weight_of(leg)
    return Ranking(leg, WORDS, weight, hits(scores), model, spread if leg == "dense" else 0.0)


def order(*rankings: Ranking) -> list[str]:
    return [hit.chunk_id for hit in fuse(QUERY, rankings).order]


# ---------------------------------------------------------------- by hand


def test_a_score_counts_by_how_far_it_stands_out() -> None:
    assert standout_contributions(hits({"a": 0.9, "b": 0.85}), 0.5, unit=0.1, floor=0.8) == pytest.approx(
        {"a": 0.5 * (0.9 - 0.8) / 0.1, "b": 0.5 * (0.85 - 0.8) / 0.1}
    )


def test_cosines_are_measured_in_spreads_above_the_last_one() -> None:
    found = hits({"a": 0.90, "b": 0.86, "c": 0.84})
    assert dense_standout(found, 1.0, 0.02) == pytest.approx({"a": 3.0, "b": 1.0, "c": 0.0})
    own = statistics.pstdev([0.90, 0.86, 0.84])
    assert dense_standout(found, 1.0, 0.0) == pytest.approx({"a": 0.06 / own, "b": 0.02 / own, "c": 0.0})


def test_keyword_scores_are_measured_in_the_mean_of_the_best() -> None:
    found = hits({"a": 12.0, "b": 4.0, "c": 2.0})
    assert bm25_standout(found, 1.0, depth=3) == pytest.approx({"a": 10 / 6, "b": 2 / 6, "c": 0.0}), "there may be more"
    many = {f"w{n:02}": 100.0 - n for n in range(DEPTH)}
    mean = sum(many.values()) / DEPTH
    assert bm25_standout(hits(many), 1.0, DEPTH)["w00"] == pytest.approx((DEPTH - 1) / mean)


def test_where_few_have_a_word_the_others_count_as_nothing() -> None:
    thirty = {f"w{n:02}": 4.0 for n in range(30)}
    assert bm25_standout(hits(thirty), 1.0, DEPTH)["w00"] == pytest.approx(4.0 / (30 * 4.0 / 50))
    assert bm25_standout(hits({"a": 12.0, "b": 6.0}), 1.0, DEPTH) == pytest.approx({"a": 5.0, "b": 2.5}), "at most five"


def test_the_only_passage_with_a_code_comes_before_all_of_a_like_meaning() -> None:
    alike = {f"m{n:02}": 0.90 - n / 1_000 for n in range(DEPTH)}
    assert order(ranking("dense", alike), ranking("bm25", {"code": 7.0}))[0] == "code"


def test_nothing_and_equal_scores() -> None:
    assert dense_standout([], 1.0, 0.0) == bm25_standout([], 1.0, 50) == {}
    assert dense_standout(hits({"a": 0.5, "b": 0.5}), 1.0, 0.0) == {"a": 0.0, "b": 0.0}
    assert bm25_standout(hits({"a": 0.0}), 1.0, 50) == {"a": 0.0}


def test_the_leg_whose_first_hit_stands_out_decides() -> None:
    flat = {f"m{n:02}": 0.85 - n / 10_000 for n in range(DEPTH)}
    sharp = {f"w{n:02}": 20.0 if n == 0 else 4.0 - n / 100 for n in range(DEPTH)}
    assert order(ranking("dense", flat), ranking("bm25", sharp))[0] == "w00"
    flat_words = {name: 4.0 - n / 1_000 for n, name in enumerate(sharp)}
    sharp_meaning = {name: 0.95 if n == 0 else 0.85 - n / 10_000 for n, name in enumerate(flat)}
    assert order(ranking("dense", sharp_meaning), ranking("bm25", flat_words))[0] == "m00"


def test_passages_of_two_models_are_compared_by_their_own_spread() -> None:
    narrow = ranking("dense", {"a": 0.90, "b": 0.86, "c": 0.84}, spread=0.02, model="narrow")
    wide = ranking("dense", {"x": 0.60, "y": 0.20, "z": 0.00}, spread=0.3, model="wide")
    assert order(narrow, wide) == ["a", "x", "b", "y", "c", "z"]  # 3, 2, 1, 0.67, 0, 0 spreads


# ---------------------------------------------------------------- properties

names = st.sampled_from([f"{letter}{digit}" for letter in "abcdef" for digit in range(4)])
cosines = st.dictionaries(names, st.floats(0.5, 1.0).map(lambda x: round(x, 4)), min_size=1, max_size=20)
keyword_scores = st.dictionaries(names, st.floats(0.1, 30.0).map(lambda x: round(x, 3)), min_size=1, max_size=20)


@given(cosines, keyword_scores)
@settings(max_examples=200, deadline=None)
def test_better_in_both_legs_is_never_below(dense: dict[str, float], bm25: dict[str, float]) -> None:
    place = {chunk_id: rank for rank, chunk_id in enumerate(order(ranking("dense", dense), ranking("bm25", bm25)))}
    for one in place:
        for other in place:
            if all(scores.get(one, 0.0) > scores.get(other, 0.0) for scores in (dense, bm25)):
                assert place[one] < place[other]


@given(cosines, keyword_scores)
@settings(max_examples=100, deadline=None)
def test_one_leg_gives_its_own_order(dense: dict[str, float], bm25: dict[str, float]) -> None:
    for each in (ranking("dense", dense), ranking("bm25", bm25)):
        alone = [hit.chunk_id for hit in each.hits]
        assert order(each) == alone
        other: Leg = "bm25" if each.leg == "dense" else "dense"
        assert order(each, ranking(other, {})) == alone


@given(cosines, keyword_scores, st.lists(st.integers(0, 3), min_size=24, max_size=24))
@settings(max_examples=100, deadline=None)
def test_how_passages_are_split_into_collections_does_not_matter(
    dense: dict[str, float], bm25: dict[str, float], places: Sequence[int]
) -> None:
    place = dict(zip(sorted({f"{letter}{digit}" for letter in "abcdef" for digit in range(4)}), places, strict=True))

    def pooled(collections: Sequence[int]) -> list[Ranking]:
        found = []
        legs: Sequence[tuple[Leg, str, dict[str, float]]] = (("dense", "model", dense), ("bm25", "", bm25))
        for leg, model, scores in legs:
            for number in collections:
                here = {c: s for c, s in scores.items() if len(collections) == 1 or place[c] == number}
                found.append(LegHits(leg, model, 0, hits(here)))
        return pooled_rankings(QUERY, [WORDS], found)

    assert fuse(QUERY, pooled(range(4))).order == fuse(QUERY, pooled([0])).order


@given(cosines, keyword_scores, st.floats(0.1, 10.0), st.floats(-1.0, 1.0), st.floats(0.1, 10.0))
@settings(max_examples=100, deadline=None)
def test_the_scales_of_model_and_bm25_do_not_matter(
    dense: dict[str, float], bm25: dict[str, float], stretch: float, shift: float, factor: float
) -> None:
    one = fuse(QUERY, [ranking("dense", dense), ranking("bm25", bm25)])
    moved = {chunk_id: shift + stretch * score for chunk_id, score in dense.items()}
    scaled = {chunk_id: factor * score for chunk_id, score in bm25.items()}
    other = fuse(QUERY, [ranking("dense", moved, spread=0.02 * stretch), ranking("bm25", scaled)])
    assert dict(other.order) == pytest.approx(dict(one.order), abs=1e-6)


@given(cosines, keyword_scores)
@settings(max_examples=100, deadline=None)
def test_contributions_add_up_and_none_is_negative(dense: dict[str, float], bm25: dict[str, float]) -> None:
    fused = fuse(QUERY, [ranking("dense", dense), ranking("bm25", bm25)])
    for chunk_id, score in fused.order:
        shares = [leg.share for leg in fused.legs[chunk_id]]
        assert min(shares) >= 0
        assert sum(shares) == pytest.approx(score)


# ---------------------------------------------------------------- the spread


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Ann's notes on a cat beside 300 passages of other datasets in the same collection."""
    contents = {
        "cats": {"cats.md": ("the cat sat on the mat", "a cat at the gate", "feed the cat", "cats sleep")},
        "much": {f"{n}.md": (f"passage {n} about number {n % 7}", f"other {n}") for n in range(150)},
        "far": {"far.md": ("unrelated words", "nothing in common")},
    }
    embeddings = HashEmbeddings()
    with ByHand(tmp_path_factory.mktemp("auto"), embedding_model=embeddings) as braid:
        ids = fill(braid, contents, {"far": "shared_far"})
        catch_up(braid)
        yield World(braid, embeddings, 1, ids)


def unit(values: Sequence[float]) -> Vector:
    vector: Vector = np.asarray(values, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def test_the_spread_is_that_of_the_passages_selected(world: World) -> None:
    vector = unit(world.embeddings.embed_query("cat mat"))
    texts = ("the cat sat on the mat", "a cat at the gate", "feed the cat", "cats sleep")
    expected = statistics.pstdev(float(vector @ unit(world.embeddings.embed_query(text))) for text in texts)
    assert spread_of(world, vector) == pytest.approx(expected, rel=0.02)


def spread_of(world: World, vector: Vector) -> float:
    """Return the spread of the dataset of cats, which memory has with a byte per component."""
    where = {"user_1": Selection([world.ids["cats"]])}
    return world.braid.dense.search_all(where, vector, 1).spread


def test_no_spread_is_known_of_nothing(world: World) -> None:
    where = {"user_1": Selection([4711])}
    assert world.braid.dense.search_all(where, unit(world.embeddings.embed_query("cat")), 1).spread == 0.0


def test_the_end_to_end_score_is_the_formula(world: World) -> None:
    found = world.search("cat mat", "cats", fusion="auto", k=10).hits
    vector = unit(world.embeddings.embed_query("cat mat"))
    spread = spread_of(world, vector)
    legs = {leg: {h.passage.text: s for h in found for s in h.legs if s.leg == leg} for leg in ("dense", "bm25")}
    last = min(score.score for score in legs["dense"].values())
    words = [score.score for score in legs["bm25"].values()]
    scale = max(sum(words) / 50, max(words) / 5)
    assert len(legs["bm25"]) > 1
    for hit in found:
        text, expected = hit.passage.text, 0.0
        if text in legs["dense"]:
            expected += AUTO_DENSE_WEIGHT * (legs["dense"][text].score - last) / spread
        if text in legs["bm25"]:
            expected += (1 - AUTO_DENSE_WEIGHT) * legs["bm25"][text].score / scale
        assert hit.score == pytest.approx(expected, rel=1e-4)


def test_other_peoples_passages_do_not_move_a_score(world: World) -> None:
    before = [(hit.passage.text, hit.score) for hit in world.search("cat mat", "cats", fusion="auto").hits]
    bob = world.braid.ledger.add_user("bob").id
    dataset = world.braid.ledger.add_dataset(bob, "bob's").id
    world.braid.ledger.put_document(dataset, document("mat.md", "cat mat cat mat", "mat"))
    catch_up(world.braid)
    assert [(hit.passage.text, hit.score) for hit in world.search("cat mat", "cats", fusion="auto").hits] == before


# ---------------------------------------------------------------- how good it is


def judged_queries(folder: Path, scratch: Path) -> list[Judged]:
    """Both legs' rankings of the folder's queries: exact cosines of vectors.npz, and tantivy's scores."""
    (judged,) = read_sets([folder])
    with np.load(folder / VECTORS) as arrays:
        found = read_vectors(judged, str(arrays["model"]))
    assert found is not None
    analyzer, ids = Analyzer(), [document.id for document in judged.documents]
    index = Bm25Index(scratch, analyzer)
    texts = [indexed_text(document.title, "", document.text) for document in judged.documents]
    index.apply("manual", [IndexedChunk(name, 1, 1, None, text) for name, text in zip(ids, texts, strict=True)], [])
    vectors = np.stack([found.documents[name] for name in ids])
    same = {name: name for name in ids}
    queries = []
    for query_id, text in judged.queries.items():
        cosines = vectors @ found.queries[text]
        terms = {term: float(count) for term, count in Counter(analyzer.tokens(text)).items()}
        rankings: dict[Leg, tuple[ScoredChunk, ...]] = {
            "dense": hits(dict(zip(ids, map(float, cosines), strict=True)))[:DEPTH],
            "bm25": tuple(index.search("manual", terms, DEPTH)),
        }
        spread = float(np.std(cosines[:: len(ids) // SAMPLE]))
        queries.append(Judged(judged.name, query_id, rankings, same, same, judged.judgements[query_id], spread))
    return queries


def test_auto_keeps_up_with_the_better_leg_where_the_other_is_much_worse(tmp_path: Path) -> None:
    """On gimphelp-ko the keyword leg has 0.86 nDCG@10, the dense leg 0.67; RRF loses 0.05 by it."""
    if not JUDGED.is_dir():
        pytest.skip("there is no ../shared/eval/gimphelp-ko")
    queries = judged_queries(JUDGED, tmp_path)
    ways = {"auto": AUTO, "rrf": Config("rrf", 0.5), "dense": Config("rrf", 1.0), "bm25": Config("rrf", 0.0)}
    found = {name: float(ndcg_scores(queries, config).mean()) for name, config in ways.items()}
    assert found["bm25"] > found["dense"] + 0.15
    assert found["auto"] > found["bm25"] - 0.01
    assert found["auto"] > found["rrf"] + 0.03


def test_the_library_fuses_by_rank_unless_told_otherwise() -> None:
    assert Query("cat").fusion == "rrf"
    assert Query("cat", engine="langchain", fusion="auto").fusion == "auto"
