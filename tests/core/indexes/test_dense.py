"""The dense index over a real ledger: exact search in files that are written from it."""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from braid.core.braid import Braid, IndexOptions
from braid.core.errors import BraidError, EmbeddingError, InvalidInputError
from braid.core.indexes import scan
from braid.core.indexes.dense import MERGE_AGAIN_S, MIN_CANDIDATES
from braid.core.indexes.vector_block import EVERYTHING, Found, Selection
from braid.core.indexes.vector_files import Loaded, VectorFiles
from braid.core.ledger.change_log import ChangeLog, IndexedChunk, VectorBatch
from braid.core.vector import Vector
from tests.core.indexes.vector_shelf import DIM, VECTORS, Shelf, fill_disk, found, unit
from tests.fakes import HashEmbeddings
from tests.worlds import WAIT_S, ByHand, add_notes, catch_up, document, eventually

"""Components of vectors of which a thousand fill a megabyte."""


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    opened = Shelf(tmp_path)
    yield opened
    opened.close()


# ---------------------------------------------------------------- searching


def test_the_best_come_first_with_cosine_as_score(shelf: Shelf) -> None:
    ids, query = shelf.put(shelf.dataset(), "a", VECTORS[:50]), VECTORS[60]

    hits = shelf.open().search("user_1", query, 10)

    cosines = VECTORS[:50] @ query
    assert [hit.chunk_id for hit in hits] == [ids[n] for n in np.argsort(-cosines)[:10]]
    assert [hit.score for hit in hits] == pytest.approx(sorted(cosines, reverse=True)[:10], abs=1e-6)


def test_a_vector_that_the_ledger_has_is_found_at_once(shelf: Shelf) -> None:
    """Nothing is applied: the files are written from the ledger, also after a process was killed."""
    ids = shelf.put(shelf.dataset(), "a", VECTORS[:300])
    index = shelf.open()
    assert [found(index, VECTORS[n]) for n in range(300)] == [[each] for each in ids]
    assert sorted(index.ids("user_1")) == sorted(ids)
    assert index.count("user_1") == 300


def test_equal_scores_stand_in_the_order_of_ids(shelf: Shelf) -> None:
    ids = shelf.put(shelf.dataset(), "a", np.stack([VECTORS[0]] * 40))

    assert found(shelf.open(), VECTORS[0], 40) == sorted(ids)
    assert found(shelf.open(), VECTORS[0], 3) == sorted(ids)[:3]


def test_k_may_be_larger_than_the_collection(shelf: Shelf) -> None:
    shelf.put(shelf.dataset(), "a", VECTORS[:3])

    assert len(found(shelf.open(), VECTORS[0], 4000)) == 3


def test_more_hits_than_are_usually_scored_again_are_exact_too(shelf: Shelf) -> None:
    ids = shelf.put(shelf.dataset(), "a", VECTORS)
    best = np.argsort(-(VECTORS @ VECTORS[7]), kind="stable")[: 3 * MIN_CANDIDATES]

    hits = shelf.open().search("user_1", VECTORS[7], 3 * MIN_CANDIDATES)

    assert [hit.score for hit in hits] == pytest.approx((VECTORS[best] @ VECTORS[7]).tolist(), abs=1e-6)
    assert {hit.chunk_id for hit in hits} == {ids[n] for n in best}


def test_nothing_is_found_where_nothing_is(shelf: Shelf) -> None:
    dataset, index = shelf.dataset(), shelf.open()
    ids = shelf.put(dataset, "a", VECTORS[:3])
    shelf.apply(index, ids)
    assert len(found(index, VECTORS[0], 5)) == 3
    shelf.ledger.remove_document(dataset, "a")
    shelf.apply(index, ids)

    assert found(index, VECTORS[0], 5) == []
    assert found(index, VECTORS[0], 5, "user_8") == []
    assert (index.count("user_1"), index.count("user_8")) == (0, 0)
    assert list(index.ids("user_8")) == []
    assert index.check("user_1") == index.check("user_8") == ""
    assert index.dimension("user_8") is None


def test_k_below_one_is_an_error(shelf: Shelf) -> None:
    with pytest.raises(InvalidInputError, match="k is 0"):
        shelf.open().search("user_1", VECTORS[0], 0)


