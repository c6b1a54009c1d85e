"""Search through the front door: every mode, fusion, pooling and engine over every edge; fusion; filters; deadlines."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest
from sqlalchemy import Engine

from braid.core import types
from braid.core.braid import IndexOptions
from braid.core.errors import InvalidInputError
from braid.core.indexes import indexer
from braid.core.indexes.indexer import MOST_COUNTED
from braid.core.types import Fusion, Hit, Mode, Pooling, SearchResult
from tests.damage import remove_in_use
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, ByHand, World, catch_up, document, fill, shown

SAME = "The same sentence stands in two datasets."


CONTENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "animals": {
        "cats.md": ("The cat sat on the mat", "A cat and a dog met at the gate", SAME),
        "dogs.md": ("Dogs bark at night when strangers pass", "The old dog slept all day"),
    },
    "languages": {
        "猫.md": ("吾輩は猫である。名前はまだ無い。", "東京は日本の首都です。"),
        "고양이.md": ("고양이가 매트 위에 앉았다", "서울은 대한민국의 수도이다"),
    },
    "empty": {},
    "single": {"one.md": ("lonely passage",)},
    "guide": {"guide.md": ("How to feed a cat", SAME, "Opening hours of the library")},
    "rules": {"rules.md": ("No dog may enter the library", "Keep the gate shut")},
    "recipes": {"soup.md": ("Boil water and add salt", "Cut the carrots and the leek")},
}
SHARED = {"guide": "shared_main", "rules": "shared_main", "recipes": "shared_kitchen"}
TEXTS = [text for sources in CONTENTS.values() for texts in sources.values() for text in texts]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Ann's datasets and shared ones in one open directory that the tests of this module only read."""
    embeddings = HashEmbeddings()
    with ByHand(tmp_path_factory.mktemp("search"), embedding_model=embeddings) as braid:
        ids = fill(braid, CONTENTS, SHARED)
        catch_up(braid)
        yield World(braid, embeddings, 1, ids)


# ---------------------------------------------------------------- every way over every edge

WAYS: list[dict[str, Any]] = [
    {"mode": mode, "fusion": fusion, "pooling": pooling, "engine": engine}
    for mode, fusion, pooling, engine in itertools.product(*map(get_args, (Mode, Fusion, Pooling, types.Engine)))
    if (engine, fusion) != ("langchain", "weighted")
]
each_way = pytest.mark.parametrize("way", WAYS, ids=["-".join(way.values()) for way in WAYS])


MANY_WORDS = " ".join(f"cat{number}" for number in range(1200))
ODD_QUERIES = (
    "the of and",
    "?!… – “”",
    "🎉🎊",
    "\x00",
    "\ud800",
    "a" * 10_000,
    "cat " * 2500,
    "' OR 1=1 --",
    MANY_WORDS,
)


@each_way
def test_nothing_to_search(world: World, way: dict[str, Any]) -> None:
    stranger = world.braid.ledger.user_named("bob") or world.braid.ledger.add_user("bob")
    nothing = world.braid.manager.search("cat", user_id=stranger.id, **way)
    assert (nothing.hits, nothing.collections, nothing.degraded) == ((), (), ())
    empty = world.search("cat", "empty", **way)
    assert (empty.hits, empty.degraded) == ((), ())
    refused = world.braid.manager.search("cat", user_id=stranger.id, dataset_ids=[world.ids["animals"], 999], **way)
    assert (refused.hits, refused.unresolved_dataset_ids) == ((), (world.ids["animals"], 999))


@each_way
def test_one_passage(world: World, way: dict[str, Any]) -> None:
    result = world.search("lonely passage", "single", **way)
    assert shown(result) == ["lonely passage"]
    assert result.degraded == ()


@each_way
def test_k_larger_than_everything(world: World, way: dict[str, Any]) -> None:
    result = world.search("cat dog library gate 猫 고양이 passage", *CONTENTS, k=1000, **way)
    texts = shown(result)
    assert len(texts) == len(set(texts))
    assert set(texts) <= set(TEXTS)
    if way["mode"] != "keyword":
        assert set(texts) == set(TEXTS)
    assert len(shown(world.search("cat dog", *CONTENTS, k=2, **way))) == 2