@pytest.mark.parametrize(
    ("datasets", "documents", "expected"),
    [
        (None, None, "abcd"),
        ({1}, None, "ab"),
        ((1, 2), None, "abc"),
        (frozenset({2}), None, "c"),
        ((), None, ""),
        (range(2, 9), None, "cd"),
        ({1}, {2}, "b"),
        ({1}, {1, 2, 3, 4}, "ab"),
        (None, {2, 4}, "bd"),
        (None, (), ""),
        ({3}, {1}, ""),
        ({99}, None, ""),
    ],
)
def test_a_selection_is_what_is_searched(
    datasets: Collection[int] | None, documents: Collection[int] | None, expected: str, shelf: Shelf
) -> None:
    first, second, third = shelf.dataset(), shelf.dataset(), shelf.dataset()
    places = {"a": first, "b": first, "c": second, "d": third}  # documents 1 to 4
    names = {shelf.put(place, key, VECTORS[n : n + 1])[0]: key for n, (key, place) in enumerate(places.items())}

    hits = found(shelf.open(), VECTORS[0], 10, selection=Selection(datasets, documents))

    assert sorted(names[hit] for hit in hits) == list(expected)


def test_several_collections_are_searched_at_once(shelf: Shelf) -> None:
    ids = {f"user_{n + 1}": shelf.put(shelf.dataset(name), name, unit(300, seed=n)) for n, name in enumerate("abc")}
    vectors = {f"user_{n + 1}": unit(300, seed=n) for n in range(3)}
    query, index = VECTORS[5], shelf.open()
    everything = sorted(
        (
            (-float(vector @ query), chunk_id)
            for name in ids
            for vector, chunk_id in zip(vectors[name], ids[name], strict=True)
        )
    )
    where = {name: Selection() for name in (*ids, "user_9")}

    each = index.search_all(where, query, 10).hits
    pooled = index.search_all(where, query, 10, pooled=True).hits

    assert set(each) == set(pooled) == set(where)
    for name in ids:
        assert each[name] == index.search(name, query, 10)
    hits = [hit for of_one in pooled.values() if not isinstance(of_one, BraidError) for hit in of_one]
    assert len(hits) == 10, "those that are among the best of all, and no others"
    assert sorted((-hit.score, hit.chunk_id) for hit in hits)[:10] == [
        (pytest.approx(score, abs=1e-6), chunk_id) for score, chunk_id in everything[:10]
    ]
    assert each["user_9"] == pooled["user_9"] == []