@each_way
def test_equal_text_is_shown_once_with_both_places(world: World, way: dict[str, Any]) -> None:
    for names in (("animals", "guide"), ("guide", "animals")):
        hit = world.search(SAME, *names, **way).hits[0]
        places = {(hit.passage.dataset_id, hit.passage.source)} | {(p.dataset_id, p.source) for p in hit.also_in}
        assert places == {(world.ids["animals"], "cats.md"), (world.ids["guide"], "guide.md")}
        assert len(hit.also_in) == 1


def test_equal_text_far_down_the_list_is_a_place_too(tmp_path: Path) -> None:
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        user = braid.ledger.add_user("ann").id
        first, second = (braid.ledger.add_dataset(user, name).id for name in ("first", "second"))
        between = [f"cat in the story number {n} of many" for n in range(40)]
        braid.ledger.put_document(first, document("short", "cat cat here", *between))
        title = "a title that makes the passage long and so less dense in words, " * 4
        braid.ledger.put_document(second, document("long", "cat cat here", title=title))
        catch_up(braid)
        for k in (1, 5, 30):
            (best, *_) = braid.manager.search("cat", user_id=user, mode="keyword", k=k).hits
            assert (best.passage.source, [place.source for place in best.also_in]) == ("short", ["long"])


@each_way
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("吾輩は猫である。", "吾輩は猫である。名前はまだ無い。"),
        ("日本の首都", "東京は日本の首都です。"),
        ("고양이가 앉았다", "고양이가 매트 위에 앉았다"),
        ("대한민국의 수도", "서울은 대한민국의 수도이다"),
    ],
)
def test_japanese_and_korean(world: World, way: dict[str, Any], query: str, expected: str) -> None:
    assert expected in shown(world.search(query, "languages", "animals", "guide", k=3, **way))


@each_way
@pytest.mark.parametrize("query", ODD_QUERIES, ids=range(len(ODD_QUERIES)))
def test_any_query_is_answered(world: World, way: dict[str, Any], query: str) -> None:
    result = world.search(query, "animals", "guide", "languages", **way)
    assert result.degraded == ()
    assert len(result.hits) <= 5


@each_way
def test_the_same_query_gives_the_same_list(world: World, way: dict[str, Any]) -> None:
    def answer() -> list[tuple[str, float]]:
        hits = world.search("the dog and the cat at the gate", *CONTENTS, k=20, **way).hits
        return [(hit.passage.chunk_id, hit.score) for hit in hits]

    first = answer()
    assert first
    assert all(answer() == first for _ in range(20))


@each_way
def test_scores_and_reasons(world: World, way: dict[str, Any]) -> None:
    result = world.search("a cat at the gate", *CONTENTS, k=20, **way)
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    legs = {"semantic": {"dense"}, "keyword": {"bm25"}, "hybrid": {"dense", "bm25"}}[way["mode"]]
    assert {score.leg for hit in result.hits for score in hit.legs} == legs
    for hit in result.hits:
        assert sum(score.share for score in hit.legs) == pytest.approx(hit.score)
        assert all(score.query == "a cat at the gate" for score in hit.legs)


def test_the_list_is_the_same_after_reopening(tmp_path: Path) -> None:
    answers = []
    for _ in range(2):
        with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
            ids = [d.id for d in braid.ledger.all_datasets()] or list(fill(braid, CONTENTS, SHARED).values())
            catch_up(braid)
            found = [
                braid.manager.search("the dog and the cat", user_id=1, dataset_ids=sorted(ids), k=20, **way)
                for way in WAYS
            ]
            answers.append([[(h.passage.chunk_id, h.score) for h in result.hits] for result in found])
    assert answers[0] == answers[1]


def test_postgresql_gives_the_same_answers_and_may_be_restarted(
    world: World, tmp_path: Path, postgres: Engine, new_postgres_url: Callable[[], str]
) -> None:
    def answers(of: World) -> list[list[tuple[str, float]]]:
        found = (of.search("the dog and the cat 猫", *CONTENTS, k=20, **way) for way in WAYS)
        return [[(hit.passage.text, round(hit.score, 5)) for hit in result.hits] for result in found]

    with ByHand(tmp_path, database_url=new_postgres_url(), embedding_model=HashEmbeddings()) as braid:
        ids = fill(braid, CONTENTS, SHARED)
        assert ids == world.ids
        catch_up(braid)
        other = World(braid, HashEmbeddings(), 1, ids)
        assert answers(other) == answers(world)
        with postgres.connect() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        assert answers(other) == answers(world)
        braid.ledger.put_document(ids["single"], document("two.md", "another lonely passage"))
        catch_up(braid)
        assert shown(other.search("another lonely passage", "single"))[0] == "another lonely passage"


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("text", "options", "field"),
    [
        ("", {}, "query"),
        (" \n\t", {}, "query"),
        ("x" * 10_001, {}, "query"),
        (None, {}, "query"),
        ("cat", {"k": 0}, "k"),
        ("cat", {"k": -1}, "k"),
        ("cat", {"k": 1001}, "k"),
        ("cat", {"k": 2.0}, "k"),
        ("cat", {"k": "5"}, "k"),
        ("cat", {"k": True}, "k"),
        ("cat", {"mode": "magic"}, "mode"),
        ("cat", {"mode": None}, "mode"),
        ("cat", {"fusion": "magic"}, "fusion"),
        ("cat", {"pooling": "magic"}, "pooling"),
        ("cat", {"engine": "magic"}, "engine"),
        ("cat", {"engine": "langchain", "fusion": "weighted"}, "fusion"),
        ("cat", {"alpha": 1.1}, "alpha"),
        ("cat", {"alpha": -0.1}, "alpha"),
        ("cat", {"alpha": math.nan}, "alpha"),
        ("cat", {"alpha": "0.5"}, "alpha"),
        ("cat", {"min_score": math.nan}, "min_score"),
        ("cat", {"min_score": "high"}, "min_score"),
        ("cat", {"filters": ["md"]}, "filters"),
        ("cat", {"filters": {"file_types": "md"}}, "file_types"),
        ("cat", {"strategy": "magic"}, "strategy"),
        ("cat", {"kk": 3}, "kk"),
    ],
)
def test_a_wrong_value_is_named(world: World, text: str, options: dict[str, Any], field: str) -> None:
    strategy = options.pop("strategy", "basic")
    manager = world.braid.manager
    with pytest.raises(InvalidInputError) as caught:
        manager.search(text, user_id=world.user, strategy=strategy, **options)
    assert caught.value.field == field
    with pytest.raises(InvalidInputError) as caught:
        manager.explain(text, chunk_id="x", user_id=world.user, strategy=strategy, **options)
    assert caught.value.field == field
    if field != "query":
        with pytest.raises(InvalidInputError):
            manager.get_retriever(strategy, user_id=world.user, dataset_ids=[world.ids["animals"]], **options)


# ---------------------------------------------------------------- fusion, end to end


def leg_of(hit: Hit, leg: str) -> tuple[int, float]:
    """Rank and share."""
    return next(((s.rank, s.share) for s in hit.legs if s.leg == leg), (0, 0.0))


def test_rrf_is_the_sum_of_reciprocal_ranks(world: World) -> None:
    for hit in world.search("a cat at the gate", "animals", "guide", "rules", k=20).hits:
        ranks = [leg_of(hit, leg)[0] for leg in ("dense", "bm25")]
        assert hit.score == pytest.approx(sum(0.5 / (60 + rank) for rank in ranks if rank))