@contextmanager
def scanned_by(monkeypatch: pytest.MonkeyPatch, *, meet: threading.Barrier | None = None) -> Iterator[list[str]]:
    """The threads that scan collections; with ``meet``, two of them scan at the same time, or the test fails."""
    threads: list[str] = []
    nearest = Loaded.nearest

    def observed(self: Loaded, *args: Any, **kwargs: Any) -> list[Found]:
        threads.append(threading.current_thread().name)
        if meet is not None:
            meet.wait(WAIT_S)
        return nearest(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(scan, "ROWS_TO_SHARE", 500)
        patch.setattr(Loaded, "nearest", observed)
        yield threads


def test_a_second_thread_helps_to_scan_many_rows(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    for n, name in enumerate("abcd"):
        shelf.put(shelf.dataset(name), name, unit(300, seed=n))
    index, query, where = shelf.open(), VECTORS[5], {f"user_{n}": EVERYTHING for n in range(1, 5)}
    alone = index.search_all(where, query, 10, pooled=True)
    with scanned_by(monkeypatch, meet=threading.Barrier(2)) as threads:
        assert index.search_all(where, query, 10, pooled=True) == alone
    assert len(threads) == 4
    assert len(set(threads)) == 2
    with scanned_by(monkeypatch) as threads:
        index.search_all(dict(list(where.items())[:1]), query, 10)
    assert threads == [threading.current_thread().name], "few rows, in one collection"


def test_a_scan_is_not_helped_where_no_processor_is_free(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    for n, name in enumerate("abc"):
        shelf.put(shelf.dataset(name), name, unit(300, seed=n))
    asked = threading.Event()

    def processor() -> AbstractContextManager[bool]:
        asked.set()
        return nullcontext(False)

    index, query, where = shelf.open(processor=processor), VECTORS[5], {f"user_{n}": EVERYTHING for n in range(1, 4)}
    alone = index.search_all(where, query, 10)
    with scanned_by(monkeypatch) as threads:
        for _ in range(3):
            assert index.search_all(where, query, 10) == alone
        index.close()
    assert threads == [threading.current_thread().name] * 9
    assert asked.is_set()


def test_what_fails_in_the_second_thread_is_raised(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    for n, name in enumerate("ab"):
        shelf.put(shelf.dataset(name), name, unit(300, seed=n))
    index, query, where = shelf.open(), VECTORS[5], {"user_1": EVERYTHING, "user_2": EVERYTHING}
    index.search_all(where, query, 10)
    meet, nearest = threading.Barrier(2), Loaded.nearest

    def broken(self: Loaded, *args: Any, **kwargs: Any) -> list[Found]:
        meet.wait(WAIT_S)
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError("no room for the scan")
        return nearest(self, *args, **kwargs)

    monkeypatch.setattr(scan, "ROWS_TO_SHARE", 500)
    monkeypatch.setattr(Loaded, "nearest", broken)
    with pytest.raises(MemoryError, match="no room"):
        index.search_all(where, query, 10)


def test_the_answer_tells_how_far_the_cosines_of_a_sample_spread(shelf: Shelf) -> None:
    ids = {
        name: dict(zip(shelf.put(shelf.dataset(name), name, unit(300, seed=n)), unit(300, seed=n), strict=True))
        for n, name in enumerate("ab")
    }
    index, query = shelf.open(), VECTORS[5]
    everything = {**ids["a"], **ids["b"]}
    for names, chosen in ((["user_1"], ids["a"]), (["user_1", "user_2"], everything)):
        sample = [float(chosen[chunk_id] @ query) for chunk_id in sorted(chosen)[:100]]
        where = dict.fromkeys(names, EVERYTHING)
        assert index.search_all(where, query, 5).spread == pytest.approx(float(np.std(sample)), abs=0.005)
    assert index.search_all({"user_9": EVERYTHING}, query, 5).spread == 0.0


def test_the_dimension_is_that_of_the_vectors(shelf: Shelf) -> None:
    shelf.put(shelf.dataset(), "a", VECTORS[:5])
    assert shelf.open().dimension("user_1") == DIM


@pytest.mark.parametrize("vector", [VECTORS[:2], np.ones(DIM + 1, np.float32)], ids=["matrix", "another dimension"])
def test_what_is_not_a_vector_of_the_collection_is_refused(vector: Vector, shelf: Shelf) -> None:
    shelf.put(shelf.dataset(), "a", VECTORS[:2])
    with pytest.raises(EmbeddingError, match="user_1 has vectors of 8 dimensions"):
        shelf.open().search("user_1", vector, 3)


# ---------------------------------------------------------------- following


def test_a_chunk_put_again_replaces_the_first(shelf: Shelf) -> None:
    dataset, index = shelf.dataset(), shelf.open()
    (chunk_id,) = shelf.put(dataset, "a", VECTORS[1:2])
    shelf.apply(index, [chunk_id])
    assert found(index, VECTORS[1]) == [chunk_id]
    shelf.embed([chunk_id], VECTORS[2:3])
    shelf.apply(index, [chunk_id])

    assert index.count("user_1") == 1
    assert index.search("user_1", VECTORS[2], 1)[0].score == pytest.approx(1.0, abs=1e-6)


def test_a_chunk_that_moves_to_another_dataset_is_found_there_alone(shelf: Shelf) -> None:
    first, index = shelf.dataset(), shelf.open()
    (chunk_id,) = shelf.put(first, "a", VECTORS[1:2])
    shelf.apply(index, [chunk_id])
    assert found(index, VECTORS[1]) == [chunk_id]
    index.apply("user_1", [IndexedChunk(chunk_id, 9, 77, 1, "", VECTORS[1])], [])

    assert found(index, VECTORS[1], selection=Selection({first})) == []
    assert found(index, VECTORS[1], selection=Selection({77}, {9})) == [chunk_id]


def test_applying_twice_changes_nothing(shelf: Shelf) -> None:
    dataset, index = shelf.dataset(), shelf.open()
    found(index, VECTORS[0])
    ids = shelf.put(dataset, "a", VECTORS[:20])
    shelf.apply(index, [*ids, "c30", "c31"])
    files = sorted(shelf.folder.glob("*/*.rows"))
    shelf.apply(index, [*ids, "c30", "c31"])

    assert sorted(index.ids("user_1")) == sorted(ids)
    assert [found(index, VECTORS[n]) for n in range(20)] == [[each] for each in ids]
    assert sorted(shelf.folder.glob("*/*.rows")) == files, "nothing is written"


def test_the_log_adds_nothing_that_was_embedded_ahead_of_it(shelf: Shelf) -> None:
    """No row is deleted, and added again: a search would scan both."""
    dataset, index, batches = shelf.dataset(), shelf.open(), list[list[str]]()
    for turn, start in enumerate(range(0, 4000, 400)):
        batches.append(shelf.put(dataset, f"{turn}", VECTORS[start : start + 400] * (1 if turn % 2 else 0.99)))
        shelf.apply(index, batches[-1])
    ahead = VectorFiles(shelf.folder).load("user_1")
    for ids in batches:
        shelf.apply(index, ids)

    after = VectorFiles(shelf.folder).load("user_1")
    assert ahead is not None
    assert after is not None
    assert (after.generation, after.rows, after.living) == (ahead.generation, 4000, 4000)


def test_a_collection_at_rest_is_one_block_without_deleted_rows(shelf: Shelf) -> None:
    dataset, index, vectors = shelf.dataset(), shelf.open(), unit(9500)

    def blocks_at_rest() -> list[tuple[int, int]]:
        shelf.mend(index)
        loaded = VectorFiles(shelf.folder).load("user_1")
        assert loaded is not None
        return [(len(block), block.deleted) for block in loaded.blocks]

    first = shelf.put(dataset, "a", vectors[:9000])
    shelf.apply(index, first)
    second = shelf.put(dataset, "b", vectors[9000:9400])
    shelf.apply(index, second)
    assert blocks_at_rest() == [(9400, 0)]
    shelf.apply(index, shelf.put(dataset, "c", vectors[9400:]))
    assert blocks_at_rest() == [(9400, 0), (100, 0)], "few rows are no reason to write many again"
    index.apply("user_1", [], first[:100])
    assert blocks_at_rest() == [(9400, 100), (100, 0)]
    index.apply("user_1", [], first[100:500])
    assert blocks_at_rest() == [(8900, 0), (100, 0)]
    assert found(index, vectors[9100], 2)[0] == second[100]


def test_blocks_that_cannot_be_merged_on_a_full_disk_are_searched_as_they_are(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    dataset, vectors, index = shelf.dataset(), unit(9400), shelf.open(clock=lambda: now)
    ids = shelf.put(dataset, "a", vectors[:9000])
    shelf.apply(index, ids)
    ids += shelf.put(dataset, "b", vectors[9000:])
    shelf.apply(index, ids[9000:])
    before = sorted(shelf.folder.rglob("*"))

    with monkeypatch.context() as patch:
        fill_disk(patch, ".rows")
        for look_at in (0.0, 1.0, MERGE_AGAIN_S, MERGE_AGAIN_S + 1):
            now = look_at
            shelf.mend(index)
            assert [found(index, vectors[n]) for n in (7, 9200)] == [[ids[7]], [ids[9200]]]
    assert sorted(shelf.folder.rglob("*")) == before
    assert [each.getMessage().partition(":")[0] for each in caplog.records if each.name.endswith("dense")] == [
        "the blocks of user_1 are searched as they are, not merged"
    ]

    def merges() -> bool:
        shelf.mend(index)
        return len(list(shelf.folder.rglob("*.rows"))) == 1

    assert not merges(), "the disk has just been full"
    now = 2 * MERGE_AGAIN_S
    assert merges()
    assert found(index, vectors[9200]) == [ids[9200]]


def test_a_search_goes_on_while_blocks_cannot_be_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        dataset_id = add_notes(braid.ledger)
        for number in range(8):
            braid.ledger.put_document(dataset_id, document(f"{number}.md", f"pump number {number}"))
        catch_up(braid)
        braid.ledger.remove_document(dataset_id, "7.md")
        follower, stopping = braid.indexer.followers["dense"], threading.Event()
        with monkeypatch.context() as patch:
            fill_disk(patch, ".rows")
            while follower.work(stopping):
                continue
            follower.work(stopping)
            assert [(each.state, each.error) for each in follower.all_progress()] == [("ready", "")]
            hits = braid.search("pump number 5", user_id=1, dataset_ids=[dataset_id], mode="semantic", k=1).hits
    assert [hit.passage.source for hit in hits] == ["5.md"]


def test_in_one_call_the_last_version_wins_and_an_upsert_wins_over_a_delete(shelf: Shelf) -> None:
    dataset, index = shelf.dataset(), shelf.open()
    one, two = shelf.put(dataset, "a", VECTORS[1:3])
    shelf.apply(index, [one, two])
    first, second = shelf.indexed([one])[0], shelf.indexed([two])[0]
    found(index, VECTORS[0])
    shelf.embed([one], VECTORS[5:6])
    index.apply("user_1", [first, second, shelf.indexed([one])[0]], [two])

    assert sorted(index.ids("user_1")) == sorted([one, two])
    assert found(index, VECTORS[5]) == [one]


def test_deletes_of_what_is_not_there_do_nothing(shelf: Shelf) -> None:
    index = shelf.open()
    index.apply("user_1", [], ["c1"])

    assert index.collections() == []


def test_many_small_changes_are_all_there_in_the_end(shelf: Shelf) -> None:
    """Blocks are merged as they grow, and shrink as their rows go."""
    dataset, index, dice = shelf.dataset(), shelf.open(), random.Random(1)
    found(index, VECTORS[0])
    expected: dict[str, int] = {}
    for turn, start in enumerate(range(0, 3000, 60)):
        ids = shelf.put(dataset, f"{turn}", VECTORS[start : start + 60])
        expected |= dict(zip(ids, range(start, start + 60), strict=True))
        gone = dice.sample(sorted(expected), 20)
        index.apply("user_1", shelf.indexed(ids), gone)
        for chunk_id in set(gone) - set(ids):
            del expected[chunk_id]

    assert sorted(index.ids("user_1")) == sorted(expected)
    numbers = np.array(sorted(expected.values()))
    names = {number: chunk_id for chunk_id, number in expected.items()}
    for query in unit(10, seed=4):
        exact = numbers[np.argsort(-(VECTORS[numbers] @ query), kind="stable")[:10]]
        assert found(index, query, 10) == [names[int(number)] for number in exact]
    files = list((shelf.folder / "user_1").iterdir())
    assert sum(file.stat().st_size for file in files) <= 2 * len(expected) * (48 + DIM) + 4096
    assert len(files) < 16


def test_what_was_dropped_is_written_again(shelf: Shelf) -> None:
    ids, index = shelf.put(shelf.dataset(), "a", VECTORS[:3]), shelf.open()
    for _ in range(2):
        assert sorted(found(index, VECTORS[0], 9)) == sorted(ids)
        assert index.collections() == ["user_1"]
        index.drop("user_1")
        index.drop("user_1")
        assert index.collections() == []
        shelf.mend(index)
    assert not index.reset()


def test_vectors_of_another_size_take_the_place_of_all(shelf: Shelf) -> None:
    """As after embedding everything again with a model that has changed behind its name."""
    ids, index = shelf.put(shelf.dataset(), "a", VECTORS[:3]), shelf.open()
    found(index, VECTORS[0])
    longer = unit(3, DIM + 1)
    shelf.embed(ids, longer)
    shelf.apply(index, ids)

    assert found(index, longer[1]) == [ids[1]]
    assert index.dimension("user_1") == DIM + 1


# ---------------------------------------------------------------- in a search


@pytest.fixture
def open_braid(tmp_path: Path) -> Iterator[Callable[..., Braid]]:
    opened: list[Braid] = []

    def open_one(**options: Any) -> Braid:
        opened.append(Braid(tmp_path, embedding_model=HashEmbeddings(), index_options=IndexOptions(**options)))
        return opened[-1]

    yield open_one
    for braid in opened:
        braid.close()


def test_a_search_says_that_vectors_are_being_written(
    open_braid: Callable[..., Braid], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_braid() as braid:
        braid.ledger.put_document(add_notes(braid.ledger), document("a", "The cat sat on the mat"))
        catch_up(braid)
    shutil.rmtree(braid.data_dir / "indexes" / "vectors")
    go_on, read = threading.Event(), ChangeLog.vectors_of

    def read_later(log: ChangeLog, collection: str, model: str) -> Iterator[VectorBatch]:
        go_on.wait(WAIT_S)
        return read(log, collection, model)

    monkeypatch.setattr(ChangeLog, "vectors_of", read_later)
    braid = open_braid(leg_timeout_s=2.0)
    try:
        result = braid.search("cat", user_id=1)
        assert [hit.passage.text for hit in result.hits] == ["The cat sat on the mat"]
        (missing,) = result.degraded
        assert (missing.leg, missing.collection) == ("dense", "user_1")
        assert "are being written" in missing.reason
    finally:
        go_on.set()
    assert eventually(lambda: not braid.search("cat", user_id=1, mode="semantic").degraded)
    assert braid.search("cat", user_id=1, mode="semantic").hits