@pytest.mark.parametrize("alpha", [None, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_weighted_fusion_divides_by_alpha(world: World, alpha: float | None, pooling: str) -> None:
    options = {"fusion": "weighted", "alpha": alpha, "pooling": pooling, "k": 20}
    hits = world.search("a cat at the gate", "animals", **options).hits
    share = 0.7 if alpha is None else alpha
    for leg, weight in (("dense", share), ("bm25", 1 - share)):
        scores = {h.passage.chunk_id: s.score for h in hits for s in h.legs if s.leg == leg}
        low, high = min(scores.values()), max(scores.values())
        for hit in hits:
            if hit.passage.chunk_id in scores:
                expected = weight * (scores[hit.passage.chunk_id] - low) / (high - low)
                assert leg_of(hit, leg)[1] == pytest.approx(expected, abs=1e-6)


def test_one_leg_keeps_its_own_scores(world: World) -> None:
    (best, *_) = world.search("The cat sat on the mat", "animals", mode="semantic").hits
    assert best.passage.text == "The cat sat on the mat"
    assert best.score == pytest.approx(1.0, abs=1e-5)
    (bm25,) = world.search("mat", "animals", mode="keyword").hits
    assert bm25.score == bm25.legs[0].score == bm25.legs[0].share > 0


def test_a_passage_without_a_word_of_the_query_has_no_keyword_share(world: World) -> None:
    hits = world.search("mat", "animals", "rules", k=20).hits
    assert [hit.passage.text for hit in hits if leg_of(hit, "bm25")[0]] == ["The cat sat on the mat"]
    assert world.search("zebra", "animals", mode="keyword").hits == ()


def test_pooling_keeps_the_irrelevant_first_hit_of_a_collection_down(world: World) -> None:
    """Without it, the best of each collection is as good as the best of all."""
    names, query = ("animals", "recipes", "rules"), "The old dog slept all day"
    unpooled = world.search(query, *names, mode="semantic", k=3, pooling="none").hits
    assert {hit.passage.collection for hit in unpooled} == {"user_1", "shared_kitchen", "shared_main"}
    assert len({hit.score for hit in unpooled}) == 1
    pooled = world.search(query, *names, mode="semantic", k=3).hits
    assert pooled[0].passage.text == query
    assert [hit.score for hit in pooled] == sorted({hit.score for hit in pooled}, reverse=True)
    assert "shared_kitchen" not in {hit.passage.collection for hit in pooled}


def test_two_shared_datasets_in_one_collection_are_told_apart(world: World) -> None:
    for mode in get_args(Mode):
        only = world.search("library", "rules", mode=mode, k=20)
        assert {hit.passage.dataset_id for hit in only.hits} == {world.ids["rules"]}
        both = world.search("library", "rules", "guide", mode=mode, k=20)
        assert {hit.passage.dataset_id for hit in both.hits} == {world.ids["rules"], world.ids["guide"]}
        assert both.collections == ("shared_main",)


@pytest.mark.parametrize("mode", get_args(Mode))
def test_min_score_is_of_the_score_that_is_shown(world: World, mode: Mode) -> None:
    everything = world.search("cat dog", "animals", "guide", mode=mode, k=20).hits
    threshold = everything[1].score
    kept = world.search("cat dog", "animals", "guide", mode=mode, k=20, min_score=threshold).hits
    assert kept == tuple(hit for hit in everything if hit.score >= threshold)
    assert world.search("cat dog", "animals", mode=mode, min_score=1000.0).hits == ()


def test_what_a_result_says_of_itself(world: World) -> None:
    result = world.braid.manager.search(
        "cat", user_id=world.user, dataset_ids=[world.ids["guide"], 4711, world.ids["animals"]]
    )
    assert (result.strategy, result.generator, result.queries) == ("basic", "none", ("cat",))
    assert set(result.collections) == {"shared_main", "user_1"}
    assert result.unresolved_dataset_ids == (4711,)
    assert result.timings_ms.keys() == {"scope", "search", "embed", "fuse", "read", "total"}
    assert result.timings_ms["total"] >= max(v for k, v in result.timings_ms.items() if k != "total")


# ---------------------------------------------------------------- embeddings


@pytest.mark.parametrize(("mode", "embedded"), [("semantic", 1), ("keyword", 0), ("hybrid", 1)])
@pytest.mark.parametrize("engine", get_args(types.Engine))
def test_a_query_is_embedded_once_whatever_the_number_of_collections(
    world: World, mode: str, embedded: int, engine: str
) -> None:
    before = (world.embeddings.queries_embedded, world.embeddings.documents_embedded)
    result = world.search("a cat", *CONTENTS, mode=mode, engine=engine)
    assert len(result.collections) == 3
    assert (world.embeddings.queries_embedded - before[0], world.embeddings.documents_embedded) == (embedded, before[1])


def test_nothing_is_embedded_for_an_empty_scope(world: World) -> None:
    before = world.embeddings.queries_embedded
    world.braid.manager.search("cat", user_id=4711)
    world.search("cat", "empty")
    assert world.embeddings.queries_embedded == before


# ---------------------------------------------------------------- deadlines


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[World]:
    """A model that answers no query, with a deadline of some seconds, which keywords do not reach."""
    embeddings = HashEmbeddings()
    with ByHand(tmp_path, embedding_model=embeddings, index_options=IndexOptions(leg_timeout_s=3.0)) as braid:
        ids = fill(braid, CONTENTS, SHARED)
        catch_up(braid)
        embeddings.delay_s = 10 * WAIT_S
        yield World(braid, embeddings, 1, ids)
        embeddings.delay_s = 0.0


def test_a_slow_model_does_not_delay_the_keyword_leg(slow: World) -> None:
    started = time.monotonic()
    result = slow.search("mat", "animals", "guide")
    assert time.monotonic() - started < WAIT_S
    assert shown(result) == ["The cat sat on the mat"]
    assert [(d.leg, d.collection) for d in result.degraded] == [("dense", "")]
    assert "fake:hash-64 took longer than 3 s" in result.degraded[0].reason


def test_many_queries_to_a_slow_model_do_not_starve_the_keyword_leg(slow: World) -> None:
    """More than there are threads, all waiting for the model."""
    with ThreadPoolExecutor(20) as callers:
        list(callers.map(lambda _: slow.search("mat", "animals"), range(20)))
    result = slow.search("mat", "animals")
    assert shown(result) == ["The cat sat on the mat"]
    assert [d.leg for d in result.degraded] == ["dense"]
    assert slow.search("mat", "animals", mode="keyword").degraded == ()


# ---------------------------------------------------------------- a dead leg


def test_a_dead_leg_is_named_whatever_the_way(tmp_path: Path) -> None:
    """Nobody repairs it here: the indexer has stopped. How it comes back is in test_damage."""
    embeddings = HashEmbeddings()
    with ByHand(tmp_path, embedding_model=embeddings) as braid:
        world = World(braid, embeddings, 1, fill(braid, CONTENTS, SHARED))
        catch_up(braid)
        for way in WAYS:
            assert world.search("mat", "animals", "guide", **way).degraded == ()
        braid.indexer.stop()
        embeddings.failing = True
        for way in WAYS:
            result = world.search("mat", "animals", "guide", **way)
            assert {d.leg for d in result.degraded} == ({"dense"} if way["mode"] != "keyword" else set())
            assert ("The cat sat on the mat" in shown(result)) == (way["mode"] != "semantic")
        embeddings.failing = False
        remove_in_use(tmp_path / "indexes" / "bm25")
        for way in (way for way in WAYS if way["engine"] == "braid"):
            result = world.search("The cat sat on the mat", "animals", "guide", **way)
            assert {d.leg for d in result.degraded} == ({"bm25"} if way["mode"] != "semantic" else set())
            assert ("The cat sat on the mat" in shown(result)) == (way["mode"] != "keyword")


def test_what_the_indexes_have_not_seen_yet_is_counted(tmp_path: Path) -> None:
    """Between two looks at the log, here for ever."""
    embeddings = HashEmbeddings()
    with ByHand(tmp_path, embedding_model=embeddings) as braid:
        world = World(braid, embeddings, 1, fill(braid, CONTENTS, SHARED))
        catch_up(braid)
        braid.indexer.stop()
        braid.ledger.put_document(world.ids["empty"], document("new.md", "one", "two"))
        braid.ledger.put_document(world.ids["recipes"], document("new.md", "three"))
        for mode, legs in (("semantic", {"dense"}), ("keyword", {"bm25"}), ("hybrid", {"dense", "bm25"})):
            found = {f"{d.leg} {d.collection}": d.reason for d in world.search("cat", *CONTENTS, mode=mode).degraded}
            assert found.keys() == {
                f"{leg} {collection}" for leg in legs for collection in ("user_1", "shared_kitchen")
            }
            for leg in legs:
                assert found[f"{leg} user_1"] == f"2 passages of user_1 are not in the {leg} index yet"


@pytest.mark.parametrize("most", [MOST_COUNTED, 2, 0])
def test_a_search_lacks_neither_what_is_removed_nor_what_is_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Counted in the searched datasets, in the log where they are large, and in the collection where that is long."""
    monkeypatch.setattr(indexer, "MOST_COUNTED", most)
    embeddings = HashEmbeddings()
    with ByHand(tmp_path, embedding_model=embeddings) as braid:
        world = World(braid, embeddings, 1, fill(braid, CONTENTS, SHARED))
        catch_up(braid)
        ledger, animals = braid.ledger, world.ids["animals"]
        assert ledger.remove_document(animals, "dogs.md")
        found = world.search("dog", "animals", mode="hybrid")
        assert {hit.passage.source for hit in found.hits} == {"cats.md"}
        assert found.degraded == ()
        exact = braid.manager.find_exact("dog", user_id=1, dataset_ids=[animals])
        assert exact.missing == ()
        ledger.put_document(world.ids["empty"], document("new.md", "one cat"))
        assert world.search("dog", "animals", mode="hybrid").degraded == ()
        reasons = {part.leg: part.reason for part in world.search("cat", "empty", mode="hybrid").degraded}
        counts = {"bm25": 1 if most > 2 else 3, "dense": 1 if most >= 2 else 3}
        said = "{} passages of user_1 are not in the {} index yet"
        assert reasons == {leg: said.format(count, leg) for leg, count in counts.items()}
        catch_up(braid)
        assert world.search("cat", "empty", "animals", mode="hybrid").degraded == ()


def test_scores_keep_their_scale_when_a_leg_fails(tmp_path: Path) -> None:
    """A threshold for fused scores must not be compared with BM25 scores."""
    embeddings = HashEmbeddings()
    with ByHand(tmp_path, embedding_model=embeddings) as braid:
        world = World(braid, embeddings, 1, fill(braid, CONTENTS, SHARED))
        catch_up(braid)
        embeddings.failing = True
        hits = world.search("cat mat", "animals").hits
        assert [hit.score for hit in hits] == [pytest.approx(0.5 / (60 + rank)) for rank in (1, 2)]
        weighted = world.search("cat mat", "animals", fusion="weighted", alpha=0.6).hits
        assert [hit.score for hit in weighted] == [pytest.approx(0.4 * 1.0), pytest.approx(0.0)]


# ---------------------------------------------------------------- deletion


def test_a_deletion_holds_at_once(tmp_path: Path) -> None:
    """Before the indexes know of it: they no longer follow."""
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        ids = fill(braid, CONTENTS, SHARED)
        catch_up(braid)
        braid.indexer.stop()
        world, names = World(braid, HashEmbeddings(), 1, ids), ("animals", "guide", "recipes")

        def search(way: dict[str, Any]) -> SearchResult:
            return world.search(f"cat mat {SAME}", *names, k=50, **way)

        for way in WAYS:
            assert "The cat sat on the mat" in shown(search(way))
        braid.ledger.remove_document(ids["animals"], "cats.md")
        for way in WAYS:
            after = search(way)
            assert not {"The cat sat on the mat", "A cat and a dog met at the gate"} & set(shown(after))
            same = next(hit for hit in after.hits if hit.passage.text == SAME)
            assert (same.passage.dataset_id, same.also_in) == (ids["guide"], ())
        braid.remove_dataset(ids["guide"])
        for way in WAYS:
            gone = search(way)
            assert {hit.passage.dataset_id for hit in gone.hits} <= {ids["animals"], ids["recipes"]}
            assert gone.unresolved_dataset_ids == (ids["guide"],)
